//! Peers whose address changes, and those who would like it to seem so: a channel that was called follows whoever answers from a new
//! place, and nobody else; nobody is sent more than three times the bytes that came from there. Time and places of arrival are
//! arguments here. Transfers that move are in `transfer/whole.rs`.

use std::net::{SocketAddr, UdpSocket};

use tailback_core::{Ecn, Span, Time};
use tailback_net::channel::{Message, Opened};
use tailback_net::secure::envelope::{Envelope, head};
use tailback_net::secure::handshake::Accepted;
use tailback_net::secure::{KeyPair, Opener, Responder, Sealer, SessionId, Visible};
use tailback_net::socket::Arrived;
use tailback_net::{Channel, MarkedSocket, SecuredChannel, Way};

const HERE: SessionId = SessionId(1);
const THERE: SessionId = SessionId(2);
/// From one place to the other and back.
const RTT: Span = Span::from_millis(100);

/// Somewhere a datagram may come from, and what was sent there.
struct Place {
    socket: UdpSocket,
    address: SocketAddr,
    /// Bytes that came from here, and that were sent here.
    out: usize,
    back: usize,
}

impl Place {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("set");
        let address = socket.local_addr().expect("bound");
        Self { socket, address, out: 0, back: 0 }
    }
}

/// A channel that was called, and its peer by hand.
struct World {
    channel: SecuredChannel,
    sealer: Sealer,
    opener: Opener,
    now: Time,
}

fn keys(out: u8, back: u8) -> (Sealer, Opener) {
    (Sealer::new([out; 32]), Opener::new([back; 32]))
}

impl World {
    /// Its peer called from this place.
    fn new(place: &Place) -> Self {
        let socket =
            MarkedSocket::hearing_all(UdpSocket::bind("127.0.0.1:0").expect("a socket")).expect("set up");
        let pair = KeyPair::generate().expect("random numbers");
        let responder = Responder::new(Some(pair), Time::ZERO).expect("random numbers");
        let accepted = Accepted { here: HERE, there: THERE, keys: Some(keys(7, 8)), peer: None };
        let way = Way { to: place.address, from: None };
        let channel = SecuredChannel::called(socket, way, accepted.into(), responder, Time::ZERO);
        let (sealer, opener) = keys(8, 7);
        Self { channel, sealer, opener, now: Time::ZERO }
    }

    /// The peer's next datagram.
    fn said(&mut self, message: &Message) -> Vec<u8> {
        sealed(&mut self.sealer, message)
    }

    /// A datagram comes from this place; whether it was taken.
    fn comes(&mut self, datagram: &[u8], from: &mut Place) -> bool {
        from.out += datagram.len();
        let arrived = Arrived {
            length: datagram.len(),
            each: datagram.len(),
            ecn: Ecn::NotEct,
            from: from.address,
            at: None,
            ago: Span::ZERO,
        };
        let mut datagram = datagram.to_vec();
        !matches!(self.channel.open(self.now, &arrived, &mut datagram), Opened::Refused)
    }

    /// What was sent to this place since this was last asked, as the peer reads it.
    fn read(&mut self, place: &mut Place) -> Vec<Message> {
        let (mut buffer, mut found) = ([0; 2000], Vec::new());
        while let Ok(length) = place.socket.recv(&mut buffer) {
            place.back += length;
            let Some(Envelope::Sealed { to, counter, .. }) = Envelope::read(&buffer[..length]) else {
                continue;
            };
            let opened = self.opener.open(to, counter, &mut buffer[..length]).expect("the peer's");
            found.push(Message::read(opened.0).expect("a message"));
        }
        found
    }

    /// Pings that were sent to this place, as the peer answers them.
    fn pongs(&mut self, place: &mut Place) -> Vec<Message> {
        let read = self.read(place);
        read.into_iter()
            .filter_map(|message| match message {
                Message::Ping(number) => Some(Message::Pong(number)),
                _ => None,
            })
            .collect()
    }
}

fn sealed(sealer: &mut Sealer, message: &Message) -> Vec<u8> {
    let counter = sealer.next_counter();
    let mut bytes = Vec::new();
    head(HERE, counter, Visible::default(), false, &mut bytes);
    message.write(&mut bytes);
    sealer.seal(HERE, counter, &mut bytes, 0);
    bytes
}

#[test]
fn who_moves_is_followed_when_he_has_answered_from_there() {
    let (mut old, mut new) = (Place::new(), Place::new());
    let mut world = World::new(&old);
    let first = world.said(&Message::Farewell);
    assert!(world.comes(&first, &mut new));
    assert_eq!(world.channel.peer(), old.address, "not yet");
    let pongs = world.pongs(&mut new);
    assert_eq!(pongs.len(), 1);
    // Said from elsewhere it says nothing of the new place.
    let elsewhere = world.said(&pongs[0]);
    assert!(world.comes(&elsewhere, &mut old));
    assert_eq!((world.channel.peer(), world.channel.moves()), (old.address, 0));
    let answer = world.said(&pongs[0]);
    assert!(world.comes(&answer, &mut new));
    assert_eq!((world.channel.peer(), world.channel.moves()), (new.address, 1));
    // And home again.
    let third = world.said(&Message::Farewell);
    assert!(world.comes(&third, &mut old));
    let pongs = world.pongs(&mut old);
    let answer = world.said(&pongs[0]);
    assert!(world.comes(&answer, &mut old));
    assert_eq!((world.channel.peer(), world.channel.moves()), (old.address, 2));
}

