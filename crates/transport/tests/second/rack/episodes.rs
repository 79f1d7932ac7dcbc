//! Episodes where losses are found by time: when one begins, what the law hears of it, and what each timer does that expires. What is
//! lost is found in `model.rs`, and choices that the text leaves are named in `rack.rs`.

use tailback_core::CongestionEvent;

use super::super::common::Phase;
use super::super::doubt::{Doubt, Verdict};
use super::super::{Acknowledgement, Told};
use super::RackTlp;

impl RackTlp {
    /// What the law hears of losses, and whether an episode begins (§9.3).
    pub(super) fn answer(&mut self, now: u64, lost: &[u64]) -> (bool, Option<CongestionEvent>) {
        let later = |at: usize| self.model.segments[at].xmit_ts >= self.answered;
        let mut is_new = lost.iter().any(|at| later(*at as usize));
        let lowest = self.model.unsacked().find(|at| self.model.segments[*at].lost);
        let enters = self.phase == Phase::Open && lowest.is_some();
        let mut hears = true;
        if enters {
            is_new |= lowest.is_some_and(later);
            self.enter();
        } else if !lost.is_empty() {
            if is_new && self.doubt.is_of_timeout() {
                self.doubt = Doubt::None;
            }
            let spread = self.phase == Phase::Fast && self.options.proportional;
            hears = !spread && !self.options.lost_retransmissions;
        }
        if !is_new || !hears {
            return (enters, None);
        }
        self.reduce(now);
        (enters, Some(CongestionEvent::Loss))
    }

    /// Whether the acknowledgement shows the episode to be for nothing.
    pub(super) fn is_spurious(&mut self, ack: &Acknowledgement, advances: bool, newly: &[usize]) -> bool {
        let covers = self.model.una >= self.recovery_point;
        let original =
            newly.iter().any(|at| *at < self.recovery_point && self.model.segments[*at].times == 1);
        self.doubt.hear(ack.echo, advances, covers, original) == Verdict::Spurious
    }

    /// What was thought lost is in the network; the law's answer may stand.
    pub(super) fn take_back(&mut self, stands: bool) {
        for one in self.model.segments[self.model.una..].iter_mut().filter(|one| one.lost && !one.sacked) {
            (one.lost, one.copies) = (false, 1);
        }
        (self.phase, self.recovery_point, self.first_due) = (Phase::Open, self.model.una, false);
        if !stands {
            self.answered = 0;
            self.reductions.take_back(self.model.una);
        }
    }

    pub(super) fn enter(&mut self) {
        (self.phase, self.recovery_point) = (Phase::Fast, self.model.segments.len());
        (self.dup_acks, self.limited, self.first_due) = (0, 0, true);
        self.doubt = Doubt::of_loss(self.options.spurious);
        self.timers.tlp_init();
    }

    /// Steps 4 and 5 where an acknowledgement has shown the episode to be for nothing: what they find is told behind that.
    pub(super) fn go_on(&mut self, now: u64, advanced: u64) {
        let outstanding = self.model.outstanding() - self.limited;
        let lost = self.rack_detect_loss_and_arm_timer(now, false);
        let (enters, event) = self.answer(now, &lost);
        if advanced > 0 || !lost.is_empty() {
            self.timers.rto.acknowledged(now as f64, !self.model.is_idle());
        }
        self.restart_pto(now, advanced);
        self.note(0, 0, &lost, enters);
        self.without_ack = !lost.is_empty();
        self.behind = (!lost.is_empty()).then(|| self.report(outstanding, event, lost));
    }

    /// The reordering timer.
    pub(super) fn reordered(&mut self, now: u64) -> Option<Told> {
        let outstanding = self.model.outstanding() - self.limited;
        let lost = self.rack_detect_loss_and_arm_timer(now, false);
        let (enters, event) = self.answer(now, &lost);
        if !lost.is_empty() {
            self.timers.rto.acknowledged(now as f64, true);
        }
        self.note(0, 0, &lost, enters);
        self.without_ack = !lost.is_empty();
        (!lost.is_empty()).then(|| self.report(outstanding, event, lost))
    }

    /// §7.3. What leaves is chosen when it may.
    pub(super) fn probe(&mut self, now: u64) {
        self.timers.pto = None;
        self.timers.tlp.due = true;
        self.timers.rto.acknowledged(now as f64, !self.model.is_idle());
    }

    /// §6.3 and RFC 6298 §5.4 to §5.6.
    pub(super) fn time_out(&mut self, now: u64) -> Told {
        let outstanding = self.model.outstanding() - self.limited;
        if !self.options.keep_scoreboard || self.model.segments[self.model.una].sacked {
            self.model.forget_ranges();
        }
        let marked: Vec<usize> = self
            .model
            .unsacked()
            .filter(|at| *at == self.model.una || self.model.is_over(now, *at))
            .collect();
        let lost =
            marked.iter().filter(|at| self.model.segments[**at].copies > 0).map(|at| *at as u64).collect();
        for at in marked {
            self.model.lose(at);
        }
        self.doubt = self.doubt.of_timeout(self.options.spurious, self.phase == Phase::Timeout);
        self.timers.rto.expire(now as f64, self.model.pipe() > 0);
        self.expiries += 1;
        (self.dup_acks, self.limited, self.timed, self.first_due) = (0, 0, None, true);
        (self.phase, self.recovery_point) = (Phase::Timeout, self.model.segments.len());
        self.timers.tlp_init();
        self.reduce(now);
        (self.timers.reordering, self.proportional) = (None, None);
        let event = Some(CongestionEvent::Timeout { consecutive: self.expiries });
        self.report(outstanding, event, lost)
    }
}
