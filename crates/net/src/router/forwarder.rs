//! A router's way of packets without clock or device: which links a packet passes, when it leaves, and the accounts. Time is
//! an argument, and everything between two calls happens at its own instant, link after link, as in the simulator. Reading
//! and writing devices and waiting is done in `router.rs`.

use std::io;
use std::net::IpAddr;

use tailback_core::{Annexes, Bytes, DropReason, Ecn, FlowId, LinkId, Packet, Time};
use tailback_link::{LinkCounters, Passage, StandaloneLink};

use super::flows::{FlowTally, Flows, Tally};
use super::frame;
use super::ip::{self, Header, Refusal};
use super::store::{Place, Store};

/// Where packets from a device go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The device that they come from.
    pub from: usize,
    /// The device that they leave by.
    pub to: usize,
    /// The destinations for which the rule is; all, if there are none. Of a device's rules the first counts that fits.
    pub destinations: Vec<IpAddr>,
    /// The links on the way, in order.
    pub route: Vec<usize>,
    /// The number of the flow that its packets are of; by default every flow gets the next free one, by addresses and ports.
    /// Either all rules say it or none.
    pub flow: Option<FlowId>,
    /// Whether the payload of datagrams is frames of ours in the clear: then links see their kind, lane and pairs, and what
    /// links write into them arrives, marks and virtual delay.
    pub reads_frames: bool,
}

