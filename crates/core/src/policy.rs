//! The receiver's half of a scheme: it sees packets arrive and decides what to report, when, and in which lane.
//! Acknowledgements of reliable transports are not its business; they live in `transport`.

use crate::annex::{Annex, ControlInfo, Report};
use crate::controller::Cx;
use crate::packet::{Kind, Lane, Packet};
use crate::time::Time;
use crate::units::Bytes;

/// A packet that arrived, as the receiver's half sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The packet: number, size, marks, lane, place in a probe.
    pub packet: &'a Packet,
    /// Its rare part.
    pub annex: Option<&'a Annex>,
    /// Whether this number had not arrived before.
    pub is_new: bool,
}

impl Arrival<'_> {
    /// Whether it carries data.
    pub fn is_data(&self) -> bool {
        self.packet.kind() == Kind::Data
    }

    /// The control information or stamp, if it carries one.
    pub fn control(&self) -> Option<&ControlInfo> {
        match self.annex {
            Some(Annex::Control(info)) => Some(info),
            _ => None,
        }
    }
}

/// A report on its way out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// What it says.
    pub report: Report,
    /// The lane that it takes.
    pub lane: Lane,
    /// Bytes on the wire.
    pub size: Bytes,
}

/// The receiver's half of a scheme.
///
/// The contract: `on_arrival` for every undamaged packet; then, and at or after [`FeedbackPolicy::next_timer`],
/// `poll_report` until it returns `None`.
pub trait FeedbackPolicy {
    /// A packet arrived.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>);

    /// A report to send now, if one is due.
    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing>;

    /// When a report will be due without further arrivals.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Whether data without an annex does nothing but add its bytes to a sum: then [`FeedbackPolicy::add_data`] is told of
    /// many packets at once, before anything else is asked or told, in the place of [`FeedbackPolicy::on_arrival`] for each of
    /// them. No report may become due by such data, and no timer may change. Asked once, at the start.
    fn sums_data(&self) -> bool {
        false
    }

    /// Whether it acts on packets alone: it never has a timer, and draws nothing at random. What arrives may then be told ahead
    /// of its time, in order. Asked once, at the start.
    fn answers_at_once(&self) -> bool {
        false
    }

    /// So many bytes of data arrived since the last call, whether for the first time or not.
    fn add_data(&mut self, bytes: Bytes) {
        let _ = bytes;
    }
}
