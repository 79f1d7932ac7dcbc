//! Recovery where losses are found by time: which losses begin an episode, which the controller hears of, and which of three timers
//! runs. What is lost is found in `rack.rs`, and the tail is probed for in `tail_probe.rs`.
//!
//! Source: RFC 8985 §6.3, §8 and §9.3. It says nothing of episodes: they begin with a loss and end as by RFC 6675, but rules 3
//! and 4 of its `NextSeg` are left out (§9.2), so nothing is retransmitted that is not lost, but for the probe.
//!
//! Where the text leaves a choice, or is not followed to the letter:
//!
//! * The first retransmission of an episode leaves whatever the window says, as by RFC 6675 and in Linux.
//! * "Two indications of congestion" (§9.3): the controller hears of a loss of what left after it last heard of one, or of a mark,
//!   be that a retransmission or new data. Only then was the window reduced, for CWR and for marks after it (RFC 3168 §6.1.2). Within a fast recovery it does not where recovery reduces in proportion (§9.3: "in the absence of
//!   PRR"), nor where the scheme counts lost retransmissions itself.
//! * The reordering timer stands in for the retransmission timer, which goes on unseen. It begins anew when losses are found.
//! * An echo at a window of one has the retransmission timer begin anew, and no probe leaves before it (RFC 3168 §6.1.2). The text knows
//!   no other timer. The reordering timer goes on: what it finds is lost by what has arrived, as by duplicates, and is repaired.
//! * A request to hold acknowledgements back lengthens the other two timers, not the reordering timer (`hold_acks`).
//! * An acknowledgement that tells of nothing new leaves the timer of a probe as it was.
//! * An episode begins where anything lost waits for its repair, whether the controller heard of it or not.
//! * An acknowledgement that proves an episode to have been for nothing finds losses like any other. The controller hears of them
//!   by itself, after it has taken the episode back. That one is no recovery that ends (§6.2 step 4), as in Linux.
//! * F-RTO holds retransmissions back until it has judged, as in Linux; the loss of what left after the time-out ends it.

use tailback_core::{CongestionEvent, Recovery, RttSample, Span, Time};

use super::rack::{Alarm, rack_of};
use super::spurious::Doubt;
use super::{Ack, LossRecovery, Outcome};
use crate::config::StreamConfig;

/// What an acknowledgement has meant so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Bytes newly acknowledged cumulatively.
    pub(super) advanced: u64,
    /// Whether ranges told of something new.
    pub(super) found: bool,
    pub(super) sample: Option<RttSample>,
    /// Whether the last loss or time-out proved to be none, and whether the reduction stands all the same.
    pub(super) is_spurious: bool,
    pub(super) stands: bool,
}

impl LossRecovery {
    /// What an acknowledgement means for recovery.
    #[inline(never)]
    pub(super) fn recover_by_time(
        &mut self,
        now: Time,
        ack: &Ack<'_>,
        heard: Heard,
        config: &StreamConfig,
    ) -> Option<CongestionEvent> {
        let settings = config.rack()?;
        let Heard { advanced, found, sample, is_spurious, stands } = heard;
        let was_probing = self.is_probing();
        self.silence_alarm(now);
        if advanced > 0 || found {
            self.cancel_probe();
        }
        if advanced == 0 && found && !is_spurious {
            self.dup_acks += 1;
        }
        self.learn_of_arrivals(now, ack, sample, settings);
        let has_repaired = self.hear_of_probe(ack, advanced);
        if let Some(rack) = rack_of(&mut self.own) {
            rack.wait = Span::ZERO;
            rack.probe_at = rack.probe_at.filter(|_| advanced == 0 && !was_probing);
        }
        let is_over = self.state != Recovery::Open && self.ring.first() >= self.recover;
        let end = if is_over { self.end_episode() } else { None };
        self.adapt_reordering_window(ack.arrived_twice().is_some(), is_over, config);
        if is_spurious && !stands {
            return None;
        }
        self.detect_losses(now);
        let mut event = self.answer_losses(now, config);
        if has_repaired && self.state == Recovery::Open {
            event = self.begin_by_time(now, true, config);
        }
        event.or(end)
    }

    /// The same when nothing is outstanding: only what arrived twice is news.
    #[cold]
    pub(super) fn hear_when_idle(&mut self, ack: &Ack<'_>, config: &StreamConfig) {
        if self.ring.is_empty() && ack.number == self.ring.first() && self.rack().is_some() {
            self.hear_of_probe(ack, 0);
            self.adapt_reordering_window(ack.arrived_twice().is_some(), false, config);
        }
    }

    /// Begins an episode for the losses in the list, or goes on with the one at hand; what the controller must do.
    fn answer_losses(&mut self, now: Time, config: &StreamConfig) -> Option<CongestionEvent> {
        let answered = self.rack()?.answered;
        let mut is_new = self.lost.iter().any(|one| one.sent_at >= answered);
        if self.state == Recovery::Open {
            if !self.has_losses() {
                return None;
            }
            is_new |= self.ring.get(self.next_retransmit).sent_at() >= answered;
            return self.begin_by_time(now, is_new && self.may_begin(config), config);
        }
        if self.lost.is_empty() {
            return None;
        }
        if is_new && matches!(self.doubt, Doubt::FirstAck | Doubt::SecondAck) {
            self.doubt = Doubt::None;
        }
        if self.holds_back() {
            self.retransmit_from(self.lost_edge);
        }
        self.restart_timer(now, config);
        let is_spread = self.state == Recovery::Fast && self.proportional().is_some();
        if !is_new || is_spread || config.lost_retransmissions {
            return None;
        }
        self.note_reduction();
        self.note_answered(now);
        Some(CongestionEvent::Loss)
    }

