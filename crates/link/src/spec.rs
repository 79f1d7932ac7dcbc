//! What a link is made of, as a network's builder says it. How it works lives in `link.rs`.

use tailback_core::{BitRate, Governor, Span};
use tailback_qdisc::{Admission, Built};

use crate::impairment::{Impairments, LossModel};
use crate::schedule::Change;
use crate::trace::DeliveryTrace;

/// What a link is made of.
#[derive(Debug)]
pub struct LinkSpec {
    /// Its name: seeds its random streams and labels its results.
    pub name: String,
    /// The server's rate; with a trace, only nominal.
    pub rate: BitRate,
    /// The propagation delay.
    pub delay: Span,
    /// The queue discipline.
    pub queue: Built,
    /// Loss before the queue, where the packet has used no capacity.
    pub loss_before_queue: Option<LossModel>,
    /// What happens on the wire.
    pub impairments: Impairments,
    /// Changes of rate and delay, in the order of time.
    pub schedule: Vec<Change>,
    /// Delivery opportunities in place of a rate.
    pub trace: Option<DeliveryTrace>,
    /// Who lets packets go in place of the rate, at once when it may, where an endpoint governs the link; the rate is then
    /// only nominal.
    pub governor: Option<Box<dyn Governor + Send>>,
    /// Spend an event on every end of transmission even where the direct form would do, or where nobody waits for that end;
    /// results do not change.
    pub staged: bool,
}

impl LinkSpec {
    /// A plain link: fixed rate and delay, nothing lost but by the discipline.
    pub fn new(name: impl Into<String>, rate: BitRate, delay: Span, queue: Built) -> Self {
        Self {
            name: name.into(),
            rate,
            delay,
            queue,
            loss_before_queue: None,
            impairments: Impairments::default(),
            schedule: Vec::new(),
            trace: None,
            governor: None,
            staged: false,
        }
    }

    /// Whether the ends of its transmissions are events of their own.
    pub fn is_staged(&self) -> bool {
        self.staged
            || self.governor.is_some()
            || self.trace.is_some()
            || !self.schedule.is_empty()
            || matches!(self.queue, Built::Full(_))
    }

    /// Whether its rate and its delay are all that there is to it: nothing is dropped, lost or held back.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.queue, Built::Arrival(Admission::DropTail(drop_tail)) if drop_tail.limit().is_unlimited())
            && !self.is_staged()
            && self.loss_before_queue.is_none()
            && self.impairments.is_none()
    }
}
