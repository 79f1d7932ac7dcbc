//! Loss detection and recovery written a second time, each part from its text, and both fed the same: random losses,
//! reordering, copies, delays, pauses of the application, receivers' windows and lost acknowledgements. Every packet that
//! leaves, every acknowledgement, every time the timer is set for and every word to the law must be the same.
//!
//! The writings are from RFC 2018, 5681, 6298, 6582, 6675 and 9937, from 3522, 5682 and 8985 as far as ours claims them, as their writer
//! knew these texts. Drafts of scoreboard, timer and receiver came before the code of `crates/transport/src/stream` was read, all
//! else after it: independent, and not blind. Where both differed, the text decided, or what ours says of itself; the heads of
//! both say so. Vegas's timer, offsets, counts of arrivals and clocks of ticks are left out, and marks where losses are not found
//! by time.
//!
//! When data may leave (`shaper.rs`, in `shaped.rs`), datagrams (`posts.rs`), and a whole sender of a stream (`steered`), are for
//! themselves: under directives that change at any moment. `absurd.rs` has numbers that no law directs.
//!
//! Both ends of ours are on the path of `path.rs`; the second writings (`both.rs`) see the same packets and times, and send nothing themselves.

#![allow(
    unreachable_pub,
    clippy::struct_excessive_bools,
    reason = "the second writings are as plain as their texts"
)]

mod absurd;
mod anew;
mod asking;
mod both;
mod bucket;
mod common;
mod comparisons;
mod configured;
mod doubt;
mod duplicates;
mod ecn;
mod found;
mod law;
mod linux;
mod path;
mod posts;
mod proportional;
mod rack;
mod rack_examples;
mod receiver;
mod scoreboard;
mod shaped;
mod shaper;
mod steered;
mod timer;

use tailback_control::Reliability;
use tailback_core::{CongestionEvent, Recovery, SeqRange};
use tailback_transport::{RttSampling, SpuriousDetection};

use asking::Request;
use bucket::Rate;
use law::Asks;
use path::Trouble;
use timer::Timer;

/// Bytes of a full segment without its header, and with it.
const PAYLOAD: u64 = 960;
const HEADER: u64 = 40;
const SEGMENT: u64 = PAYLOAD + HEADER;

/// What a sender is configured with, for both writings.
#[derive(Clone, Debug)]
pub struct Options {
    pub reliability: Reliability,
    pub sampling: RttSampling,
    pub dup_threshold: u32,
    pub limited_transmit: bool,
    pub rescue: bool,
    pub keep_scoreboard: bool,
    pub impatient: bool,
    pub careful: bool,
    pub one_recovery: bool,
    pub spurious: SpuriousDetection,
    pub lost_retransmissions: bool,
    pub proportional: bool,
    pub restart_after_idle: bool,
    pub receive_window: u64,
    pub min_rto: f64,
    pub max_rto: f64,
    /// What the timer adds to the smoothed round trip at least.
    pub least_variation: f64,
    /// Where losses are found by time.
    pub rack: Option<RackOptions>,
    pub beside: Beside,
}

/// What stands beside finding losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    pub handshake: bool,
    /// Whether packets may bear marks.
    pub ecn: bool,
    /// A rate that the law directs at a window of no segment; it grows with the window.
    pub pace: Option<Rate>,
    /// Where the window is spread over a round trip (RFC 9002 §7.7): by this factor, and so many bytes at once.
    pub pacing: Option<(f64, u64)>,
    /// What the law asks of the receiver.
    pub asks: Option<Asks>,
    /// Whether acknowledgements beside a hole wait for each other, as Linux's.
    pub compresses: bool,
}

/// What RFC 8985 leaves to be configured; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RackOptions {
    /// The reordering window's unit, in round trips.
    pub reordering_window: f64,
    pub persist: u32,
    pub min_rtt_window: u64,
    pub probes: bool,
    pub max_ack_delay: u64,
    /// Whether the receiver names what arrives twice.
    pub dsack: bool,
}

/// An acknowledgement as it reaches the sender.
#[derive(Clone, Debug)]
pub struct Acknowledgement {
    pub number: u64,
    pub blocks: Vec<SeqRange>,
    pub echo: Option<u64>,
    /// What arrived a second time, where the receiver tells (RFC 2883).
    pub duplicate: Option<SeqRange>,
    /// Whether a mark is echoed.
    pub marks: bool,
}

/// A data packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub number: u64,
    /// With its header.
    pub size: u64,
    pub again: bool,
    /// Bytes believed in the network, itself included.
    pub in_flight: u64,
}

/// What else is to be seen on a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub number: u64,
    pub ecn_capable: bool,
    /// It says that the window was reduced (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// It bears PSH.
    pub pushed: bool,
    pub request: Option<Request>,
}

/// What the law is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub acked: Vec<u64>,
    pub lost: Vec<u64>,
    pub advanced: u64,
    pub outstanding: u64,
    pub in_flight: u64,
    pub event: Option<CongestionEvent>,
    pub recovery: Recovery,
    /// The sample, in nanoseconds.
    pub rtt: Option<u64>,
}

/// A second writing of a sender.
pub trait Second {
    fn acknowledge(&mut self, now: u64, ack: &Acknowledgement) -> Option<Told>;
    /// What else the last acknowledgement means, where the law hears of that by itself.
    fn behind(&mut self) -> Option<Told> {
        None
    }
    fn expire(&mut self, now: u64) -> Option<Told>;
    /// The law has heard of all that it was told, and has chosen a window.
    fn heard(&mut self, _window: u64) {}
    /// So many bytes of the next segment, with its header, wait to be sent: what this alone decides, whether or not anything may leave
    /// now (RFC 5682 §2.1 step 2b).
    fn offer(&mut self, waiting: u64);
    /// What leaves now, if anything, where so many bytes are offered.
    fn next(&mut self, now: u64, window: u64, waiting: u64) -> Option<Left>;
    /// Whether the new segment that leaves must say that the window was reduced.
    fn take_cwr(&mut self) -> bool {
        false
    }
    /// A mark is echoed at a window of one: whether nothing may leave before the timer expires (RFC 3168 §6.1.2).
    fn fall_silent(&mut self, _now: u64) -> bool {
        false
    }
    /// The receiver is asked to hold acknowledgements back for so long.
    fn hold(&mut self, held: u64) {
        self.timer_mut().hold(held as f64);
    }
    fn in_flight(&self) -> u64;
    /// Whether nothing is outstanding.
    fn is_idle(&self) -> bool;
    /// Its episode while nothing is outstanding.
    fn recovery(&self) -> Recovery {
        Recovery::Open
    }
    fn timer(&self) -> &Timer;
    fn timer_mut(&mut self) -> &mut Timer;
    /// When it wants to be asked again.
    fn deadline(&self) -> Option<f64> {
        self.timer().deadline
    }
    /// What to print where both differ.
    fn state(&self) -> String;
}

/// Ours beside the writing that is asked for: where they differ first, in words.
fn difference(options: &Options, trouble: &Trouble, seed: u64, rest: (u64, u32, u8)) -> Option<String> {
    if options.rack.is_some() {
        configured::difference(options, rack::RackTlp::new(options.clone()), trouble, seed, rest)
    } else if options.reliability == Reliability::Sack {
        configured::difference(options, scoreboard::Scoreboard::new(options.clone()), trouble, seed, rest)
    } else {
        configured::difference(options, duplicates::Duplicates::new(options.clone()), trouble, seed, rest)
    }
}
