//! The sources that most flows of large scenarios have inline, so that such flows stay small, and any other behind a
//! pointer.

use tailback_core::{AppHint, BitRate, Bytes, Stream, Time};

use super::bulk::Bulk;
use super::parts::{BoxedSource, Offer, Source};
use super::pushed::Pushed;

/// A source at work.
pub enum AnySource {
    /// One transfer.
    Bulk(Bulk),
    /// None: data is pushed from outside.
    Pushed(Pushed),
    /// Any other.
    Boxed(BoxedSource),
}

macro_rules! each {
    ($self:ident, $source:ident => $call:expr) => {
        match $self {
            Self::Bulk($source) => $call,
            Self::Pushed($source) => $call,
            Self::Boxed($source) => $call,
        }
    };
}

#[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
impl Source for AnySource {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        each!(self, source => source.start(now, rng));
    }

    fn next_offer(&self) -> Option<Time> {
        each!(self, source => source.next_offer())
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        each!(self, source => source.take_offer(now, rng))
    }

    fn tell(&mut self, hint: AppHint) {
        each!(self, source => source.tell(hint));
    }

    fn stated_rate(&self) -> Option<BitRate> {
        each!(self, source => source.stated_rate())
    }

    fn notes(&self) -> &[(&'static str, f64)] {
        each!(self, source => source.notes())
    }

    fn on_message_done(&mut self, now: Time, rng: &mut Stream) {
        each!(self, source => source.on_message_done(now, rng));
    }

    fn is_finished(&self) -> bool {
        each!(self, source => source.is_finished())
    }

    fn stop(&mut self, now: Time) {
        each!(self, source => source.stop(now));
    }
}

impl AnySource {
    /// A transfer without end.
    pub fn infinite() -> Self {
        Self::Bulk(Bulk::infinite())
    }

    /// No source: data is pushed from outside.
    pub fn pushed() -> Self {
        Self::Pushed(Pushed::default())
    }

    /// A transfer of `size`.
    pub fn finite(size: Bytes) -> Self {
        Self::Bulk(Bulk::finite(size))
    }
}

impl From<Bulk> for AnySource {
    fn from(source: Bulk) -> Self {
        Self::Bulk(source)
    }
}

impl From<BoxedSource> for AnySource {
    fn from(source: BoxedSource) -> Self {
        Self::Boxed(source)
    }
}
