//! CAKE written anew from Linux's `sch_cake` as it serves packets: shaper, tins, flows and hosts, COBALT. Hashing (every flow
//! has a queue here) is written anew beside `cake::tin`, the filter of acknowledgements in `acks`, the estimate of the rate that
//! arrives in `autorate`.
//!
//! The named departures of the library are in here, too: an idle queue is forgotten when somebody asks, a delay has to stand
//! for an interval after every rest, and an idle tin counts as empty. In Linux a window of bytes below nothing is a huge one; in
//! both writings it is nothing.

use std::collections::VecDeque;

use tailback_core::{
    Backlog, Bytes, Capacity, DropReason, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{KnownFlows, Limit};

use super::acks::{Seen, goes};
use super::autorate::Autorate;

/// A clock in parts of a nanosecond, so that no rate is rounded.
#[derive(Clone, Copy)]
struct Clock {
    rate: u128,
    parts: u128,
}

impl Clock {
    fn next(&self) -> Time {
        Time::from_nanos((self.parts / self.rate) as u64)
    }

    fn set(&mut self, at: Time) {
        self.parts = u128::from(at.as_nanos()) * self.rate;
    }

    /// From now on at another rate; the time stays, in whole nanoseconds. Without a clock before, one begins now.
    fn change(clock: Option<Self>, now: Time, rate: u64) -> Self {
        let mut new = Self { rate: rate.into(), parts: 0 };
        new.set(clock.map_or(now, |clock| clock.next()));
        new
    }

    fn cost(bytes: u64) -> u128 {
        u128::from(bytes) * 8_000_000_000
    }
}

#[derive(Clone, Copy, Default)]
struct Cobalt {
    count: u32,
    dropping: bool,
    drop_next: Time,
    blue: f64,
    blue_timer: Time,
}

#[derive(Clone, Copy)]
struct Params {
    target: Span,
    interval: Span,
    mtu: Span,
}

impl Cobalt {
    fn control(&self, from: Time, params: &Params) -> Time {
        let nanos = params.interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt();
        from + Span::from_nanos(nanos.round() as u64)
    }

    fn full(&mut self, now: Time, params: &Params) {
        if now.since(self.blue_timer) > params.target {
            self.blue = (self.blue + 1.0 / 256.0).min(1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    fn less(&mut self, params: &Params) {
        self.count -= 1;
        self.drop_next = self.control(self.drop_next, params);
    }

    /// As if the queue had been found empty all the time.
    fn empty(&mut self, since: Time, now: Time, params: &Params) {
        self.dropping = false;
        let mut at = since.max(self.blue_timer + params.target);
        while self.blue > 0.0 && at <= now {
            self.blue = (self.blue - 1.0 / 4096.0).max(0.0);
            self.blue_timer = at;
            at += params.target;
        }
        while self.count > 0 && now >= self.drop_next {
            self.less(params);
        }
    }

    fn should_drop(
        &mut self,
        (now, sojourn, bulk): (Time, Span, u32),
        packet: &mut Packet,
        params: &Params,
        cx: &mut QueueCx<'_>,
    ) -> bool {
        let over =
            sojourn > params.target && sojourn > params.mtu * u64::from(bulk) * 2 && sojourn > params.mtu * 4;
        let mut late = self.count > 0 && now > self.drop_next;
        let mut next_due = self.count > 0 && now >= self.drop_next;
        let mut drop = false;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, params);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if next_due && self.dropping {
            drop = !cx.mark_ce(packet);
            self.count += 1;
            self.drop_next = self.control(self.drop_next, params);
            late = now > self.drop_next;
        } else {
            while next_due {
                self.less(params);
                late = now > self.drop_next;
                next_due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.blue > 0.0 {
            drop |= cx.rng.uniform() < self.blue;
        }
        if self.count > 0 && late && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Set {
    #[default]
    None,
    Sparse,
    SparseWait,
    Bulk,
}

#[derive(Default)]
struct Flow {
    waiting: VecDeque<(Time, u64, Packet)>,
    deficit: i64,
    set: Set,
    hosts: (u32, u32),
    law: Cobalt,
    emptied: Time,
}

impl Flow {
    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|(_, _, packet)| packet.size().get()).sum()
    }

    /// The acknowledgement that goes for the newest, with its length.
    fn filtered(&mut self, aggressive: bool) -> Option<(u64, Packet)> {
        let seen: Vec<Seen> = self.waiting.iter().map(|(_, _, packet)| Seen::plain(packet)).collect();
        let (_, length, packet) = self.waiting.remove(goes(&seen, aggressive)?)?;
        Some((length, packet))
    }
}

struct Tin {
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    clock: Option<Clock>,
    params: Params,
    quantum: i64,
    turn: i64,
    deficit: i64,
}

impl Tin {
    fn new(rate: Option<u64>, turn: i64, rtt: Span) -> Self {
        let mtu = rate.map_or(0, |rate| (1514 * 8_000_000_000_u128).div_ceil(rate.into()) as u64);
        let wanted = rtt.as_nanos() / 20;
        let target = (mtu * 3 / 2).max(wanted);
        let interval = (rtt.as_nanos() + target - wanted).max(2 * target);
        let params = Params {
            target: Span::from_nanos(target),
            interval: Span::from_nanos(interval),
            mtu: Span::from_nanos(mtu),
        };
        Self {
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            clock: rate.map(|rate| Clock { rate: rate.into(), parts: 0 }),
            params,
            quantum: rate.map_or(1514, |rate| (rate / 8 / 4096).clamp(300, 1514)).cast_signed(),
            turn,
            deficit: 0,
        }
    }

    fn packets(&self) -> usize {
        self.flows.iter().map(|flow| flow.waiting.len()).sum()
    }

    fn bulk(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.set == Set::Bulk)
    }

    /// Among how many bulk flows of the busier host a flow shares.
    fn load(&self, hosts: (u32, u32), by: (bool, bool)) -> i64 {
        let from = self.bulk().filter(|flow| by.0 && flow.hosts.0 == hosts.0).count();
        let to = self.bulk().filter(|flow| by.1 && flow.hosts.1 == hosts.1).count();
        from.max(to).max(1) as i64
    }

    fn allowance(&self, hosts: (u32, u32), by: (bool, bool), rng: &mut Stream) -> i64 {
        // What is left of a byte comes by chance.
        match self.load(hosts, by) {
            1 => self.quantum,
            load => (self.quantum + rng.below(load as u64) as i64) / load,
        }
    }
}

pub struct Settings {
    pub rate: Option<u64>,
    pub rtt: Span,
    pub ingress: bool,
    /// Part of the rate and bytes per turn of each tin.
    pub tins: Vec<(f64, i64)>,
    pub tin_of: fn(u32) -> usize,
    /// Whether hosts that send, and hosts that receive, share.
    pub by: (bool, bool),
    /// Whether each flow has a queue.
    pub flows: bool,
    pub length: fn(u64) -> u64,
    pub hosts: KnownFlows,
}

pub struct Cake {
    settings: Settings,
    limit: Limit,
    clock: Option<Clock>,
    failsafe: Option<Clock>,
    tins: Vec<Tin>,
    current: usize,
    drawn: bool,
    pub tied: bool,
    pub autorate: Option<Autorate>,
    /// Whether acknowledgements are filtered, and if so, aggressively.
    pub ack_filter: Option<bool>,
}

impl Cake {
    pub fn new(settings: Settings, capacity: Capacity) -> Self {
        let part = |part: f64| settings.rate.map(|rate| (rate as f64 * part).round() as u64);
        let tins = settings.tins.iter().map(|tin| Tin::new(part(tin.0), tin.1, settings.rtt)).collect();
        let clock = |times: u64| settings.rate.map(|rate| Clock { rate: (rate * times).into(), parts: 0 });
        let (clock, failsafe) = (clock(1), clock(2));
        Self {
            settings,
            limit: Limit::new(capacity),
            clock,
            failsafe,
            tins,
            current: 0,
            drawn: false,
            tied: false,
            autorate: None,
            ack_filter: None,
        }
    }

    /// `cake_reconfigure` at this rate, which is 64 bytes per second at least.
    fn reconfigure(&mut self, now: Time, rate: u64) {
        let rate = rate.max(512);
        self.clock = Some(Clock::change(self.clock, now, rate));
        self.failsafe = Some(Clock::change(self.failsafe, now, 2 * rate));
        for (tin, (part, turn)) in self.tins.iter_mut().zip(&self.settings.tins) {
            let part = (rate as f64 * part).round() as u64;
            let Tin { params, quantum, .. } = Tin::new(Some(part), *turn, self.settings.rtt);
            (tin.params, tin.quantum) = (params, quantum);
            tin.clock = Some(Clock::change(tin.clock, now, part));
        }
    }

    fn shut_until(&self) -> Option<Time> {
        Some(self.clock?.next().min(self.failsafe?.next()))
    }

    /// `cake_advance_shaper`, for both clocks and the tin's.
    fn advance(&mut self, now: Time, tin: usize, bytes: u64, dropped: bool) {
        let Some(clock) = &mut self.clock else { return };
        clock.parts += Clock::cost(bytes);
        if let Some(failsafe) = self.failsafe.as_mut().filter(|_| !dropped) {
            failsafe.parts += 3 * Clock::cost(bytes);
        }
        let clock = self.tins[tin].clock.as_mut().unwrap();
        if clock.next() < now {
            clock.parts += Clock::cost(bytes);
        } else {
            // What is carried of the packet before belongs to this one, as everywhere in the library.
            let cost = Clock::cost(bytes) + clock.parts % clock.rate;
            let ahead = now + Span::from_nanos((cost / clock.rate) as u64);
            clock.set(clock.next().max(ahead));
        }
    }

    /// What goes takes the line's time, and no part of a turn.
    fn charge_drop(&mut self, now: Time, tin: usize, bytes: u64) {
        if self.settings.ingress {
            self.advance(now, tin, bytes, true);
        }
    }

    fn choose(&mut self, now: Time) -> Option<usize> {
        let busy = |tin: &Tin| !tin.new.is_empty() || !tin.old.is_empty();
        if !self.tins.iter().any(busy) {
            return None;
        }
        if self.clock.is_none() {
            loop {
                let tin = &mut self.tins[self.current];
                if tin.deficit >= 0 && busy(tin) {
                    return Some(self.current);
                }
                if tin.deficit <= 0 {
                    tin.deficit += tin.turn;
                }
                self.current = (self.current + 1) % self.tins.len();
            }
        }
        let mut best: Option<(usize, Time)> = None;
        for (index, tin) in self.tins.iter().enumerate().filter(|(_, tin)| busy(tin)) {
            let next = tin.clock.unwrap().next();
            if next <= now || best.is_none_or(|best| next <= best.1) {
                best = Some((index, next));
            }
        }
        best.map(|best| best.0)
    }

    fn relieve(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        let all =
            || self.tins.iter().enumerate().flat_map(|(n, tin)| (0..tin.flows.len()).map(move |f| (n, f)));
        let bytes = |at: (usize, usize)| self.tins[at.0].flows[at.1].bytes();
        let longest = all().max_by_key(|at| bytes(*at)).unwrap();
        self.tied |= all().filter(|at| bytes(*at) == bytes(longest)).count() > 1;
        let (tin, flow) = longest;
        let params = self.tins[tin].params;
        let flow = &mut self.tins[tin].flows[flow];
        let (_, length, packet) = flow.waiting.pop_front().unwrap();
        flow.law.full(now, &params);
        self.charge_drop(now, tin, length);
        cx.drop(packet, DropReason::Overflow);
    }

    /// From one choice of a tin to the next; `Some(None)` where a queue was found empty.
    fn take_from(&mut self, now: Time, number: usize, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let by = self.settings.by;
        loop {
            let tin = &mut self.tins[number];
            let is_new = !tin.new.is_empty();
            let at = *tin.new.front().or(tin.old.front())?;
            if tin.flows[at].deficit <= 0 {
                let flow = &mut tin.flows[at];
                if flow.set == Set::Sparse {
                    flow.set = if flow.waiting.is_empty() { Set::SparseWait } else { Set::Bulk };
                }
                let hosts = flow.hosts;
                let more = tin.allowance(hosts, by, cx.rng);
                tin.flows[at].deficit += more;
                if is_new {
                    tin.new.pop_front()
                } else {
                    tin.old.pop_front()
                };
                tin.old.push_back(at);
                continue;
            }
            let bulk = if self.settings.ingress { tin.bulk().count() as u32 } else { 0 };
            let params = tin.params;
            let flow = &mut tin.flows[at];
            let Some((came, length, mut packet)) = flow.waiting.pop_front() else {
                (flow.set, flow.emptied) = (Set::None, now);
                if is_new {
                    tin.new.pop_front()
                } else {
                    tin.old.pop_front()
                };
                return None;
            };
            let drop = flow.law.should_drop((now, now.since(came), bulk), &mut packet, &params, cx);
            if !drop || flow.waiting.is_empty() {
                flow.deficit -= length as i64;
                flow.emptied = now;
                tin.deficit -= length as i64;
                self.advance(now, number, length, false);
                return Some(packet);
            }
            cx.drop(packet, DropReason::Early);
            if self.settings.ingress {
                flow.deficit -= length as i64;
                tin.deficit -= length as i64;
                self.charge_drop(now, number, length);
            }
        }
    }
}

impl QueueDiscipline for Cake {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if !std::mem::replace(&mut self.drawn, true) {
            // What the library perturbs its hash by.
            cx.rng.below(1 << 32);
        }
        let was_empty = self.backlog().packets == 0;
        if was_empty && self.clock.is_some_and(|clock| clock.next() < now) {
            self.clock.as_mut().unwrap().set(now);
            self.failsafe.as_mut().unwrap().set(now);
        }
        let number = (self.settings.tin_of)(packet.flow.0);
        let own = if self.settings.flows { packet.flow.0 as usize } else { 0 };
        let hosts = self.settings.hosts.hosts_of(packet.flow.0);
        let (length, by) = ((self.settings.length)(packet.size().get()), self.settings.by);
        let tin = &mut self.tins[number];
        let idle = tin.packets() == 0;
        if let Some(clock) = tin.clock.as_mut().filter(|clock| idle && clock.next() < now) {
            clock.set(now);
        }
        while tin.flows.len() <= own {
            tin.flows.push(Flow::default());
        }
        let (params, flow) = (tin.params, &mut tin.flows[own]);
        if flow.set == Set::None || (idle && flow.set != Set::SparseWait) {
            flow.law.empty(flow.emptied, now, &params);
        }
        flow.waiting.push_back((now, length, packet));
        let mut arrived = packet.size().get() as i64;
        if let Some((length, gone)) = self.ack_filter.and_then(|aggressive| flow.filtered(aggressive)) {
            arrived -= gone.size().get() as i64;
            self.charge_drop(now, number, length);
            cx.drop(gone, DropReason::Early);
        }
        let rate = self.autorate.as_mut().and_then(|rate| rate.arrived(now, arrived));
        if let Some(rate) = rate {
            self.reconfigure(now, rate);
        }
        let tin = &mut self.tins[number];
        let flow = &mut tin.flows[own];
        match flow.set {
            Set::None => {
                (flow.hosts, flow.set) = (hosts, Set::Sparse);
                let load = tin.load(hosts, by);
                tin.flows[own].deficit = tin.quantum / load;
                tin.new.push_back(own);
            }
            Set::SparseWait => flow.set = Set::Bulk,
            _ => {}
        }
        let passes = was_empty && cx.idle_since.is_some();
        while !passes && self.limit.exceeded_by(&self.backlog()) {
            self.relieve(now, cx);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            if self.backlog().packets == 0 || self.shut_until().is_some_and(|until| until > now) {
                return None;
            }
            let tin = self.choose(now)?;
            if let Some(packet) = self.take_from(now, tin, cx) {
                return Some(packet);
            }
        }
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.shut_until().filter(|until| *until > now && self.backlog().packets > 0)
    }

    fn backlog(&self) -> Backlog {
        let flows = || self.tins.iter().flat_map(|tin| &tin.flows);
        Backlog {
            packets: flows().map(|flow| flow.waiting.len() as u32).sum(),
            bytes: Bytes::new(flows().map(Flow::bytes).sum()),
        }
    }
}
