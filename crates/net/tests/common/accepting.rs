//! A receiver in a test's own hands: it hears until somebody offers something, and says that it has nothing of it yet. What it
//! then does is the test's.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use tailback_core::{Span, Time};
use tailback_net::secure::handshake::Answer;
use tailback_net::secure::{KeyPair, Responder};
use tailback_net::transfer::Offer;
use tailback_net::{Clock, MarkedSocket, SecuredChannel};

/// Only a hang gets there.
const LONG: Span = Span::from_secs(60);

/// The channel of the session, and what was offered.
pub(crate) fn accepting(socket: UdpSocket, pair: &KeyPair, clock: Clock) -> (SecuredChannel, Offer) {
    let socket = MarkedSocket::hearing_all(socket).expect("set up");
    let mut responder = Responder::new(Some(pair.clone()), clock.now()).expect("random numbers");
    let mut buffer = vec![0; 65_536];
    while clock.now() < Time::ZERO + LONG {
        let Ok(arrived) = socket.receive(&mut buffer) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let way = arrived.way_back();
        match responder.read(clock.now(), arrived.from, &buffer[..arrived.length]) {
            Answer::Nothing | Answer::Other { .. } => {}
            Answer::Reply(bytes) => socket.reply(way, &bytes),
            Answer::Knock(knock) => {
                let offer = Offer::read(&knock.offer).expect("an offer");
                let (accepted, bytes) = responder.answer(*knock, &[0; 9]).expect("short enough");
                socket.reply(way, &bytes);
                let channel = SecuredChannel::called(socket, way, accepted.into(), responder, clock.now());
                return (channel, offer);
            }
        }
    }
    panic!("nobody came");
}
