//! The sender's half of a scheme: it sees packets leave and feedback arrive, and answers with a [`Directive`],
//! its only output. The shaper in `transport` obeys every field of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ack_request::AckWish;
use crate::feedback::{Feedback, Sent};
use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::units::{BitRate, Bytes};

/// What a controller or feedback policy borrows for one call.
pub struct Cx<'a> {
    /// The endpoint's random stream.
    pub rng: &'a mut Stream,
    /// Where named state goes for recording, if anybody listens.
    pub notes: Option<&'a mut Vec<(&'static str, f64)>>,
}

impl Cx<'_> {
    /// Publishes a piece of internal state (`"ssthresh"`, `"backlog"`), in base units; free when nobody listens.
    #[inline]
    pub fn note(&mut self, name: &'static str, value: f64) {
        if let Some(notes) = &mut self.notes {
            notes.push((name, value));
        }
    }
}

/// Whether data may leave at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// Data may leave.
    #[default]
    Open,
    /// Nothing but control packets and reports leaves. What waits at a datagram source, and what its application offers
    /// meanwhile, is dropped there, as of a suspended non-adaptable flow; a stream keeps its data.
    Closed {
        /// When the controller will open it again, as far as it knows, for the application to be told: the gate opens by
        /// a directive, not by this time.
        until: Option<Time>,
    },
}

impl Gate {
    /// Whether data may leave.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open)
    }
}

/// How often a gate was closed and for how long, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateTimes {
    /// How many times it was closed.
    pub closings: u64,
    /// How long it was closed, whatever time that took up to the last opening.
    pub closed: Span,
    /// Since when it is closed, if it is.
    pub closed_since: Option<Time>,
}

impl GateTimes {
    /// The gate is open or closed from now on.
    #[inline]
    pub fn set(&mut self, now: Time, gate: Gate) {
        match (gate.is_open(), self.closed_since) {
            (false, None) => {
                self.closings += 1;
                self.closed_since = Some(now);
            }
            (true, Some(since)) => {
                self.closed += now.since(since);
                self.closed_since = None;
            }
            (true, None) | (false, Some(_)) => {}
        }
    }

    /// How long it was closed by now.
    pub fn closed_by(&self, now: Time) -> Span {
        self.closed + self.closed_since.map_or(Span::ZERO, |since| now.since(since))
    }
}

/// How tokens arrive in the bucket that meters [`Directive::rate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tokens {
    /// Evenly: paced sending.
    #[default]
    Constant,
    /// One packet's worth at a time, as a Poisson process (Li and Mills, §III-C).
    Poisson,
}

/// The token bucket that meters [`Directive::rate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The bucket's depth: how much may leave back to back. At least one packet always may, of the largest size so far.
    pub depth: Bytes,
    /// How tokens arrive.
    pub tokens: Tokens,
}

impl Burst {
    /// One packet at a time, evenly.
    pub const SINGLE: Self = Self { depth: Bytes::ZERO, tokens: Tokens::Constant };
}

/// Probes for the shaper to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbePlan {
    /// All data leaves as back-to-back pairs; a lone packet leaves as a singleton after `singleton_timeout`
    /// (Keshav 1994, §3 and appendix).
    DataPairs {
        /// How long a lone packet waits for its partner.
        singleton_timeout: Span,
    },
    /// A pair of control packets, one out of band and one in band, leaves whenever `id` changes
    /// (Xia et al., §IV-B.1).
    ControlPair {
        /// The pair's identity; the first pair leaves when the plan first appears.
        id: u64,
    },
    /// A cluster leaves whenever `id` changes: so many bytes at a rate of their own, in the place of [`Directive::rate`]. It leaves to
    /// its end whatever is directed meanwhile, unless another begins.
    /// Where no data waits, a sender of datagrams pads with control packets, which have numbers as data has (libwebrtc).
    Cluster {
        /// The cluster's identity; the first leaves when the plan first appears.
        id: u64,
        /// The rate at which it leaves.
        rate: BitRate,
        /// How much leaves, headers included; whole packets, so at most one packet more.
        bytes: Bytes,
    },
    /// What data leaves of [`Directive::rate`] is padded by a sender of datagrams, with packets as a cluster's: so much leaves
    /// as the rate says (libwebrtc). Without a rate nothing is padded.
    Padding,
}

