//! Samples of the delivery rate: for each batch of feedback the rate at which data was delivered since the newest
//! packet acknowledged had left, and rounds. What is kept of a packet meanwhile is in `delivery_records.rs`, what a sample says
//! in `crates/core/src/delivery.rs`; what is done with samples is each scheme's business.
//!
//! Source: draft-ietf-ccwg-bbr-06 §4.1 (once draft-cheng-iccrg-delivery-rate-estimation-02); §5.5.1 for rounds. With P the
//! newest-sent packet that a batch acknowledges, C the connection:
//!
//! ```text
//! interval = max(P.sent − P.first_sent, now − P.delivered_at)
//! rate     = (C.delivered − P.delivered) / interval            none where interval < smallest round trip time
//! ```
//!
//! so that neither a burst of packets sent nor one of acknowledgements makes a rate above that of the path.
//!
//! What others got wrong, and this minds: an app-limited mark is taken when a packet leaves, and ends when all that
//! was in flight then is delivered; times of departure are those after pacing.

use tailback_core::{Acked, BitRate, Bytes, DeliverySample, Lost, LostThen, Sent, Span, Time};

use super::delivery_records::{LIMITED, Record, Records};

/// The sampler of one connection.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    records: Records,
    so_far: SoFar,
}

/// All but the records.
#[derive(Clone, Debug)]
struct SoFar {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// The application limits the sender until more than this is delivered; 0 while it does not.
    limited_until: u64,
    least_rtt: Span,
    round_end: u64,
    told: DeliverySample,
}

impl Default for SoFar {
    fn default() -> Self {
        Self {
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            limited_until: 0,
            least_rtt: Span::MAX,
            round_end: 0,
            told: DeliverySample::default(),
        }
    }
}

impl DeliveryRate {
    /// A packet leaves.
    #[inline]
    pub fn on_sent(&mut self, now: Time, sent: &Sent) {
        if sent.in_flight <= sent.size {
            (self.so_far.first_sent, self.so_far.delivered_at) = (now, now);
        }
        let Some(place) = self.records.place(sent.number) else { return };
        *place = Record {
            sent_at: now,
            first_sent: self.so_far.first_sent,
            delivered: self.so_far.delivered | if self.so_far.limited_until > 0 { LIMITED } else { 0 },
            delivered_at: self.so_far.delivered_at,
            lost: self.so_far.lost,
            in_flight: sent.in_flight.get(),
        };
    }

    /// The application has nothing to send, and neither window nor pacing is in the way; `in_flight` bytes are.
    pub fn ran_dry(&mut self, in_flight: Bytes) {
        self.so_far.limited_until = (self.so_far.delivered + in_flight.get()).max(1);
    }

    /// Takes what a batch acknowledges and takes for lost; the sample, unless the batch says nothing.
    #[inline]
    pub fn on_feedback(&mut self, now: Time, acked: &[Acked], lost: &[Lost]) -> Option<&DeliverySample> {
        if let ([acked], []) = (acked, lost) {
            return Some(self.on_one(now, acked));
        }
        self.on_several(now, acked, lost)
    }

    /// The same where one packet is acknowledged, and nothing lost.
    #[inline]
    fn on_one(&mut self, now: Time, acked: &Acked) -> &DeliverySample {
        self.so_far.told.losses.clear();
        self.so_far.delivered += acked.size.get();
        self.so_far.delivered_at = now;
        if self.so_far.limited_until > 0 && self.so_far.delivered > self.so_far.limited_until {
            self.so_far.limited_until = 0;
        }
        if let Some(record) = self.records.get_mut(acked.number) {
            self.so_far.sample(now, record, acked.retransmitted);
            self.records.remove(acked.number);
        } else {
            self.so_far.told = DeliverySample {
                losses: std::mem::take(&mut self.so_far.told.losses),
                ..DeliverySample::default()
            };
        }
        let told = &mut self.so_far.told;
        told.delivered = Bytes::new(self.so_far.delivered);
        told.lost = Bytes::new(self.so_far.lost);
        told.newly_acked = acked.size;
        told.newly_lost = Bytes::ZERO;
        told
    }

