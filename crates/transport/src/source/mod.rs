//! Applications as sources of data: when they offer how much, and when they are done. What is sent of it, and when,
//! is decided elsewhere (reliability, controller, shaper).
//!
//! The contract: the sender calls [`Source::start`] once; then [`Source::take_offer`] while
//! [`Source::next_offer`] is not later than now; [`Source::on_message_done`] once for every offer with
//! [`Offer::ends_message`], when all data up to its end was acknowledged (reliable endpoints) or sent (datagrams).
//! Any call may change [`Source::next_offer`]. Spurious calls of `take_offer` return `None`.

mod bulk;
mod config;
mod datagrams;
mod distribution;
mod files;
mod on_off;
mod pushed;
mod replay;
mod surge;
mod video;

pub use bulk::Bulk;
pub use config::{BulkConfig, SourceConfig};
pub use datagrams::{Arrivals, Datagrams, DatagramsConfig};
pub use distribution::{Distribution, Quantity};
pub use files::{Connection, Files, FilesConfig};
pub use on_off::{OnOff, OnOffConfig};
pub use pushed::Pushed;
pub use replay::{Replay, ReplayConfig, ReplayEntry, ReplayError, parse as parse_trace};
pub use surge::{Surge, SurgeConfig, SurgeConnection, SurgeSizes};
pub use video::{Video, VideoConfig, VideoControl};

use tailback_core::{BitRate, Bytes, Stream, Time};

/// Data that the application hands over at one instant. Datagram endpoints send every offer as packets of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// How much; [`Bytes::MAX`] stands for a transfer without end.
    pub bytes: Bytes,
    /// Whether the connection must begin anew (slow start, fresh round trip times) before this data. Never set on
    /// a source's first offer, since its connection is fresh anyway.
    pub new_connection: bool,
    /// Whether a message (file, datagram, burst) ends with this data; each such end is reported back once.
    pub ends_message: bool,
}

/// What a sender tells an application that adapts to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Application data per time that may be sent: the directed rate, or the window per smoothed round trip time, headers
    /// taken off; `None` before either is known.
    pub rate: Option<BitRate>,
    /// Application data offered and not sent yet.
    pub backlog: Bytes,
}

/// An application that sends.
pub trait Source {
    /// The application begins.
    fn start(&mut self, now: Time, rng: &mut Stream);

    /// When it will offer data next; `None` while it waits for [`Source::on_message_done`], before its start and
    /// after its end.
    fn next_offer(&self) -> Option<Time>;

    /// Takes the data that is due, if any is.
    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer>;

    /// What may be sent, told before every offer that is taken.
    fn tell(&mut self, told: Told) {
        let _ = told;
    }

    /// State to publish with an offer that was taken, for recorders; nothing by default.
    fn notes(&self) -> &[(&'static str, f64)] {
        &[]
    }

    /// The oldest message not yet reported was completely acknowledged.
    fn on_message_done(&mut self, now: Time, rng: &mut Stream);

    /// Whether no further offer will come, whatever happens.
    fn is_finished(&self) -> bool;

    /// Ends the application at once: no further offer will come.
    fn stop(&mut self, now: Time);
}

/// Every source of this library inline, and any other behind a pointer.
pub enum AnySource {
    /// One transfer.
    Bulk(Bulk),
    /// None: data is pushed from outside.
    Pushed(Pushed),
    // The larger ones are boxed: most flows of large scenarios are bulk transfers.
    /// Bursts and pauses.
    OnOff(Box<OnOff>),
    /// A session of files.
    Files(Box<Files>),
    /// Datagrams.
    Datagrams(Box<Datagrams>),
    /// A recorded trace.
    Replay(Box<Replay>),
    /// A user of the web.
    Surge(Box<Surge>),
    /// A video coder.
    Video(Box<Video>),
    /// A source from outside this library.
    Custom(Box<dyn Source + Send>),
}

macro_rules! each {
    ($self:ident, $source:ident => $call:expr) => {
        match $self {
            Self::Bulk($source) => $call,
            Self::Pushed($source) => $call,
            Self::OnOff($source) => $call,
            Self::Files($source) => $call,
            Self::Datagrams($source) => $call,
            Self::Replay($source) => $call,
            Self::Surge($source) => $call,
            Self::Video($source) => $call,
            Self::Custom($source) => $call,
        }
    };
}

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

    fn tell(&mut self, told: Told) {
        each!(self, source => source.tell(told));
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
