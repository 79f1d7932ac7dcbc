//! A run that is taken forward step by step, so that whoever drives it can show progress and stop it. The simulation is
//! `sim`'s, the tables are `outcome`'s.

use tailback_core::{FlowId, LinkId, Span, Time};
use tailback_sim::{
    Accumulation, AccumulationPlan, DelayRecorder, Logs, MemoryLimit, PacketLog, Path, Series, SeriesPlan,
    Simulation, StateLog,
};

use crate::build::{hop, simulator};
use crate::chosen::Chosen;
use crate::memory::Budget;
use crate::outcome::{self, Outcome};
use crate::problems::Problems;
use crate::scenario::Scenario;
use crate::snapshot::Snapshot;
use crate::topology::{GoOn, Network};

mod memory;

/// A run has at least so many steps.
const STEPS: u64 = 100;
/// The first is so much of the run; they grow while little happens in them.
const FIRST: u64 = 1_000_000;
/// The events that one step should not much exceed: whoever stops the run waits for its end, and with a million flows, of
/// which none is in a cache, an event takes a microsecond and more.
const BUSY: u64 = 1 << 17;

/// A scenario at work.
pub struct Run {
    scenario: Scenario,
    network: Network,
    simulation: Box<dyn Simulation + Send>,
    plan: SeriesPlan,
    /// How far the next [`Run::step`] goes.
    stride: Span,
    /// Everything as of the end of the warm-up.
    warm: Option<Snapshot>,
    /// What it may take of memory, and what was in use when it began.
    budget: Budget,
    limit: MemoryLimit,
}

/// How a run starts.
pub struct Start<'a> {
    /// In place of the scenario's seed.
    pub seed: Option<u64>,
    /// What the run may take of memory.
    pub budget: Budget,
    /// Whether it is driven by the event queue without a limit of time, also where the quicker one would do.
    pub wheel: bool,
    /// Asked while the run is built whether it is still wanted.
    pub go_on: GoOn<'a>,
}

impl Run {
    /// A run of a checked scenario with its own seed or another, at time zero.
    ///
    /// # Errors
    /// What is wrong with the scenario after all, or a trace that was not loaded.
    pub fn new(scenario: Scenario, seed: Option<u64>) -> Result<Self, Problems> {
        let budget = Budget::default();
        Self::start(scenario, Start { seed, budget, wheel: false, go_on: &mut || true })
    }

    /// The same, as the caller says.
    ///
    /// # Errors
    /// Those of [`Run::new`], and where the scenario is sure to need more memory.
    pub fn start(scenario: Scenario, start: Start<'_>) -> Result<Self, Problems> {
        let limit = start.budget.starting_now();
        start.budget.admits_flows(&scenario)?;
        let (network, errors) = Network::new_while(&scenario, start.go_on).ok_or_else(Problems::stopped)?;
        if !errors.is_empty() {
            return Err(Problems { source: "scenario".to_owned(), errors });
        }
        Self::on(network, scenario, limit, start)
    }

    /// The same of a scenario in some JSON text, whose network is laid out once, for its check and for the run. Traces are
    /// looked for in the current directory.
    ///
    /// # Errors
    /// Everything that is wrong with the scenario, and those of [`Run::start`].
    pub fn read(text: &str, start: Start<'_>) -> Result<Self, Problems> {
        let limit = start.budget.starting_now();
        let (scenario, network) = Scenario::laid_out(text, start.go_on)?;
        start.budget.admits_flows(&scenario)?;
        Self::on(network, scenario, limit, start)
    }

    /// A run on the network that the scenario describes.
    fn on(
        network: Network,
        mut scenario: Scenario,
        limit: MemoryLimit,
        start: Start<'_>,
    ) -> Result<Self, Problems> {
        let Start { seed, budget, wheel, go_on } = start;
        scenario.seed = seed.unwrap_or(scenario.seed);
        budget.admits(&scenario, &network)?;
        let record = &scenario.record;
        let recorded = Chosen::new(&scenario, &network);
        let links = chosen(&network.links, |link| recorded.has_link(link));
        // In the simulator the control loops of aggregates are flows too, behind all others.
        let mut flows = chosen(&network.flows, |flow| recorded.has_flow(flow));
        flows.extend(chosen(&network.aggregates, |aggregate| recorded.has_aggregate(&aggregate.name)));
        let ids = |chosen: &[bool]| -> Vec<usize> {
            chosen.iter().enumerate().filter_map(|(index, wanted)| wanted.then_some(index)).collect()
        };
        let plan = SeriesPlan {
            bin: record.bin,
            links: ids(&links).into_iter().map(LinkId::from).collect(),
            flows: ids(&flows).into_iter().map(FlowId::from).collect(),
            queue_state: record.queue_state,
        };
        let series = Series::new(plan.clone()).until(scenario.end());
        let bins = scenario.duration.as_nanos().div_ceil(plan.bin.as_nanos()) as usize;
        let seed = scenario.seed;
        let is_logged = record.packets || record.state || record.accumulation || record.delays;
        let logs = is_logged.then(|| Logs {
            packets: record.packets.then(PacketLog::default),
            links,
            state: record.state.then(StateLog::default),
            flows,
            accumulation: record
                .accumulation
                .then(|| Accumulation::new(&accumulation_plan(&plan, bins, &network))),
            delays: record
                .delays
                .then(|| DelayRecorder::new(network.flows.len(), Time::ZERO + scenario.warm_up)),
        });
        let mut simulation = simulator(&scenario, &network, seed, (series, logs), wheel, go_on)?;
        simulation.limit_memory(limit);
        let stride = scenario.duration / FIRST;
        Ok(Self { scenario, network, simulation, plan, stride, warm: None, budget, limit })
    }

