//! A run of a laboratory: hosts, links and flows are brought together, and run for as long as they are to. What each flow's
//! end does lives in `own.rs` and `kernel.rs`.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::num::NonZeroU64;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Await, Sender as Tell, channel};
use std::thread::{self, JoinHandle};

use rustix::net::sockopt;
use rustix::thread::set_current_timer_slack;
use tailback_core::{Bytes, Endpoint, FlowId, Stream, Time};
use tailback_link::StandaloneLink;
use tailback_transport::source::AnySource;
use tailback_transport::{AnyReceiver, AnySender};

use super::hosts::{Host, addresses};
use super::kernel::{KernelReceiver, KernelSender, Line, listen};
use super::own::{OwnEnd, OwnEnds};
use super::watch::{End, Window};
use crate::clock::Clock;
use crate::host::Way;
use crate::router::{Router, RouterRecorder, Rule};

/// Where the kernel's receivers listen and our senders send from; and where our receivers are.
const PORT: u16 = 5198;
const RECEIVERS: u16 = PORT + 1;
/// What sockets keep for an end that is not looked after for a while; the system may grant less.
const KEPT: usize = 4 << 20;
/// Frames of ours may be longer than a full segment by what their annexes say beyond the usual.
const ROOM: u64 = 128;
/// Hosts must take packets of this length (RFC 791).
const LEAST_MTU: u64 = 576;

/// Who talks, and through what.
pub struct LabPlan {
    /// How many hosts there are; the device of each has its number in the router's events.
    pub hosts: usize,
    /// The links.
    pub links: Vec<StandaloneLink>,
    /// The flows, which have these numbers in packets.
    pub flows: Vec<LabFlow>,
    /// When things are looked at, and the end.
    pub window: Window,
    /// What the threads of flows' ends run within.
    pub within: Within,
}

/// What a thread of flows' ends runs within, for schemes that keep something for each thread that calls them: it calls what
/// it is given, once.
pub type Within = Arc<dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync>;

/// A flow between two hosts.
pub struct LabFlow {
    /// The hosts of its sender and of its receiver.
    pub hosts: (usize, usize),
    /// The links that its data passes.
    pub forward: Vec<usize>,
    /// The links that what comes back passes.
    pub reverse: Vec<usize>,
    /// A full packet, headers included.
    pub segment: Bytes,
    /// When its application begins.
    pub start: Time,
    /// When it ceases, if before the run's end.
    pub stop: Option<Time>,
    /// The random streams of its sender and its receiver.
    pub rngs: (Stream, Stream),
    /// What carries it.
    pub ends: FlowEnds,
}

/// What carries a flow.
#[expect(clippy::large_enum_variant, reason = "there are few flows, and each is moved twice")]
pub enum FlowEnds {
    /// Endpoints of ours, over UDP in the clear.
    Own {
        /// The sender.
        sender: AnySender,
        /// The receiver.
        receiver: AnyReceiver,
        /// Header bytes of their packets.
        header: Bytes,
    },
    /// The kernel's TCP.
    Kernel {
        /// The congestion control, by the kernel's name.
        congestion: String,
        /// What there is to send.
        source: AnySource,
        /// Whether connections ask for marks in place of drops.
        ecn: bool,
    },
}

/// A run that has ended.
pub struct LabEnded<R> {
    /// The router, for all that it has counted.
    pub router: Router<R>,
    /// By flow, its sender and its receiver.
    pub flows: Vec<(End, End)>,
    /// Packets that the system dropped before the router could read them.
    pub unread: u64,
    /// Datagrams that the system dropped before our endpoints could read them.
    pub unreceived: u64,
    /// Whether it was ended from without.
    pub is_stopped: bool,
}

/// Ends of flows that are ready and await the clock: one of the kernel's, or all of ours at a host.
struct Ready {
    name: String,
    /// Which they are: a flow's sender is at twice its number, its receiver after that.
    places: Vec<usize>,
    run: Box<Run>,
}

/// Runs ends once it is told the clock, until the run's end or until there is word to stop.
type Run = dyn FnOnce(&Await<Clock>, &AtomicBool) -> Vec<End> + Send;

/// Ends of ours by host and side, with their places.
type OwnGroups = BTreeMap<(usize, Side), (Vec<usize>, Vec<OwnEnd>)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Senders,
    Receivers,
}

