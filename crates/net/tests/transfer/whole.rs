//! Files that arrive whole, whatever the network does to their packets. How long these are is in `lengths.rs`.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use tailback_core::Bytes;
use tailback_net::secure::KeyPair;
use tailback_net::transfer::{ReceiveConfig, Received, Sent, Sizes, send};

use super::waiting::{Places, SIZE, config, sent, waiting};
use crate::common::ends;
use crate::common::relay::{Relay, Treatment};

/// A little of what networks do.
const USUAL: Treatment = Treatment { loss: 0.01, reordering: 0.01, ..Treatment::NONE };

pub(crate) fn arrives_through(scheme: &str, treatment: Treatment) -> (Sent, Received) {
    let folder = Places::new(&format!(
        "{scheme}-{}",
        treatment.loss
            + (treatment.moves_every + treatment.lost_after + treatment.narrow_to as u64) as f64
            + treatment.narrow_for
    ));
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let relay = Relay::new(receiver.address, treatment);
    let sent = sent(&receiver.sending(&file, relay.address), scheme).expect("sent");
    let whole = receiver.end().expect("received");
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
    assert_eq!(folder.names(), ["film"], "nothing else is left");
    assert_eq!((sent.hash, sent.size), (whole.hash, whole.size));
    (sent, whole)
}

#[test]
fn a_file_arrives_under_any_reliable_scheme() {
    for scheme in ["cubic", "monaco", "packet-pair", "vegas"] {
        let (sent, _) = arrives_through(scheme, USUAL);
        assert_eq!(sent.resumed, Bytes::ZERO);
    }
}

#[test]
fn a_file_arrives_through_an_attackers_hands() {
    let treatment = Treatment {
        loss: 0.02,
        duplication: 0.02,
        reordering: 0.02,
        corruption: 0.02,
        truncation: 0.02,
        replay: 0.02,
        forgery: 0.05,
        reflection: 0.02,
        ..Treatment::default()
    };
    for scheme in ["sack", "monaco"] {
        let (sent, received) = arrives_through(scheme, treatment);
        let refused = sent.edge.refused + received.edge.refused;
        assert!(refused > 50, "{scheme}: only {refused} datagrams were refused, so that nothing is proven");
    }
}

#[test]
fn a_sender_may_change_its_address() {
    // Behind its back, as address translators do.
    let (_, whole) = arrives_through("cubic", Treatment { moves_every: 300, ..Treatment::default() });
    assert!(whole.moves > 0);
    // By itself, as a host does that changes its network: its old address is of no use any more, and nobody says so.
    let (sent, whole) = arrives_through("cubic", Treatment { lost_after: 1000, ..Treatment::default() });
    assert!(sent.moves > 0 && whole.moves > 0, "{} and {}", sent.moves, whole.moves);
    // None has more of the file than a packet's 1500 bytes; fewer are left when the address is lost.
    assert!(sent.edge.sent >= SIZE as u64 / 1500, "{} datagrams are not the whole file", sent.edge.sent);
}

/// A socket of both protocols has addresses of IPv4 as some of IPv6: packets, and what people read, are of IPv4.
#[test]
fn an_address_of_ipv4_is_one_however_it_is_written() {
    let folder = Places::new("mapped");
    let file = folder.file(1000);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(ReceiveConfig { address: None, ..config(&folder.target(), &pair) });
    let port = receiver.address.port();
    let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().expect("an address"), port);
    let mut found = None;
    let prepare = |sizes: Sizes| {
        found = Some(sizes.packet);
        Ok(ends::sender("cubic", sizes))
    };
    let sent = send(&receiver.sending(&file, mapped), prepare, &mut |_| true).expect("sent");
    assert_eq!(sent.peer, SocketAddr::from(([127, 0, 0, 1], port)));
    assert_eq!(found, Some(Bytes::new(1500)));
    let peer = receiver.end().expect("received").peer;
    assert_eq!(peer.ip(), IpAddr::from([127, 0, 0, 1]));
}
