//! A simulator, whatever it records, and what it has recorded at its end. How far it is taken, and which tables are made of its
//! counters, is the business of whoever drives it.
//!
//! A simulator is compiled anew for each type of its recorder, which takes several times as long as all else in this crate. So the
//! two that run scenarios are compiled here, and not in every crate that asks for one.

use tailback_core::{FlowId, LinkId, Observation, Time};
use tailback_link::LinkCounters;

use crate::accumulation::AccumulationSeries;
use crate::delays::{DelayRecorder, FlowDelays};
use crate::logs::{LogSizes, Logs, StateLog};
use crate::memory::MemoryLimit;
use crate::network::NetworkBuilder;
use crate::packet_log::PacketLog;
use crate::recorder::Recorder;
use crate::refusals::NetworkError;
use crate::series::{Series, TimeSeries};
use crate::simulator::Simulator;

/// A flow's counters at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowSnapshot {
    /// What its sender says of itself.
    pub sender: Observation,
    /// What its receiver says of itself.
    pub receiver: Observation,
    /// Damaged packets that its endpoints discarded.
    pub discarded: u64,
    /// When it carried its last byte, if it has.
    pub finished_at: Option<Time>,
}

/// What the recorders of a run have recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The time series.
    pub series: TimeSeries,
    /// The packet log, where it is on.
    pub packets: Option<PacketLog>,
    /// The log of state, where it is on.
    pub state: Option<StateLog>,
    /// One per recorded flow; none where it is off.
    pub accumulation: Vec<AccumulationSeries>,
    /// One per flow; none where it is off.
    pub delays: Vec<FlowDelays>,
}

/// A [`Simulator`], whatever it records.
pub trait Simulation {
    /// Ends it where it takes more memory than this.
    fn limit_memory(&mut self, limit: MemoryLimit);
    /// Runs all events before `until` and sets the clock to it.
    fn run_until(&mut self, until: Time);
    /// The present.
    fn now(&self) -> Time;
    /// Events handled so far.
    fn events(&self) -> u64;
    /// How much has been done, of which events are a part.
    fn work(&self) -> u64;
    /// A link's counters as of now.
    fn link(&mut self, id: LinkId) -> LinkCounters;
    /// A flow's counters as of now.
    fn flow(&self, id: FlowId) -> FlowSnapshot;
    /// How much has been logged so far.
    fn logged(&self) -> LogSizes;
    /// Whether memory, or a flow that sends without end, has stopped the run.
    fn is_stopped(&self) -> bool;
    /// The flow that has stopped the run because it sends without end at one instant, if one has.
    fn endless(&self) -> Option<FlowId>;
    /// What was recorded, at the end of the run.
    fn finish(self: Box<Self>) -> Recorded;
}

impl NetworkBuilder {
    /// The simulator, ready to run up to `horizon`, as long as `go_on` says so; it records time series, and logs where there are
    /// any.
    ///
    /// # Errors
    /// Those of [`NetworkBuilder::build_while`].
    pub fn build_simulation(
        self,
        horizon: Time,
        series: Series,
        logs: Option<Logs>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Box<dyn Simulation + Send>, NetworkError> {
        Ok(match logs {
            Some(logs) => Box::new(self.build_while(horizon, (series, logs), go_on)?),
            None => Box::new(self.build_while(horizon, series, go_on)?),
        })
    }
}

/// A recorder that gives up what it recorded.
trait Finish: Recorder {
    fn recorded(self) -> Recorded;

    fn logged(&self) -> LogSizes {
        LogSizes::default()
    }
}

impl Finish for Series {
    fn recorded(self) -> Recorded {
        Recorded {
            series: self.finish(),
            packets: None,
            state: None,
            accumulation: Vec::new(),
            delays: Vec::new(),
        }
    }
}

impl Finish for (Series, Logs) {
    fn logged(&self) -> LogSizes {
        self.1.sizes()
    }

    fn recorded(self) -> Recorded {
        let (series, logs) = self;
        let series = series.finish();
        let accumulation = logs.accumulation.map(|recorder| recorder.finish(series.times.len()));
        Recorded {
            series,
            packets: logs.packets,
            state: logs.state,
            accumulation: accumulation.unwrap_or_default(),
            delays: logs.delays.map(DelayRecorder::finish).unwrap_or_default(),
        }
    }
}

impl<R: Finish> Simulation for Simulator<R> {
    fn limit_memory(&mut self, limit: MemoryLimit) {
        Self::limit_memory(self, limit);
    }

    fn run_until(&mut self, until: Time) {
        Self::run_until(self, until);
    }

    fn now(&self) -> Time {
        Self::now(self)
    }

    fn events(&self) -> u64 {
        self.events_handled()
    }

    fn work(&self) -> u64 {
        self.work_done()
    }

    fn link(&mut self, id: LinkId) -> LinkCounters {
        Self::link(self, id)
    }

    fn flow(&self, id: FlowId) -> FlowSnapshot {
        FlowSnapshot {
            sender: self.sender(id),
            receiver: self.receiver(id),
            discarded: self.discarded(id),
            finished_at: self.finished_at(id),
        }
    }

    fn logged(&self) -> LogSizes {
        self.recorder().logged()
    }

    fn is_stopped(&self) -> bool {
        Self::is_stopped(self)
    }

    fn endless(&self) -> Option<FlowId> {
        Self::endless(self)
    }

    fn finish(self: Box<Self>) -> Recorded {
        self.into_recorder().recorded()
    }
}
