//! Transfers over ways that are gone for a while, come and go, or end for good, and between hosts that get other addresses: two hosts
//! with a router between them, in namespaces. Each ends well, or with one clear error at each end in the time that is stated. The
//! tests skip themselves where the system has no namespaces. Ways that become narrow are in `narrow.rs`.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::routed::{FOUR, Lab, Moved, SIX, ip, ips, moved, program};
use tailback_core::Span;
use tailback_net::Clock;
use tailback_net::router::Namespace;

/// Four seconds of what the router lets through.
const SIZE: usize = 10_000_000;
/// What both ends wait for one another.
const PATIENCE: Span = Span::from_secs(5);

/// The same where interfaces come back: the system may take seconds to bring one up again, and who is up first asks for a neighbour that
/// is not there yet, and asks again after a second (RFC 4861, section 10). So nothing comes through for longer than they are gone.
const WHERE_THEY_COME_BACK: Span = Span::from_secs(15);

/// A lab whose router lets 20 Mbit/s through.
fn lab() -> Option<Lab> {
    let lab = Lab::new(false)?;
    program(&lab.router, "tc qdisc add dev r2 root tbf rate 20mbit burst 15000 limit 100000");
    Some(lab)
}

/// Gives a host its addresses and routes, which it loses with its interface; whatever has set it up does that again.
fn set_up(host: &Namespace, side: u8, number: u8) {
    let lines = [
        "link set host up".to_owned(),
        format!("addr replace 10.77.{side}.{number}/24 dev host"),
        format!("addr replace fd77:{side}::{number}/64 dev host nodad"),
        format!("route replace default via 10.77.{side}.1"),
        format!("route replace default via fd77:{side}::1 dev host"),
    ];
    ips(host, &lines);
}

/// Takes both hosts' interfaces down for so long.
fn gone_for(lab: &Lab, span: Duration) {
    for host in [&lab.near, &lab.far] {
        ip(host, "link set host down");
    }
    thread::sleep(span);
    for (host, side) in [(&lab.near, 1), (&lab.far, 2)] {
        set_up(host, side, 2);
    }
}

/// What arrives is what was sent.
fn is_whole(folder: &Folder) -> bool {
    fs::read(folder.path().join("in/film")).expect("there")
        == fs::read(folder.path().join("film")).expect("there")
}

/// A transfer during which this is done to the way: it comes to its end, if both ends have the patience.
fn survives(
    (name, patience): (&str, Span),
    (scheme, size): (&'static str, usize),
    to: &'static str,
    hears_all: bool,
    midway: &dyn Fn(&Lab),
) {
    let Some(lab) = lab().map(|lab| Lab { hears_all, patience, ..lab }) else { return };
    let what = format!("{name}-{scheme}-{}-{hears_all}", to.replace([':', '.'], "-"));
    let folder = Folder::new(&what);
    let Moved { sent, received, .. } = moved(&lab, &folder, (scheme, size), to, &|| midway(&lab));
    let (sent, received) =
        (sent.map_err(|error| error.to_string()), received.map_err(|error| error.to_string()));
    assert!(sent.is_ok() && received.is_ok(), "{what}: {sent:?} {received:?}");
    assert!(is_whole(&folder), "{what}");
}

#[test]
fn interfaces_that_are_gone_at_both_ends_for_a_while_are_gone_on_with() {
    thread::scope(|scope| {
        for (scheme, to, hears_all) in [
            ("cubic", FOUR, true),
            ("cubic", SIX, true),
            ("cubic", FOUR, false),
            ("cubic", SIX, false),
            ("vegas", SIX, true),
        ] {
            scope.spawn(move || {
                survives(("gone", WHERE_THEY_COME_BACK), (scheme, SIZE), to, hears_all, &|lab| {
                    gone_for(lab, Duration::from_secs(3));
                });
            });
        }
    });
}

#[test]
fn interfaces_that_come_and_go_are_gone_on_with() {
    let flap = |lab: &Lab| {
        for _ in 0..10 {
            gone_for(lab, Duration::from_millis(300));
            thread::sleep(Duration::from_millis(300));
        }
    };
    thread::scope(|scope| {
        for (scheme, size, to) in
            [("cubic", SIZE, FOUR), ("cubic", SIZE, SIX), ("fixed-rate", SIZE / 10, SIX)]
        {
            scope.spawn(move || survives(("flaps", WHERE_THEY_COME_BACK), (scheme, size), to, true, &flap));
        }
    });
}

#[test]
fn a_sender_whose_host_gets_another_address_goes_on() {
    let moves = |lab: &Lab| {
        ip(&lab.near, "addr flush dev host scope global");
        set_up(&lab.near, 1, 3);
    };
    thread::scope(|scope| {
        for to in [FOUR, SIX] {
            scope.spawn(move || survives(("moves", PATIENCE), ("cubic", SIZE), to, true, &moves));
        }
    });
}

/// What becomes of the way.
type Change<'a> = &'a (dyn Fn(&Lab) + Sync);

/// What both ends say where this becomes of the way, and how long after that it took.
fn ends_of(name: &str, to: &'static str, hears_all: bool, midway: &dyn Fn(&Lab)) -> Option<[String; 2]> {
    let lab = Lab { hears_all, ..lab()? };
    let folder = Folder::new(&format!("{name}-{}-{hears_all}", to.replace([':', '.'], "-")));
    let clock = Clock::start();
    let since = std::cell::Cell::new(clock.now());
    let done = || {
        midway(&lab);
        since.set(clock.now());
    };
    let Moved { sent, received, .. } = moved(&lab, &folder, ("cubic", SIZE), to, &done);
    let took = clock.now().since(since.get());
    assert!(took < PATIENCE + Span::from_secs(10), "{name}: {took:?}");
    Some([sent.expect_err("no way").to_string(), received.expect_err("no way").to_string()])
}

#[test]
fn ways_that_end_for_good_are_one_clear_error_at_each_end() {
    let gone = |lab: &Lab| {
        for host in [&lab.near, &lab.far] {
            ip(host, "link set host down");
        }
    };
    // The receiver's new address is not known to the sender, nor the other way around.
    let both_move = |lab: &Lab| {
        for (host, side) in [(&lab.near, 1), (&lab.far, 2)] {
            ip(host, "addr flush dev host scope global");
            set_up(host, side, 3);
        }
    };
    let receiver_moves = |lab: &Lab| {
        ip(&lab.far, "addr flush dev host scope global");
        set_up(&lab.far, 2, 3);
    };
    let cases: [(&str, Change<'_>); 3] =
        [("gone-for-good", &gone), ("both-move", &both_move), ("receiver-moves", &receiver_moves)];
    thread::scope(|scope| {
        for (name, midway) in cases {
            for (to, hears_all) in [(FOUR, true), (SIX, true), (FOUR, false)] {
                scope.spawn(move || {
                    let Some([sent, received]) = ends_of(name, to, hears_all, midway) else { return };
                    // What was the last to come may have been a sign of life.
                    let found = ["said", "acknowledged"]
                        .map(|what| format!("the receiver has {what} nothing for 5 s"));
                    let is_found =
                        found.iter().any(|found| sent.starts_with(found)) && !sent.contains("signs of life");
                    assert!(is_found, "{name} {to}: {sent}");
                    assert!(
                        received.starts_with("the sender has said nothing for 5 s"),
                        "{name} {to}: {received}"
                    );
                });
            }
        }
    });
}
