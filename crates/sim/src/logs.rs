//! The recorders that see every packet and every note, as one, and the log of what controllers publish. The others have files of
//! their own; what all of them have recorded leaves as `simulation.rs` says.

use tailback_core::{FlowId, Observation, Time};

use crate::accumulation::Accumulation;
use crate::delays::DelayRecorder;
use crate::packet_log::PacketLog;
use crate::recorder::{PacketEvent, Recorder};

/// How many bytes the logs of a run take.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogSizes {
    /// The packet log.
    pub packets: u64,
    /// The log of state.
    pub state: u64,
}

/// What controllers published, in columns of equal length.
#[derive(Debug, Default)]
pub struct StateLog {
    /// Seconds since the start.
    pub time: Vec<f64>,
    /// The controller's flow.
    pub flow: Vec<u32>,
    /// What the value is of.
    pub name: Vec<String>,
    /// The value, in the unit that its name says.
    pub value: Vec<f64>,
}

impl StateLog {
    /// How many bytes it takes: its columns, with names of usual length.
    fn bytes(&self) -> u64 {
        50 * self.time.len() as u64
    }
}

/// The recorders that see every packet and every note; a run without them does not pay for their being there.
#[derive(Debug)]
pub struct Logs {
    /// The packet log, where it is on.
    pub packets: Option<PacketLog>,
    /// The links whose passages are logged.
    pub links: Vec<bool>,
    /// The log of state, where it is on.
    pub state: Option<StateLog>,
    /// The flows whose notes are kept.
    pub flows: Vec<bool>,
    /// The accumulation of flows, where it is on.
    pub accumulation: Option<Accumulation>,
    /// The delays of flows, where they are on.
    pub delays: Option<DelayRecorder>,
}

impl Logs {
    /// How many bytes they take.
    pub(crate) fn sizes(&self) -> LogSizes {
        LogSizes {
            packets: self.packets.as_ref().map_or(0, PacketLog::bytes),
            state: self.state.as_ref().map_or(0, StateLog::bytes),
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
