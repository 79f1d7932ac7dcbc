//! Episodes of loss recovery: when they begin and end, by duplicate acknowledgements (RFC 5681, RFC 6582), by ranges
//! (RFC 6675) or by the timer (RFC 6298). What is sent within them is chosen in `choice.rs`.
//!
//! Where the texts leave a choice, or are not followed to the letter:
//!
//! * `DupThresh` counts segments. Of a segment that is not full only its own size must fit the window, not `SMSS`.
//! * Transmissions count in the network one by one, two of a segment at most, until each is acknowledged or lost. `SetPipe`
//!   forgets a rescue at the next acknowledgement, and at the next episode what the last one retransmitted.
//! * What an acknowledgement lets go that advances is not limited transmit, though it bring new ranges (RFC 6675 §5 step 3
//!   counts it so); `FlightSize`, which leaves out limited transmit, is as much larger.
//! * The timer begins anew with an episode. RFC 6298 does that for new acknowledgements only; RFC 6675 §6 lets every
//!   retransmission do it.
//! * After a time-out the lowest that is lost leaves first, data sent since then too, before new data. RFC 6675 §5.1 leaves that
//!   open.

use tailback_control::Reliability;
use tailback_core::{Bytes, CongestionEvent, Lost, Recovery, Time};

use super::ring::Record;
use super::{LossRecovery, NONE, Outcome};
use crate::config::StreamConfig;
use crate::teller::Books;

impl LossRecovery {
    /// Reno and NewReno: the window's inflation is counted as bytes that left the network.
    pub(super) fn recover_by_duplicates(
        &mut self,
        now: Time,
        advanced: u64,
        config: &StreamConfig,
    ) -> Option<CongestionEvent> {
        let segment = config.segment_size.get();
        if advanced == 0 {
            return self.on_duplicate(now, segment, config);
        }
        let first = self.ring.first();
        if self.is_worried(now) {
            self.inflation = 0;
            self.state = Recovery::Fast;
            self.send_oldest_again();
            return None;
        }
        let one_by_one = matches!(self.mode, Reliability::Reno | Reliability::Vegas);
        match self.state {
            Recovery::Fast if one_by_one || first >= self.recover => self.end_episode(),
            Recovery::Fast => {
                // A partial acknowledgement (RFC 6582 §3.2 step 3): the next hole is retransmitted at once; the window
                // shrinks by what was acknowledged and regains a segment.
                let regained = if advanced >= segment { segment } else { 0 };
                self.inflation = self.inflation.saturating_sub(advanced) + regained;
                self.lose(first);
                self.forced = true;
                None
            }
            Recovery::Timeout | Recovery::Open => {
                self.inflation = 0;
                if first >= self.recover {
                    self.state = Recovery::Open;
                }
                None
            }
        }
    }

    fn on_duplicate(&mut self, now: Time, segment: u64, config: &StreamConfig) -> Option<CongestionEvent> {
        let threshold = config.dup_threshold;
        let overdue = self.is_overdue(now);
        if self.state == Recovery::Fast {
            self.inflation += segment;
            if !overdue {
                return None;
            }
            self.send_oldest_again();
            self.restart_timer(now, config);
            return Some(CongestionEvent::Loss);
        }
        self.dup_acks += 1;
        if (self.dup_acks == threshold || overdue) && self.may_begin(config) {
            let left = u64::from(self.dup_acks) * segment;
            self.lengthen();
            let event = self.begin_episode();
            self.doubt_loss(config);
            self.inflation = left;
            self.restart_timer(now, config);
            return event;
        }
        if self.dup_acks < threshold && config.limited_transmit {
            self.inflation = u64::from(self.dup_acks) * segment;
        }
        None
    }

    /// Vegas's oldest segment is lost without a new episode.
    fn send_oldest_again(&mut self) {
        self.lengthen();
        self.lose(self.ring.first());
        self.forced = true;
    }

    /// Vegas's timer learns that the oldest segment is about to leave again.
    fn lengthen(&mut self) {
        let again = self.ring.get(self.ring.first()).transmissions > 1;
        if let Some(timer) = self.vegas_timer() {
            timer.retransmitted(again);
        }
    }

