//! Two hosts with a router between them, in namespaces of their own, and a transfer from one to the other: what tests share in which
//! something becomes of the way. What that is, is the tests' own. Nothing where the system has no namespaces.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tailback_core::{Bytes, Span, Time};
use tailback_net::Clock;
use tailback_net::router::Namespace;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{
    Phase, ReceiveConfig, Received, Seen, SendConfig, Sent, Sizes, TransferError, Word, receive, send,
};

use crate::common::ends;
use crate::common::folder::Folder;

/// Only a hang gets there.
const LONG: Span = Span::from_secs(60);
/// How often longer packets are tried.
const LONGER: Span = Span::from_secs(2);
/// This part of a file is there when something becomes of the way.
pub(crate) const MIDWAY: usize = 10;
/// The receiver's addresses.
pub(crate) const FOUR: &str = "10.77.2.2";
pub(crate) const SIX: &str = "fd77:2::2";

/// Two hosts and a router between them.
pub(crate) struct Lab {
    pub(crate) near: Namespace,
    pub(crate) router: Namespace,
    pub(crate) far: Namespace,
    /// Whether the receiver hears on all addresses of its host.
    pub(crate) hears_all: bool,
    /// What both ends wait for one another.
    pub(crate) patience: Span,
}

/// An interface on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hop {
    /// The sender's own.
    First,
    /// The router's, behind which the receiver is.
    Second,
}

impl Lab {
    /// Nothing where the system lacks what it takes.
    pub(crate) fn new(is_filtered: bool) -> Option<Self> {
        let why = match Self::build(is_filtered) {
            Ok(lab) => return Some(lab),
            Err(error) => error,
        };
        writeln!(io::stderr(), "skipped: {why}").expect("a place for messages");
        None
    }

    fn build(is_filtered: bool) -> io::Result<Self> {
        let lab = Self {
            near: Namespace::new()?,
            router: Namespace::new()?,
            far: Namespace::new()?,
            hears_all: false,
            patience: Span::from_secs(5),
        };
        for (host, side) in [(&lab.near, 1), (&lab.far, 2)] {
            // A thread stands for its namespace.
            let path = host.path();
            let there = path.split('/').nth(4).unwrap_or_default();
            lab.router.ip(&[
                &format!("link add r{side} type veth peer name host netns {there}"),
                &format!("addr add 10.77.{side}.1/24 dev r{side}"),
                &format!("addr add fd77:{side}::1/64 dev r{side} nodad"),
                &format!("link set r{side} up"),
            ])?;
            host.ip(&[
                &format!("addr add 10.77.{side}.2/24 dev host"),
                &format!("addr add fd77:{side}::2/64 dev host nodad"),
                "link set host up",
                &format!("route add default via 10.77.{side}.1"),
                &format!("route add default via fd77:{side}::1"),
            ])?;
        }
        lab.router.run(|| {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
        })??;
        if is_filtered {
            lab.filter()?;
        }
        Ok(lab)
    }

    /// From now on no word of the network comes to the sender, as behind a firewall that is all too careful.
    fn filter(&self) -> io::Result<()> {
        let rules = "add table inet f
            add chain inet f c { type filter hook input priority 0 ; }
            add rule inet f c icmp type destination-unreachable drop
            add rule inet f c icmpv6 type packet-too-big drop";
        let status = self.near.run(move || Command::new("nft").arg(rules).status())??;
        if status.success() { Ok(()) } else { Err(io::Error::other("nft refuses")) }
    }

    /// From now on an interface takes no longer packets.
    pub(crate) fn narrow(&self, hop: Hop, mtu: u16) {
        let (host, link) = match hop {
            Hop::First => (&self.near, "host"),
            Hop::Second => (&self.router, "r2"),
        };
        ip(host, &format!("link set {link} mtu {mtu}"));
    }
}

/// Gives a line to `ip` in a namespace whose thread may be busy with a transfer.
pub(crate) fn ip(host: &Namespace, line: &str) {
    program(host, &format!("ip {line}"));
}

/// The same with several lines, at once: a program for each would take longer than a way is to be gone.
pub(crate) fn ips(host: &Namespace, lines: &[String]) {
    let net = format!("--net={}", host.path());
    let mut command = Command::new("nsenter");
    let mut child =
        command.args([&net, "ip", "-batch", "-"]).stdin(Stdio::piped()).spawn().expect("there is one");
    let input = child.stdin.take().expect("a pipe");
    { input }.write_all((lines.join("\n") + "\n").as_bytes()).expect("written");
    assert!(child.wait().expect("it ends").success(), "{lines:?}");
}