    /// The present of the run.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// The end of the run.
    pub fn end(&self) -> Time {
        self.scenario.end()
    }

    /// The share of simulated time that is done.
    pub fn progress(&self) -> f64 {
        self.now().since(Time::ZERO).ratio(self.scenario.duration)
    }

    /// Goes on for a moment: at most a hundredth of the run, and less where more happens than a fraction of a second
    /// takes, so that whoever drives the run can show progress and stop it, however absurd its rates are.
    ///
    /// # Errors
    /// The run has outgrown its budget of memory; the field that takes most is named.
    pub fn step(&mut self) -> Result<(), Problems> {
        let before = self.simulation.work();
        self.advance(self.stride.max(Span::from_nanos(1)));
        let handled = self.simulation.work() - before;
        if handled > BUSY {
            self.stride = self.stride / 2;
        } else if handled < BUSY / 4 {
            self.stride = (self.stride * 2).min((self.scenario.duration / STEPS).max(Span::from_nanos(2)));
        }
        self.keep_within()
    }

    /// Goes on for `span` of simulated time, but not beyond the end; how much is logged meanwhile is not looked at.
    pub fn advance(&mut self, span: Span) {
        let until = (self.now() + span).min(self.end());
        let warm = Time::ZERO + self.scenario.warm_up;
        if self.warm.is_none() && warm <= until {
            self.simulation.run_until(warm);
            let is_start = self.scenario.warm_up.is_zero();
            self.warm = Some(if is_start { Snapshot::START } else { self.snapshot() });
        }
        self.simulation.run_until(until);
    }

    /// Runs what is left, and tells what was measured.
    ///
    /// # Errors
    /// Those of [`Run::step`].
    pub fn finish(mut self) -> Result<Outcome, Problems> {
        while self.now() < self.end() {
            self.step()?;
        }
        // For runs of no length, which have a beginning all the same.
        self.advance(Span::ZERO);
        let last = self.snapshot();
        let events = self.simulation.events();
        let warm = self.warm.take().unwrap_or(Snapshot::START);
        let recorded = self.simulation.finish();
        Ok(outcome::tell(self.scenario, &self.network, &self.plan, events, (warm, last), recorded))
    }

    fn snapshot(&mut self) -> Snapshot {
        Snapshot {
            at: self.simulation.now(),
            links: (0..self.network.links.len())
                .map(|link| self.simulation.link(LinkId::from(link)))
                .collect(),
            flows: (0..self.network.flows.len() + self.network.aggregates.len())
                .map(|flow| self.simulation.flow(FlowId::from(flow)))
                .collect(),
        }
    }
}

/// Whose accumulation is recorded: that of the flows and aggregates with a time series.
fn accumulation_plan(plan: &SeriesPlan, bins: usize, network: &Network) -> AccumulationPlan {
    let hops = |links: &[usize]| links.iter().map(|&link| hop(network, link)).collect();
    let path = |flow: &FlowId| {
        if let Some(known) = network.flows.get(flow.index()) {
            return Path { flow: *flow, hops: hops(&known.forward), members: Vec::new() };
        }
        let aggregate = &network.aggregates[flow.index() - network.flows.len()];
        let (forth, back) = &aggregate.members;
        let members = forth.iter().chain(back).map(|&member| FlowId::from(member)).collect();
        Path { flow: *flow, hops: hops(&aggregate.forward), members }
    };
    AccumulationPlan { bin: plan.bin, bins, flows: plan.flows.iter().map(path).collect() }
}

fn chosen<T>(items: &[T], wanted: impl Fn(&T) -> bool) -> Vec<bool> {
    items.iter().map(wanted).collect()
}