/// Runs a plan, with the router on the calling thread, until its end, or until something can be read from one of `stops`, or
/// whoever could write there is gone. What threads inherit of the calling one, such as its priority, the flows' ends have
/// too.
///
/// # Errors
/// Namespaces, devices, sockets or threads that the system does not let us have; a plan that does not fit together.
pub fn run<R: RouterRecorder>(
    plan: LabPlan,
    recorder: R,
    stops: &[BorrowedFd<'_>],
) -> io::Result<LabEnded<R>> {
    let LabPlan { hosts, links, flows, window, within } = plan;
    let (hosts, files) = hosts_of(hosts, &flows)?;
    let mut rules = Vec::new();
    let (mut ready, mut own, count) = (Vec::new(), OwnGroups::new(), 2 * flows.len());
    let longest = flows.iter().map(mtu_of).max().unwrap_or_default();
    for (index, flow) in flows.into_iter().enumerate() {
        let id = FlowId::from(index);
        rules.extend(rules_of(id, &flow)?);
        prepare(id, flow, &hosts, window, &mut ready, &mut own)?;
    }
    for ((host, side), group) in own {
        ready.push(prepare_own(&hosts[host], host, side, group, window)?);
    }
    let mut router = Router::new(files, links, rules, usize::from(longest), recorder)?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for ends in ready {
        threads.push(start(ends, &within, &stop)?);
    }
    let clock = router.begin();
    for (_, tell, _) in &threads {
        // Whoever has ended already does not want to know.
        let _ = tell.send(clock);
    }
    let outcome = router.run(window.end, stops);
    let is_stopped = clock.now() < window.end;
    if is_stopped || outcome.is_err() {
        stop.store(true, Ordering::Relaxed);
    }
    let mut ends: Vec<End> = (0..count).map(|_| End::default()).collect();
    for (thread, _, places) in threads {
        let ended = thread.join().map_err(|_| io::Error::other("a flow's thread panicked"))?;
        for (place, end) in places.into_iter().zip(ended) {
            ends[place] = end;
        }
    }
    outcome?;
    let mut flows = Vec::new();
    let mut ends = ends.into_iter();
    while let (Some(sender), Some(receiver)) = (ends.next(), ends.next()) {
        flows.push((sender, receiver));
    }
    let (mut unread, mut unreceived) = (0, 0);
    for host in &hosts {
        unread += host.unread()?;
        unreceived += host.unreceived()?;
    }
    Ok(LabEnded { router, flows, unread, unreceived, is_stopped })
}

/// A thread, how it is told the clock, and whose ends it runs.
type Started = (JoinHandle<Vec<End>>, Tell<Clock>, Vec<usize>);

/// A thread that runs ends as soon as it is told the clock.
fn start(ready: Ready, within: &Within, stop: &Arc<AtomicBool>) -> io::Result<Started> {
    let Ready { name, places, run } = ready;
    let (tell, told) = channel();
    let (within, stop) = (Arc::clone(within), Arc::clone(stop));
    let thread = thread::Builder::new().name(name).spawn(move || {
        // Where the system refuses, wakes are later, which is measured.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let (mut all, mut ended) = (Some((run, told)), Vec::new());
        within(&mut || ended = all.take().map_or_else(Vec::new, |(run, told)| run(&told, &stop)));
        ended
    })?;
    Ok((thread, tell, places))
}

/// The longest packet of a flow.
fn mtu_of(flow: &LabFlow) -> u16 {
    let room = match flow.ends {
        FlowEnds::Own { .. } => ROOM,
        FlowEnds::Kernel { .. } => 0,
    };
    u16::try_from((flow.segment.get() + room).max(LEAST_MTU)).unwrap_or(u16::MAX)
}

/// The hosts, and the files of their devices.
fn hosts_of(count: usize, flows: &[LabFlow]) -> io::Result<(Vec<Arc<Host>>, Vec<OwnedFd>)> {
    let mut hosts = Vec::new();
    let mut files = Vec::new();
    for number in 0..count {
        let (mut mine, mut mtu, mut marked) = (Vec::new(), LEAST_MTU as u16, Vec::new());
        for (index, flow) in flows.iter().enumerate() {
            let (from, to) = addresses(FlowId::from(index))?;
            let ends = [(flow.hosts.0, from, to), (flow.hosts.1, to, from)];
            for (_, own, peer) in ends.into_iter().filter(|(host, ..)| *host == number) {
                mine.push(own);
                mtu = mtu.max(mtu_of(flow));
                marked.extend(matches!(flow.ends, FlowEnds::Kernel { ecn: true, .. }).then_some(peer));
            }
        }
        let (host, file) = Host::new(&mine, mtu)?;
        marked.into_iter().try_for_each(|peer| host.mark_with(peer))?;
        hosts.push(Arc::new(host));
        files.push(file);
    }
    Ok((hosts, files))
}

/// The ways of a flow's packets, there and back.
fn rules_of(id: FlowId, flow: &LabFlow) -> io::Result<[Rule; 2]> {
    let (from, to) = addresses(id)?;
    let reads_frames = matches!(flow.ends, FlowEnds::Own { .. });
    let rule = |(near, far): (usize, usize), to: Ipv4Addr, route: &Vec<usize>| Rule {
        from: near,
        to: far,
        destinations: vec![to.into()],
        route: route.clone(),
        flow: Some(id),
        reads_frames,
    };
    let (near, far) = flow.hosts;
    Ok([rule((near, far), to, &flow.forward), rule((far, near), from, &flow.reverse)])
}

/// Both ends of a flow: the kernel's with their sockets, which exist from here on; ours beside others of their hosts.
fn prepare(
    id: FlowId,
    flow: LabFlow,
    hosts: &[Arc<Host>],
    window: Window,
    ready: &mut Vec<Ready>,
    own: &mut OwnGroups,
) -> io::Result<()> {
    let (from, to) = addresses(id)?;
    let LabFlow { hosts: (near, far), segment, start, stop, rngs, ends, .. } = flow;
    let places = [2 * id.index(), 2 * id.index() + 1];
    match ends {
        FlowEnds::Own { sender, receiver, header } => {
            let there = Way { to: SocketAddrV4::new(to, RECEIVERS).into(), from: Some(from.into()) };
            let back = Way { to: SocketAddrV4::new(from, PORT).into(), from: Some(to.into()) };
            let sender: Box<dyn Endpoint + Send> = Box::new(sender);
            let sender = OwnEnd { flow: id, way: there, endpoint: sender, rng: rngs.0, header, start, stop };
            let receiver = OwnEnd {
                flow: id,
                way: back,
                endpoint: Box::new(receiver),
                rng: rngs.1,
                header,
                start: Time::ZERO,
                stop: None,
            };
            let both = [(near, Side::Senders, sender), (far, Side::Receivers, receiver)];
            for ((host, side, end), place) in both.into_iter().zip(places) {
                let (places, ends) = own.entry((host, side)).or_default();
                places.push(place);
                ends.push(end);
            }
        }
        FlowEnds::Kernel { congestion, source, .. } => {
            let address = SocketAddrV4::new(to, PORT);
            let echoing = congestion.clone();
            let listener = hosts[far].namespace.run(move || listen(address, &echoing))??;
            let line = Line { host: Arc::clone(&hosts[near]), from, to: address, congestion, segment };
            let sender = KernelSender { line, source, rng: rngs.0, start, stop };
            let receiver = KernelReceiver { listener, segment };
            ready.push(Ready {
                name: format!("sender {}", id.0),
                places: vec![places[0]],
                run: Box::new(move |clock, stop| vec![sender.run(window, clock, stop)]),
            });
            ready.push(Ready {
                name: format!("receiver {}", id.0),
                places: vec![places[1]],
                run: Box::new(move |clock, stop| vec![receiver.run(window, clock, stop)]),
            });
        }
    }
    Ok(())
}

/// All of a host's ends of one side, with the socket that they share, which exists from here on.
fn prepare_own(
    host: &Host,
    number: usize,
    side: Side,
    (places, ends): (Vec<usize>, Vec<OwnEnd>),
    window: Window,
) -> io::Result<Ready> {
    let (what, port) = match side {
        Side::Senders => ("senders", PORT),
        Side::Receivers => ("receivers", RECEIVERS),
    };
    let socket = host.namespace.run(move || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
        // As much as the system lets us have.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, KEPT);
        Ok::<_, io::Error>(socket)
    })??;
    let own = OwnEnds { socket, ends };
    let run = Box::new(move |clock: &Await<Clock>, stop: &AtomicBool| own.run(window, clock, stop));
    Ok(Ready { name: format!("{what} {number}"), places, run })
}
