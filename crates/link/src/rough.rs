//! What the wire does to packets that reach the far end of a rough link: some go no further, some go twice, some later.
//! Which, decides `impairment.rs`.

use std::cmp::Reverse;

use tailback_core::{DropReason, Packet, Span, Time};

use crate::driver::{LinkCx, LinkDriver};
use crate::late::Late;
use crate::link::{Cold, Link};

impl Cold {
    /// When the next packet held back arrives.
    fn next_late(&self) -> Time {
        self.late.peek().map_or(Time::NEVER, |Reverse(late)| late.time)
    }
}

impl Link {
    /// A packet held back on the wire is due: gives it back if it goes on at once.
    pub fn arrive_late<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) -> Option<Packet> {
        let cold = self.cold();
        let Reverse(late) = cold.late.pop()?;
        let taken = match &mut cold.wear {
            Some(wear) if !late.has_arrived => wear.taken(cx.now),
            _ => cx.now,
        };
        if taken > cx.now {
            self.hold(late.packet, taken, true, &mut cx.driver);
            return None;
        }
        cx.driver.arm(cold.timers.late, cold.next_late());
        Some(late.packet)
    }

    /// Strikes a packet at the far end; gives it back if it goes on at once.
    pub fn wear<D: LinkDriver>(&mut self, mut packet: Packet, cx: &mut LinkCx<'_, D>) -> Option<Packet> {
        let Some(wear) = self.cold.as_mut().and_then(|cold| cold.wear.as_mut()) else { return Some(packet) };
        let fate = wear.strike(cx.now, &mut packet);
        if fate.lost {
            self.cold().lost_on_wire.add(packet.size());
            self.drop(packet, DropReason::Loss, cx);
            return None;
        }
        // What never arrives begins no batch, and what is held back joins one when it arrives.
        let has_arrived = fate.held == Span::ZERO;
        let goes_on = if has_arrived { wear.taken(cx.now) } else { cx.now + fate.held };
        if fate.copied {
            let mut copy = packet;
            copy.annex = cx.annexes.copy(packet.annex);
            self.cold().duplicated.add(copy.size());
            cx.driver.duplicated(cx.now, &copy);
            self.hold(copy, goes_on, has_arrived, &mut cx.driver);
        }
        if goes_on > cx.now {
            self.hold(packet, goes_on, has_arrived, &mut cx.driver);
            return None;
        }
        Some(packet)
    }

    fn hold(&mut self, packet: Packet, time: Time, has_arrived: bool, driver: &mut impl LinkDriver) {
        let cold = self.cold();
        cold.late_count += 1;
        cold.late.push(Reverse(Late { time, order: cold.late_count, packet, has_arrived }));
        driver.arm(cold.timers.late, cold.next_late());
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Annexes, BitRate, Bytes, Capacity, Distribution, FlowId, Kind};
    use tailback_qdisc::{BuildCx, Config, KnownFlows};

    use super::*;
    use crate::impairment::{Chance, Coalescing, Impairments, LossModel, Reordering};
    use crate::schedule::Change;
    use crate::spec::LinkSpec;
    use crate::standalone::{Passage, StandaloneLink};

    const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000);
    const BATCH: Span = Span::from_millis(10);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// When the far end has taken which packets, that are offered at these milliseconds: each takes one millisecond, and four
    /// more on the wire. Batches last ten.
    fn taken(wear: Impairments, schedule: Vec<Change>, offered: &[u64]) -> Vec<(Time, u64)> {
        let cx = BuildCx {
            capacity: Capacity::Unlimited,
            rate: RATE,
            mean_packet: Bytes::new(1000),
            flows: KnownFlows::default(),
        };
        let coalescing = Some(Coalescing { time: Distribution::constant(BATCH) });
        let spec = LinkSpec {
            impairments: Impairments { coalescing, ..wear },
            schedule,
            ..LinkSpec::new("rough", RATE, Span::from_millis(4), Config::default().build(&cx))
        };
        let (mut link, mut annexes) = (StandaloneLink::new(spec, 7), Annexes::new());
        for (number, millis) in (0..).zip(offered) {
            link.offer(
                at(*millis),
                Packet::new(Kind::Data, FlowId(0), number, Bytes::new(1000)),
                &mut annexes,
            );
        }
        link.advance(at(10_000), &mut annexes);
        assert!(link.counters().is_balanced());
        std::iter::from_fn(|| link.poll())
            .filter_map(|(time, passage)| match passage {
                Passage::Delivered(packet) => Some((time, packet.number)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_packet_that_is_lost_begins_no_batch() {
        let wear = Impairments {
            loss: Some(LossModel::Periodic { every: 100, offset: 0 }),
            ..Impairments::default()
        };
        // The first would have arrived at 5 ms.
        assert_eq!(taken(wear, Vec::new(), &[0, 7, 9, 30]), [(at(22), 1), (at(22), 2), (at(45), 3)]);
    }

    #[test]
    fn a_packet_that_is_held_back_waits_for_its_batch_as_others_do() {
        let (min, max) = (Span::from_millis(3), Span::from_millis(3));
        let reordering = |probability| Impairments {
            reordering: Some(Reordering { probability, min, max }),
            ..Impairments::default()
        };
        // Each arrives at 8 and 14 ms.
        assert_eq!(taken(reordering(1.0), Vec::new(), &[0, 6]), [(at(18), 0), (at(18), 1)]);
        let offered: Vec<u64> = (0..900).map(|number| 5 * number).collect();
        let mixed = taken(reordering(0.3), Vec::new(), &offered);
        assert_eq!(mixed.len(), offered.len());
        // Nothing is taken between two batches, of which each begins with a packet.
        assert!(mixed.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[1].0.since(pair[0].0) >= BATCH));
        let overtaken = mixed.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
        assert_eq!(overtaken, 0, "3 ms later is before the next packet");
        let late = Impairments {
            reordering: Some(Reordering { probability: 0.3, min: Span::ZERO, max: Span::from_millis(40) }),
            ..Impairments::default()
        };
        let mixed = taken(late, Vec::new(), &offered);
        assert!(mixed.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[1].0.since(pair[0].0) >= BATCH));
        assert!(
            mixed.iter().all(|(time, number)| *time >= at(5 * number + 5)),
            "none is taken before it arrives"
        );
        assert!(mixed.windows(2).any(|pair| pair[1].1 < pair[0].1), "some are overtaken all the same");
    }

    #[test]
    fn a_copy_is_taken_with_its_original_and_right_behind_it() {
        let wear = Impairments { duplication: Some(Chance { probability: 1.0 }), ..Impairments::default() };
        let expected = [0, 0, 1, 1].map(|number| (at(15), number));
        assert_eq!(taken(wear, Vec::new(), &[0, 3]), expected);
    }

    #[test]
    fn a_way_that_becomes_shorter_while_a_batch_waits_changes_no_order() {
        let change =
            |millis, delay| Change { at: at(millis), rate: None, delay: Some(Span::from_millis(delay)) };
        // The second would arrive at 13 ms, but for the first at 25; the third arrives with a way of no length.
        let schedule = vec![change(0, 24), change(11, 1), change(24, 0)];
        let found = taken(Impairments::default(), schedule, &[0, 11, 28, 40]);
        assert_eq!(found, [(at(35), 0), (at(35), 1), (at(35), 2), (at(51), 3)]);
    }
}