/// What the sender may do until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// At most so many bytes in the network; `None` for no window.
    pub window: Option<Bytes>,
    /// At most this rate; `None` for as fast as the window allows.
    pub rate: Option<BitRate>,
    /// The bucket that meters `rate`.
    pub burst: Burst,
    /// Whether data may leave at all.
    pub gate: Gate,
    /// Probes to send.
    pub probe: Option<ProbePlan>,
    /// What the application should make, where that is not `rate`: a coder is told this one, and data may leave faster than
    /// it is made, so that a frame does not wait for the next. A source without end keeps to both. Datagrams only.
    pub media: Option<BitRate>,
    /// How long to wait for an acknowledgement, where the controller knows better than RFC 6298 does: back-off comes
    /// on top, the configured minimum does not (Keshav 1994, §6).
    pub timeout: Option<Span>,
}

impl Directive {
    /// A window and nothing else.
    pub const fn window(window: Bytes) -> Self {
        Self {
            window: Some(window),
            rate: None,
            burst: Burst::SINGLE,
            gate: Gate::Open,
            probe: None,
            media: None,
            timeout: None,
        }
    }

    /// A rate, paced packet by packet, and nothing else.
    pub const fn rate(rate: BitRate) -> Self {
        Self {
            window: None,
            rate: Some(rate),
            burst: Burst::SINGLE,
            gate: Gate::Open,
            probe: None,
            media: None,
            timeout: None,
        }
    }
}

/// The sender's half of a scheme.
///
/// The contract: `on_sent` for every packet (unless not watched), `on_feedback` for every batch, `on_timer` at or after
/// [`Controller::next_timer`]; after each of these the caller reads [`Controller::directive`] once and obeys it.
/// Calls come with a clock that never goes back.
pub trait Controller {
    /// A packet leaves. The controller may leave a note in `sent.tag`.
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        let _ = (now, sent, cx);
    }

    /// A packet leaves; the directive and the next timer, or nothing where both are known to be as they were. Behind a pointer
    /// this is one call instead of three; a law that seldom changes anything when a packet leaves saves reading it.
    #[inline]
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        self.on_sent(now, sent, cx);
        Some(self.orders())
    }

    /// Whether [`Controller::on_sent`] does anything. Asked once, when a connection begins: a law that hears feedback
    /// only costs nothing per packet sent.
    fn watches_sent(&self) -> bool {
        true
    }

    /// Whether, of packets sent, it need hear only of those that end a pause of the application ([`Sent::app_limited`]). Asked
    /// once, too.
    fn watches_pauses_only(&self) -> bool {
        false
    }

    /// Feedback arrived.
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>);

    /// Feedback arrives, and `obey` reads the directive and the next timer, or hears that both are as they were: the three calls
    /// of the contract in one. A controller that is one of several makes its choice once; one whose code stands inline need
    /// not put into memory what it does not read.
    #[inline]
    fn answer<'a, T>(
        &mut self,
        now: Time,
        feedback: impl FnOnce() -> Feedback<'a>,
        cx: &mut Cx<'_>,
        obey: impl FnOnce(Option<(&Directive, Option<Time>)>) -> T,
    ) -> T
    where
        Self: Sized,
    {
        // Read where it was written: what is copied in wide pieces as soon as it was written in narrow ones waits for these.
        if !self.hear_feedback(now, &feedback(), cx) {
            return obey(None);
        }
        let orders = self.orders();
        obey(Some((&orders.0, orders.1)))
    }

    /// Feedback arrives; whether the directive or the next timer may be another now. A law that aims at the same for many
    /// acknowledgements saves making and reading it.
    #[inline]
    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        self.on_feedback(now, feedback, cx);
        true
    }

    /// Feedback arrives; the directive and the next timer. Behind a pointer this is one call instead of three: there is no
    /// need to write another.
    #[inline]
    fn react(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> (Directive, Option<Time>) {
        self.on_feedback(now, feedback, cx);
        self.orders()
    }

    /// The directive and the next timer, likewise.
    #[inline]
    fn orders(&self) -> (Directive, Option<Time>) {
        (self.directive(), self.next_timer())
    }

    /// The time given by [`Controller::next_timer`] has come.
    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        let _ = (now, cx);
    }

    /// When the controller wants to be called without feedback.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// What the sender may do from now on.
    fn directive(&self) -> Directive;

    /// How its receiver is to acknowledge. No field of the directive, which is copied at nearly every acknowledgement: this is
    /// asked when a data packet leaves, after [`Controller::on_sent`], and only of schemes that say so in their needs
    /// (`ack_requests`), so that others pay nothing. Streams only.
    fn ack_wish(&self) -> AckWish {
        AckWish::default()
    }
}
