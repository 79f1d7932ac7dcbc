//! A simulator, whatever it records. What is made of its counters and logs is in `outcome`; how far it is taken, in `run.rs`.

use tailback_core::{FlowId, LinkId, Observation, Time};
use tailback_link::LinkCounters;
use tailback_sim::{
    Accumulation, DelayRecorder, MemoryLimit, PacketEvent, PacketLog, Recorder, Series, Simulator,
};

use crate::gathered::{FlowSnapshot, Gathered, PACKET_ROW, StateLog};

/// The bytes of a row of state: its columns, and a name of usual length.
const STATE_ROW: u64 = 50;

/// How many bytes the logs of a run take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Logged {
    pub(super) packets: u64,
    pub(super) state: u64,
}

/// The recorders that see every packet and every note; a run without them does not pay for their being there.
#[derive(Debug)]
pub(super) struct Logs {
    pub(super) packets: Option<PacketLog>,
    /// The links whose passages are logged.
    pub(super) links: Vec<bool>,
    pub(super) state: Option<StateLog>,
    /// The flows whose notes are kept.
    pub(super) flows: Vec<bool>,
    pub(super) accumulation: Option<Accumulation>,
    pub(super) delays: Option<DelayRecorder>,
}

impl Logs {
    fn logged(&self) -> Logged {
        let rows = |rows: Option<usize>| rows.unwrap_or(0) as u64;
        Logged {
            packets: PACKET_ROW * rows(self.packets.as_ref().map(|log| log.time.len())),
            state: STATE_ROW * rows(self.state.as_ref().map(|log| log.time.len())),
        }
    }
}

impl Recorder for Logs {
    const PACKETS: bool = true;
    const NOTES: bool = true;
    const OBSERVED: bool = true;

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        self.delays.observed(now, flow, sender);
    }

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        self.accumulation.packet(now, event);
        self.delays.packet(now, event);
        let Some(log) = &mut self.packets else { return };
        let wanted = match event {
            PacketEvent::Offered(link, _) | PacketEvent::Dropped(link, ..) => self.links[link.index()],
            PacketEvent::Sent(..) | PacketEvent::Delivered(..) => true,
            PacketEvent::Served { .. } => false,
        };
        if wanted {
            log.packet(now, event);
        }
    }

    fn note(&mut self, now: Time, flow: FlowId, name: &'static str, value: f64) {
        self.accumulation.note(now, flow, name, value);
        if let Some(log) = &mut self.state
            && self.flows[flow.index()]
        {
            log.time.push(now.as_secs_f64());
            log.flow.push(flow.0);
            log.name.push(name.to_owned());
            log.value.push(value);
        }
    }
}

/// A simulator, whatever it records.
pub(super) trait Engine {
    fn run_until(&mut self, until: Time);
    fn now(&self) -> Time;
    fn events(&self) -> u64;
    /// How much has been done, of which events are a part.
    fn work(&self) -> u64;
    fn link(&mut self, id: LinkId) -> LinkCounters;
    fn flow(&self, id: FlowId) -> FlowSnapshot;
    fn logged(&self) -> Logged;
    fn is_stopped(&self) -> bool;
    fn endless(&self) -> Option<FlowId>;
    fn finish(self: Box<Self>) -> Gathered;
}

/// A recorder that gives up what it recorded.
trait Finish: Recorder {
    fn gathered(self) -> Gathered;

    fn logged(&self) -> Logged {
        Logged::default()
    }
}

impl Finish for Series {
    fn gathered(self) -> Gathered {
        Gathered {
            series: self.finish(),
            packets: None,
            state: None,
            accumulation: Vec::new(),
            delays: Vec::new(),
        }
    }
}

impl Finish for (Series, Logs) {
    fn logged(&self) -> Logged {
        self.1.logged()
    }

    fn gathered(self) -> Gathered {
        let (series, logs) = self;
        let series = series.finish();
        let accumulation = logs.accumulation.map(|recorder| recorder.finish(series.times.len()));
        Gathered {
            series,
            packets: logs.packets,
            state: logs.state,
            accumulation: accumulation.unwrap_or_default(),
            delays: logs.delays.map(DelayRecorder::finish).unwrap_or_default(),
        }
    }
}

impl<R: Finish> Engine for Simulator<R> {
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

    fn logged(&self) -> Logged {
        self.recorder().logged()
    }

    fn is_stopped(&self) -> bool {
        Self::is_stopped(self)
    }

    fn endless(&self) -> Option<FlowId> {
        Self::endless(self)
    }

    fn finish(self: Box<Self>) -> Gathered {
        self.into_recorder().gathered()
    }
}

/// The simulator, within a limit of memory.
pub(super) fn limited<R: Recorder>(mut simulator: Simulator<R>, limit: MemoryLimit) -> Simulator<R> {
    simulator.limit_memory(limit);
    simulator
}
