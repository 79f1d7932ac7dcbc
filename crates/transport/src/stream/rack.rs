//! Loss detection by time (RACK): what was sent earlier than something that has arrived is lost, unless it arrives within a
//! reordering window. Which losses begin an episode, and the timers, are in `by_time.rs`, the probe for a lost tail in
//! `tail_probe.rs`. What is retransmitted is chosen in `choice.rs`.
//!
//! Source: RFC 8985 §6; what its pseudocode calls a variable stands beside each field.
//!
//! Where the text leaves a choice, or is not followed to the letter:
//!
//! * Segments are numbered, so the number stands for `Segment.end_seq`. Two queues in the order of time take the place of the list
//!   that §6.2 proposes: segments sent once, which left in the order of their numbers, and retransmissions (`under_way.rs`). So
//!   only what left before `RACK.segment` is looked at, ranges in one step each.
//! * `RACK.min_RTT` is the filter of three samples that Linux has, over `min_rtt_window`. Before any sample the reordering window is
//!   zero (§3.3.2), and an acknowledgement of what was sent twice says nothing, as in Linux.
//! * `ACK.ts_option.echo_reply` counts where segments are stamped; here it is the stamp of what caused the acknowledgement.
//! * An acknowledgement that ends a recovery is judged as outside of it, as by Linux.
//! * What a range told of and a time-out has forgotten (RFC 2018) counts as lost however young it is, and is no news when it is told
//!   again. When it left is forgotten, too: where the time-out is taken back, such a segment is not judged by time until it leaves
//!   again, nor is anything judged by its arrival.
//! * A duplicate that is reported when nothing is outstanding counts, too: its round is over with the next acknowledgement.

use tailback_control::estimators::RunningMax;
use tailback_core::{Acked, Recovery, RttSample, Span, Time};

use super::probes::TailProbe;
use super::ring::{Record, Ring};
use super::under_way::{UnderWay, is_under_way};
use super::{Ack, LossRecovery, Own};
use crate::config::StreamConfig;
use crate::loss_detection::RackConfig;

/// A transmission: which of two was later is said by their times, and by their numbers where these are equal
/// (`RACK_sent_after`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sending {
    pub(super) at: Time,
    pub(super) number: u64,
}

/// A timer before the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// What might have been reordered is lost by then.
    Reordering,
    /// An acknowledgement is overdue.
    Probe,
}

/// What is known of a connection.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: of what has arrived, what left last.
    newest: Option<Sending>,
    /// `RACK.rtt`.
    rtt: Span,
    /// `RACK.min_RTT`, negated.
    least: RunningMax,
    /// `RACK.fack`.
    fack: u64,
    /// `RACK.reordering_seen`.
    reordering_seen: bool,
    /// `RACK.reo_wnd`.
    window: Span,
    /// One less than `RACK.reo_wnd_mult`.
    growth: u32,
    /// `RACK.reo_wnd_persist`.
    persist: u32,
    /// `RACK.dsack_round`.
    dsack_round: Option<u64>,
    /// What the acknowledgement at hand says to have arrived that was told before the scoreboard was forgotten, and was sent again
    /// since.
    told_again: Vec<Sending>,
    /// No segment below that was sent once waits to be judged.
    unjudged: u64,
    pub(super) under_way: UnderWay,
    /// When the controller was told of a loss or a mark last: what left before is of the same window of data.
    pub(super) answered: Time,
    /// After so long, what may have been reordered is lost; zero where nothing may.
    pub(super) wait: Span,
    /// The timer in force in place of the retransmission timer, and when that expires.
    pub(super) alarm: Option<(Alarm, Time)>,
    /// When a probe was due before the acknowledgement at hand.
    pub(super) probe_at: Option<Time>,
    pub(super) probe: TailProbe,
}

pub(super) fn rack_of(own: &mut Option<Box<Own>>) -> Option<&mut Rack> {
    own.as_deref_mut()?.ranges_mut()?.rack.as_deref_mut()
}

impl Rack {
    /// Step 1: the least round trip time.
    fn take_sample(&mut self, now: Time, sample: RttSample, settings: &RackConfig) {
        let latest = -(sample.latest.as_nanos() as f64);
        self.least.take(now.as_nanos(), settings.min_rtt_window.as_nanos(), latest);
    }

    fn least(&self) -> Option<Span> {
        self.least.get().map(|negated| Span::from_nanos(-negated as u64))
    }

