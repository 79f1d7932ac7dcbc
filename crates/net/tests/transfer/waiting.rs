//! What tests of transfers share: places for files, and a receiver that waits in a thread. What somebody does to a transfer is the
//! tests' own.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use tailback_core::{Bytes, Span, Stream, Time};
use tailback_net::Clock;
use tailback_net::secure::{Invitation, KeyPair};
use tailback_net::transfer::{
    Phase, ReceiveConfig, Received, Seen, SendConfig, Sent, TransferError, Word, receive, send,
};

use crate::common::ends;
use crate::common::folder::Folder;

pub(crate) const SIZE: usize = 1_500_000;
/// Only a hang gets there.
pub(crate) const LONG: Span = Span::from_secs(60);

/// A file to send and a folder to receive it in.
pub(crate) struct Places(Folder);

impl Places {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        for inner in ["in", "out"] {
            fs::create_dir(folder.path().join(inner)).expect("a folder");
        }
        Self(folder)
    }

    pub(crate) fn file(&self, size: usize) -> PathBuf {
        let mut rng = Stream::new(9, "file");
        let bytes: Vec<u8> = (0..size).map(|_| rng.below(256) as u8).collect();
        let path = self.0.path().join("out/film");
        fs::write(&path, bytes).expect("a file");
        path
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.0.path().join("in")
    }

    /// Names in the target folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.target()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

/// The keys of a receiver and the address of one that waits in a thread.
pub(crate) struct Waiting {
    pub(crate) pair: KeyPair,
    pub(crate) address: SocketAddr,
    thread: JoinHandle<Result<Received, TransferError>>,
}

pub(crate) fn config(folder: &Path, pair: &KeyPair) -> ReceiveConfig {
    ReceiveConfig {
        folder: folder.to_owned(),
        address: Some([127, 0, 0, 1].into()),
        link: 0,
        port: 0,
        keys: Some(pair.clone()),
        only: None,
        patience: Span::from_secs(5),
        overwrite: false,
    }
}

/// Starts a receiver, which stops when nobody has come for long.
pub(crate) fn waiting(config: ReceiveConfig) -> Waiting {
    watched(config, |_| {}, |_| {})
}

/// The same, where a test hears what the receiver is told.
pub(crate) fn telling(config: ReceiveConfig, hear: impl FnMut(Word<'_>) + Send + 'static) -> Waiting {
    watched(config, hear, |_| {})
}

/// The same, where a test also sees how far the receiver is.
pub(crate) fn watched(
    config: ReceiveConfig,
    mut hear: impl FnMut(Word<'_>) + Send + 'static,
    mut see: impl FnMut(&Seen) + Send + 'static,
) -> Waiting {
    let pair = config.keys.clone().expect("keys");
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        let clock = Clock::start();
        let mut watch = |seen: &Seen| {
            see(seen);
            clock.now() < Time::ZERO + LONG
        };
        receive(
            &config,
            |word: Word<'_>| match word {
                Word::Listening(at) => tell.send(at).expect("heard"),
                other => hear(other),
            },
            ends::receiver,
            &mut watch,
        )
    });
    let address = told.recv().expect("it listens");
    Waiting { pair, address, thread }
}

impl Waiting {
    pub(crate) fn sending(&self, file: &Path, to: SocketAddr) -> SendConfig {
        SendConfig {
            file: file.to_owned(),
            peers: vec![to],
            keys: Some((KeyPair::generate().expect("random numbers"), Invitation::of(&self.pair))),
            patience: Span::from_secs(5),
            packet: Bytes::new(1500),
            longer: Span::from_secs(600),
        }
    }

    pub(crate) fn end(self) -> Result<Received, TransferError> {
        self.thread.join().expect("no panic")
    }
}

pub(crate) fn sent(config: &SendConfig, scheme: &str) -> Result<Sent, TransferError> {
    send(config, |sizes| Ok(ends::sender(scheme, sizes)), &mut |_| true)
}

/// Stops when so many bytes have moved.
pub(crate) fn until_moved(bytes: u64) -> impl FnMut(&Seen) -> bool {
    move |seen| seen.phase != Phase::Moving || seen.done < Bytes::new(bytes)
}
