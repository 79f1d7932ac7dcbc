//! Transfers over real sockets, in good and in bad hands: a file arrives whole under its name, or both ends say within a
//! stated time why not, and what has arrived is taken up again.

#[path = "common/accepting.rs"]
mod accepting;
#[path = "common/ends.rs"]
mod ends;
#[path = "common/folder.rs"]
mod folder;
#[path = "common/relay.rs"]
mod relay;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use accepting::accepting;
use folder::Folder;
use relay::{NARROW, Relay, Treatment};
use tailback_core::{Bytes, Span, Stream, Time};
use tailback_net::channel::{Message, Opened};
use tailback_net::secure::{Initiator, Invitation, KeyPair};
use tailback_net::transfer::{
    Offer, Phase, ReceiveConfig, Received, Seen, SendConfig, Sent, Sizes, TransferError, Word, receive, send,
};
use tailback_net::{Channel, Clock, MarkedSocket, SecuredChannel};

const SIZE: usize = 1_500_000;
/// Only a hang gets there.
const LONG: Span = Span::from_secs(60);

/// A file to send and a folder to receive it in.
struct Places(Folder);

impl Places {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        for inner in ["in", "out"] {
            fs::create_dir(folder.path().join(inner)).expect("a folder");
        }
        Self(folder)
    }

    fn file(&self, size: usize) -> PathBuf {
        let mut rng = Stream::new(9, "file");
        let bytes: Vec<u8> = (0..size).map(|_| rng.below(256) as u8).collect();
        let path = self.0.path().join("out/film");
        fs::write(&path, bytes).expect("a file");
        path
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("in")
    }

    /// Names in the target folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.target()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

/// The keys of a receiver and the address of one that waits in a thread.
struct Waiting {
    pair: KeyPair,
    address: SocketAddr,
    thread: JoinHandle<Result<Received, TransferError>>,
}

fn config(folder: &Path, pair: &KeyPair) -> ReceiveConfig {
    ReceiveConfig {
        folder: folder.to_owned(),
        address: Some([127, 0, 0, 1].into()),
        port: 0,
        keys: Some(pair.clone()),
        only: None,
        patience: Span::from_secs(5),
        overwrite: false,
    }
}

/// Starts a receiver, which stops when nobody has come for long.
fn waiting(config: ReceiveConfig) -> Waiting {
    let pair = config.keys.clone().expect("keys");
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        let clock = Clock::start();
        let mut watch = |_: &_| clock.now() < Time::ZERO + LONG;
        receive(
            &config,
            |word: Word<'_>| {
                if let Word::Listening(at) = word {
                    tell.send(at).expect("heard");
                }
            },
            ends::receiver,
            &mut watch,
        )
    });
    let address = told.recv().expect("it listens");
    Waiting { pair, address, thread }
}

impl Waiting {
    fn sending(&self, file: &Path, to: SocketAddr) -> SendConfig {
        SendConfig {
            file: file.to_owned(),
            peers: vec![to],
            keys: Some((KeyPair::generate().expect("random numbers"), Invitation::of(&self.pair))),
            patience: Span::from_secs(5),
            packet: Bytes::new(1500),
            longer: Span::from_secs(600),
        }
    }

    fn end(self) -> Result<Received, TransferError> {
        self.thread.join().expect("no panic")
    }
}

fn sent(config: &SendConfig, scheme: &str) -> Result<Sent, TransferError> {
    send(config, |sizes| Ok(ends::sender(scheme, sizes)), &mut |_| true)
}

/// Stops when so many bytes have moved.
fn until_moved(bytes: u64) -> impl FnMut(&Seen) -> bool {
    move |seen| seen.phase != Phase::Moving || seen.done < Bytes::new(bytes)
}

/// A little of what networks do.
const USUAL: Treatment = Treatment { loss: 0.01, reordering: 0.01, ..Treatment::NONE };

