//! Transfers over real sockets, in good and in bad hands: a file arrives whole under its name, or both ends say within a
//! stated time why not, and what has arrived is taken up again.

#[path = "common/ends.rs"]
mod ends;
#[path = "common/relay.rs"]
mod relay;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use relay::{Relay, Treatment};
use tailback_core::{Bytes, Span, Stream, Time};
use tailback_net::Clock;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{
    Phase, ReceiveConfig, Received, Seen, SendConfig, Sent, TransferError, receive, send,
};

const SIZE: usize = 1_500_000;
/// Only a hang gets there.
const LONG: Span = Span::from_secs(60);

/// A folder of its own for a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tailback-transfer-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("in")).expect("a folder");
        fs::create_dir_all(path.join("out")).expect("a folder");
        Self(path)
    }

    fn file(&self, size: usize) -> PathBuf {
        let mut rng = Stream::new(9, "file");
        let bytes: Vec<u8> = (0..size).map(|_| rng.below(256) as u8).collect();
        let path = self.0.join("out/film");
        fs::write(&path, bytes).expect("a file");
        path
    }

    fn target(&self) -> PathBuf {
        self.0.join("in")
    }

    /// Names in the target folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.target()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
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
        receive(&config, |address| tell.send(address).expect("heard"), ends::receiver, &mut watch)
    });
    let address = told.recv().expect("it listens");
    Waiting { pair, address, thread }
}

impl Waiting {
    fn sending(&self, file: &Path, to: SocketAddr) -> SendConfig {
        SendConfig {
            file: file.to_owned(),
            peer: to,
            keys: Some((KeyPair::generate().expect("random numbers"), Invitation::of(&self.pair))),
            patience: Span::from_secs(5),
            packet: Bytes::new(1500),
            move_after: None,
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

fn arrives_through(scheme: &str, treatment: Treatment) -> (Sent, Received) {
    let folder = Folder::new(&format!("{scheme}-{}", treatment.loss + treatment.moves_every as f64));
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
        let (sent, _) = arrives_through(scheme, Treatment::default());
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
    // By itself, as a host does that changes its network.
    let folder = Folder::new("moves");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let sending =
        SendConfig { move_after: Some(Bytes::new(500_000)), ..receiver.sending(&file, receiver.address) };
    assert_eq!(sent(&sending, "cubic").expect("sent").moves, 1);
    assert_eq!(receiver.end().expect("received").moves, 1);
}

#[test]
fn an_interrupted_transfer_goes_on_where_it_was() {
    let folder = Folder::new("resumes");
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
    let folder = Folder::new("again");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    // Its way goes dead, so that nobody hears how it ends.
    let relay = Relay::new(receiver.address, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_millis(400), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let again = SendConfig { peer: receiver.address, ..first };
    assert!(sent(&again, "cubic").expect("sent").resumed > Bytes::ZERO);
    receiver.end().expect("received");
}

#[test]
fn a_sender_that_comes_again_is_answered_from_the_address_that_it_knows() {
    let folder = Folder::new("elsewhere");
    let file = folder.file(SIZE);
    let pair = KeyPair::generate().expect("random numbers");
    let receiver = waiting(ReceiveConfig { address: None, ..config(&folder.target(), &pair) });
    // None of which the system would choose by itself.
    let there = SocketAddr::from(([127, 0, 0, 2], receiver.address.port()));
    let relay = Relay::new(there, Treatment { dead_after: 400, ..Treatment::default() });
    let first = SendConfig { patience: Span::from_millis(400), ..receiver.sending(&file, relay.address) };
    sent(&first, "cubic").expect_err("the way is dead");
    let again = SendConfig { peer: there, patience: Span::from_secs(5), ..first };
    assert!(sent(&again, "cubic").expect("sent").resumed > Bytes::ZERO);
    receiver.end().expect("received");
}

#[test]
fn a_receiver_that_acknowledges_nothing_is_not_waited_for() {
    let folder = Folder::new("unanswered");
    let file = folder.file(SIZE);
    let receiver = waiting(config(&folder.target(), &KeyPair::generate().expect("random numbers")));
    let relay = Relay::new(receiver.address, Treatment { short_after: 400, ..Treatment::default() });
    let sending = SendConfig { patience: Span::from_secs(2), ..receiver.sending(&file, relay.address) };
    let clock = Clock::start();
    let mut watch = |_: &Seen| clock.now() < Time::ZERO + LONG;
    let error = send(&sending, |sizes| Ok(ends::sender("cubic", sizes)), &mut watch).expect_err("unanswered");
    let text = error.to_string();
    assert!(text.starts_with("the receiver has acknowledged nothing for 2 s"), "{text}");
    receiver.end().expect_err("nobody sends any more");
}

#[test]
fn silence_ends_both_within_their_patience() {
    let folder = Folder::new("silence");
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
    let folder = Folder::new("nobody");
    let file = folder.file(10);
    let pair = KeyPair::generate().expect("random numbers");
    let gone = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let peer = gone.expect("was bound");
    let keys = Some((pair.clone(), Invitation::of(&pair)));
    let patience = Span::from_millis(500);
    let packet = Bytes::new(1500);
    let sending = SendConfig { file, peer, keys, patience, packet, move_after: None };
    let error = sent(&sending, "cubic").expect_err("nobody").to_string();
    assert_eq!(error, format!("{peer} did not answer for 500 ms (nobody listens there)"));
}

#[test]
fn who_was_not_invited_and_what_is_not_wanted_is_refused() {
    let folder = Folder::new("refused");
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

#[test]
fn a_damaged_partial_file_is_found_out_and_thrown_away() {
    let folder = Folder::new("damaged");
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
    let folder = Folder::new("mtu");
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
    assert_eq!(found.expect("asked").packet, Bytes::new(1232 + 28));
    receiver.end().expect("received");
}