    /// SACK and offsets.
    #[inline(always)]
    pub(super) fn recover_by_ranges(
        &mut self,
        advanced: u64,
        found: bool,
        config: &StreamConfig,
    ) -> Option<CongestionEvent> {
        if advanced == 0 && found {
            self.dup_acks += 1;
        }
        if self.sacked_above > 0 {
            self.judge(if self.mode == Reliability::Offsets { 1 } else { config.dup_threshold });
        }
        if self.state != Recovery::Open && self.ring.first() >= self.recover {
            let end = self.end_episode();
            return self.begin_if_lost(found, config).or(end);
        }
        self.begin_if_lost(found, config)
    }

    /// An acknowledgement that brings new ranges begins an episode if the oldest segment is lost (RFC 6675 §5 steps
    /// 1 and 2). After an episode one without them does, too, if that segment was not retransmitted yet: without new
    /// data no further range would come.
    #[inline(always)]
    pub(super) fn begin_if_lost(&mut self, found: bool, config: &StreamConfig) -> Option<CongestionEvent> {
        let first = self.ring.first();
        if self.lost_edge <= first || self.state != Recovery::Open || self.ring.is_empty() {
            return None;
        }
        self.begin_if_first_is_lost(found, config)
    }

    #[inline(never)]
    fn begin_if_first_is_lost(&mut self, found: bool, config: &StreamConfig) -> Option<CongestionEvent> {
        let first = self.ring.first();
        let record = self.ring.get(first);
        let waiting = found || record.in_network() == 0;
        if !record.is_lost() || !waiting || !self.may_begin(config) {
            return None;
        }
        let event = self.begin_episode();
        self.doubt_loss(config);
        event
    }

    /// Whether a new episode may begin: the last must be over.
    pub(super) fn may_begin(&self, config: &StreamConfig) -> bool {
        let first = self.ring.first();
        let by_rfc = !matches!(self.mode, Reliability::Sack | Reliability::Offsets);
        match self.mode {
            _ if self.fresh => true,
            Reliability::Reno if !config.one_recovery_per_window => true,
            // Only behind a time-out: otherwise the window is cut once whatever is retransmitted (Brakmo and Peterson 1995).
            Reliability::Vegas if self.state != Recovery::Timeout => true,
            _ if config.careful.unwrap_or(by_rfc) => first > self.recover,
            _ => first >= self.recover,
        }
    }

    /// The window is to be reduced, unless an ECN echo from the same window of data has done so: once for a series of
    /// dropped and marked packets (RFC 3168 §6.1.2).
    pub(super) fn begin_episode(&mut self) -> Option<CongestionEvent> {
        let reduced_for_echo = self.ring.first() < self.ecn_until && self.recover < self.ecn_until;
        self.begin_repair();
        self.note_reduction();
        (!reduced_for_echo).then_some(CongestionEvent::Loss)
    }

    /// An episode begins, whatever that means for the window.
    pub(super) fn begin_repair(&mut self) {
        let first = self.ring.first();
        self.state = Recovery::Fast;
        self.fresh = false;
        self.recover = self.ring.end();
        // The first retransmission and one more.
        self.rescue_after = 2;
        self.partial_seen = false;
        self.dup_acks = 0;
        self.limited = 0;
        self.begin_proportional();
        if self.mode == Reliability::Offsets {
            // What the last episode retransmitted is on its way, and is not sent a third time (Keshav 1994, §6).
            self.next_retransmit = self.next_retransmit.max(first);
            if self.ring.get(first).in_network() > 0 {
                return;
            }
        } else {
            self.retransmit_from(first);
        }
        if self.rack().is_some() {
            self.force_lowest_loss();
            return;
        }
        self.lose(first);
        self.forced = true;
    }

    /// An episode is over. Only fast recovery reports its end: after a time-out the window grows on by slow start.
    pub(super) fn end_episode(&mut self) -> Option<CongestionEvent> {
        let fast = self.state == Recovery::Fast;
        self.state = Recovery::Open;
        self.inflation = 0;
        self.forced = false;
        fast.then_some(CongestionEvent::RecoveryEnd)
    }

    /// An outstanding segment is believed lost. A retransmission of it that went out beforehand stays in the
    /// network (RFC 6675 `SetPipe`).
    pub(super) fn lose(&mut self, number: u64) {
        self.lose_by(number, Record::lose);
    }