    /// Whether an acknowledgement is surely of the newest transmission (step 2).
    fn is_sure(&self, now: Time, sent_at: Time, retransmitted: bool, echo: Option<Time>) -> bool {
        let of_earlier = echo.is_some_and(|echo| echo < sent_at);
        !retransmitted || !of_earlier && self.least().is_some_and(|least| now.since(sent_at) >= least)
    }

    /// Step 2: of what is newly acknowledged, this left last.
    fn advance(&mut self, now: Time, latest: Sending) {
        self.rtt = now.since(latest.at);
        self.newest = self.newest.max(Some(latest));
    }

    /// Step 3.
    fn look_for_reordering(&mut self, acked: &[Acked], highest: u64) {
        self.reordering_seen |= acked.iter().any(|one| !one.retransmitted && one.number + 1 < self.fack);
        self.fack = self.fack.max(highest);
    }

    /// Step 4, the multiplier: `una` is the oldest that is outstanding, `next` the next new number.
    fn adapt(&mut self, told_twice: bool, ends_recovery: bool, una: u64, next: u64, settings: &RackConfig) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && told_twice {
            self.dsack_round = Some(next);
            self.growth = self.growth.saturating_add(1);
            self.persist = settings.persist;
        } else if ends_recovery {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.growth = 0;
            }
        }
    }

    /// Step 4, the window.
    fn set_window(&mut self, is_hasty: bool, smoothed: Option<Span>, settings: &RackConfig) {
        self.window = match (self.least(), smoothed) {
            (Some(least), Some(smoothed)) if self.reordering_seen || !is_hasty => {
                let part = settings.reordering_window * (f64::from(self.growth) + 1.0);
                least.mul_f64(part).min(smoothed)
            }
            _ => Span::ZERO,
        };
    }

    /// How long something that left then has yet, before it is lost.
    fn remaining(&self, now: Time, sent_at: Time) -> Span {
        (sent_at + self.rtt + self.window).since(now)
    }

    /// What left then or earlier is lost where the retransmission timer expires (§6.3).
    pub(super) fn horizon(&self, now: Time) -> Option<Time> {
        let age = self.rtt + self.window;
        (now >= Time::ZERO + age).then(|| now - age)
    }

    /// Judges afresh, since what was thought lost is not, retransmissions `again` among it.
    pub(super) fn forget_verdicts(&mut self, first: u64, again: &[(u64, Time)]) {
        self.unjudged = first;
        self.under_way.take_up(again);
    }

    /// Segments sent once that are lost by now; notes how long the others wait that left before what has arrived.
    fn judge_originals(&mut self, now: Time, newest: Sending, ring: &Ring, lost: &mut Vec<u64>) {
        let mut number = self.unjudged.max(ring.first());
        let mut waiting = None;
        while number < ring.end() {
            let record = ring.get(number);
            if record.is_sacked() {
                number = record.skip_to().max(number + 1);
                continue;
            }
            if record.transmissions == 1 && record.in_network() > 0 && record.has_time() {
                if (Sending { at: record.sent_at(), number }) >= newest {
                    break;
                }
                if self.is_lost(now, record.sent_at()) {
                    lost.push(number);
                } else {
                    waiting = waiting.or(Some(number));
                }
            }
            number += 1;
        }
        self.unjudged = waiting.unwrap_or(number);
    }

    /// The same for retransmissions.
    fn judge_retransmissions(&mut self, now: Time, newest: Sending, ring: &Ring, lost: &mut Vec<u64>) {
        let under_way = std::mem::take(&mut self.under_way);
        for (number, at) in under_way.iter().take_while(|(_, at)| *at <= newest.at) {
            let is_earlier = Sending { at, number } < newest;
            if is_earlier && is_under_way(ring, number, at) && self.is_lost(now, at) {
                lost.push(number);
            }
        }
        self.under_way = under_way;
    }

    /// Whether something that left then, before what has arrived, is lost; otherwise it waits.
    fn is_lost(&mut self, now: Time, sent_at: Time) -> bool {
        let remaining = self.remaining(now, sent_at);
        self.wait = self.wait.max(remaining);
        remaining.is_zero()
    }

    /// Forgets retransmissions that are not under way.
    fn tidy(&mut self, ring: &Ring) {
        while self.under_way.front().is_some_and(|(number, at)| !is_under_way(ring, number, at)) {
            self.under_way.pop_front();
        }
    }
}