    #[inline(never)]
    fn on_several(&mut self, now: Time, acked: &[Acked], lost: &[Lost]) -> Option<&DeliverySample> {
        if acked.is_empty() && lost.is_empty() {
            return None;
        }
        let (delivered_before, lost_before) = (self.so_far.delivered, self.so_far.lost);
        self.so_far.told.losses.clear();
        for lost in lost {
            self.so_far.lost += lost.size.get();
            let Some(then) = self.records.get_mut(lost.number) else { continue };
            self.so_far.told.losses.push(LostThen {
                size: lost.size,
                in_flight: Bytes::new(then.in_flight),
                lost_since: Bytes::new(self.so_far.lost - then.lost),
                delivered_then: Bytes::new(then.delivered()),
                app_limited: then.app_limited(),
            });
        }
        let mut newest: Option<(Record, bool)> = None;
        for acked in acked {
            self.so_far.delivered += acked.size.get();
            let Some(record) = self.records.get_mut(acked.number).copied() else { continue };
            self.records.remove(acked.number);
            if newest.is_none_or(|(other, _)| record.sent_at >= other.sent_at) {
                newest = Some((record, acked.retransmitted));
            }
        }
        if !acked.is_empty() {
            self.so_far.delivered_at = now;
            if self.so_far.limited_until > 0 && self.so_far.delivered > self.so_far.limited_until {
                self.so_far.limited_until = 0;
            }
        }
        if let Some((packet, again)) = newest {
            self.so_far.sample(now, &packet, again);
        } else {
            let losses = std::mem::take(&mut self.so_far.told.losses);
            self.so_far.told = DeliverySample { losses, ..DeliverySample::default() };
        }
        let told = &mut self.so_far.told;
        told.delivered = Bytes::new(self.so_far.delivered);
        told.lost = Bytes::new(self.so_far.lost);
        told.newly_acked = Bytes::new(self.so_far.delivered - delivered_before);
        told.newly_lost = Bytes::new(self.so_far.lost - lost_before);
        Some(told)
    }
}

impl SoFar {
    /// What the newest-sent packet acknowledged says: all of the sample but its counts and losses.
    #[inline]
    fn sample(&mut self, now: Time, packet: &Record, again: bool) {
        self.first_sent = packet.sent_at;
        let rtt = (!again).then(|| now.since(packet.sent_at));
        self.least_rtt = rtt.map_or(self.least_rtt, |rtt| self.least_rtt.min(rtt));
        let interval = packet.sent_at.since(packet.first_sent).max(now.since(packet.delivered_at));
        let amount = Bytes::new(self.delivered - packet.delivered());
        let known = !interval.is_zero() && (self.least_rtt == Span::MAX || interval >= self.least_rtt);
        let round_start = packet.delivered() >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
        }
        let told = &mut self.told;
        told.rate = known.then(|| BitRate::of(amount, interval));
        told.interval = interval;
        told.sent_at = packet.sent_at;
        told.prior_delivered = Bytes::new(packet.delivered());
        told.prior_in_flight = Bytes::new(packet.in_flight);
        told.lost_since = Bytes::new(self.lost - packet.lost);
        told.app_limited = packet.app_limited();
        told.rtt = rtt;
        told.round_start = round_start;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use tailback_core::{PairPosition, Stream};

    use super::*;

    const SIZE: Bytes = Bytes::new(1200);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn send(sampler: &mut DeliveryRate, millis: u64, number: u64, in_flight: u64) {
        let sent = Sent {
            number,
            size: SIZE,
            in_flight: SIZE * in_flight,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        sampler.on_sent(at(millis), &sent);
    }

    fn acked(millis: u64, number: u64) -> Acked {
        let pair = PairPosition::Single;
        Acked { number, size: SIZE, sent_at: at(millis), retransmitted: false, pair, tag: 0 }
    }

    fn rate(sampler: &mut DeliveryRate, millis: u64, acked: &[Acked]) -> (f64, bool) {
        let sample = sampler.on_feedback(at(millis), acked, &[]).expect("a sample");
        (sample.rate.map_or(f64::NAN, BitRate::bytes_per_sec), sample.app_limited)
    }

    /// What happens to a sampler: packets leave, are acknowledged, lost and retransmitted, some of them more than once.
    fn steps() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
        prop::collection::vec((0_u8..8, 0_u64..40, 0_u64..30), 0..300)
    }

