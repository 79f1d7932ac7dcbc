//! A sealed stream of this project's endpoints, under a scheme.

use std::net::UdpSocket;
use std::thread;

use tailback_control::SCHEMES;
use tailback_core::{Bytes, Event, FlowId, Span, Stream, Time};
use tailback_net::channel::SecuredChannel;
use tailback_net::secure::handshake::{Accepted, Answer};
use tailback_net::secure::{Initiator, Invitation, KeyPair, Responder};
use tailback_net::{Clock, Driver, MarkedSocket, ReceiveBuffer, SendBuffer};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

const FLOW: FlowId = FlowId(0);
const TURN: Span = Span::from_millis(20);
/// What of a packet is no payload: IP, UDP, envelope, frame, tag.
const HEADER: Bytes = Bytes::new(28 + 24 + 30 + 16);

/// The ends of a session, without the wire between them.
fn session() -> (Accepted, Accepted) {
    let (here, there) = (KeyPair::generate().expect("keys"), KeyPair::generate().expect("keys"));
    let mut initiator = Initiator::new(Some((here, Invitation::of(&there)))).expect("random numbers");
    let mut responder = Responder::new(Some(there), Time::ZERO).expect("random numbers");
    let from = ([127, 0, 0, 1], 1).into();
    let Answer::Reply(reply) = responder.read(Time::ZERO, from, &initiator.hello(64)) else { panic!() };
    let (cookie, _) = initiator.cookie(&reply).expect("a cookie");
    let made = initiator.initiation(&cookie, b"").expect("made");
    let Answer::Knock(knock) = responder.read(Time::ZERO, from, &made) else { panic!() };
    let (far, reply) = responder.answer(*knock, b"").expect("answered");
    (initiator.finish(&reply).expect("finished").0, far)
}

/// Moves so many bytes from one thread to another.
pub fn transfer(scheme: &str, bytes: usize) {
    let bind = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (a, b) = (bind(), bind());
    a.connect(b.local_addr().expect("bound")).expect("connects");
    b.connect(a.local_addr().expect("bound")).expect("connects");
    let (near, far) = session();
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    let scheme = (info.default)();
    let config = StreamConfig {
        // As quinn finds on loopback: its greatest by default.
        segment_size: Bytes::new(1452 + 28),
        header: HEADER,
        receive_window: Some(tailback_core::DataAmount::Bytes(Bytes::new(8 << 20))),
        ..StreamConfig::default()
    }
    .serving(&scheme.needs());
    let receiving = ReceiverConfig { delivery_events: true, ack_every: 2, ..ReceiverConfig::default() }
        .serving(&scheme.needs())
        .matching(&config);
    let parts = scheme.build(&config.controller_params());
    let receiver = Receiver::new(FLOW, receiving);
    let sender = Sender::new(FLOW, config, parts.controller, AnySource::pushed());

    let reader = thread::spawn(move || {
        let clock = Clock::start();
        let socket = MarkedSocket::new(b).expect("set up");
        let channel = SecuredChannel::began(socket, far.into(), clock.now()).expect("connected");
        let buffer = ReceiveBuffer::new(HEADER, Bytes::new(64 << 20));
        let mut driver =
            Driver::over(channel, clock, FLOW, receiver, buffer, Stream::new(1, "r"), None).expect("a driver");
        let mut arrived = 0;
        while arrived < bytes {
            driver.turn(TURN).expect("goes on");
            arrived += driver.read().len();
        }
        // The last acknowledgements may be asked for again.
        for _ in 0..5 {
            driver.turn(Span::from_millis(1)).expect("goes on");
        }
    });
    let clock = Clock::start();
    let socket = MarkedSocket::new(a).expect("set up");
    let channel = SecuredChannel::began(socket, near.into(), clock.now()).expect("connected");
    let mut driver =
        Driver::over(channel, clock, FLOW, sender, SendBuffer::new(HEADER), Stream::new(1, "s"), None)
            .expect("a driver");
    let chunk = vec![7; 256 << 10];
    let mut left = bytes;
    while !reader.is_finished() {
        while left > 0 && driver.kept() < 8 << 20 {
            let length = left.min(chunk.len());
            driver.write(&chunk[..length]).expect("writes");
            left -= length;
            if left == 0 {
                driver.close().expect("closes");
            }
        }
        if driver.turn(Span::from_millis(1)).expect("goes on").contains(&Event::Finished) {
            break;
        }
    }
    reader.join().expect("no panic");
}
