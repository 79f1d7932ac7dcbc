//! A probe for losses at the tail (TLP): when acknowledgements are overdue, one segment leaves, whose acknowledgement tells
//! `rack.rs` what is lost. When the timers run is decided in `by_time.rs`; what is remembered of probes is in `probes.rs`.
//!
//! Source: RFC 8985 §7; what its pseudocode calls a variable stands beside each field.
//!
//! Where the text leaves a choice, or is not followed to the letter:
//!
//! * No timer is set for a probe that may not leave, since another is under way or no round trip was measured since the last one.
//!   The text (§7.3) has it expire and then begins the retransmission timer anew, which that timer gains nothing by.
//! * Where the receiver was asked to hold acknowledgements back, a probe waits for as much longer, as the retransmission timer does.
//! * The loss that a probe has repaired begins a fast recovery that has nothing to repair: the controller hears of its begin and,
//!   when all that is outstanding now is acknowledged, of its end. New data meanwhile is probed for as ever.
//! * The timer for a probe is also set after an acknowledgement that tells of something new and does not advance.
//! * A probe passes the window, and not the shaper: paced senders pace it.

use tailback_core::Time;

use super::choice::{Choice, Room};
use super::probes::TailProbe;
use super::rack::{Alarm, rack_of};
use super::{Ack, LossRecovery};
use crate::config::StreamConfig;

impl LossRecovery {
    /// How many probes have left since the connection began.
    pub(crate) fn probes(&self) -> u64 {
        self.rack().map_or(0, |rack| rack.probe.count)
    }

    /// Sets the timer for a probe, if one may be needed (§7.2). The retransmission timer is in force until here.
    pub(super) fn schedule_probe(&mut self, now: Time, config: &StreamConfig) {
        let (Some(at), true) = (self.probe_time(now, config), self.may_probe(config)) else { return };
        self.set_alarm(Alarm::Probe, at);
    }

    /// Whether the tail may be probed for, should an acknowledgement be overdue.
    pub(super) fn may_probe(&self, config: &StreamConfig) -> bool {
        let is_on = config.rack().is_some_and(|settings| settings.tail_loss_probe);
        let may_leave = self.rack().is_some_and(|rack| rack.probe.may_leave(self.rtt.samples()));
        is_on && may_leave && !self.ring.is_empty() && self.sacked == 0 && !self.is_repairing()
    }

    /// `TLP_calc_PTO`.
    fn probe_time(&self, now: Time, config: &StreamConfig) -> Option<Time> {
        let mut wait = self.rtt.smoothed(&config.rto)? * 2 + self.rtt.held();
        if self.ring.end() - self.ring.first() == 1 {
            wait += config.rack()?.max_ack_delay;
        }
        Some((now + wait).min(self.deadline))
    }

    /// An acknowledgement is overdue.
    pub(super) fn call_for_probe(&mut self, now: Time, config: &StreamConfig) {
        if let Some(rack) = rack_of(&mut self.own) {
            rack.probe.is_due = true;
            self.forced = true;
        }
        self.restart_timer(now, config);
    }

    /// A probe that has not left yet is not needed any more.
    pub(super) fn cancel_probe(&mut self) {
        if let Some(rack) = rack_of(&mut self.own)
            && std::mem::take(&mut rack.probe.is_due)
        {
            self.forced = false;
        }
    }

    /// `TLP_send_probe`: new data if there is room at the receiver, else the highest segment.
    pub(super) fn choose_probe(&self, room: &Room) -> Choice {
        let has_room = room.new > 0 && self.outstanding + u64::from(room.new) <= room.receive_window;
        Choice::Probe(if has_room { None } else { self.ring.end().checked_sub(1) })
    }

    /// A segment has left; whether it was the probe.
    pub(super) fn take_probe(&mut self, is_repeated: bool) -> bool {
        let (end, samples) = (self.ring.end(), self.rtt.samples());
        let Some(rack) = rack_of(&mut self.own).filter(|rack| rack.probe.is_due) else { return false };
        let count = rack.probe.count + 1;
        rack.probe = TailProbe { end: Some(end), is_repeated, samples, is_due: false, count };
        self.forced = false;
        true
    }

    /// Whether an acknowledgement shows that a probe has repaired a loss.
    pub(super) fn hear_of_probe(&mut self, ack: &Ack<'_>, advanced: u64) -> bool {
        let is_bare = advanced == 0 && ack.blocks.is_empty();
        rack_of(&mut self.own).is_some_and(|rack| rack.probe.hear(ack.number, ack.arrived_twice(), is_bare))
    }

    /// Whether a probe is under way.
    pub(super) fn is_probing(&self) -> bool {
        self.rack().is_some_and(|rack| rack.probe.end.is_some())
    }
}