impl LossRecovery {
    /// What is known, where losses are found by time.
    #[inline]
    pub(super) fn rack(&self) -> Option<&Rack> {
        self.own.as_deref()?.ranges()?.rack.as_deref()
    }

    /// Something is acknowledged that was so before the scoreboard was forgotten, and was sent again since.
    #[cold]
    pub(super) fn note_told_again(&mut self, sending: Sending) {
        if let Some(rack) = rack_of(&mut self.own) {
            rack.told_again.push(sending);
        }
    }

    /// Steps 1 to 3.
    pub(super) fn learn_of_arrivals(
        &mut self,
        now: Time,
        ack: &Ack<'_>,
        sample: Option<RttSample>,
        settings: &RackConfig,
    ) {
        let Some(rack) = rack_of(&mut self.own) else { return };
        if let Some(sample) = sample {
            rack.take_sample(now, sample, settings);
        }
        let known = self.acked.iter().map(|one| {
            let sending = Sending { at: one.sent_at, number: one.number };
            (sending, one.retransmitted)
        });
        let told_again = std::mem::take(&mut rack.told_again);
        let all = known.chain(told_again.into_iter().map(|sending| (sending, true)));
        let sure = all.filter(|(one, again)| rack.is_sure(now, one.at, *again, ack.echo));
        if let Some((latest, _)) = sure.max() {
            rack.advance(now, latest);
        }
        rack.look_for_reordering(&self.acked, self.high_sacked);
    }

    /// Step 4.
    pub(super) fn adapt_reordering_window(
        &mut self,
        told_twice: bool,
        ends_recovery: bool,
        config: &StreamConfig,
    ) {
        let (first, end) = (self.ring.first(), self.ring.end());
        let is_hasty = self.state != Recovery::Open || self.sacked >= config.dup_threshold;
        let smoothed = self.rtt.smoothed(&config.rto);
        if let (Some(rack), Some(settings)) = (rack_of(&mut self.own), config.rack()) {
            rack.adapt(told_twice, ends_recovery, first, end, settings);
            rack.set_window(is_hasty, smoothed, settings);
        }
    }

    /// Step 5: what is lost by now is in the list of losses, and waits to be retransmitted.
    pub(super) fn detect_losses(&mut self, now: Time) {
        let Some(rack) = rack_of(&mut self.own) else { return };
        rack.wait = Span::ZERO;
        let Some(newest) = rack.newest else { return };
        let mut lost = Vec::new();
        rack.judge_originals(now, newest, &self.ring, &mut lost);
        rack.judge_retransmissions(now, newest, &self.ring, &mut lost);
        for number in lost {
            self.lose_by_time(number);
        }
        if let Some(rack) = rack_of(&mut self.own) {
            rack.tidy(&self.ring);
        }
    }

    /// `RACK_detect_loss` as the text has it, over all that is outstanding, with the window as it is: what is lost now, and the
    /// timeout.
    #[cfg(test)]
    pub(super) fn detect_literally(&self, now: Time) -> Option<(Vec<u64>, Span)> {
        let rack = self.rack()?;
        let (mut lost, mut timeout) = (Vec::new(), Span::ZERO);
        for number in self.ring.first()..self.ring.end() {
            let record = self.ring.get(number);
            let sending = Sending { at: record.sent_at(), number };
            let in_flight = !record.is_sacked() && record.in_network() > 0 && record.has_time();
            if !in_flight || rack.newest.is_none_or(|newest| newest <= sending) {
                continue;
            }
            let remaining = (record.sent_at() + rack.rtt + rack.window).since(now);
            if remaining.is_zero() {
                lost.push(number);
            } else {
                timeout = timeout.max(remaining);
            }
        }
        Some((lost, timeout))
    }

    /// How long the reordering timer has yet; zero where it does not run.
    #[cfg(test)]
    pub(super) fn reordering_left(&self, now: Time) -> Span {
        let runs = matches!(self.rack().and_then(|rack| rack.alarm), Some((Alarm::Reordering, _)));
        if runs { self.deadline.since(now) } else { Span::ZERO }
    }

    fn lose_by_time(&mut self, number: u64) {
        self.lose_by(number, Record::prove_lost);
        self.go_back_to(number);
        while self.lost_edge <= number {
            self.sacked_above -= u32::from(self.ring.get(self.lost_edge).is_sacked());
            self.lost_edge += 1;
        }
    }
}