    proptest! {
        /// Where one packet is acknowledged alone, the sample is that of the way for several.
        #[test]
        fn one_packet_is_sampled_like_several(steps in steps()) {
            let (mut quick, mut slow) = (DeliveryRate::default(), DeliveryRate::default());
            let (mut now, mut next) = (0, 0);
            for (kind, back, passed) in steps {
                now += passed;
                let old = next - back.min(next);
                match kind {
                    0..3 => {
                        for sampler in [&mut quick, &mut slow] {
                            send(sampler, now, next, 1 + back);
                        }
                        next += 1 + u64::from(passed == 7) * back;
                    }
                    3 => {
                        for sampler in [&mut quick, &mut slow] {
                            send(sampler, now, old, 1 + back);
                        }
                    }
                    4 => {
                        for sampler in [&mut quick, &mut slow] {
                            sampler.ran_dry(SIZE * back);
                        }
                    }
                    5 => {
                        let lost = [Lost { number: old, size: SIZE, sent_at: at(now), tag: 0 }];
                        let of = |sampler: &mut DeliveryRate| sampler.on_feedback(at(now), &[], &lost).cloned();
                        prop_assert_eq!(of(&mut quick), of(&mut slow));
                    }
                    _ => {
                        let one = [Acked { retransmitted: kind == 6, ..acked(now, old) }];
                        let found = quick.on_feedback(at(now), &one, &[]).cloned();
                        prop_assert_eq!(found, slow.on_several(at(now), &one, &[]).cloned());
                    }
                }
            }
        }
    }

    /// Vectors of quiche's tests: two packets over 2 s, then app-limited over 4 s, over 1 s.
    #[test]
    fn rates_of_two_packets() {
        let mut sampler = DeliveryRate::default();
        send(&mut sampler, 0, 0, 1);
        send(&mut sampler, 0, 1, 2);
        sampler.ran_dry(SIZE * 2);
        assert_eq!(rate(&mut sampler, 2000, &[acked(0, 0), acked(0, 1)]), (1200.0, false));
        sampler.ran_dry(Bytes::ZERO);
        send(&mut sampler, 2000, 2, 1);
        send(&mut sampler, 2000, 3, 2);
        assert_eq!(rate(&mut sampler, 6000, &[acked(2000, 2), acked(2000, 3)]), (600.0, true));
        send(&mut sampler, 6000, 4, 1);
        send(&mut sampler, 6000, 5, 2);
        let (found, limited) = rate(&mut sampler, 7000, &[acked(6000, 4), acked(6000, 5)]);
        assert_eq!((found, limited), (2400.0, false));
    }

    /// 100 packets per second, however acknowledgements bunch: no sample is above the rate by more than a packet per interval.
    #[test]
    fn bunched_acknowledgements_make_no_rate() {
        for bunch in [1_u64, 3, 7] {
            let mut sampler = DeliveryRate::default();
            let mut rounds = 0;
            for number in 0..20 {
                send(&mut sampler, 10 * number, number, number + 1);
            }
            let mut waiting = Vec::new();
            for number in 0..400_u64 {
                let now = 10 * number + 200;
                waiting.push(acked(10 * number, number));
                if number % bunch == bunch - 1 {
                    let sample = sampler.on_feedback(at(now), &waiting, &[]).expect("a sample");
                    rounds += u64::from(sample.round_start);
                    let found = sample.rate.map_or(0.0, BitRate::bytes_per_sec);
                    let slack = 1200.0 / sample.interval.as_secs_f64();
                    assert!(found <= 120_000.0 + slack, "{found} at {now} ms, by {bunch}");
                    assert!(number < 40 || found >= 120_000.0 - bunch as f64 * slack, "{found} at {now} ms");
                    waiting.clear();
                }
                send(&mut sampler, now, number + 20, 20);
            }
            assert!((400 / (20 + bunch) - 1..=21).contains(&rounds), "{rounds} rounds of twenty, by {bunch}");
        }
    }

    /// A packet each 10 ms, whose acknowledgements wait for each other, and then for up to 80 ms, at random: no sample is above the
    /// rate by more than a packet per interval.
    #[test]
    fn acknowledgements_in_bunches_of_any_size_make_no_rate() {
        for seed in 0..20 {
            let mut draw = Stream::new(seed, "bunches");
            let mut sampler = DeliveryRate::default();
            let (mut next, mut told, mut size, mut held) = (0, 0, 1, 0);
            for millis in 0..20_000_u64 {
                if millis % 10 == 0 {
                    next += 1;
                    send(&mut sampler, millis, next - 1, next - told);
                }
                // What arrived 200 ms after it left.
                let arrived = (millis + 1).saturating_sub(200 + held).div_ceil(10);
                if arrived < told + size {
                    continue;
                }
                let batch: Vec<Acked> = (told..arrived).map(|number| acked(10 * number, number)).collect();
                (told, size, held) = (arrived, 1 + draw.below(12), draw.below(80));
                let sample = sampler.on_feedback(at(millis), &batch, &[]).expect("a sample");
                let found = sample.rate.map_or(0.0, BitRate::bytes_per_sec);
                let slack = 1200.0 / sample.interval.as_secs_f64();
                assert!(found <= 120_000.0 + slack, "{found} at {millis} ms, seed {seed}");
                assert!(!sample.app_limited);
            }
        }
    }

