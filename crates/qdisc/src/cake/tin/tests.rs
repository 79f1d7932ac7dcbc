//! Where flows meet: the choice of a queue written anew from `cake_hash` of Linux's `sch_cake`, with what is given back and
//! hosts. The code was read before. Which queues are free again is tested in `second`, with a queue for each flow.

use proptest::prelude::*;
use tailback_core::{Annexes, FlowId, Span};

use super::*;

/// Eight queues are a set. `tags`, hosts and whether it is taken, by queue.
struct Table(Vec<(Option<u64>, Hosts, bool)>);

impl Table {
    /// The flow's own queue, or the first that is not taken, both from its home on around the set; or its home, which is then
    /// the flow's, and counts for its hosts.
    fn choose(&mut self, key: u64, hash: u64, hosts: Hosts) -> usize {
        let home = (hash % 1024) as usize;
        let around = || (0..8).map(|step| home / 8 * 8 + (home % 8 + step) % 8);
        let own = around().find(|at| self.0[*at].0 == Some(key));
        let at = own.or_else(|| around().find(|at| !self.0[*at].2)).unwrap_or(home);
        if own.is_none() {
            self.0[at] = (Some(key), hosts, true);
        }
        at
    }
}

fn tin() -> Tin {
    let constants = Constants::new(Span::from_millis(100), Span::ZERO);
    Tin::new(("all", 1514), None, (constants, 300), (Isolation::TripleIsolate, false))
}

/// The queues of all sets that are made, with their numbers.
fn used(tin: &Tin) -> impl Iterator<Item = (u32, &Queue)> {
    (0..QUEUES).filter_map(|index| Some((index, tin.queues.get(index)?)))
}

/// The hosts of a flow.
fn hosts(key: u64) -> Hosts {
    ((key % 3) as u32, (key % 5) as u32)
}

/// The hash of a flow, of which many meet: five sets, and one of them near the end of the table.
fn hash(key: u64) -> u64 {
    let mixed = tailback_core::rng::mix(key);
    (mixed >> 8) % 8 + [0, 8, 16, 512, 1016][(mixed % 5) as usize] + 1024 * (mixed >> 32)
}

proptest! {
    /// Nobody leaves: packets come, and turns are taken until queues are sparse, waiting or bulk.
    #[test]
    fn flows_meet_as_in_sch_cake(steps in prop::collection::vec((0_u64..120, 0_u8..3), 1..300)) {
        let (mut tin, mut table) = (tin(), Table(vec![(None, (0, 0), false); 1024]));
        let (mut rng, mut annexes, mut drops) = (Stream::new(1, "queue"), Annexes::new(), Vec::new());
        for (number, (key, turns)) in steps.into_iter().enumerate() {
            // Three at once, so that no queue is found empty.
            for _ in 0..3 {
                let packet = Packet::new(Kind::Data, FlowId(key as u32), number as u64, Bytes::new(400));
                let stamp = Stamp { arrived: Time::ZERO, length: 400 };
                let index = tin.push(packet, stamp, (key, hash(key)), hosts(key));
                tin.enlist(index, hosts(key));
                prop_assert_eq!(index as usize, table.choose(key, hash(key), hosts(key)));
            }
            for _ in 0..turns {
                let mut cx = QueueCx {
                    rng: &mut rng, annexes: &mut annexes, rate: BitRate::ZERO, idle_since: None, drops: &mut drops, marks: 0,
                };
                let waiting = used(&tin).filter(|(_, queue)| !queue.ring.is_empty()).map(|(index, _)| index);
                prop_assert_eq!(tin.waiting(), waiting.collect::<Vec<_>>());
                if used(&tin).all(|(_, queue)| queue.place == Place::Nowhere || queue.ring.len() > 1) {
                    tin.take(Time::ZERO, &mut cx);
                }
            }
            let mut bulk = 0;
            let (mut from, mut to) = ([0_u32; 3], [0_u32; 5]);
            for (index, queue) in used(&tin).filter(|(_, queue)| queue.place != Place::Nowhere) {
                prop_assert_eq!((queue.key, queue.hosts, true), table.0[index as usize], "queue {}", index);
                if queue.place == Place::Bulk {
                    bulk += 1;
                    from[queue.hosts.0 as usize] += 1;
                    to[queue.hosts.1 as usize] += 1;
                }
            }
            prop_assert_eq!(bulk, tin.busy.flows);
            let counted = |map: &FlowMap<u32>, host: usize| map.get(&(host as u32)).copied().unwrap_or(0);
            prop_assert!((0..3).all(|host| counted(&tin.busy.from, host) == from[host]));
            prop_assert!((0..5).all(|host| counted(&tin.busy.to, host) == to[host]));
        }
    }
}

/// Nine flows of one set, each of a host of its own: the ninth shares the queue of the first, which is still sparse, and counts
/// for the ninth's host from then on.
#[test]
fn a_queue_that_two_share_counts_for_the_newer() {
    let mut tin = tin();
    let stamp = Stamp { arrived: Time::ZERO, length: 400 };
    let push = |tin: &mut Tin, key: u64| {
        let packet = Packet::new(Kind::Data, FlowId(key as u32), 0, Bytes::new(400));
        tin.push(packet, stamp, (key, 1024 + 5), (key as u32, 100 + key as u32))
    };
    let indices: Vec<u32> = (1..=9).map(|key| push(&mut tin, key)).collect();
    assert_eq!(indices, [5, 6, 7, 0, 1, 2, 3, 4, 5]);
    assert_eq!(tin.queue(5).hosts, (9, 109));
    // The first is a stranger now, and takes the queue back.
    assert_eq!(push(&mut tin, 1), 5);
    assert_eq!(tin.queue(5).hosts, (1, 101));
}
