//! How flows share a buffer, written anew: who loses where it is full, from `McKenney` 1990 (buffer stealing, as in Shreedhar and
//! Varghese 1995, §3) and Suter, Lakshman, Stiliadis and Choudhury 1998, with the words of the library's reference. Who is
//! served is said in `fair`.
//!
//! No text says whether the longest queue counts packets or bytes, what a loss does to credit, nor which of two equals loses:
//! here it counts what the buffer does, an arrival joins before anybody loses, and equals are left out.

use std::collections::{HashMap, VecDeque};

use tailback_core::{Backlog, Capacity, Packet};
use tailback_qdisc::Limit;

use super::fair::count;

pub type Queues = HashMap<u32, VecDeque<(f64, Packet)>>;

/// Who loses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loses {
    Arriving,
    /// The newest of the flow with most.
    Newest,
    /// The oldest of the flow with most.
    Oldest,
}

pub struct Room {
    pub loses: Loses,
    pub limit: Limit,
    pub per_flow: Limit,
    pub in_bytes: bool,
    /// Whether two flows had most.
    pub tied: bool,
}

impl Room {
    pub fn new(loses: Loses, capacity: Capacity, per_flow: Capacity) -> Self {
        let in_bytes = matches!(capacity, Capacity::Bytes(_));
        Self { loses, limit: Limit::new(capacity), per_flow: Limit::new(per_flow), in_bytes, tied: false }
    }

    /// Whether a packet is turned away before anybody else is looked at.
    pub fn refuses(&self, packet: &Packet, queue: u32, queues: &Queues, idle: bool) -> bool {
        let all = count(queues);
        let own: Backlog = queues
            .get(&queue)
            .map_or(Backlog::default(), |own| count(&HashMap::from([(queue, own.clone())])));
        let passes = idle && all.packets == 0;
        !passes
            && (!self.per_flow.admits(packet, &own, false)
                || (self.loses == Loses::Arriving && !self.limit.admits(packet, &all, false)))
    }

    /// Takes one packet out of a buffer that holds too much.
    pub fn makes(&mut self, queues: &mut Queues, passes: bool) -> Option<(u32, Packet)> {
        if passes || self.loses == Loses::Arriving || !self.limit.exceeded_by(&count(queues)) {
            return None;
        }
        let of = |packet: &Packet| if self.in_bytes { packet.size().get() } else { 1 };
        let has = |queue: &VecDeque<(f64, Packet)>| queue.iter().map(|(_, packet)| of(packet)).sum::<u64>();
        let (&longest, most) = queues.iter().max_by_key(|(_, queue)| has(queue))?;
        let most = has(most);
        self.tied |= queues.values().filter(|queue| has(queue) == most).count() > 1;
        let queue = queues.get_mut(&longest)?;
        let gone = if self.loses == Loses::Newest { queue.pop_back() } else { queue.pop_front() };
        gone.map(|(_, packet)| (longest, packet))
    }
}
