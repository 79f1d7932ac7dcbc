//! What a link is made of, as a network's builder says it. How it works lives in `mod.rs`.

use tailback_core::{BitRate, Bytes, Span};
use tailback_qdisc::Built;

use super::{Change, DeliveryTrace, Impairments, LossModel};

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
    /// Where a flow's sender governs the link, the largest packet expected: packets leave when the sender's directive lets
    /// them, at once, and none before it has directed; the rate is only nominal.
    pub governed: Option<Bytes>,
    /// Spend an event on every end of transmission even where the direct form would do; results do not change.
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
            governed: None,
            staged: false,
        }
    }

    pub(crate) fn is_staged(&self) -> bool {
        self.staged
            || self.governed.is_some()
            || self.trace.is_some()
            || !self.schedule.is_empty()
            || matches!(self.queue, Built::Full(_))
    }
}
