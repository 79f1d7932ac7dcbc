//! Ways that do not carry long packets, from the beginning or for a while: the transfer goes on with others. Ways that carry
//! nothing that a transfer can use are in `given_up.rs`.

use std::{fs, thread};

use tailback_core::{Bytes, DataAmount, Span};
use tailback_net::secure::KeyPair;
use tailback_net::transfer::{Seen, SendConfig, Sizes, send};
use tailback_transport::RtoConfig;

use super::waiting::{LONG, Places, SIZE, config, waiting};
use super::whole::arrives_through;
use crate::common::ends;
use crate::common::relay::{NARROW, Relay, Treatment};

/// Somebody on the way drops what is long for a while: it goes on with shorter packets, which pass, or with the same, when he
/// stops soon enough. What is sent for it is little.
#[test]
fn who_drops_long_packets_for_a_while_stops_nothing() {
    thread::scope(|scope| {
        for (narrow_for, narrow_to) in [(0.0, 1300), (1.2, 1300), (0.3, NARROW), (1.8, NARROW)] {
            scope.spawn(move || {
                let treatment =
                    Treatment { narrow_after: 400, narrow_to, narrow_for, loss: 0.01, ..Treatment::NONE };
                let (sent, _) = arrives_through("cubic", treatment);
                let shortest = if narrow_for == 0.0 { 1320 } else { 1260 };
                assert!((shortest..=1500).contains(&sent.packet.get()), "{narrow_for}: {}", sent.packet);
                assert!(
                    sent.edge.sent * sent.packet.get() < 3 * SIZE as u64,
                    "{narrow_for}: {:?}",
                    sent.edge
                );
            });
        }
    });
}

/// A route changes, and changes back: packets are short for a while, and then as long as before. The questions for that get lost
/// while the way is narrow, and the scheme hears of none.
#[test]
fn a_way_that_becomes_wide_again_is_used_again() {
    let folder = Places::new("wide");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let treatment = Treatment { narrow_after: 100, narrow_to: 1300, narrow_for: 4.0, ..Treatment::NONE };
    let relay = Relay::new(receiver.address, treatment);
    let (patience, longer) = (Span::from_secs(2), Span::from_secs(1));
    let sending = SendConfig { patience, longer, ..receiver.sending(&file, relay.address) };
    let (mut sizes, mut repeated) = (Vec::new(), Vec::new());
    let prepare = |size: Sizes| {
        sizes.push(size.packet.get());
        // An acknowledgement that a busy machine brings late is no loss: only what is lost is retransmitted, and what is on its way
        // has room in a socket, however long nobody reads it.
        Ok(ends::sender_with("fixed-rate", size, |config| {
            config.rto = RtoConfig { min: LONG, initial: LONG, max: LONG, ..config.rto };
            config.window_limit = Some(DataAmount::Packets(50.0));
        }))
    };
    let mut watch = |seen: &Seen| {
        repeated.push((seen.packet, seen.observation.repeated_packets));
        true
    };
    let whole = send(&sending, prepare, &mut watch).expect("sent");
    receiver.end().expect("received");
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
    assert_eq!(sizes, [1500, 1320, 1500]);
    assert_eq!(whole.packet, Bytes::new(1500));
    // Of those that were short, all passed, while questions were lost.
    let short: Vec<u64> = repeated
        .iter()
        .filter(|(packet, _)| *packet == Some(Bytes::new(1320)))
        .map(|(_, count)| *count)
        .collect();
    assert_eq!(short.first(), short.last(), "{short:?}");
}

#[test]
fn a_way_that_does_not_carry_long_packets_gets_shorter_ones() {
    let folder = Places::new("mtu");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    // Longer than any datagram: the system says so (EMSGSIZE).
    let sending = SendConfig { packet: Bytes::new(65_535 + 28), ..receiver.sending(&file, receiver.address) };
    let mut found = None;
    let prepare = |sizes| {
        found = Some(sizes);
        Ok(ends::sender("cubic", sizes))
    };
    send(&sending, prepare, &mut |_| true).expect("sent");
    // The next of those that are known, which loopback carries.
    assert_eq!(found.expect("asked").packet, Bytes::new(9000));
    receiver.end().expect("received");
}