/// The same with any program.
pub(crate) fn program(host: &Namespace, line: &str) {
    let net = format!("--net={}", host.path());
    let words = line.split_whitespace();
    let status = Command::new("nsenter").arg(net).args(words).status().expect("there is one");
    assert!(status.success(), "{line}");
}

/// A transfer through a lab, and what becomes of it.
pub(crate) struct Moved {
    pub(crate) sent: Result<Sent, TransferError>,
    pub(crate) received: Result<Received, TransferError>,
    /// Of each session, how long its packets are.
    pub(crate) begun: Vec<Sizes>,
}

/// Sends a file of a size from one end to the other; when some of it is there, `midway` is done.
pub(crate) fn moved(
    lab: &Lab,
    folder: &Folder,
    (scheme, size): (&'static str, usize),
    to: &'static str,
    midway: &dyn Fn(),
) -> Moved {
    let (file, target) = (folder.path().join("film"), folder.path().join("in"));
    fs::create_dir_all(&target).expect("a folder");
    fs::write(&file, (0..size).map(|at| (at % 251) as u8).collect::<Vec<_>>()).expect("a file");
    let pair = KeyPair::generate().expect("random numbers");
    let keys = Some((KeyPair::generate().expect("random numbers"), Invitation::of(&pair)));
    let to: IpAddr = to.parse().expect("an address");
    let receiving = receiving(&target, &pair, (!lab.hears_all).then_some(to), lab.patience);
    let ((tell, told), (see, seen), (sizing, sized)) = (channel(), channel(), channel());
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let job = move || {
                let listening = |word: Word<'_>| {
                    if let Word::Listening(at) = word {
                        tell.send(at).expect("heard");
                    }
                };
                let mut goes_on = |_: &Seen| !over.load(Ordering::Relaxed);
                receive(&receiving, listening, ends::receiver, &mut goes_on)
            };
            lab.far.run(job).expect("no panic")
        });
        let port = told.recv().expect("it listens").port();
        let config = sending(&file, (to, port).into(), keys, lab.patience);
        let sender = scope.spawn(move || {
            let clock = Clock::start();
            let job = move || {
                let mut watch = |now: &Seen| {
                    let done = if now.phase == Phase::Moving { now.done.get() } else { 0 };
                    see.send(done).is_ok() && clock.now() < Time::ZERO + LONG
                };
                let prepare = |sizes| {
                    sizing.send(sizes).expect("heard");
                    Ok(ends::sender(scheme, sizes))
                };
                send(&config, prepare, &mut watch)
            };
            lab.near.run(job).expect("no panic")
        });
        let is_midway = |done: &u64| *done as usize >= size / MIDWAY;
        if seen.iter().any(|done| is_midway(&done)) {
            midway();
        }
        seen.iter().for_each(drop);
        let sent = sender.join().expect("no panic");
        // A receiver waits for others, where none has come.
        is_over.store(matches!(sent, Err(TransferError::NoAnswer { .. })), Ordering::Relaxed);
        // Nor does it wait for ever where one has gone whom it no longer expects.
        let clock = Clock::start();
        while !receiver.is_finished() && clock.now() < Time::ZERO + LONG {
            thread::sleep(Duration::from_millis(10));
        }
        is_over.store(true, Ordering::Relaxed);
        Moved { sent, received: receiver.join().expect("no panic"), begun: sized.try_iter().collect() }
    })
}

fn receiving(folder: &Path, pair: &KeyPair, address: Option<IpAddr>, patience: Span) -> ReceiveConfig {
    ReceiveConfig {
        folder: folder.to_owned(),
        address,
        link: 0,
        port: 0,
        keys: Some(pair.clone()),
        only: None,
        patience,
        overwrite: true,
    }
}

fn sending(file: &Path, to: SocketAddr, keys: Option<(KeyPair, Invitation)>, patience: Span) -> SendConfig {
    let packet = Bytes::new(1500);
    SendConfig { file: file.to_owned(), peers: vec![to], keys, patience, packet, longer: LONGER }
}
