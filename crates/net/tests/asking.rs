//! A session whose sender asks which lengths come through: only answers to what it asks now count, and few are kept.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::common::accepting::accepting;
use tailback_core::{Bytes, FlowId, Kind, Packet};
use tailback_net::channel::{Message, Opened};
use tailback_net::secure::{Initiator, Invitation, KeyPair};
use tailback_net::transfer::Offer;
use tailback_net::{Channel, Clock, MarkedSocket, SecuredChannel};

/// Both ends of a session over loopback, and the keys of who began it.
struct Ends {
    near: SecuredChannel,
    far: SecuredChannel,
    keys: (KeyPair, Invitation),
    clock: Clock,
}

impl Ends {
    fn new() -> Self {
        let clock = Clock::start();
        let (pair, bind) = (KeyPair::generate().expect("random numbers"), || UdpSocket::bind("127.0.0.1:0"));
        let keys = (KeyPair::generate().expect("random numbers"), Invitation::of(&pair));
        let (near, far) = (bind().expect("a socket"), bind().expect("a socket"));
        near.connect(far.local_addr().expect("bound")).expect("connects");
        near.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        let accepting = thread::spawn(move || accepting(far, &pair, clock).0);
        let mut initiator = Initiator::new(Some(keys.clone())).expect("random numbers");
        let mut buffer = [0; 2000];
        near.send(&initiator.hello(1232)).expect("sent");
        let length = near.recv(&mut buffer).expect("answered");
        let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
        let (name, flow) = ("film".to_owned(), "cubic 100".to_owned());
        let offer = Offer { name, size: Bytes::new(1000), hash: [7; 32], flow };
        near.send(&initiator.initiation(&cookie, &offer.write()).expect("made")).expect("sent");
        let length = near.recv(&mut buffer).expect("answered");
        let (accepted, _) = initiator.finish(&buffer[..length]).expect("a session");
        let marked = MarkedSocket::new(near).expect("set up");
        let near = SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected");
        Self { near, far: accepting.join().expect("no panic"), keys, clock }
    }

    fn asking(&self) -> Initiator {
        Initiator::new(Some(self.keys.clone())).expect("random numbers")
    }
}

/// The next datagram that comes to an end, and what it is to it.
fn heard(channel: &mut SecuredChannel, clock: Clock) -> &'static str {
    let mut buffer = [0; 2000];
    for _ in 0..10_000 {
        if let Ok(arrived) = channel.receive(&mut buffer) {
            return match channel.open(clock.now(), &arrived, &mut buffer[..arrived.length]) {
                Opened::Frame(..) => "frame",
                Opened::Message => "message",
                Opened::Refused => "refused",
            };
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing comes");
}

#[test]
fn answers_name_the_length_that_came_through_and_the_session_goes_on() {
    let mut ends = Ends::new();
    let asking = ends.asking();
    assert!(ends.near.ask(1400), "nobody asks yet");
    ends.near.begin_asking(asking);
    for length in [1400, 1232] {
        assert!(ends.near.ask(length));
        assert_eq!(
            (heard(&mut ends.far, ends.clock), heard(&mut ends.near, ends.clock)),
            ("message", "message")
        );
        assert_eq!(ends.near.take_answer().expect("answered").1, length);
    }
    // No datagram is so long, and the system says so.
    assert!(!ends.near.ask(u16::MAX));
    ends.near.say(ends.clock.now(), &Message::Farewell);
    assert_eq!(heard(&mut ends.far, ends.clock), "message");
    assert_eq!(ends.far.take_message(), Some(Message::Farewell));
    assert!(ends.near.end_asking().is_some() && ends.near.end_asking().is_none());
}

/// Somebody on the way who holds answers back, or repeats them, says nothing of the way as it is now.
#[test]
fn answers_to_what_was_asked_before_are_refused_and_repeated_ones_do_not_pile_up() {
    let mut ends = Ends::new();
    let (before, now) = (ends.asking(), ends.asking());
    ends.near.begin_asking(before);
    assert!(ends.near.ask(1400));
    assert_eq!(heard(&mut ends.far, ends.clock), "message");
    ends.near.begin_asking(now);
    assert_eq!(heard(&mut ends.near, ends.clock), "refused");
    assert!(ends.near.take_answer().is_none());
    for _ in 0..40 {
        assert!(ends.near.ask(1300));
        assert_eq!(
            (heard(&mut ends.far, ends.clock), heard(&mut ends.near, ends.clock)),
            ("message", "message")
        );
    }
    assert_eq!(std::iter::from_fn(|| ends.near.take_answer()).count(), 16);
}

/// Who began a session finds out which lengths leave this host, and goes on with those; who was called sends nothing so long.
#[test]
fn what_is_too_long_to_leave_is_lost_for_who_began_and_an_error_for_who_was_called() {
    let mut ends = Ends::new();
    let long = Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(66_000));
    let (now, frame) = (ends.clock.now(), vec![0; 66_000]);
    assert!(!ends.near.take_told());
    ends.near.send(now, &frame, &long).and_then(|()| ends.near.flush()).expect("lost");
    assert!(ends.near.take_told() && !ends.near.take_told());
    ends.near.say(now, &Message::Farewell);
    assert_eq!(heard(&mut ends.far, ends.clock), "message");
    let error = ends.far.send(now, &frame, &long).and_then(|()| ends.far.flush()).expect_err("too long");
    assert!(error.to_string().contains("is longer than the way to the peer takes"), "{error}");
}
