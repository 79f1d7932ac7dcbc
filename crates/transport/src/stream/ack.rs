//! What an acknowledgement means: the cumulative part, round trip time samples, the timer, ECN. Selectively
//! acknowledged ranges are read in `sack.rs`, episodes of recovery begin and end in `recovery.rs`.
//!
//! Deviation: receivers echo the stamp of the segment that caused an acknowledgement, where RFC 7323 §4.3 has the earliest that
//! is not acknowledged yet, or the last one in order. So what is only reported beyond a hole gives a sample, too (§4.1 takes
//! acknowledgements that advance).

use tailback_control::{MarkResponse, Reliability};
use tailback_core::{Acked, CongestionEvent, OneWay, Recovery, RttSample, Time};

use super::by_time::Heard;
use super::rack::{Alarm, Sending};
use super::ring::Record;
use super::spurious::Doubt;
use super::{Ack, LossRecovery, NO_RESCUE, NONE, Outcome, Own};
use crate::config::{EcnMode, RttSampling, StreamConfig};

/// What newly acknowledged segments say about the round trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Samples {
    /// When the newest segment sent once left.
    pub(super) newest: Time,
    /// When the timed segment left.
    timed: Option<Time>,
    /// When the newest segment left, sent once or more.
    latest: Time,
    /// Something was sent more than once: which transmission is acknowledged is not known (Karn).
    pub(super) ambiguous: bool,
    pub(super) any: bool,
}

