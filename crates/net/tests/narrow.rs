//! Transfers over ways that carry short packets only, from the beginning or from some moment on: two hosts with a router
//! between them, in namespaces, where interfaces have the MTU that they are given and ICMP passes or does not. The tests skip
//! themselves where the system has no namespaces. What is asked when, is tested in `transfer/narrowing.rs`, where time is an
//! argument.

#[path = "common/ends.rs"]
mod ends;
#[path = "common/folder.rs"]
mod folder;

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use folder::Folder;
use tailback_core::{Bytes, Span, Time};
use tailback_net::Clock;
use tailback_net::router::Namespace;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{
    Phase, ReceiveConfig, Received, Seen, SendConfig, Sent, Sizes, TransferError, Word, receive, send,
};

const SIZE: usize = 20_000_000;
/// Only a hang gets there.
const LONG: Span = Span::from_secs(60);
/// How often longer packets are tried.
const LONGER: Span = Span::from_secs(2);
/// This part of a file is there when the way becomes narrow.
const MIDWAY: usize = 10;
/// The receiver's addresses.
const FOUR: &str = "10.77.2.2";
const SIX: &str = "fd77:2::2";

/// Two hosts and a router between them.
struct Lab {
    near: Namespace,
    router: Namespace,
    far: Namespace,
}

/// An interface on the way.
#[derive(Clone, Copy, Debug)]
enum Hop {
    /// The sender's own.
    First,
    /// The router's, behind which the receiver is.
    Second,
}

impl Lab {
    /// Nothing where the system lacks what it takes.
    fn new(is_filtered: bool) -> Option<Self> {
        let why = match Self::build(is_filtered) {
            Ok(lab) => return Some(lab),
            Err(error) => error,
        };
        writeln!(io::stderr(), "skipped: {why}").expect("a place for messages");
        None
    }

    fn build(is_filtered: bool) -> io::Result<Self> {
        let lab = Self { near: Namespace::new()?, router: Namespace::new()?, far: Namespace::new()? };
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
    fn narrow(&self, hop: Hop, mtu: u16) {
        let (host, link) = match hop {
            Hop::First => (&self.near, "host"),
            Hop::Second => (&self.router, "r2"),
        };
        // The threads of hosts may be busy with a transfer.
        let net = format!("--net={}", host.path());
        let words = [&net, "ip", "link", "set", link, "mtu", &mtu.to_string()];
        assert!(Command::new("nsenter").args(words).status().expect("there is one").success());
    }
}

/// A transfer through a lab, and what becomes of it.
struct Moved {
    sent: Result<Sent, TransferError>,
    received: Result<Received, TransferError>,
    /// Of each session, how long its packets are.
    begun: Vec<Sizes>,
}

/// Sends a file of a size from one end to the other; when some of it is there, `midway` is done.
fn moved(
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
    let receiving = receiving(&target, &pair, to.parse().expect("an address"));
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
        let config = sending(&file, told.recv().expect("it listens"), keys);
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
        Moved { sent, received: receiver.join().expect("no panic"), begun: sized.try_iter().collect() }
    })
}

fn receiving(folder: &Path, pair: &KeyPair, address: IpAddr) -> ReceiveConfig {
    ReceiveConfig {
        folder: folder.to_owned(),
        address: Some(address),
        link: 0,
        port: 0,
        keys: Some(pair.clone()),
        only: None,
        patience: Span::from_secs(5),
        overwrite: true,
    }
}

fn sending(file: &Path, to: SocketAddr, keys: Option<(KeyPair, Invitation)>) -> SendConfig {
    let (patience, packet) = (Span::from_secs(5), Bytes::new(1500));
    SendConfig { file: file.to_owned(), peers: vec![to], keys, patience, packet, longer: LONGER }
}

/// Sends a file over a way that is narrow from the beginning.
fn over(name: &str, (hop, mtu): (Hop, u16), to: &'static str, is_filtered: bool) -> Option<Moved> {
    let lab = Lab::new(is_filtered)?;
    lab.narrow(hop, mtu);
    Some(moved(&lab, &Folder::new(name), ("cubic", SIZE), to, &|| {}))
}

