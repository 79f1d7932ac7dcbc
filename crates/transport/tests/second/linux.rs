//! When a Linux receiver acknowledges, and what it tells, written anew from the rules of Linux's source (`tcp_data_queue`,
//! `tcp_sack_new_ofo_skb`, `__tcp_ack_snd_check`; `tcp_cleanup_rbuf` and delayed acknowledgements mostly from memory), by somebody
//! who had read ours, in full segments. The receive window neither grows nor fills.
//! Ours says so of itself, and differs by choice: quick acknowledgements at the start, behind a pause and behind what came
//! before are not modelled, a delayed acknowledgement always waits 40 ms, and more than four ranges are remembered.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tailback_core::{Annex, Bytes, Distribution, Input, Kind, Packet, Span, Time};
use tailback_transport::{ReceiverConfig, SackCompression};

use crate::pipe::FLOW;
use crate::receiver::{Bench, data};

/// An acknowledgement: when it left, the number that is missing, and the newest two ranges beyond it.
type Ack = (u64, u64, Vec<(u64, u64)>);

const MICRO: u64 = 1000;
const DELAYED: u64 = 40_000 * MICRO;
const MOST_BLOCKS: usize = 4;
/// So many numbers ours remembers.
const REMEMBERED: usize = 6;

#[derive(Default)]
struct Linux {
    compresses: bool,
    /// How long the program takes to wake up and read.
    reading: Option<u64>,
    /// The longest wait for compression.
    wait: u64,
    next: u64,
    /// The number that the last acknowledgement told.
    told: u64,
    beyond: BTreeSet<u64>,
    blocks: Vec<(u64, u64)>,
    /// The last numbers beyond a hole; one that lengthens the newest range takes its place.
    recent: Vec<u64>,
    /// There are more ranges than an acknowledgement can name, or ours has lost sight of which changed last.
    forgot: bool,
    duplicates: u32,
    duplicates_of: u64,
    compressed: u32,
    compress_timer: Option<u64>,
    delay_timer: Option<u64>,
    reads_at: Option<u64>,
    out: Vec<Ack>,
}

impl Linux {
    fn timer(&self) -> Option<u64> {
        [self.compress_timer, self.delay_timer, self.reads_at].into_iter().flatten().min()
    }

    fn send(&mut self, now: u64) {
        (self.told, self.compressed) = (self.next, 0);
        (self.compress_timer, self.delay_timer) = (None, None);
        self.out.push((now, self.next, self.blocks.iter().take(2).copied().collect()));
    }

    fn expire(&mut self, now: u64) {
        if self.reads_at == Some(now) {
            self.reads_at = None;
            if self.next - self.told > 1 {
                self.send(now);
            }
        }
        if self.compress_timer == Some(now) || self.delay_timer == Some(now) {
            self.send(now);
        }
    }

    fn arrive(&mut self, now: u64, number: u64) {
        if number < self.next {
            self.send(now);
            return;
        }
        let mut fills_all = false;
        if number == self.next {
            self.next += 1;
            let had = !self.beyond.is_empty();
            while self.beyond.remove(&self.next) {
                self.next += 1;
            }
            let next = self.next;
            self.blocks.retain(|block| block.0 > next);
            fills_all = had && self.beyond.is_empty();
            if let Some(time) = self.reading {
                self.reads_at = self.reads_at.or(Some(now + time));
            }
        } else {
            self.touch(now, number);
            self.beyond.insert(number);
        }
        let may_send = self.reading.is_none();
        if self.next - self.told > 1 && may_send || fills_all {
            self.send(now);
        } else if self.beyond.is_empty() {
            self.delay_timer = self.delay_timer.or(Some(now + DELAYED));
        } else {
            self.beside_hole(now);
        }
    }

    fn touch(&mut self, now: u64, number: u64) {
        let at = self.blocks.iter().position(|block| block.0 <= number + 1 && number <= block.1);
        if at.unwrap_or(self.blocks.len()) >= 2 && self.compressed > 0 {
            self.send(now);
        }
        let mut block = (number, number + 1);
        if let Some(at) = at {
            let old = self.blocks.remove(at);
            block = (block.0.min(old.0), block.1.max(old.1));
        }
        while let Some(at) = self.blocks.iter().position(|old| old.0 <= block.1 && block.0 <= old.1) {
            let old = self.blocks.remove(at);
            block = (block.0.min(old.0), block.1.max(old.1));
        }
        self.blocks.insert(0, block);
        match self.recent.first_mut() {
            Some(last) if *last + 1 == number => *last = number,
            _ => self.recent.insert(0, number),
        }
        self.recent.truncate(REMEMBERED);
    }