    /// An application that writes by fits and starts. A sample is limited by it where its packet left after it had run dry, and
    /// before anything that left after that was acknowledged.
    #[test]
    fn samples_that_the_application_limits_are_told_exactly() {
        let (mut limited, mut free) = (0, 0);
        for seed in 0..20 {
            let mut draw = Stream::new(seed, "writes");
            let mut sampler = DeliveryRate::default();
            let (mut link_free, mut told, mut now) = (0, 0, 0);
            // When each packet left and whether it must count as limited; which are acknowledged when.
            let mut sent: Vec<(u64, bool)> = Vec::new();
            let mut under_way: VecDeque<(u64, usize)> = VecDeque::new();
            // How many had left when the application ran dry, until a later one is acknowledged.
            let mut dry: Option<usize> = None;
            while sent.len() < 2000 {
                while let Some((due, until)) = under_way.pop_front_if(|(due, _)| *due <= now) {
                    let number = |place: usize| acked(sent[place].0, place as u64);
                    let batch: Vec<Acked> = (told..until).map(number).collect();
                    told = until;
                    let sample = sampler.on_feedback(at(due), &batch, &[]).expect("a sample");
                    let wanted = sent[until - 1].1;
                    assert_eq!(sample.app_limited, wanted, "packet {} at {due} ms, seed {seed}", until - 1);
                    *(if wanted { &mut limited } else { &mut free }) += 1;
                    dry = dry.filter(|before| until <= *before);
                }
                let first = sent.len();
                for number in first..=first + draw.below(60) as usize {
                    sent.push((now, dry.is_some()));
                    send(&mut sampler, now, number as u64, (number + 1 - told) as u64);
                }
                if draw.chance(0.4) {
                    sampler.ran_dry(SIZE * (sent.len() - told) as u64);
                    dry = Some(sent.len());
                }
                // 10 ms of the link for each, and acknowledgements in bunches.
                let mut until = first;
                while until < sent.len() {
                    let size = (1 + draw.below(12) as usize).min(sent.len() - until);
                    until += size;
                    link_free = now.max(link_free) + 10 * size as u64;
                    under_way.push_back((link_free + 190, until));
                }
                now += 1 + draw.below(700);
            }
        }
        assert!(limited > 500 && free > 500, "{limited} and {free} samples");
    }

    /// As in Linux, where nothing was delivered and nothing is under way: zero says that it is not limited.
    #[test]
    fn who_has_nothing_to_send_at_first_is_limited() {
        let mut sampler = DeliveryRate::default();
        sampler.ran_dry(Bytes::ZERO);
        send(&mut sampler, 0, 0, 1);
        assert!(rate(&mut sampler, 40, &[acked(0, 0)]).1);
        send(&mut sampler, 40, 1, 1);
        assert!(!rate(&mut sampler, 80, &[acked(40, 1)]).1);
    }

    /// Which of both arrived, nobody can tell (Karn and Partridge 1987): within 5 ms it was the first, and nothing came so fast.
    #[test]
    fn a_packet_that_left_twice_tells_no_round_trip_time() {
        let mut sampler = DeliveryRate::default();
        let mut trip = |again, sent, told| {
            send(&mut sampler, sent, 0, 1);
            let one = Acked { retransmitted: again, ..acked(sent, 0) };
            let sample = sampler.on_feedback(at(told), &[one], &[]).expect("a sample");
            (sample.rtt, sample.rate.is_some())
        };
        assert_eq!(trip(false, 0, 40), (Some(Span::from_millis(40)), true));
        assert_eq!(trip(true, 100, 105), (None, false));
    }

    #[test]
    fn what_was_lost_is_told_with_what_was_known_when_it_left() {
        let mut sampler = DeliveryRate::default();
        (0..4).for_each(|number| send(&mut sampler, 0, number, number + 1));
        let lost = |number| Lost { number, size: SIZE, sent_at: at(0), tag: 0 };
        let sample = sampler.on_feedback(at(100), &[acked(0, 3)], &[lost(0), lost(1)]).expect("a sample");
        assert_eq!((sample.newly_lost, sample.lost_since), (SIZE * 2, SIZE * 2));
        let losses: Vec<_> = sample.losses.iter().map(|lost| (lost.in_flight, lost.lost_since)).collect();
        assert_eq!(losses, [(SIZE, SIZE), (SIZE * 2, SIZE * 2)]);
    }
}
