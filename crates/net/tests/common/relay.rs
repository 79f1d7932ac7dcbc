//! A way between two hosts that treats datagrams as badly as it is told to: it loses, repeats, holds back, changes, cuts,
//! makes up and throws back, and goes dead. Seeded; what it does to which datagram still depends on the system's timing.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tailback_core::{Span, Stream, Time};
use tailback_net::Clock;
use tailback_net::secure::envelope::Envelope;

/// No longer is what only says that somebody is there: head, tag, kind and number.
const SHORT: usize = 24 + 16 + 1 + 8;

/// Longer is what carries data.
pub(crate) const NARROW: usize = 500;

/// How badly: probabilities per datagram.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Treatment {
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    pub(crate) reordering: f64,
    pub(crate) corruption: f64,
    pub(crate) truncation: f64,
    /// An earlier datagram comes again.
    pub(crate) replay: f64,
    /// Random bytes, or a frame's head with random bytes behind it.
    pub(crate) forgery: f64,
    /// A datagram goes back to where it came from, too.
    pub(crate) reflection: f64,
    /// After so many datagrams nothing passes any more; 0 for never.
    pub(crate) dead_after: u64,
    /// After so many datagrams only those come back that say that somebody is there, which acknowledge nothing, and cookies where
    /// these may; 0 for never.
    pub(crate) short_after: u64,
    pub(crate) cookies: bool,
    /// After so many datagrams none that is longer than this passes any more; 0 for never.
    pub(crate) narrow_after: u64,
    pub(crate) narrow_to: usize,
    /// So long, in seconds; 0 for ever.
    pub(crate) narrow_for: f64,
    /// Every so many datagrams the receiver sees the sender at another address; 0 for never.
    pub(crate) moves_every: u64,
    /// After so many datagrams the sender's first address leads nowhere any more, but another one does; 0 for never.
    pub(crate) lost_after: u64,
    /// Every so many datagrams the way becomes slow, or quick again; 0 for never. How long all take then each way, in seconds.
    pub(crate) slow_every: u64,
    pub(crate) slow_by: f64,
}

impl Treatment {
    /// None at all.
    pub(crate) const NONE: Self = Self {
        loss: 0.0,
        duplication: 0.0,
        reordering: 0.0,
        corruption: 0.0,
        truncation: 0.0,
        replay: 0.0,
        forgery: 0.0,
        reflection: 0.0,
        dead_after: 0,
        short_after: 0,
        cookies: false,
        narrow_after: 0,
        narrow_to: NARROW,
        narrow_for: 0.0,
        moves_every: 0,
        lost_after: 0,
        slow_every: 0,
        slow_by: 0.0,
    };
}

/// A relay between whoever sends to it and `to`; it ends with the test's process.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    /// While this is so, nothing passes.
    pub(crate) is_shut: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) fn new(to: SocketAddr, treatment: Treatment) -> Self {
        let near = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        near.set_read_timeout(Some(Duration::from_micros(200))).expect("set");
        let address = near.local_addr().expect("bound");
        let is_shut = Arc::new(AtomicBool::new(false));
        let shut = Arc::clone(&is_shut);
        thread::spawn(move || carry(&near, to, treatment, &shut));
        Self { address, is_shut }
    }
}

fn far(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(to).expect("connects");
    socket.set_nonblocking(true).expect("set");
    socket
}

fn is_cookie(datagram: &[u8]) -> bool {
    matches!(Envelope::read(datagram), Some(Envelope::Cookie { .. }))
}

/// One direction's memory.
#[derive(Default)]
struct Memory {
    held: Vec<Vec<u8>>,
    seen: Vec<Vec<u8>>,
}

