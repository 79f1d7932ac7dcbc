//! Bursts and pauses: data is offered at a rate, or at once, during on times, and not at all during off times.
//! Sessions of files with their own sizes live in `files.rs`.
//!
//! Known deviation: the amount of a burst, `rate` times its length, is rounded down to whole bytes. Half a byte per burst is
//! not offered on average, which counts only where bursts are of some ten bytes; bursts below a byte offer nothing, or one
//! byte where they are offered at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Span, Stream, Time};

use super::Distribution;
use super::drawn::Drawn;
use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// Bursts and pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnOffConfig {
    /// How long bursts last. Default exponential with mean 500 ms.
    pub on: Drawn<Span>,
    /// How long pauses last. Default exponential with mean 500 ms.
    pub off: Drawn<Span>,
    /// Application data per time while on, headers not counted. Default 1 Mbit/s.
    pub rate: BitRate,
    /// How much is offered at a time while on, headers not counted; what remains of a burst is carried over to the
    /// next. Default 960 B, which fills packets of 1000 B.
    pub chunk: Bytes,
    /// Whether a burst's whole amount, `rate` times its length, is offered at its beginning. Default false.
    pub at_once: bool,
    /// Whether a pause begins only when the burst before it was completely acknowledged (closed loop) instead of at
    /// the burst's own end (open loop). Default false.
    pub closed: bool,
    /// Whether the source begins with a pause, so that many of them do not begin in step. Default false.
    pub pause_first: bool,
    /// The source ends after so much data; by default never.
    pub total: Option<Bytes>,
}

impl Default for OnOffConfig {
    fn default() -> Self {
        Self {
            on: Distribution::exponential(Span::from_millis(500)).into(),
            off: Distribution::exponential(Span::from_millis(500)).into(),
            rate: BitRate::from_bits_per_sec(1_000_000),
            chunk: Bytes::new(960),
            at_once: false,
            closed: false,
            pause_first: false,
            total: None,
        }
    }
}

impl SourceKind for OnOffConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "on-off";

    fn check(&self, checker: &mut Checker) {
        checker.within("on", |on| self.on.check(on));
        checker.within("off", |off| self.off.check(off));
        checker.require(self.rate > BitRate::ZERO, "rate", self.rate, "a rate above zero");
        let chunk = self.chunk;
        checker.require(chunk > Bytes::ZERO && chunk < Bytes::MAX, "chunk", chunk, "at least 1 B");
        if let Some(total) = self.total {
            checker.require(total > Bytes::ZERO, "total", total, "at least 1 B");
        }
    }

    fn build(&self) -> BoxedSource {
        Box::new(OnOff::new(self.clone()))
    }
}

/// Bursts and pauses, running.
#[derive(Clone, Debug)]
pub struct OnOff {
    config: OnOffConfig,
    next: Option<Time>,
    /// When the current burst's last chunk and then the burst itself are over.
    chunks_left: u64,
    ends: Time,
    /// Data of the current burst that did not fill a chunk.
    carry: Bytes,
    left: Bytes,
    awaiting: bool,
    finished: bool,
}

impl OnOff {
    /// A source that has not started.
    pub fn new(config: OnOffConfig) -> Self {
        let left = config.total.unwrap_or(Bytes::MAX);
        Self {
            config,
            next: None,
            chunks_left: 0,
            ends: Time::ZERO,
            carry: Bytes::ZERO,
            left,
            awaiting: false,
            finished: false,
        }
    }

    /// A pause of its own length begins, and after it a burst.
    fn pause(&mut self, from: Time, rng: &mut Stream) {
        self.next = Some(from + self.config.off.sample(rng));
    }

    /// The burst that begins now, as a number of chunks and their size.
    fn begin_burst(&mut self, now: Time, rng: &mut Stream) -> Bytes {
        let on = self.config.on.sample(rng);
        self.ends = now + on;
        let amount = self.config.rate.bytes_in(on);
        if self.config.at_once {
            self.chunks_left = 1;
            return amount.max(Bytes::new(1));
        }
        let (amount, chunk) = ((amount + self.carry).get(), self.config.chunk.get().max(1));
        self.chunks_left = amount / chunk;
        self.carry = Bytes::new(amount % chunk);
        self.config.chunk
    }

    /// After the last chunk of a burst: wait for its acknowledgement or for its end.
    fn end_burst(&mut self, rng: &mut Stream) {
        if self.config.closed {
            self.next = None;
            self.awaiting = true;
        } else {
            self.pause(self.ends, rng);
        }
    }

    fn charge(&mut self, bytes: Bytes) -> Bytes {
        let bytes = bytes.min(self.left);
        if self.left != Bytes::MAX {
            self.left -= bytes;
        }
        self.finished = self.left == Bytes::ZERO;
        bytes
    }
}

impl Source for OnOff {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        if self.finished {
            return;
        }
        if self.config.pause_first {
            self.pause(now, rng);
        } else {
            self.next = Some(now);
        }
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        let mut due = self.next.filter(|due| *due <= now)?;
        let mut bytes = self.config.chunk;
        while self.chunks_left == 0 {
            bytes = self.begin_burst(due, rng);
            if self.chunks_left == 0 {
                // Too short for a chunk: its data comes with the next burst.
                self.pause(self.ends, rng);
                due = self.next.filter(|due| *due <= now)?;
            }
        }
        self.chunks_left -= 1;
        let bytes = self.charge(bytes);
        let ends_message = self.chunks_left == 0 || self.finished;
        if self.finished {
            self.next = None;
        } else if ends_message {
            self.end_burst(rng);
        } else {
            self.next = Some(due + self.config.rate.span_of(bytes));
        }
        Some(Offer { bytes, new_connection: false, ends_message })
    }

    fn on_message_done(&mut self, now: Time, rng: &mut Stream) {
        if std::mem::take(&mut self.awaiting) {
            self.pause(now.max(self.ends_if_paced()), rng);
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.finished = true;
        self.awaiting = false;
    }
}

impl OnOff {
    /// A paced burst lasts to its end even where its data was acknowledged before; one offered at once does not.
    fn ends_if_paced(&self) -> Time {
        if self.config.at_once { Time::ZERO } else { self.ends }
    }
}