    /// Whether a lost segment waits to be retransmitted: the lowest one begins there.
    fn has_losses(&mut self) -> bool {
        if self.lost_edge <= self.ring.first() {
            return false;
        }
        self.next_retransmit = self.next_retransmit.max(self.ring.first());
        self.settle();
        self.next_retransmit < self.lost_edge
    }

    /// An episode begins, of which the controller hears if it is new congestion.
    fn begin_by_time(&mut self, now: Time, is_new: bool, config: &StreamConfig) -> Option<CongestionEvent> {
        self.begin_repair();
        if is_new {
            self.note_reduction();
            self.note_answered(now);
        }
        // What a probe has repaired is not retransmitted, so nothing will tell whether it was lost.
        if self.forced {
            self.doubt_loss(config);
        }
        if !self.ring.is_empty() {
            self.restart_timer(now, config);
        }
        is_new.then_some(CongestionEvent::Loss)
    }

    /// The controller hears of congestion.
    pub(super) fn note_answered(&mut self, now: Time) {
        if let Some(rack) = rack_of(&mut self.own) {
            rack.answered = now;
        }
    }

    /// The lowest lost segment leaves at once, whatever the window says.
    pub(super) fn force_lowest_loss(&mut self) {
        self.forced = self.has_losses();
        if let Some(rack) = rack_of(&mut self.own) {
            rack.probe.forget();
        }
    }

    /// The retransmission timer has expired.
    pub(super) fn forget_probe(&mut self, now: Time) {
        self.note_answered(now);
        if let Some(rack) = rack_of(&mut self.own) {
            rack.probe.forget();
            rack.probe_at = None;
        }
    }

    /// Whether an episode is at hand, and something that was sent before it is missing.
    pub(super) fn is_repairing(&self) -> bool {
        self.state != Recovery::Open && self.ring.first() < self.recover
    }

    /// The retransmission timer is in force again; where it has expired unseen, at once.
    pub(super) fn silence_alarm(&mut self, now: Time) -> Option<Alarm> {
        let rack = rack_of(&mut self.own)?;
        rack.probe_at = None;
        let (alarm, retransmission) = rack.alarm.take()?;
        let at = std::mem::replace(&mut self.deadline, retransmission.max(now));
        rack.probe_at = (alarm == Alarm::Probe).then_some(at);
        Some(alarm)
    }

    /// Another timer is in force in place of the retransmission timer.
    pub(super) fn set_alarm(&mut self, alarm: Alarm, at: Time) {
        if let Some(rack) = rack_of(&mut self.own) {
            rack.alarm = Some((alarm, std::mem::replace(&mut self.deadline, at)));
        }
    }

    /// When the reordering timer expires, where it is in force.
    pub(super) fn reordering_deadline(&self) -> Option<Time> {
        let alarm = self.rack().and_then(|rack| rack.alarm);
        matches!(alarm, Some((Alarm::Reordering, _))).then_some(self.deadline)
    }

    /// The retransmission timer that goes on unseen expires later.
    pub(super) fn lengthen_unseen(&mut self, longer: Span) {
        if let Some((_, retransmission)) = rack_of(&mut self.own).and_then(|rack| rack.alarm.as_mut()) {
            *retransmission += longer;
        }
    }

    /// After an acknowledgement: which timer runs.
    #[inline(never)]
    pub(super) fn choose_timer(&mut self, now: Time, advanced: u64, config: &StreamConfig) {
        let Some(rack) = rack_of(&mut self.own) else { return };
        let (wait, pending) = (rack.wait, rack.probe_at.take());
        if self.ring.is_empty() {
            return;
        }
        if !wait.is_zero() {
            self.set_alarm(Alarm::Reordering, now + wait);
        } else if let Some(at) = pending.filter(|_| advanced == 0) {
            if self.may_probe(config) {
                self.set_alarm(Alarm::Probe, at.min(self.deadline));
            }
        } else {
            self.schedule_probe(now, config);
        }
    }

    /// New data has left: acknowledgements are overdue later.
    #[inline(never)]
    pub(super) fn note_new_sent(&mut self, now: Time, config: &StreamConfig) {
        if self.rack().is_none() {
            return;
        }
        let waits = self.reordering_deadline().is_some();
        if !self.take_probe(false) && !waits {
            self.silence_alarm(now);
            self.schedule_probe(now, config);
        }
    }

    /// A timer before the retransmission timer has expired; what was found, if anything.
    pub(super) fn on_alarm(&mut self, now: Time, config: &StreamConfig) -> Option<Outcome> {
        match self.silence_alarm(now)? {
            Alarm::Probe => {
                self.call_for_probe(now, config);
                None
            }
            Alarm::Reordering => {
                self.adapt_reordering_window(false, false, config);
                self.find_losses(now, config)
            }
        }
    }

    /// What the last acknowledgement shows to be lost, where that has proven an episode to have been for nothing and the controller
    /// has heard of this.
    #[cold]
    pub(crate) fn find_after_taking_back(&mut self, now: Time, config: &StreamConfig) -> Option<Outcome> {
        self.rack()?;
        self.silence_alarm(now);
        self.find_losses(now, config)
    }

    /// Finds what is lost by now, and sets a timer for the rest; what was found, if anything.
    fn find_losses(&mut self, now: Time, config: &StreamConfig) -> Option<Outcome> {
        self.clear_lists();
        let outstanding = self.outstanding.saturating_sub(u64::from(self.limited));
        self.detect_losses(now);
        let event = self.answer_losses(now, config);
        self.choose_timer(now, 0, config);
        (!self.lost.is_empty()).then(|| Outcome { outstanding, event, ..Outcome::default() })
    }
}