/// As where a router takes two ways in turn for each packet, and the way before leads nowhere any more: answers come a round trip
/// later, when the peer has been seen at the other place again.
#[test]
fn who_comes_from_two_new_places_in_turn_is_followed_to_one_of_them() {
    let old = Place::new();
    let mut places = [Place::new(), Place::new()];
    let mut world = World::new(&old);
    let mut late: Vec<(Time, usize, Message)> = Vec::new();
    for turn in 0..100 {
        world.now = Time::ZERO + Span::from_millis(10) * turn;
        let which = turn as usize % 2;
        let said = world.said(&Message::Farewell);
        assert!(world.comes(&said, &mut places[which]));
        for (index, place) in places.iter_mut().enumerate() {
            late.extend(world.pongs(place).into_iter().map(|pong| (world.now + RTT, index, pong)));
        }
        for (_, index, pong) in late.extract_if(.., |(due, ..)| *due <= world.now).collect::<Vec<_>>() {
            let answer = world.said(&pong);
            world.comes(&answer, &mut places[index]);
        }
    }
    assert!(places.iter().any(|place| place.address == world.channel.peer()), "{}", world.channel.peer());
}

/// Somebody on the way lets each datagram arrive from his place before it arrives from the peer's, or again afterwards.
#[test]
fn who_repeats_datagrams_from_his_own_place_is_not_followed_and_not_sent_much() {
    let (mut home, mut his) = (Place::new(), Place::new());
    let mut world = World::new(&home);
    for turn in 0..400 {
        world.now = Time::ZERO + Span::from_millis(1) * turn;
        let said = world.said(&Message::Farewell);
        let is_before = turn % 2 == 0;
        if is_before {
            assert!(world.comes(&said, &mut his));
        }
        assert_eq!(world.comes(&said, &mut home), !is_before, "once");
        assert!(!world.comes(&said, &mut his), "once");
        world.read(&mut his);
        assert!(his.back <= 3 * his.out, "{} bytes for {}", his.back, his.out);
    }
    assert_eq!((world.channel.peer(), world.channel.moves()), (home.address, 0));
    assert_eq!(world.channel.heard(), world.now, "the peer is there");
    // He was asked a few times, and had no answer: it takes the keys.
    assert!(his.back > 0);
    let guess = sealed(&mut keys(9, 9).0, &Message::Pong(0));
    assert!(!world.comes(&guess, &mut his));
    // What is old is no sign that the peer is elsewhere.
    his.back = 0;
    let (earlier, later) = (world.said(&Message::Farewell), world.said(&Message::Farewell));
    assert!(world.comes(&later, &mut home));
    world.now += Span::from_secs(1);
    assert!(world.comes(&earlier, &mut his), "late, and the peer's");
    assert_eq!((world.read(&mut his), his.back), (Vec::new(), 0));
}

/// Whose address he likes: a datagram of the peer's from each of many, none of which has asked for anything.
#[test]
fn nobody_whose_address_somebody_makes_up_is_sent_more_than_three_times_as_much() {
    let home = Place::new();
    let mut world = World::new(&home);
    let mut victims: Vec<Place> = (0..200).map(|_| Place::new()).collect();
    for message in [Message::Farewell, Message::Ping(0), Message::Verdict(Ok(()))] {
        for victim in &mut victims {
            world.now += Span::from_millis(1);
            let said = world.said(&message);
            assert!(world.comes(&said, victim));
        }
    }
    for victim in &mut victims {
        world.read(victim);
        assert!(victim.back <= 3 * victim.out, "{} bytes for {}", victim.back, victim.out);
    }
    assert_eq!(world.channel.peer(), home.address);
}

/// It bears the number of this session, and the keys of another one.
#[test]
fn a_datagram_of_a_former_session_is_none_of_this_one() {
    let (mut home, mut new) = (Place::new(), Place::new());
    let mut world = World::new(&home);
    let mut former = keys(3, 4).0;
    world.now += Span::from_secs(1);
    for _ in 0..3 {
        let said = sealed(&mut former, &Message::Verdict(Err("over".to_owned())));
        assert!(!world.comes(&said, &mut home) && !world.comes(&said, &mut new));
    }
    assert_eq!((world.channel.heard(), world.channel.take_message()), (Time::ZERO, None));
    assert_eq!((world.read(&mut home), world.read(&mut new)), (Vec::new(), Vec::new()));
    // What it says of counters has changed nothing: the peer's first is taken.
    let said = world.said(&Message::Farewell);
    assert!(world.comes(&said, &mut home));
}