    pub(super) fn lose_by(&mut self, number: u64, lose: impl FnOnce(&mut Record)) {
        let record = self.ring.get_mut(number);
        let before = record.in_network();
        let size = record.size;
        lose(record);
        let left = before - record.in_network();
        self.pipe -= left;
        if left > 0 {
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.lose(record.sent_at(), left);
            }
            self.lost.push(Lost {
                number,
                size: Bytes::new(u64::from(size)),
                sent_at: record.sent_at(),
                tag: record.tag,
            });
        }
    }

    /// The time of [`LossRecovery::deadline`] has come: everything outstanding is believed lost, but for what is
    /// selectively acknowledged (RFC 6298 §5, RFC 6675 §5.1).
    ///
    /// A receiver that has the oldest segment acknowledges it cumulatively. One that has acknowledged it selectively only has
    /// thrown it away since, or never had it: nothing it said of ranges is believed any more, and the oldest segment is sent
    /// again, whatever it goes on to say (RFC 2018 §8: "MUST retransmit the segment at the left edge of the window […]
    /// whether or not the SACK bit is on for that segment").
    pub(crate) fn on_timeout(&mut self, now: Time, config: &StreamConfig) -> Option<Outcome> {
        if now < self.deadline || self.ring.is_empty() {
            return None;
        }
        if self.own.is_some() {
            let found = self.on_alarm(now, config);
            if found.is_some() || now < self.deadline {
                return found;
            }
        }
        self.clear_lists();
        let outstanding = self.outstanding.saturating_sub(u64::from(self.limited));
        let (first, end) = (self.ring.first(), self.ring.end());
        let reneged = self.ring.get(first).is_sacked();
        let forget = reneged || !config.keep_scoreboard;
        // Where losses are found by time, what left lately may yet arrive (RFC 8985 §6.3).
        let horizon = self.rack().map_or(Some(Time::NEVER), |rack| rack.horizon(now));
        let (lost_edge, sacked_above) = self.lose_outstanding(horizon, forget);
        if forget {
            self.sacked = 0;
            self.high_sacked = first;
        }
        self.doubt_timeout(self.state == Recovery::Timeout, config);
        self.state = Recovery::Timeout;
        self.fresh = false;
        self.recover = end;
        self.retransmit_from(first);
        let is_by_time = self.rack().is_some();
        (self.lost_edge, self.sacked_above) = if is_by_time { (lost_edge, sacked_above) } else { (end, 0) };
        self.inflation = 0;
        self.dup_acks = 0;
        self.limited = 0;
        // More may be in the network than the window has room for, where not all of it is lost.
        self.forced = reneged || is_by_time;
        self.forget_probe(now);
        self.timed = NONE;
        if let Some(timer) = self.vegas_timer() {
            timer.worried = false;
        }
        self.note_reduction();
        self.consecutive = self.consecutive.saturating_add(1);
        self.rtt.back_off(&config.rto);
        // It times what is in the network: "Retransmit the earliest segment", and then "start the retransmission timer" (RFC 6298
        // §5.4 and §5.6). Where a gate or a rate holds that segment back, nothing runs until it leaves.
        if self.in_flight() > 0 {
            self.restart_timer(now, config);
        } else {
            self.deadline = Time::NEVER;
        }
        let event = Some(CongestionEvent::Timeout { consecutive: self.consecutive.into() });
        Some(Outcome { outstanding, event, ..Outcome::default() })
    }

    /// Believes lost what left up to the horizon, and the oldest segment in any case; what is selectively acknowledged is not,
    /// unless that is forgotten. Gives what `lost_edge` and `sacked_above` are then.
    fn lose_outstanding(&mut self, horizon: Option<Time>, forget: bool) -> (u64, u32) {
        let first = self.ring.first();
        let (mut lost_edge, mut sacked_above) = (first, 0);
        for number in first..self.ring.end() {
            let record = self.ring.get_mut(number);
            if record.is_sacked() && !forget {
                sacked_above += 1;
                continue;
            }
            if record.is_sacked() {
                record.forget_sack();
            } else if number == first || horizon.is_some_and(|horizon| record.sent_at() <= horizon) {
                self.lose_by(number, Record::lose_all);
            } else if record.in_network() > 0 {
                continue;
            }
            lost_edge = number + 1;
            sacked_above = 0;
        }
        (lost_edge, sacked_above)
    }
}
