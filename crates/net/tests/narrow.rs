//! Transfers over ways that carry short packets only, from the beginning or from some moment on: two hosts with a router
//! between them, in namespaces, where interfaces have the MTU that they are given and ICMP passes or does not. The tests skip
//! themselves where the system has no namespaces. What is asked when, is tested in `transfer/narrowing.rs`, where time is an
//! argument.

use std::fs;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::routed::{FOUR, Hop, Lab, MIDWAY, Moved, SIX, moved};
use tailback_core::{Bytes, Span};

const SIZE: usize = 20_000_000;

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