fn arrives_through(scheme: &str, treatment: Treatment) -> (Sent, Received) {
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

#[test]
fn an_interrupted_transfer_goes_on_where_it_was() {
    let folder = Places::new("resumes");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(config(&folder.target(), &pair));
    let mut watch = until_moved(400_000);
    let sending = receiver.sending(&file, receiver.address);
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("stopped");
    assert!(matches!(error, TransferError::Stopped), "{error}");
    let error = receiver.end().expect_err("stopped");
    assert_eq!(error.to_string(), "the sender says: stopped");
    let names = folder.names();
    assert!(names.len() == 1 && names[0].ends_with(".partial"), "{names:?}");

    let receiver = waiting(config(&folder.target(), &pair));
    let again = sent(&receiver.sending(&file, receiver.address), "vegas").expect("sent");
    assert!(again.resumed >= Bytes::new(400_000) && again.resumed < Bytes::new(SIZE as u64));
    assert_eq!(receiver.end().expect("received").resumed, again.resumed);
    assert_eq!(fs::read(folder.target().join("film")).expect("there"), fs::read(&file).expect("there"));
    assert_eq!(folder.names(), ["film"]);
}

#[test]
fn a_sender_that_was_killed_and_comes_again_is_taken_up() {
    let folder = Places::new("again");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    // Its way goes dead, so that nobody hears how it ends.
    let relay = Relay::new(receiver.address, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_secs(1), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let again = SendConfig { peers: vec![receiver.address], ..first };
    assert!(sent(&again, "cubic").expect("sent").resumed > Bytes::ZERO);
    receiver.end().expect("received");
}

#[test]
fn a_sender_that_comes_again_is_answered_from_the_address_that_it_knows() {
    let folder = Places::new("elsewhere");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(ReceiveConfig { address: None, ..config(&folder.target(), &pair) });
    // None of which the system would choose by itself.
    let there = SocketAddr::from(([127, 0, 0, 2], receiver.address.port()));
    let relay = Relay::new(there, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_secs(1), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let again = SendConfig { peers: vec![there], patience: Span::from_secs(5), ..first };
    assert!(sent(&again, "cubic").expect("sent").resumed > Bytes::ZERO);
    receiver.end().expect("received");
}

#[test]
fn a_receiver_that_acknowledges_nothing_is_not_waited_for() {
    // A cookie comes back, and an acknowledgement does not; or neither does.
    let cookie = 86;
    thread::scope(|scope| {
        for (short_to, why) in [
            (cookie, "long packets reach it, and no acknowledgement comes back"),
            (
                0,
                "only its short signs of life come; longer packets are lost on the way there or on the way back",
            ),
        ] {
            let treatment = Treatment { short_after: 400, short_to, ..Treatment::default() };
            scope.spawn(move || unanswered("cubic", treatment, why));
        }
    });
}

/// As where an interface on the way takes shorter packets only from now on. Whether the scheme has anything on its way at a
/// moment, or takes all of it for lost, is no matter.
#[test]
fn a_way_that_becomes_narrow_is_not_waited_for() {
    thread::scope(|scope| {
        for scheme in ["cubic", "fixed-rate"] {
            let treatment = Treatment { narrow_after: 400, narrow_to: NARROW, ..Treatment::default() };
            let why = "only packets that are too short for a transfer reach it";
            scope.spawn(move || unanswered(scheme, treatment, why));
        }
    });
}

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
        Ok(ends::sender("fixed-rate", size))
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

fn unanswered(scheme: &str, treatment: Treatment, why: &str) {
    let folder =
        Places::new(&format!("unanswered-{scheme}-{}", treatment.narrow_after as usize + treatment.short_to));
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let relay = Relay::new(receiver.address, treatment);
    let sending = SendConfig { patience: Span::from_secs(2), ..receiver.sending(&file, relay.address) };
    let clock = Clock::start();
    let mut watch = |_: &Seen| clock.now() < Time::ZERO + LONG;
    let error = send(&sending, |sizes| Ok(ends::sender(scheme, sizes)), &mut watch).expect_err("unanswered");
    let text = error.to_string();
    let said = format!("the receiver has acknowledged nothing for 2 s ({why}); ");
    assert!(text.starts_with(&said), "{scheme}: {text}");
    receiver.end().expect_err("nobody sends any more");
}

#[test]
fn silence_ends_both_within_their_patience() {
    let folder = Places::new("silence");
    let file = folder.file(SIZE);
    let patience = Span::from_millis(600);
    let receiving = config(&folder.target(), &KeyPair::generate().expect("random numbers"));
    let receiver = waiting(ReceiveConfig { patience, ..receiving });
    let relay = Relay::new(receiver.address, Treatment { dead_after: 400, ..Treatment::default() });
    let (clock, mut last) = (Clock::start(), Time::ZERO);
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && seen.done > Bytes::ZERO && last == Time::ZERO {
            last = clock.now();
        }
        true
    };
    let sending = SendConfig { patience, ..receiver.sending(&file, relay.address) };
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("silence");
    let text = error.to_string();
    assert!(text.starts_with("the receiver has said nothing for 600 ms"), "{text}");
    assert!(text.ends_with("the same commands go on from there"), "{text}");
    assert!(
        clock.now().since(last) < Span::from_secs(10),
        "within the patience, and a little for the machine"
    );
    let error = receiver.end().expect_err("silence").to_string();
    assert!(error.starts_with("the sender has said nothing for 600 ms"), "{error}");
}

#[test]
fn nobody_there_is_one_clear_error() {
    let folder = Places::new("nobody");
    let file = folder.file(10);
    let pair = KeyPair::generate().expect("random numbers");
    let gone = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let peer = gone.expect("was bound");
    let keys = Some((pair.clone(), Invitation::of(&pair)));
    let patience = Span::from_millis(500);
    let packet = Bytes::new(1500);
    let sending = SendConfig { file, peers: vec![peer], keys, patience, packet, longer: LONG };
    let error = sent(&sending, "cubic").expect_err("nobody").to_string();
    assert_eq!(error, format!("{peer} did not answer for 500 ms (nobody listens there)"));
}

#[test]
fn each_address_is_tried_and_named_with_its_reason() {
    let folder = Places::new("addresses");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let gone = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let deaf = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (gone, deaf_at) = (gone.expect("was bound"), deaf.local_addr().expect("bound"));
    // Of a link, which is not said; and for nobody alone, which sockets are not let do.
    let (link, all) = ("[fe80::1]:9".parse().expect("one"), "255.255.255.255:9".parse().expect("one"));
    let right = receiver.sending(&file, receiver.address);

    let patience = Span::from_millis(700);
    let none = SendConfig { peers: vec![link, gone, deaf_at], patience, ..right.clone() };
    let error = sent(&none, "cubic").expect_err("nobody").to_string();
    let why = "a link-local address is one of an interface; expected it behind, as in %eth0";
    assert_eq!(
        error,
        format!(
            "none of these addresses answered for 700 ms: {link} ({why}), {gone} (nobody listens there), \
             {deaf_at} (no word from there)"
        )
    );
    // Where nothing can come of waiting, nobody waits.
    let clock = Clock::start();
    let hopeless = SendConfig { peers: vec![all], patience: LONG, ..right.clone() };
    let error = sent(&hopeless, "cubic").expect_err("not allowed").to_string();
    assert!(error.starts_with("cannot reach 255.255.255.255:9: Permission denied"), "{error}");
    let error =
        sent(&SendConfig { peers: vec![link, all], ..hopeless }, "cubic").expect_err("neither").to_string();
    assert!(error.starts_with("cannot reach any of these addresses: [fe80::1]:9 (a link-local"), "{error}");
    assert!(clock.now() < Time::ZERO + LONG);

    let one_is_right = SendConfig { peers: vec![link, all, gone, deaf_at, receiver.address], ..right };
    assert_eq!(sent(&one_is_right, "cubic").expect("sent").peer, receiver.address);
    receiver.end().expect("received");
}

/// A receiver that says it has what was never sent is not believed: no sender says that hashes are equal at both ends.
#[test]
fn a_receiver_cannot_have_what_was_not_sent() {
    let folder = Places::new("early");
    let file = folder.file(SIZE);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (address, pair) = (socket.local_addr().expect("bound"), KeyPair::generate().expect("random numbers"));
    let keys = Some((KeyPair::generate().expect("random numbers"), Invitation::of(&pair)));
    let receiver = thread::spawn(move || {
        let clock = Clock::start();
        let (mut channel, _) = accepting(socket, &pair, clock);
        for _ in 0..50 {
            channel.say(clock.now(), &Message::Verdict(Ok(())));
            thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let patience = Span::from_secs(5);
    let sending =
        SendConfig { file, peers: vec![address], keys, patience, packet: Bytes::new(1500), longer: LONG };
    let error = sent(&sending, "cubic").expect_err("it has nothing");
    assert!(matches!(error, TransferError::Early), "{error}");
    receiver.join().expect("no panic");
}

/// An initiation of the very session that is under way, held back by somebody on the way, does not begin another one.
#[test]
fn an_initiation_that_was_held_back_disturbs_no_session() {
    let folder = Places::new("held");
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let keys = (KeyPair::generate().expect("random numbers"), Invitation::of(&receiver.pair));
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(receiver.address).expect("connects");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("set");
    let (mut initiator, mut buffer) =
        (Initiator::new(Some(keys.clone())).expect("random numbers"), [0; 2000]);
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    let flow = "cubic 100".to_owned();
    let offer = |name: &str| {
        Offer { name: name.to_owned(), size: Bytes::new(1000), hash: [7; 32], flow: flow.clone() }.write()
    };
    let held = initiator.initiation(&cookie, &offer("film")).expect("made");
    socket.send(&initiator.initiation(&cookie, &offer("film")).expect("made")).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (accepted, _) = initiator.finish(&buffer[..length]).expect("a session");
    socket.send(&held).expect("sent");

    let clock = Clock::start();
    let marked = MarkedSocket::new(socket).expect("set up");
    let mut channel = SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected");
    let (until, mut heard) = (clock.now() + Span::from_secs(3), Time::ZERO);
    while clock.now() < until {
        channel.say(clock.now(), &Message::Ping(1));
        thread::sleep(std::time::Duration::from_millis(20));
        while let Ok(arrived) = channel.receive(&mut buffer) {
            let was = channel.open(clock.now(), &arrived, &mut buffer[..arrived.length]);
            assert!(matches!(was, Opened::Message), "a second session: {was:?}");
            heard = channel.heard();
        }
    }
    assert!(until.since(heard) < Span::from_secs(1), "the session is dead");

    // The same sender begins anew, with another file: of the first, of which nothing has come, nothing is left.
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(receiver.address).expect("connects");
    let mut initiator = Initiator::new(Some(keys)).expect("random numbers");
    socket.send(&initiator.hello(1232)).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (cookie, _) = initiator.cookie(&buffer[..length]).expect("a cookie");
    socket.send(&initiator.initiation(&cookie, &offer("other")).expect("made")).expect("sent");
    let length = socket.recv(&mut buffer).expect("answered");
    let (accepted, _) = initiator.finish(&buffer[..length]).expect("a session");
    let names = folder.names();
    assert!(names.len() == 1 && names[0].starts_with(".other."), "{names:?}");
    let marked = MarkedSocket::new(socket).expect("set up");
    let mut channel = SecuredChannel::began(marked, accepted.into(), clock.now()).expect("connected");
    channel.say(clock.now(), &Message::Verdict(Err("enough".to_owned())));
    assert_eq!(receiver.end().expect_err("ended").to_string(), "the sender says: enough");
}

#[test]
fn who_was_not_invited_and_what_is_not_wanted_is_refused() {
    let folder = Places::new("refused");
    let file = folder.file(1000);
    let pair = KeyPair::generate().expect("random numbers");
    let only = KeyPair::generate().expect("random numbers");
    let receiver = waiting(ReceiveConfig { only: Some(only.public), ..config(&folder.target(), &pair) });
    let right = receiver.sending(&file, receiver.address);

    let stranger = KeyPair::generate().expect("random numbers");
    let uninvited = Some((only.clone(), Invitation { secret: [1; 16], ..Invitation::of(&pair) }));
    let patience = Span::from_millis(700);
    let error =
        sent(&SendConfig { keys: uninvited, patience, ..right.clone() }, "cubic").expect_err("uninvited");
    assert!(matches!(error, TransferError::NoAnswer { .. }), "{error}");
    let other = Some((stranger, Invitation::of(&pair)));
    let error = sent(&SendConfig { keys: other, ..right.clone() }, "cubic").expect_err("another's key");
    assert_eq!(error.to_string(), "the receiver refuses: this sender's key is not the one that may send");

    let known = Some((only, Invitation::of(&pair)));
    let allowed = SendConfig { keys: known, ..right };
    fs::write(folder.target().join("film"), "an older one").expect("written");
    let error = sent(&allowed, "cubic").expect_err("there already");
    assert_eq!(error.to_string(), "the receiver refuses: film is there already");
    fs::remove_file(folder.target().join("film")).expect("removed");
    sent(&allowed, "cubic").expect("sent at last");
    receiver.end().expect("received");
    assert_eq!(folder.names(), ["film"]);
}

/// Somebody who waits for a file hears why it does not come, and nothing of a file that does not.
#[test]
fn a_receiver_is_told_of_what_it_refuses() {
    let folder = Places::new("told");
    let file = folder.file(1000);
    let name = folder.target().join("film");
    fs::write(&name, "an older one").expect("written");
    let pair = KeyPair::generate().expect("random numbers");
    let (config, (tell, told)) = (config(&folder.target(), &pair), channel());
    let thread = thread::spawn(move || {
        let hear = |word: Word<'_>| {
            let heard = if let Word::Listening(at) = word { Ok(at) } else { Err(format!("{word:?}")) };
            tell.send(heard).expect("heard");
        };
        let clock = Clock::start();
        receive(&config, hear, ends::receiver, &mut |_| clock.now() < Time::ZERO + LONG)
    });
    let address = told.recv().expect("a word").expect("it listens");
    let receiver = Waiting { pair, address, thread };
    let sending = receiver.sending(&file, address);
    sent(&sending, "cubic").expect_err("there already");
    fs::remove_file(name).expect("removed");
    sent(&sending, "cubic").expect("sent");
    receiver.end().expect("received");
    let words: Vec<String> = told.iter().filter_map(Result::err).collect();
    assert_eq!(words, [r#"Refused { name: "film", why: "film is there already" }"#, "Accepted"]);
}

#[test]
fn what_takes_the_files_name_meanwhile_stays_and_is_named() {
    let folder = Places::new("taken");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let name = folder.target().join("film");
    let sending = receiver.sending(&file, receiver.address);
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving {
            fs::write(&name, "mine").expect("written");
        }
        true
    };
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("taken");
    let said = format!("{}: File exists (os error 17)", name.display());
    assert_eq!(error.to_string(), format!("the receiver says: {said}"));
    assert_eq!(receiver.end().expect_err("taken").to_string(), said);
    assert_eq!(fs::read(&name).expect("there"), b"mine");
    assert_eq!(folder.names().len(), 2, "what has arrived is kept");
}

#[test]
fn a_damaged_partial_file_is_found_out_and_thrown_away() {
    let folder = Places::new("damaged");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(config(&folder.target(), &pair));
    let mut watch = until_moved(400_000);
    let sending = receiver.sending(&file, receiver.address);
    send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("stopped");
    receiver.end().expect_err("stopped");
    let partial = folder.target().join(&folder.names()[0]);
    let mut bytes = fs::read(&partial).expect("there");
    bytes[1234] ^= 1;
    fs::write(&partial, bytes).expect("written");

    let receiver = waiting(config(&folder.target(), &pair));
    let error = sent(&receiver.sending(&file, receiver.address), "cubic").expect_err("damaged").to_string();
    assert!(error.starts_with("the receiver says: what arrived of film does not have the hash"), "{error}");
    assert!(matches!(receiver.end().expect_err("damaged"), TransferError::Hash { .. }));
    assert_eq!(folder.names(), Vec::<String>::new());
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
