//! What a source says of itself, in its own file, and what it does at work: [`SourceKind`] and [`Source`]. No source is
//! named here; all of them are in `config.rs`.

use tailback_core::{AppHint, BitRate, Bytes, Checker, Stream, Time};

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

/// An application that sends.
pub trait Source {
    /// The application begins.
    fn start(&mut self, now: Time, rng: &mut Stream);

    /// When it will offer data next; `None` while it waits for [`Source::on_message_done`], before its start and
    /// after its end.
    fn next_offer(&self) -> Option<Time>;

    /// Takes the data that is due, if any is.
    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer>;

    /// What may be sent, told before every offer that is taken, and when the gate opens or closes.
    fn tell(&mut self, hint: AppHint) {
        let _ = hint;
    }

    /// The rate at which the application says that it sends, on average over its life; `None` where it does not say.
    fn stated_rate(&self) -> Option<BitRate> {
        None
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

/// Any source.
pub type BoxedSource = Box<dyn Source + Send>;

/// A source with its parameters: what it says of itself. Its row in `config.rs` is all that stands elsewhere.
pub trait SourceKind {
    /// The source at work: [`BoxedSource`], or a type that [`AnySource`](super::AnySource) holds in a variant of its own.
    type Source;

    /// The name in scenarios.
    const NAME: &'static str;

    /// Complains about every value that is not allowed.
    fn check(&self, checker: &mut Checker);

    /// The source, not yet started.
    fn build(&self) -> Self::Source;

    /// Whether there is always something to send.
    fn is_endless(&self) -> bool {
        false
    }

    /// Whether what is sent comes in messages, each with an end ([`Offer::ends_message`]).
    fn has_messages(&self) -> bool {
        true
    }
}