/// Something that happened to a packet inside.
#[derive(Clone, Copy, Debug)]
pub enum RouterEvent<'a> {
    /// It came in by a device.
    Arrived(usize, &'a Packet),
    /// It was offered to a link, which takes it in or drops it.
    Offered(LinkId, &'a Packet),
    /// A link dropped it.
    Dropped(LinkId, &'a Packet, DropReason),
    /// It is due to leave by a device.
    Left(usize, &'a Packet),
}

/// Watches a router.
pub trait RouterRecorder {
    /// Something happened to a packet.
    fn packet(&mut self, now: Time, event: RouterEvent<'_>) {
        let _ = (now, event);
    }

    /// When [`RouterRecorder::sample`] wants to be called next.
    fn next_sample(&self) -> Time {
        Time::NEVER
    }

    /// The time has come; all links stand at this instant. The flows are in the order of their numbers.
    fn sample(&mut self, now: Time, links: &mut [StandaloneLink], flows: &[FlowTally]) {
        let _ = (now, links, flows);
    }
}

/// Records nothing.
impl RouterRecorder for () {}

/// Takes what leaves a router.
pub trait Outlet {
    /// A packet leaves by a device. It was due at `due`; `false` where the device would not have it.
    fn leave(&mut self, due: Time, arrived: Time, device: usize, bytes: &[u8]) -> bool;
}

/// What happened at one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Came in by it, those counted below included.
    pub arrived: Tally,
    /// Of these, no whole packets of IP.
    pub malformed: u64,
    /// Of these, talk between neighbours.
    pub link_local: u64,
    /// Of these, for nobody by any rule.
    pub unreachable: u64,
    /// Of these, more than the router holds at once.
    pub no_room: u64,
    /// Left by it.
    pub left: Tally,
    /// Of these, with a mark of congestion that they had not come with.
    pub marked: u64,
    /// Were to leave by it, and it would not have them.
    pub unsent: u64,
}

/// Forwards packets through links.
#[derive(Debug)]
pub struct Forwarder<R> {
    links: Vec<StandaloneLink>,
    rules: Vec<Rule>,
    /// By device, the rules for what comes from it.
    by_device: Vec<Vec<usize>>,
    devices: Vec<DeviceCounters>,
    flows: Flows,
    store: Store,
    annexes: Annexes,
    now: Time,
    recorder: R,
}

impl<R: RouterRecorder> Forwarder<R> {
    /// A forwarder between so many devices of packets of at most `longest` bytes.
    ///
    /// # Errors
    /// A rule that names a device or link that there is none of.
    pub fn new(
        devices: usize,
        links: Vec<StandaloneLink>,
        rules: Vec<Rule>,
        longest: usize,
        recorder: R,
    ) -> io::Result<Self> {
        let mut by_device = vec![Vec::new(); devices];
        for (index, rule) in rules.iter().enumerate() {
            check(index, rule, devices, links.len())?;
            by_device[rule.from].push(index);
        }
        Ok(Self {
            links,
            rules,
            by_device,
            devices: vec![DeviceCounters::default(); devices],
            flows: Flows::default(),
            store: Store::new(longest),
            annexes: Annexes::new(),
            now: Time::ZERO,
            recorder,
        })
    }

    /// Reads a packet by `read`, which fills the buffer it is given and says how much it wrote, and lets it in as of `now`.
    /// All that was due until then happens first. Whether a packet came.
    ///
    /// # Errors
    /// Those of `read`; that it would block means that nothing came.
    pub fn receive(
        &mut self,
        now: Time,
        device: usize,
        outlet: &mut impl Outlet,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        let Some(place) = self.store.take() else { return self.refuse_for_room(device, read) };
        let length = match read(self.store.at(place).buffer()) {
            Ok(length) => length,
            Err(error) => {
                self.store.give_back(place);
                return none_there(error);
            }
        };
        self.store.at(place).cut(length);
        self.devices[device].arrived.add(Bytes::new(length as u64));
        self.advance(now, outlet);
        match ip::read(self.store.at(place).bytes()) {
            Ok(header) => self.let_in(device, place, &header, outlet),
            Err(refusal) => {
                let counters = &mut self.devices[device];
                match refusal {
                    Refusal::Malformed => counters.malformed += 1,
                    Refusal::LinkLocal => counters.link_local += 1,
                }
                self.store.give_back(place);
            }
        }
        Ok(true)
    }

    /// Takes a packet off its device although there is no room: it would block those behind it.
    fn refuse_for_room(
        &mut self,
        device: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        let mut nothing = [0; 64];
        match read(&mut nothing) {
            Ok(length) => {
                self.devices[device].arrived.add(Bytes::new(length as u64));
                self.devices[device].no_room += 1;
                Ok(true)
            }
            Err(error) => none_there(error),
        }
    }

    fn let_in(&mut self, device: usize, place: Place, header: &Header, outlet: &mut impl Outlet) {
        let now = self.now;
        let rule = self.by_device[device].iter().copied().find(|&rule| {
            let to = &self.rules[rule].destinations;
            to.is_empty() || to.contains(&header.flow.destination)
        });
        let Some(rule) = rule else {
            self.devices[device].unreachable += 1;
            self.store.give_back(place);
            return;
        };
        let Rule { flow, reads_frames, .. } = self.rules[rule];
        let flow = match flow {
            Some(flow) => self.flows.named(flow, &header.flow, device, now),
            None => self.flows.number(&header.flow, device, now),
        };
        let size = Bytes::new(header.length as u64);
        let mut packet = Packet::new(header.kind, flow, self.store.number(place), size);
        let held = self.store.at(place);
        held.cut(header.length);
        if let Some((bits, annex)) = reads_frames.then(|| frame::read(held.bytes())).flatten() {
            packet = packet.with_bits(bits);
            packet.annex = annex.map_or(packet.annex, |annex| self.annexes.insert(annex));
        }
        packet.set_ecn(header.ecn);
        packet.set_pushed(packet.is_pushed() || header.pushed);
        (held.rule, held.arrived, held.came_with, held.ecn) = (rule, now, header.ecn, header.ecn);
        let tally = self.flows.tally(flow);
        tally.arrived.add(size);
        tally.last = now;
        self.recorder.packet(now, RouterEvent::Arrived(device, &packet));
        self.go_on(now, packet, outlet);
    }

    /// Lets happen everything up to `now`.
    pub fn advance(&mut self, now: Time, outlet: &mut impl Outlet) {
        loop {
            let (index, due) = self.next_link();
            let sample = self.recorder.next_sample();
            if sample <= due.min(now) {
                for index in 0..self.links.len() {
                    self.links[index].advance(sample, &mut self.annexes);
                    self.hand_on(index, outlet);
                }
                self.now = self.now.max(sample);
                self.recorder.sample(sample, &mut self.links, self.flows.tallies());
                continue;
            }
            if due > now {
                break;
            }
            self.links[index].advance(due, &mut self.annexes);
            self.hand_on(index, outlet);
        }
        self.now = self.now.max(now);
    }

    /// When something happens next without a packet.
    pub fn next_event(&self) -> Time {
        self.next_link().1.min(self.recorder.next_sample())
    }

    /// The link at which something happens first.
    #[inline]
    fn next_link(&self) -> (usize, Time) {
        let times = self.links.iter().map(StandaloneLink::next_event).enumerate();
        times.min_by_key(|(_, time)| *time).unwrap_or((0, Time::NEVER))
    }

    /// Takes on what has come out of a link.
    fn hand_on(&mut self, index: usize, outlet: &mut impl Outlet) {
        while let Some((at, passage)) = self.links[index].poll() {
            match passage {
                Passage::Delivered(packet) => self.go_on(at, packet, outlet),
                Passage::Duplicated(packet) => self.store.copy(Place::of(&packet)),
                Passage::Dropped(packet, reason) => {
                    self.flows.tally(packet.flow).dropped.add(packet.size());
                    self.recorder.packet(at, RouterEvent::Dropped(LinkId::from(index), &packet, reason));
                    self.store.give_back(Place::of(&packet));
                }
            }
        }
    }

    /// A packet enters the next link of its route, or leaves.
    fn go_on(&mut self, at: Time, mut packet: Packet, outlet: &mut impl Outlet) {
        let rule = &self.rules[self.store.at(Place::of(&packet)).rule];
        let Some(&link) = rule.route.get(packet.route.0 as usize) else {
            let device = rule.to;
            self.leave(at, packet, device, outlet);
            return;
        };
        packet.route.0 += 1;
        self.recorder.packet(at, RouterEvent::Offered(LinkId::from(link), &packet));
        self.links[link].offer(at, packet, &mut self.annexes);
        self.hand_on(link, outlet);
    }

    fn leave(&mut self, due: Time, packet: Packet, device: usize, outlet: &mut impl Outlet) {
        let place = Place::of(&packet);
        let annex = self.annexes.take(packet.annex);
        self.recorder.packet(due, RouterEvent::Left(device, &packet));
        let held = self.store.at(place);
        if self.rules[held.rule].reads_frames {
            frame::write(held.bytes_mut(), &packet, annex.as_ref());
        }
        let is_marked = packet.ecn() == Ecn::Ce && held.came_with != Ecn::Ce;
        // Copies share their bytes, and need not have met with the same.
        if packet.ecn() != held.ecn {
            held.ecn = packet.ecn();
            ip::set_ecn(held.bytes_mut(), packet.ecn());
        }
        if packet.is_corrupted() {
            ip::damage(held.bytes_mut());
        }
        let has_left = outlet.leave(due, held.arrived, device, held.bytes());
        if packet.is_corrupted() {
            ip::damage(held.bytes_mut());
        }
        let delay = due.since(held.arrived);
        self.store.give_back(place);
        let counters = &mut self.devices[device];
        if !has_left {
            counters.unsent += 1;
            return;
        }
        counters.left.add(packet.size());
        counters.marked += u64::from(is_marked);
        let tally = self.flows.tally(packet.flow);
        tally.left.add(packet.size());
        tally.marked += u64::from(is_marked);
        tally.delay += delay;
    }

    /// A link's counters as of the last call.
    pub fn link(&mut self, index: usize) -> LinkCounters {
        self.links[index].advance(self.now, &mut self.annexes);
        self.links[index].counters()
    }

    /// What happened at the devices.
    pub fn devices(&self) -> &[DeviceCounters] {
        &self.devices
    }

    /// The flows, by their numbers.
    pub fn flows(&self) -> &[FlowTally] {
        self.flows.tallies()
    }

    /// How many packets are inside.
    pub fn inside(&self) -> usize {
        self.store.len()
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Who watches.
    pub fn recorder(&self) -> &R {
        &self.recorder
    }

    /// The same, when all is over.
    pub fn into_recorder(self) -> R {
        self.recorder
    }
}

/// Complains about a rule that leads nowhere.
fn check(index: usize, rule: &Rule, devices: usize, links: usize) -> io::Result<()> {
    let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    for (field, device) in [("from", rule.from), ("to", rule.to)] {
        if device >= devices {
            return wrong(format!(
                "rules[{index}].{field}: {device} is not allowed; expected a device below {devices}"
            ));
        }
    }
    match rule.route.iter().find(|&&link| link >= links) {
        Some(link) => {
            wrong(format!("rules[{index}].route: {link} is not allowed; expected links below {links}"))
        }
        None => Ok(()),
    }
}

/// Whether an error says no more than that nothing is there.
fn none_there(error: io::Error) -> io::Result<bool> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    }
}
