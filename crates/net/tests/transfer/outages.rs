//! Ways on which nothing passes for a while, in the middle of a transfer or when all has arrived. Ways that stay closed are in
//! `given_up.rs`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use tailback_core::{Bytes, Span, Time};
use tailback_net::Clock;
use tailback_net::secure::KeyPair;
use tailback_net::transfer::{Phase, ReceiveConfig, Seen, SendConfig, send};

use super::waiting::{Places, SIZE, config, sent, waiting, watched};
use crate::common::ends;
use crate::common::relay::{Relay, Treatment};

const PATIENCE: Span = Span::from_secs(5);
/// Longer than anybody would say a word again, were he not told how long to.
const GONE: std::time::Duration = std::time::Duration::from_millis(3500);

/// Shuts a relay now, and opens it when the way has been gone for so long.
fn shut(relay: &Relay) {
    let is_shut = Arc::clone(&relay.is_shut);
    if !is_shut.swap(true, Ordering::Relaxed) {
        thread::spawn(move || {
            thread::sleep(GONE);
            is_shut.store(false, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_way_that_comes_back_within_the_patience_is_gone_on_with() {
    let folder = Places::new("comes-back");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let relay = Relay::new(receiver.address, Treatment::NONE);
    let sending = SendConfig { patience: PATIENCE, ..receiver.sending(&file, relay.address) };
    let (clock, mut was_shut) = (Clock::start(), false);
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && seen.done > Bytes::new(300_000) && !was_shut {
            was_shut = true;
            shut(&relay);
        }
        true
    };
    send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect("sent");
    assert!(was_shut && clock.now() > Time::ZERO + Span::from_secs(3), "nothing was lost");
    receiver.end().expect("received");
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
}

/// Routes change between a way of hardly any time and one on which a round trip takes half a second: what was sent on the slow one
/// comes behind what is sent later. A scheme of delays would take the longer way for a queue, and send two packets in a round trip.
#[test]
fn ways_that_change_between_quick_and_slow_are_gone_on_with() {
    for (scheme, name) in [("cubic", "slow-cubic"), ("tfrc", "slow-tfrc")] {
        let folder = Places::new(name);
        let file = folder.file(SIZE);
        let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
        let slow = Treatment { slow_every: 400, slow_by: 0.25, ..Treatment::default() };
        let relay = Relay::new(receiver.address, slow);
        let sending = SendConfig { patience: PATIENCE, ..receiver.sending(&file, relay.address) };
        let sent = sent(&sending, scheme).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        // Once there, at least: a sender may have all behind it by the time that the first of it comes.
        assert!(sent.span > Span::from_millis(250), "{scheme}: the way was never slow");
        receiver.end().expect("received");
        assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
    }
}

/// The file is there, and the word of that gets lost for a while: its sender hears it in the end.
#[test]
fn the_word_that_all_is_well_is_said_for_as_long_as_somebody_waits_for_it() {
    let folder = Places::new("last-word");
    let file = folder.file(SIZE);
    let receiving = config(&folder.target(), &KeyPair::generate().expect("random numbers"));
    let relay: Arc<Mutex<Option<Relay>>> = Arc::default();
    let seen = Arc::clone(&relay);
    let mut was_shut = false;
    let see = move |now: &Seen| {
        if now.phase == Phase::Checking
            && !std::mem::replace(&mut was_shut, true)
            && let Some(relay) = &*seen.lock().expect("no panic")
        {
            shut(relay);
        }
    };
    let receiver = watched(ReceiveConfig { patience: PATIENCE, ..receiving }, |_| {}, see);
    let made = Relay::new(receiver.address, Treatment::NONE);
    let (address, is_shut) = (made.address, Arc::clone(&made.is_shut));
    *relay.lock().expect("no panic") = Some(made);
    let sending = SendConfig { patience: PATIENCE, ..receiver.sending(&file, address) };
    let clock = Clock::start();
    sent(&sending, "cubic").expect("told");
    assert!(!is_shut.load(Ordering::Relaxed) && clock.now() > Time::ZERO + Span::from_secs(3), "not lost");
    receiver.end().expect("received");
}
