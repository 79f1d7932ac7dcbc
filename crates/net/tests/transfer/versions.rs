//! Hosts of different versions: each is told of the other's version and of what to do, and strangers are told nothing. Who has no
//! invitation is in `handshake.rs` of the folder above.

use std::net::UdpSocket;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tailback_core::{Bytes, Span};
use tailback_net::secure::envelope::{Envelope, VERSION};
use tailback_net::secure::{Greeter, Invitation, KeyPair};
use tailback_net::transfer::{Phase, Seen, SendConfig, Word, send};

use super::waiting::{LONG, Places, SIZE, config, sent, telling, waiting};
use crate::common::ends;

fn pair() -> KeyPair {
    KeyPair::generate().expect("random numbers")
}

fn free() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    socket
}

/// A receiver of this version, until it has answered a hello.
fn answering(socket: &UdpSocket, greeter: &Greeter, version: u8) {
    let mut buffer = [0; 2000];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).expect("somebody comes");
        if let Some(Envelope::Hello { nonce, .. }) = Envelope::read(&buffer[..length]) {
            socket.send_to(&greeter.other(version, nonce), from).expect("sent");
            return;
        }
    }
}

#[test]
fn a_sender_is_told_that_its_receiver_is_newer_or_older() {
    let folder = Places::new("versions");
    let file = folder.file(1000);
    for (version, older) in [(VERSION + 1, "this host"), (VERSION - 1, "that host")] {
        let (keys, socket) = (pair(), free());
        let invitation = Invitation::of(&keys);
        let (address, greeter) = (socket.local_addr().expect("bound"), Greeter::new(&invitation));
        let receiver = thread::spawn(move || answering(&socket, &greeter, version));
        let sending = SendConfig {
            file: file.clone(),
            peers: vec![address],
            keys: Some((pair(), invitation)),
            // Nobody waits for it.
            patience: LONG,
            packet: Bytes::new(1500),
            longer: LONG,
        };
        let error = sent(&sending, "cubic").expect_err("another version").to_string();
        let said = format!(
            "{address} speaks version {version} of transfers, and this host version {VERSION}; expected the same version at \
             both: update Tailback at {older}"
        );
        assert_eq!(error, said);
        receiver.join().expect("no panic");
    }
}

/// Somebody without the invitation, who is nearer, cannot turn a sender away.
#[test]
fn what_a_stranger_says_of_versions_is_not_believed() {
    let folder = Places::new("stranger-versions");
    let (file, socket) = (folder.file(1000), free());
    let stranger = Greeter::new(&Invitation::of(&pair()));
    let sending = SendConfig {
        file,
        peers: vec![socket.local_addr().expect("bound")],
        keys: Some((pair(), Invitation::of(&pair()))),
        patience: Span::from_millis(700),
        packet: Bytes::new(1500),
        longer: LONG,
    };
    let receiver = thread::spawn(move || {
        answering(&socket, &stranger, VERSION + 1);
        socket
    });
    let error = sent(&sending, "cubic").expect_err("no receiver").to_string();
    assert!(error.contains("did not answer for 700 ms"), "{error}");
    receiver.join().expect("no panic");
}

#[test]
fn a_receiver_is_told_once_of_senders_of_another_version_and_goes_on_waiting() {
    let folder = Places::new("other-versions");
    let file = folder.file(1000);
    let (tell, told) = channel();
    let hear = move |word: Word<'_>| tell.send(format!("{word:?}")).expect("heard");
    let receiver = telling(config(&folder.target(), &pair()), hear);
    let greeter = Greeter::new(&Invitation::of(&receiver.pair));
    let (socket, mut buffer) = (free(), [0; 2000]);
    socket.connect(receiver.address).expect("connects");
    for (nonce, version) in (0..).zip([VERSION + 1, VERSION - 1, VERSION + 1, VERSION - 1]) {
        socket.send(&greeter.hello(version, nonce, 1232)).expect("sent");
        let length = socket.recv(&mut buffer).expect("answered");
        assert_eq!(buffer[..length], greeter.other(VERSION, nonce));
    }
    sent(&receiver.sending(&file, receiver.address), "cubic").expect("sent");
    receiver.end().expect("received");
    let words: Vec<String> = told.iter().collect();
    let here = socket.local_addr().expect("bound");
    let differs = |version: u8, older: &str| {
        let why = format!(
            "it speaks version {version} of transfers, and this host version {VERSION}; expected the same version at both: \
             update Tailback at {older}"
        );
        format!("Differs {{ peer: {here}, why: {why:?} }}")
    };
    let (newer, older) = (differs(VERSION + 1, "this host"), differs(VERSION - 1, "that host"));
    assert_eq!(words, [newer, older, "Accepted".to_owned()]);
}

/// Also while somebody else sends: he would wait for nothing.
#[test]
fn who_speaks_another_version_is_told_so_while_a_transfer_is_under_way() {
    let folder = Places::new("busy-versions");
    let file = folder.file(SIZE / 5);
    let receiver = waiting(config(&folder.target(), &pair()));
    let greeter = Greeter::new(&Invitation::of(&receiver.pair));
    let socket = free();
    socket.connect(receiver.address).expect("connects");
    socket.set_nonblocking(true).expect("set");
    let (mut buffer, mut answer) = ([0; 2000], None);
    let mut watch = |seen: &Seen| {
        if seen.phase == Phase::Moving && answer.is_none() {
            let _ = socket.send(&greeter.hello(VERSION + 1, 7, 1232));
            answer = socket.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec());
        }
        true
    };
    let sending = receiver.sending(&file, receiver.address);
    send(&sending, |sizes| Ok(ends::sender("fixed-rate", sizes)), &mut watch).expect("sent");
    receiver.end().expect("received");
    assert_eq!(answer, Some(greeter.other(VERSION, 7)));
}
