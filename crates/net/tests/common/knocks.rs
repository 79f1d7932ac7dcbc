//! A handshake in an attacker's hands: any bytes are what an attacker does who sees all datagrams and may repeat, change and
//! make up any, from two addresses. The same bytes are the same datagrams every time. Shared by a property test and a fuzz
//! target.

use std::net::SocketAddr;

use tailback_core::{Span, Time};
use tailback_net::secure::envelope::{COOKIE, Envelope, HEAD, Visible, head};
use tailback_net::secure::handshake::{Accepted, Answer};
use tailback_net::secure::{Initiator, Invitation, KeyPair, Responder};

const OFFER: &[u8] = b"what the sender offers";
const ANSWER: &[u8] = b"what the receiver answers";

/// The sender's and the receiver's keys: private ones of nothing but ones or twos, and what X25519 (RFC 7748 §5) makes of them.
/// The same every time, as all random numbers here, so that what an input came to comes again.
const PAIRS: (KeyPair, KeyPair) = (
    KeyPair {
        private: [1; 32],
        public: [
            164, 224, 146, 146, 182, 81, 194, 120, 185, 119, 44, 86, 159, 95, 169, 187, 19, 217, 6, 180, 106,
            182, 140, 157, 249, 220, 43, 68, 9, 248, 162, 9,
        ],
    },
    KeyPair {
        private: [2; 32],
        public: [
            206, 141, 58, 209, 204, 182, 51, 236, 123, 112, 193, 120, 20, 165, 199, 110, 205, 2, 150, 133, 5,
            13, 52, 71, 69, 186, 5, 135, 14, 88, 125, 89,
        ],
    },
);

struct World {
    initiator: Initiator,
    responder: Responder,
    now: Time,
    /// All that was ever on the wire, and of these what the sender made itself: hellos, and initiations with the times when
    /// their cookies were made.
    wire: Vec<Vec<u8>>,
    hellos: Vec<Vec<u8>>,
    genuine: Vec<(Vec<u8>, Time)>,
    cookies: Vec<([u8; COOKIE], Time)>,
    /// When the cookie of the newest initiation was made that the receiver has read.
    newest: Time,
    sessions: Vec<Accepted>,
}

fn address(which: u8) -> SocketAddr {
    if which.is_multiple_of(2) { ([192, 0, 2, 1], 1000).into() } else { ([192, 0, 2, 2], 2000).into() }
}

impl World {
    fn new() -> Self {
        let (sender, receiver) = PAIRS;
        let keys = (sender, Invitation::of(&receiver));
        Self {
            initiator: Initiator::seeded(Some(keys), 1).expect("drawn"),
            responder: Responder::seeded(Some(receiver), 2, Time::ZERO).expect("drawn"),
            now: Time::ZERO,
            wire: Vec::new(),
            hellos: Vec::new(),
            genuine: Vec::new(),
            cookies: Vec::new(),
            newest: Time::ZERO,
            sessions: Vec::new(),
        }
    }

    fn seen(&self, which: u8) -> Vec<u8> {
        let count = self.wire.len().max(1);
        self.wire.get(usize::from(which) % count).cloned().unwrap_or_default()
    }