/// Sends a file over a way that becomes narrow meanwhile, and looks that it arrives in packets of this length at last.
fn becoming(scheme: &'static str, (hop, mtu): (Hop, u16), to: &'static str, is_filtered: bool) {
    let Some(lab) = Lab::new(is_filtered) else { return };
    // A scheme with a rate of its own has 1 Mbit/s.
    let size = if scheme == "fixed-rate" { SIZE / 50 } else { SIZE };
    let what = format!("{scheme} {hop:?} {mtu} {to} filtered: {is_filtered}");
    let folder = Folder::new(&what.replace([' ', ':', '.'], "-"));
    let Moved { sent, received, begun } = moved(&lab, &folder, (scheme, size), to, &|| lab.narrow(hop, mtu));
    let (sent, received) = (sent.expect(&what), received.expect(&what));
    writeln!(io::stderr(), "{what}: {} in {}", sent.packet, sent.span).expect("a place for messages");
    assert_eq!(sent.packet, Bytes::new(mtu.into()), "{what}");
    assert_eq!((begun[0].packet, begun.len()), (Bytes::new(1500), 2), "{what}: {begun:?}");
    let there = fs::read(folder.path().join("in/film")).expect("there");
    assert!(there == fs::read(folder.path().join("film")).expect("there"), "{what}");
    assert_eq!(sent.hash, received.hash);
    // Nothing was there before, and all has left, in however many sessions.
    assert_eq!(sent.resumed, Bytes::ZERO);
    assert!(sent.edge.sent * 1500 >= size as u64, "{what}: {:?}", sent.edge);
    assert!(received.resumed.get() as usize >= size / MIDWAY, "{what}: it went on where it was");
    assert!(sent.span < Span::from_secs(20), "{what}: {}", sent.span);
}

#[test]
fn a_way_that_is_narrow_from_the_beginning_is_used_as_far_as_it_carries() {
    thread::scope(|scope| {
        for (hop, mtu, to, is_filtered) in [
            (Hop::First, 1492, FOUR, false),
            (Hop::Second, 1492, FOUR, true),
            (Hop::First, 1420, SIX, true),
            (Hop::Second, 1420, SIX, false),
            (Hop::Second, 1280, SIX, true),
        ] {
            scope.spawn(move || {
                let what = format!("{hop:?}-{mtu}-{is_filtered}");
                let Some(Moved { sent, .. }) = over(&what, (hop, mtu), to, is_filtered) else { return };
                assert_eq!(sent.expect(&what).packet, Bytes::new(mtu.into()), "{what}");
            });
        }
    });
}

/// What a transfer needs is more than the least that IPv4 allows (RFC 791).
#[test]
fn a_way_that_is_too_narrow_for_any_transfer_is_one_error_that_says_so() {
    for (is_filtered, name) in [(true, "deaf"), (false, "told")] {
        let Some(Moved { sent, .. }) = over(name, (Hop::Second, 576), FOUR, is_filtered) else { return };
        let error = sent.expect_err("too narrow").to_string();
        let why = "did not answer for 5 s (only packets that are too short for a transfer reach it)";
        assert!(error.ends_with(why), "{error}");
    }
}

#[test]
fn a_way_that_becomes_narrow_behind_a_router_is_gone_on_with() {
    thread::scope(|scope| {
        scope.spawn(|| becoming("cubic", (Hop::Second, 1420), FOUR, true));
        scope.spawn(|| becoming("cubic", (Hop::Second, 1492), SIX, true));
        scope.spawn(|| becoming("fixed-rate", (Hop::Second, 1400), FOUR, true));
        scope.spawn(|| becoming("vegas", (Hop::Second, 1280), SIX, false));
    });
}

/// As where a private network comes up, and the way leads through it.
#[test]
fn a_senders_own_interface_that_becomes_narrow_is_gone_on_with() {
    thread::scope(|scope| {
        scope.spawn(|| becoming("cubic", (Hop::First, 1420), FOUR, false));
        scope.spawn(|| becoming("monaco", (Hop::First, 1360), SIX, true));
    });
}

/// The route changes once more, to a way that is wider and not as wide as the first. The router says of each longer question that
/// it is too long, which is known, and no reason to ask whether the way has become narrow.
#[test]
fn a_way_that_becomes_a_little_wider_is_used_as_far_as_it_carries() {
    let Some(lab) = Lab::new(false) else { return };
    let folder = Folder::new("wider");
    let changes = || {
        lab.narrow(Hop::Second, 1280);
        thread::sleep(Duration::from_secs(5));
        lab.narrow(Hop::Second, 1420);
    };
    let Moved { sent, received, begun } = moved(&lab, &folder, ("fixed-rate", SIZE / 10), SIX, &changes);
    received.expect("received");
    assert_eq!(sent.expect("sent").packet, Bytes::new(1420));
    let lengths: Vec<u64> = begun.iter().map(|sizes| sizes.packet.get()).collect();
    assert_eq!(lengths, [1500, 1280, 1420]);
}

/// Short packets pass, and none that a transfer can use: one error, which says so, in the time that is stated.
#[test]
fn a_way_that_becomes_too_narrow_is_one_error_that_says_so() {
    let Some(lab) = Lab::new(true) else { return };
    let folder = Folder::new("too-narrow");
    let narrow = || lab.narrow(Hop::Second, 576);
    let Moved { sent, received, begun } = moved(&lab, &folder, ("cubic", SIZE), FOUR, &narrow);
    let error = sent.expect_err("too narrow").to_string();
    let why = "the receiver has acknowledged nothing for 5 s (only packets that are too short for a transfer reach it); ";
    assert!(error.starts_with(why), "{error}");
    assert_eq!(begun.len(), 1);
    received.expect_err("nothing comes any more");
}