    /// Whether ours can still know the two newest ranges.
    fn watch(&mut self) {
        let of = |number: &u64| self.blocks.iter().position(|block| block.0 <= *number && *number < block.1);
        let known: BTreeSet<_> = self.recent.iter().filter_map(of).collect();
        let few = known.len() < 2 && self.blocks.len() > 2;
        self.forgot |= few || self.blocks.len() > MOST_BLOCKS;
    }

    fn beside_hole(&mut self, now: u64) {
        if !self.compresses || self.compressed >= 44 {
            self.send(now);
            return;
        }
        if self.duplicates_of != self.next {
            (self.duplicates_of, self.duplicates) = (self.next, 0);
        }
        if self.duplicates < 3 {
            self.duplicates += 1;
            self.send(now);
            return;
        }
        self.compressed += 1;
        self.compress_timer = self.compress_timer.or(Some(now + self.wait));
    }
}

/// What ours sends.
fn take(now: u64, told: Vec<(Packet, Option<Annex>)>, out: &mut Vec<Ack>) {
    for (packet, annex) in told {
        let blocks = match annex {
            Some(Annex::Blocks(said)) => said.as_slice().iter().take(2).map(|b| (b.start, b.end)).collect(),
            _ => Vec::new(),
        };
        out.push((now, packet.number, blocks));
    }
}

/// Arrivals mostly in order, with numbers left out that come later, and copies.
fn arrivals() -> impl Strategy<Value = Vec<(u64, i64)>> {
    let gap = prop_oneof![6 => 0_u64..400, 2 => 400_u64..3000, 1 => 3000_u64..60_000];
    let step = prop_oneof![12 => Just(1_i64), 2 => 2_i64..4, 2 => -8_i64..1];
    prop::collection::vec((gap, step), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn acknowledgements_leave_when_those_of_linux_do(
        arrivals in arrivals(),
        handshake in 1_u64..60,
        (compresses, reads) in (any::<bool>(), any::<bool>()),
    ) {
        // A time that no sum of the others makes.
        let reading = reads.then_some(77_777);
        let config = ReceiverConfig {
            ack_every: 2,
            ack_delay: Span::from_millis(40),
            max_sack_blocks: 4,
            sack_compression: compresses.then(SackCompression::default),
            reading: reading.map(|time| Distribution::Constant { value: Span::from_nanos(time) }.into()),
            ..ReceiverConfig::default()
        };
        let mut ours = Bench::stream(config);
        ours.give(0, Input::Packet(Packet::new(Kind::Data, FLOW, 0, Bytes::new(40))));
        let wait = (handshake * 1000 * MICRO / 20).min(1000 * MICRO) + 100 * MICRO;
        let mut linux = Linux { compresses, reading, wait, next: 1, told: 1, ..Linux::default() };
        let (mut now, mut out) = (handshake * 1000 * MICRO, Vec::new());
        let at = |nanos| Time::ZERO + Span::from_nanos(nanos);
        let (mut highest, mut began) = (0_u64, false);
        let chained = arrivals.into_iter().chain([(200_000, 0)]);
        for (gap, step) in chained {
            let comes = if began { now + gap * MICRO + 1 } else { now };
            while let Some(due) = linux.timer().into_iter().chain(ours.wait.map(Time::as_nanos)).min()
                && due < comes
            {
                if linux.timer() == Some(due) {
                    linux.expire(due);
                }
                if ours.wait == Some(at(due)) {
                    take(due, ours.give_at(at(due), Input::Timeout), &mut out);
                }
            }
            prop_assert_eq!(&out, &linux.out);
            let number = if began { highest.saturating_add_signed(step).max(1) } else { 1 };
            (now, began, highest) = (comes, true, highest.max(number));
            linux.arrive(now, number);
            take(now, ours.give_at(at(now), Input::Packet(data(number))), &mut out);
            linux.watch();
            if linux.forgot {
                return Ok(());
            }
            prop_assert_eq!(&out, &linux.out);
        }
    }
}
