//! What a run may take of memory. What a scenario is sure to need is computed here before anything is built; whether the run
//! keeps to its budget is looked at in `run`, and how much is in use is told by whoever owns the process.

use tailback_core::{Bytes, Controller, FieldError};
use tailback_sim::{AccumulationSeries, FlowSeries, LinkSeries, MemoryLimit};

use crate::chosen::Chosen;
use crate::problems::Problems;
use crate::scenario::Scenario;
use crate::topology::Network;

/// What a flow takes with its two ends, its access links and their names.
const FLOW: u64 = 6000;
/// What each packet of a window takes: its record at the sender, its place in a link, and room to grow.
const PACKET: u64 = 100;
/// What is recorded is there up to three times: as it was written, as columns, and in the tables made of them.
pub(crate) const COPIES: u64 = 3;
/// The bytes of a bin of accumulation that never leave: sums and areas of two levels, and the sum of estimates.
const ACCUMULATION: u64 = 80;

/// What a budget below this does not allow is no scenario's fault.
const LEAST: Bytes = Bytes::new(1_000_000);

/// How much memory a run may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// At most so much, tables of its result included.
    pub most: Bytes,
    /// How much the process has in use now; what it says is compared with what it said when the run began.
    pub in_use: fn() -> u64,
}

impl Default for Budget {
    /// 4 GB of what is computed; nobody looks at what is in use.
    fn default() -> Self {
        Self { most: Bytes::new(4_000_000_000), in_use: || 0 }
    }
}

/// What is asked for in the place of most values, and of a bin of time series, which take less the longer it is.
const LESS: &str = "less: this takes";
const LONGER: &str = "a longer one: time series take";
/// What helps where time series take too much.
pub(crate) const ALSO: &str = "; a shorter `duration`, fewer of `record.flows` and `record.links`, or more memory (`--memory`, \
                               `memory=`) would do, too";

/// A part of what a scenario needs, and the field that decides it.
struct Need {
    field: String,
    value: String,
    bytes: u64,
    /// What is asked for instead, up to how much it takes, and what else would do.
    instead: (&'static str, &'static str),
}

impl Budget {
    /// The limit for the simulator of a run that begins now.
    pub(crate) fn starting_now(self) -> MemoryLimit {
        MemoryLimit { most: (self.in_use)().saturating_add(self.most.get()), in_use: self.in_use }
    }

    /// Complains where the flows of a scenario alone need more than this, before they are laid out.
    ///
    /// # Errors
    /// The group that needs most.
    pub(crate) fn admits_flows(self, scenario: &Scenario) -> Result<(), Problems> {
        self.fits(flows(scenario).chain(windows(scenario)).collect())
    }

    /// Complains where a scenario is sure to need more than this.
    ///
    /// # Errors
    /// The field that needs most.
    pub(crate) fn admits(self, scenario: &Scenario, network: &Network) -> Result<(), Problems> {
        self.fits(flows(scenario).chain(windows(scenario)).chain(series(scenario, network)).collect())
    }

    fn fits(self, needs: Vec<Need>) -> Result<(), Problems> {
        let all = needs.iter().fold(0_u64, |sum, need| sum.saturating_add(need.bytes));
        if all <= self.most.get() {
            return Ok(());
        }
        if self.most < LEAST {
            let allowed = format!("at least {}, as in \"4 GB\"", Gigabytes(all.max(LEAST.get())));
            let value = Gigabytes(self.most.get()).to_string();
            return Err(Problems::new(
                "memory",
                vec![FieldError { field: "memory".to_owned(), value, allowed }],
            ));
        }
        let most = needs.into_iter().max_by_key(|need| need.bytes);
        let Need { field, value, bytes, instead: (instead, also) } = most.expect("there is a need");
        let allowed = format!(
            "{instead} {} of the {} that the run would take, and a run may take {}{also}",
            Gigabytes(bytes),
            Gigabytes(all),
            Gigabytes(self.most.get())
        );
        Err(Problems::new("memory", vec![FieldError { field, value, allowed }]))
    }

    /// The complaint about a run that has outgrown its budget, because of this field, and what would do.
    pub(crate) fn exceeded(self, field: String, value: String, what: &str, also: &str) -> Problems {
        let allowed = format!("{what}, and a run may take {}{also}", Gigabytes(self.most.get()));
        Problems::new("memory", vec![FieldError { field, value, allowed }])
    }
}

/// Bytes for a reader.
pub(crate) struct Gigabytes(pub(crate) u64);

impl std::fmt::Display for Gigabytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.0 as f64;
        let (unit, name) = if bytes >= 1e9 {
            (1e9, "GB")
        } else if bytes >= 1e6 {
            (1e6, "MB")
        } else {
            (1e3, "kB")
        };
        write!(f, "{:.1} {name}", bytes / unit)
    }
}

fn flows(scenario: &Scenario) -> impl Iterator<Item = Need> {
    scenario.flows.iter().enumerate().map(|(group, flow)| Need {
        field: format!("flows[{group}].count"),
        value: flow.count.to_string(),
        bytes: FLOW * u64::from(flow.count),
        instead: (LESS, ""),
    })
}

/// What leaves at once when greedy flows begin.
fn windows(scenario: &Scenario) -> impl Iterator<Item = Need> {
    scenario
        .flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| flow.is_greedy() && !matches!(flow.scheme.0, tailback_control::Scheme::Custom(_)))
        .filter_map(|(group, flow)| {
            let window = flow.scheme.build(&flow.controller_params()).controller.directive().window?;
            let size = flow.packet_size().get().max(1);
            let packets = window.get() / size;
            let is_own = window != flow.controller_params().initial_window;
            let field = if is_own {
                "scheme.window"
            } else if flow.sends_datagrams() {
                "datagram.initial_window"
            } else {
                "transport.initial_window"
            };
            Some(Need {
                field: format!("flows[{group}].{field}"),
                value: format!("{packets} packets for each of {} flows", flow.count),
                bytes: packets.saturating_mul(PACKET * u64::from(flow.count)),
                instead: (LESS, ""),
            })
        })
}

/// What time series take.
fn series(scenario: &Scenario, network: &Network) -> impl Iterator<Item = Need> {
    let record = &scenario.record;
    let chosen = Chosen::new(scenario, network);
    let links = network.links.iter().filter(|link| chosen.has_link(link)).count() as u64;
    let flows = network.flows.iter().filter(|flow| chosen.has_flow(flow)).count() as u64;
    let bins = scenario.duration.as_nanos() / record.bin.as_nanos().max(1);
    let cell = COPIES * size_of::<f64>() as u64;
    let columns = links * LinkSeries::COLUMNS.len() as u64 + flows * FlowSeries::COLUMNS.len() as u64;
    let told = format!("with {flows} flows and {links} links");
    let bin = Need {
        field: "record.bin".to_owned(),
        value: format!("{} {told}", record.bin),
        bytes: bins.saturating_mul(cell * columns),
        instead: (LONGER, ALSO),
    };
    let each = ACCUMULATION + cell * AccumulationSeries::COLUMNS.len() as u64;
    let accumulation = record.accumulation.then(|| Need {
        field: "record.accumulation".to_owned(),
        value: format!("true {told} and bins of {}", record.bin),
        bytes: bins.saturating_mul(each * flows),
        instead: ("false, or a longer `record.bin`: the series of accumulation take", ALSO),
    });
    std::iter::once(bin).chain(accumulation)
}