    /// What was seen, with one bit changed or cut short.
    fn changed(&self, [_, which, at, how]: [u8; 4]) -> Vec<u8> {
        let mut bytes = self.seen(which);
        let place = usize::from(at) * bytes.len() / 256;
        if how.is_multiple_of(4) {
            bytes.truncate(place);
        } else if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1 << (how % 8);
        }
        bytes
    }

    fn knock(&mut self, from: SocketAddr, bytes: &[u8]) {
        match self.responder.read(self.now, from, bytes) {
            Answer::Nothing => {}
            Answer::Other { .. } => panic!("a hello of another version that nobody made"),
            Answer::Reply(reply) => {
                assert!(reply.len() <= 3 * bytes.len(), "{} bytes for {}", reply.len(), bytes.len());
                if let Some((cookie, _)) = self.initiator.cookie(&reply) {
                    let asked = |hello: &Vec<u8>| Envelope::read(hello) == Envelope::read(bytes);
                    assert!(self.hellos.iter().any(asked), "a hello that nobody made");
                    self.cookies.push((cookie, self.now));
                }
                self.wire.push(reply);
            }
            Answer::Knock(knock) => {
                assert_eq!(knock.offer, OFFER);
                assert_eq!(knock.sender, Some(PAIRS.0.public));
                let genuine = self.genuine.iter().find(|(made, _)| made == bytes);
                let (_, cookie) = *genuine.expect("an initiation that nobody made");
                assert!(cookie >= self.newest, "an initiation that was held back");
                self.newest = cookie;
                let (accepted, reply) = self.responder.answer(*knock, ANSWER).expect("short enough");
                assert!(reply.len() <= 3 * bytes.len(), "{} bytes for {}", reply.len(), bytes.len());
                self.sessions.push(accepted);
                self.wire.push(reply);
            }
        }
    }

    fn answer(&mut self, bytes: &[u8]) {
        if let Some((cookie, _)) = self.initiator.cookie(bytes) {
            let made = self.initiator.initiation(&cookie, OFFER).expect("short enough");
            let given = self.cookies.iter().find(|(given, _)| *given == cookie);
            let (_, at) = *given.expect("a cookie that nobody gave");
            self.genuine.push((made.clone(), at));
            self.wire.push(made);
        }
        if let Some((accepted, answer)) = self.initiator.finish(bytes) {
            assert_eq!(answer, ANSWER);
            assert_eq!(accepted.peer, Some(PAIRS.1.public));
            self.talk(accepted);
        }
    }

    /// Whoever finished the handshake has the keys of a session that the receiver knows.
    fn talk(&mut self, mut here: Accepted) {
        let there = self.sessions.iter_mut().find(|there| there.here == here.there).expect("a session");
        let (Some((sealer, _)), Some((_, reader))) = (&mut here.keys, &mut there.keys) else {
            panic!("no keys");
        };
        let counter = sealer.next_counter();
        let mut bytes = Vec::new();
        head(here.there, counter, Visible::default(), false, &mut bytes);
        bytes.extend(b"hello");
        sealer.seal(here.there, counter, &mut bytes, 0);
        self.wire.push(bytes.clone());
        assert!(bytes.len() > HEAD);
        assert!(matches!(Envelope::read(&bytes), Some(Envelope::Sealed { .. })));
        let opened = reader.open(there.here, counter, &mut bytes).expect("the keys of both ends fit");
        assert_eq!(opened.0, b"hello");
    }

    fn step(&mut self, step: [u8; 4], rest: &[u8]) {
        let [what, which, from, _] = step;
        match what % 8 {
            0 => {
                let hello = self.initiator.hello(u16::from(from) * 8);
                self.hellos.push(hello.clone());
                self.knock(address(which), &hello);
                self.wire.push(hello);
            }
            1 => self.knock(address(from), &self.seen(which)),
            2 => self.knock(address(from), &self.changed(step)),
            3 => self.answer(&self.seen(which)),
            4 => self.answer(&self.changed(step)),
            5 => self.knock(address(from), rest),
            6 => self.answer(rest),
            _ => self.now += Span::from_secs(u64::from(which)),
        }
        // The newest of what is on the wire is what counts.
        if self.wire.len() > 64 {
            self.wire.drain(..32);
        }
    }
}

/// Does what the bytes say; the last datagrams on the wire, which are the same every time.
pub(crate) fn exercise(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut world = World::new();
    let mut rest = bytes;
    while let Some((step, after)) = rest.split_first_chunk::<4>() {
        rest = after;
        world.step(*step, rest);
    }
    let _ = Envelope::read(bytes);
    // Whatever was done to it, a handshake that is let alone succeeds: after a minute's rest, at most.
    world.now += Span::from_secs(200);
    let sessions = world.sessions.len();
    world.step([0, 0, 0, 0], &[]);
    for _ in 0..2 {
        let newest = world.wire.iter().rev().find(|seen| world.initiator.cookie(seen).is_some()).cloned();
        world.answer(&newest.unwrap_or_default());
    }
    let made = world.genuine.last().map(|(made, _)| made.clone()).unwrap_or_default();
    world.knock(address(0), &made);
    assert_eq!(world.sessions.len(), sessions + 1);
    let response = world.wire.last().cloned().unwrap_or_default();
    world.answer(&response);
    world.wire
}