impl LossRecovery {
    /// An acknowledgement arrived; `None` if it says nothing, being old or forged.
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Ack<'_>, config: &StreamConfig) -> Option<Outcome> {
        if ack.number < self.ring.first() || ack.number > self.ring.end() || self.ring.is_empty() {
            if self.own.is_some() {
                self.hear_when_idle(ack, config);
            }
            return None;
        }
        self.clear_lists();
        let echoes =
            ack.marks.map_or(ack.flags, |marks| self.marks.get_or_insert_default().take_newer(marks));
        let outstanding = self.outstanding.saturating_sub(u64::from(self.limited));
        let mut samples = Samples::default();
        let advanced = self.advance(ack.number, &mut samples);
        let found = self.take_ranges(ack, &mut samples);
        let rtt = self.sample(now, ack, &samples, config);
        if advanced > 0 {
            self.dup_acks = 0;
            self.limited = 0;
            self.consecutive = 0;
            self.forced = false;
        }
        let before = self.state;
        let is_echo = echoes.ce > 0 && config.ecn != EcnMode::Off;
        let is_spurious = self.doubt != Doubt::None && self.resolve_doubt(ack, advanced);
        let stands = is_spurious && is_echo && config.marks == MarkResponse::Rfc3168;
        let ended = if is_spurious { self.take_back(stands) } else { None };
        let is_by_time = self.own.is_some() && self.rack().is_some();
        let mut event = match self.mode {
            _ if is_by_time => {
                let heard = Heard { advanced, found, sample: rtt, is_spurious, stands };
                self.recover_by_time(now, ack, heard, config).or(ended)
            }
            _ if is_spurious => ended,
            Reliability::Reno | Reliability::NewReno | Reliability::Vegas => {
                self.learn_finely(now, &samples);
                self.recover_by_duplicates(now, advanced, config)
            }
            _ => self.recover_by_ranges(advanced, found, config),
        };
        if self.own.is_some() && !is_spurious && !is_by_time {
            self.find_overtaken(now, config);
            // An acknowledgement that ends an episode may tell of a retransmission lost in it: the next one begins.
            event = self.begin_if_lost(false, config).or(event);
        }
        if advanced > 0 {
            self.timer_after_advance(now, config);
        } else if self.state == Recovery::Fast && before != Recovery::Fast {
            self.restart_timer(now, config);
        }
        if is_by_time {
            self.choose_timer(now, advanced, config);
        }
        if self.mode == Reliability::Offsets {
            self.soft_timeout(now, &samples);
        }
        // Something beyond the window reduced must be acknowledged, or CWR had no chance to reach the receiver.
        if is_echo && event.is_none() && self.ring.first() > self.ecn_until {
            event = Some(CongestionEvent::Ecn);
            self.note_reduction();
            if is_by_time {
                self.note_answered(now);
            }
        }
        self.ring.tidy();
        let one_way = ack.echo.zip(ack.arrived).map(|(sent_at, arrived)| OneWay { sent_at, arrived });
        Some(Outcome { advanced, outstanding, rtt, event, echoes, one_way })
    }

    /// Everything below `number` is acknowledged; returns its bytes.
    #[inline]
    fn advance(&mut self, number: u64, samples: &mut Samples) -> u64 {
        let before = self.outstanding;
        if self.rescue_after != NO_RESCUE {
            let segments = number.saturating_sub(self.ring.first());
            self.rescue_after = self.rescue_after.saturating_sub(segments.min(2) as u8);
        }
        while self.ring.first() < number {
            let at = self.ring.first();
            let Some(record) = self.ring.pop() else { break };
            self.outstanding -= u64::from(record.size);
            if record.is_sacked() {
                self.sacked -= 1;
                self.sacked_above -= u32::from(at >= self.lost_edge);
            } else {
                self.pipe -= record.in_network();
                self.tell_acked(at, &record, samples);
            }
        }
        self.lost_edge = self.lost_edge.max(number);
        self.next_retransmit = self.next_retransmit.max(number);
        self.high_sacked = self.high_sacked.max(number);
        before - self.outstanding
    }

    /// Notes a newly acknowledged segment for the controller and for the round trip time.
    #[inline]
    pub(super) fn tell_acked(&mut self, number: u64, record: &Record, samples: &mut Samples) {
        samples.any = true;
        if record.transmissions > 1
            && !record.is_proven()
            && let Some(arrivals) = &mut self.arrivals
        {
            arrivals.doubt();
        }
        if record.was_told() {
            samples.ambiguous = true;
            if record.in_network() > 0 && record.has_time() {
                self.note_told_again(Sending { at: record.sent_at(), number });
            }
            return;
        }
        let retransmitted = record.transmissions > 1;
        let sent_at = record.sent_at();
        samples.latest = samples.latest.max(sent_at);
        samples.ambiguous |= retransmitted;
        if !retransmitted {
            samples.newest = samples.newest.max(sent_at);
            if number == self.timed {
                // Those who time one segment by RFC 6298 know no ranges: beyond a hole there is no sample.
                samples.timed = (number < self.ring.first()).then_some(sent_at);
                self.timed = NONE;
            }
        }
        self.acked.push(Acked {
            number,
            size: tailback_core::Bytes::new(u64::from(record.size)),
            sent_at,
            retransmitted,
            pair: record.pair(),
            tag: record.tag,
        });
    }

    #[inline]
    fn sample(
        &mut self,
        now: Time,
        ack: &Ack<'_>,
        samples: &Samples,
        config: &StreamConfig,
    ) -> Option<RttSample> {
        let sent = match config.rtt_sampling {
            RttSampling::EveryAck => (samples.any && !samples.ambiguous).then_some(samples.newest),
            RttSampling::PerRoundTrip => samples.timed,
            RttSampling::Timestamps => ack.echo.filter(|_| samples.any),
        }?;
        Some(self.rtt.sample(now, sent, &config.rto))
    }

    /// RFC 6298 §5.2 and §5.3; an impatient NewReno restarts the timer once per episode (RFC 6582 §3.2 step 3).
    #[inline]
    fn timer_after_advance(&mut self, now: Time, config: &StreamConfig) {
        if self.ring.is_empty() {
            self.deadline = Time::NEVER;
            return;
        }
        let partial = self.mode == Reliability::NewReno && self.state == Recovery::Fast;
        if partial && config.impatient && std::mem::replace(&mut self.partial_seen, true) {
            return;
        }
        self.restart_timer(now, config);
    }

    /// "The sending TCP MUST reset the retransmit timer on receiving the ECN-Echo packet when the congestion window is one"
    /// (RFC 3168 §6.1.2); whether nothing may leave until it expires, since nothing else is outstanding. No probe is sent before that,
    /// since "a new packet" is what must wait. The reordering timer goes on: it finds what acknowledgements have shown to be
    /// missing, as duplicates would, and sends no new packet. Where something is outstanding, its acknowledgement lets the next one go.
    #[cold]
    pub(crate) fn fall_silent(&mut self, now: Time, config: &StreamConfig) -> bool {
        let reordering = self.reordering_deadline();
        self.silence_alarm(now);
        self.restart_timer(now, config);
        if let Some(at) = reordering {
            self.set_alarm(Alarm::Reordering, at);
        }
        self.ring.is_empty()
    }

    /// Whether the timer that [`LossRecovery::fall_silent`] set has expired.
    pub(crate) fn end_silence(&mut self, now: Time) -> bool {
        let over = self.ring.is_empty() && now >= self.deadline;
        if over {
            self.deadline = Time::NEVER;
        }
        over
    }

    /// Whether nothing was sent for longer than the retransmission time-out (RFC 5681 §4.1), and nothing is outstanding.
    /// Told once.
    #[cold]
    pub(crate) fn take_rest(&mut self, now: Time, config: &StreamConfig) -> bool {
        let rested = !self.last_sent.is_never() && now.since(self.last_sent) > self.rtt.timeout(&config.rto);
        if rested {
            self.last_sent = now;
            self.clear_lists();
        }
        rested && self.ring.is_empty()
    }

    /// The window is being reduced: not again for an ECN echo within this window (RFC 3168 §6.1.2).
    pub(super) fn note_reduction(&mut self) {
        self.ecn_until = self.ring.end();
        self.reduced = true;
    }

    /// Packet-pair's soft time-out (Keshav 1994, §6): a round trip has passed when a packet sent since its begin is
    /// acknowledged; after two without progress the oldest is retransmitted.
    fn soft_timeout(&mut self, now: Time, samples: &Samples) {
        let Some(Own::Soft(soft)) = self.own.as_deref_mut() else { return };
        if !samples.any || samples.latest < soft.round_began {
            return;
        }
        soft.round_began = now;
        soft.rounds += 1;
        if soft.rounds < 2 {
            return;
        }
        soft.rounds = 0;
        let first = self.ring.first();
        // One that was retransmitted meanwhile gets its own round trip: only what left before an acknowledged packet can be
        // missing.
        let held = first == soft.progress && !self.ring.is_empty();
        soft.progress = first;
        if !held || self.forced {
            return;
        }
        // A receiver that has the oldest acknowledges it: one that named it only has thrown it away, or never had it.
        let reneged = self.ring.get(first).is_sacked();
        if reneged {
            self.forced = true;
        } else if self.ring.get(first).sent_at() < samples.latest {
            self.lose(first);
            self.forced = true;
        }
    }
}
