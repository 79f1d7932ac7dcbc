//! A run of a laboratory: hosts, links and flows are brought together, and run for as long as they are to. What each flow's
//! end does lives in `own.rs` and `kernel.rs`.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Await, Sender as Tell, channel};
use std::thread::{self, JoinHandle};

use rustix::net::sockopt;
use rustix::thread::set_current_timer_slack;
use tailback_core::{Bytes, FlowId, Stream, Time};
use tailback_link::StandaloneLink;
use tailback_transport::source::AnySource;
use tailback_transport::{AnyReceiver, AnySender};

use super::hosts::{Host, addresses};
use super::kernel::{KernelReceiver, KernelSender, Line};
use super::own::OwnEnd;
use super::watch::{End, Window};
use crate::clock::Clock;
use crate::router::{Router, RouterRecorder, Rule};

const PORT: u16 = 5198;
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
}

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

/// A flow's end that is ready and awaits the clock.
type Ready = Box<dyn FnOnce(&Await<Clock>, &AtomicBool) -> End + Send>;

/// Runs a plan, with the router on the calling thread, until its end, or until nothing holds the other end of `held` any more.
/// What threads inherit of the calling one, such as its priority, the flows' ends have too.
///
/// # Errors
/// Namespaces, devices, sockets or threads that the system does not let us have; a plan that does not fit together.
pub fn run<R: RouterRecorder>(plan: LabPlan, recorder: R, held: &OwnedFd) -> io::Result<LabEnded<R>> {
    let LabPlan { hosts, links, flows, window } = plan;
    let (hosts, files) = hosts_of(hosts, &flows)?;
    let mut rules = Vec::new();
    let mut ready = Vec::new();
    let longest = flows.iter().map(mtu_of).max().unwrap_or_default();
    for (index, flow) in flows.into_iter().enumerate() {
        let id = FlowId::from(index);
        rules.extend(rules_of(id, &flow)?);
        let (sender, receiver) = prepare(id, flow, &hosts, window)?;
        ready.extend([sender, receiver]);
    }
    let mut router = Router::new(files, links, rules, usize::from(longest), recorder)?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for (index, end) in ready.into_iter().enumerate() {
        threads.push(start(index, end, &stop)?);
    }
    let clock = router.begin();
    for (_, tell) in &threads {
        // Whoever has ended already does not want to know.
        let _ = tell.send(clock);
    }
    let outcome = router.run(window.end, &[held.as_fd()]);
    let is_stopped = clock.now() < window.end;
    if is_stopped || outcome.is_err() {
        stop.store(true, Ordering::Relaxed);
    }
    let mut ends = Vec::new();
    for (thread, _) in threads {
        ends.push(thread.join().map_err(|_| io::Error::other("a flow's thread panicked"))?);
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

/// A thread that runs an end as soon as it is told the clock.
fn start(index: usize, end: Ready, stop: &Arc<AtomicBool>) -> io::Result<(JoinHandle<End>, Tell<Clock>)> {
    let (tell, told) = channel();
    let stop = Arc::clone(stop);
    let what = if index.is_multiple_of(2) { "sender" } else { "receiver" };
    let thread = thread::Builder::new().name(format!("{what} {}", index / 2)).spawn(move || {
        // Where the system refuses, wakes are later, which is measured.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        end(&told, &stop)
    })?;
    Ok((thread, tell))
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
        let (mut mine, mut mtu, mut ecn) = (Vec::new(), LEAST_MTU as u16, false);
        for (index, flow) in flows.iter().enumerate() {
            let (from, to) = addresses(FlowId::from(index))?;
            let is_here = [(flow.hosts.0, from), (flow.hosts.1, to)];
            mine.extend(
                is_here.into_iter().filter_map(|(host, address)| (host == number).then_some(address)),
            );
            if flow.hosts.0 == number || flow.hosts.1 == number {
                mtu = mtu.max(mtu_of(flow));
                ecn |= matches!(flow.ends, FlowEnds::Kernel { ecn: true, .. });
            }
        }
        let (host, file) = Host::new(&mine, mtu, ecn)?;
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

/// Both ends of a flow with their sockets, which exist from here on.
fn prepare(id: FlowId, flow: LabFlow, hosts: &[Arc<Host>], window: Window) -> io::Result<(Ready, Ready)> {
    let (from, to) = addresses(id)?;
    let LabFlow { hosts: (near, far), segment, start, stop, rngs, ends, .. } = flow;
    match ends {
        FlowEnds::Own { sender, receiver, header } => {
            let here = datagrams(&hosts[near], from, to)?;
            let there = datagrams(&hosts[far], to, from)?;
            let sender =
                OwnEnd { flow: id, socket: here, endpoint: sender, rng: rngs.0, header, start, stop };
            let receiver = OwnEnd {
                flow: id,
                socket: there,
                endpoint: receiver,
                rng: rngs.1,
                header,
                start: Time::ZERO,
                stop: None,
            };
            Ok((
                Box::new(move |clock, stop| sender.run(window, clock, stop)),
                Box::new(move |clock, stop| receiver.run(window, clock, stop)),
            ))
        }
        FlowEnds::Kernel { congestion, source, .. } => {
            let address = SocketAddrV4::new(to, PORT);
            let listener = hosts[far].namespace.run(move || TcpListener::bind(address))??;
            let line = Line { host: Arc::clone(&hosts[near]), from, to: address, congestion, segment };
            let sender = KernelSender { line, source, rng: rngs.0, start, stop };
            let receiver = KernelReceiver { listener, segment };
            Ok((
                Box::new(move |clock, stop| sender.run(window, clock, stop)),
                Box::new(move |clock, stop| receiver.run(window, clock, stop)),
            ))
        }
    }
}

/// A socket for datagrams from one address to another.
fn datagrams(host: &Host, from: Ipv4Addr, to: Ipv4Addr) -> io::Result<UdpSocket> {
    host.namespace.run(move || {
        let socket = UdpSocket::bind((from, PORT))?;
        socket.connect((to, PORT))?;
        // As much as the system lets us have.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, KEPT);
        Ok(socket)
    })?
}