fn carry(near: &UdpSocket, to: SocketAddr, treatment: Treatment, is_shut: &AtomicBool) {
    let mut rng = Stream::new(4, "relay");
    let (mut sender, mut far_socket) = (None, far(to));
    let mut first = None;
    let (mut there, mut back) = (Memory::default(), Memory::default());
    let (mut buffer, mut passed) = (vec![0; 65_536], 0);
    let (clock, mut narrow_since) = (Clock::start(), None);
    let (mut on_their_way, mut on_their_way_back) = (VecDeque::new(), VecDeque::new());
    loop {
        let arrived = near.recv_from(&mut buffer);
        let is_dead = treatment.dead_after != 0 && passed >= treatment.dead_after;
        let is_alive = !is_dead && !is_shut.load(Ordering::Relaxed);
        let is_lost =
            |from| treatment.lost_after != 0 && passed >= treatment.lost_after && first == Some(from);
        if let Ok((length, from)) = arrived
            && is_alive
            && !is_lost(from)
        {
            first = first.or(Some(from));
            if sender.is_some_and(|before| before != from) {
                far_socket = far(to);
            }
            sender = Some(from);
            passed += 1;
            if passed.is_multiple_of(treatment.moves_every) {
                far_socket = far(to);
            }
            let is_narrow = treatment.narrow_after != 0 && passed >= treatment.narrow_after && {
                let since = *narrow_since.get_or_insert(clock.now());
                let span = clock.now().since(since).as_secs_f64();
                treatment.narrow_for == 0.0 || span < treatment.narrow_for
            };
            let is_wide = is_narrow && length > treatment.narrow_to;
            for datagram in treated(&buffer[..length], treatment, &mut there, &mut rng) {
                if !is_wide {
                    on_their_way.push_back((clock.now() + slowness(treatment, passed), datagram));
                }
            }
            if rng.chance(treatment.reflection) {
                let _ = near.send_to(&buffer[..length], from);
            }
        }
        while let Ok(length) = far_socket.recv(&mut buffer) {
            let is_cut = treatment.short_after != 0
                && passed >= treatment.short_after
                && length > SHORT
                && !(treatment.cookies && is_cookie(&buffer[..length]));
            let is_lost = |from: &SocketAddr| {
                treatment.lost_after != 0 && passed >= treatment.lost_after && first == Some(*from)
            };
            let there = sender.filter(|from| is_alive && !is_cut && !is_lost(from));
            let Some(sender) = there else { continue };
            for datagram in treated(&buffer[..length], treatment, &mut back, &mut rng) {
                on_their_way_back.push_back((clock.now() + slowness(treatment, passed), (datagram, sender)));
            }
            if rng.chance(treatment.reflection) {
                let _ = far_socket.send(&buffer[..length]);
            }
        }
        due(&mut on_their_way, clock, |datagram: &Vec<u8>| far_socket.send(datagram));
        due(&mut on_their_way_back, clock, |(datagram, sender)| near.send_to(datagram, *sender));
    }
}

/// How long datagrams take now.
fn slowness(treatment: Treatment, passed: u64) -> Span {
    let is_slow = treatment.slow_every != 0 && !(passed / treatment.slow_every).is_multiple_of(2);
    if is_slow { Span::from_secs_f64(treatment.slow_by) } else { Span::ZERO }
}

/// Lets arrive what is due. Who comes later on a quicker way waits for nobody.
fn due<T>(waiting: &mut VecDeque<(Time, T)>, clock: Clock, send: impl Fn(&T) -> io::Result<usize>) {
    let now = clock.now();
    waiting.retain(|(at, datagram)| {
        if *at > now {
            return true;
        }
        let _ = send(datagram); // What is refused is lost.
        false
    });
}

/// What comes out for a datagram that goes in.
fn treated(datagram: &[u8], treatment: Treatment, memory: &mut Memory, rng: &mut Stream) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    if memory.seen.len() < 500 {
        memory.seen.push(datagram.to_vec());
    }
    if rng.chance(treatment.reordering) {
        memory.held.push(datagram.to_vec());
    } else if !rng.chance(treatment.loss) {
        let mut changed = datagram.to_vec();
        if rng.chance(treatment.corruption) {
            let at = rng.below(changed.len().max(1) as u64) as usize;
            changed[at] ^= 1 << rng.below(8);
        }
        if rng.chance(treatment.truncation) {
            changed.truncate(rng.below(changed.len() as u64 + 1) as usize);
        }
        out.push(changed);
        out.append(&mut memory.held);
    }
    if rng.chance(treatment.duplication) {
        out.push(datagram.to_vec());
    }
    if rng.chance(treatment.replay) {
        out.push(memory.seen[rng.below(memory.seen.len() as u64) as usize].clone());
    }
    if rng.chance(treatment.forgery) {
        let mut forged = datagram.to_vec();
        let from = if rng.chance(0.5) { 0 } else { forged.len().min(24) };
        forged[from..].iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        out.push(forged);
    }
    out
}
