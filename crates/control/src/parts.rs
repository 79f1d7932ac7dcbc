//! What a scheme says of itself, in its own file: [`SchemeConfig`], and what goes in and out there. No scheme is named
//! here; all of them are in `scheme.rs`.

use tailback_core::{BitRate, Bytes, Checker, Controller, FeedbackPolicy};

use crate::needs::{Needs, Reliability};

/// What a controller needs to know about its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerParams {
    /// A full segment's bytes on the wire.
    pub segment: Bytes,
    /// The window before any feedback.
    pub initial_window: Bytes,
    /// The slow start threshold before any loss; `None` for without limit.
    pub initial_ssthresh: Option<Bytes>,
    /// The window never exceeds this: the receiver's window.
    pub max_window: Bytes,
}

impl ControllerParams {
    /// A connection with segments of this size, so many of them in its initial window, no slow start threshold, and a window
    /// that nothing limits. What is otherwise is said beside it: `ControllerParams { max_window, ..Self::unlimited(segment, 10) }`.
    #[must_use]
    pub fn unlimited(segment: Bytes, initial: u64) -> Self {
        Self { segment, initial_window: segment * initial, initial_ssthresh: None, max_window: Bytes::MAX }
    }
}

/// Any controller.
pub type BoxedController = Box<dyn Controller + Send>;

/// Any feedback policy.
pub type BoxedPolicy = Box<dyn FeedbackPolicy + Send>;

/// The two halves of a scheme, for one connection.
pub struct Parts<C = BoxedController> {
    /// The sender's half.
    pub controller: C,
    /// The receiver's half, where the scheme has one besides acknowledgements.
    pub policy: Option<BoxedPolicy>,
}

impl<C> Parts<C> {
    /// A sender's half alone.
    pub const fn sender(controller: C) -> Self {
        Self { controller, policy: None }
    }

    /// Adds the receiver's half, where there is one.
    #[must_use]
    pub fn with_policy<P: FeedbackPolicy + Send + 'static>(self, policy: Option<P>) -> Self {
        Self { policy: policy.map(|policy| -> BoxedPolicy { Box::new(policy) }), ..self }
    }
}

/// What a scheme steers by, and so which laws the conformance suite holds it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A congestion window, paced or not, which answers loss, marks and time-outs.
    Window,
    /// A rate; a window, where there is one, only cuts off what the rate lets go.
    Rate,
    /// A gate alone: while it is open, the application sends as it does.
    Gate,
    /// Nothing: it stays as it is configured.
    Unresponsive,
}

/// What is known of a scheme without building it.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Its registered name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// How lost data is repaired, unless parameters say otherwise ([`Needs::reliability`]).
    pub reliability: Reliability,
    /// The queue discipline that it expects at the bottleneck.
    pub expects_discipline: &'static str,
}

/// A scheme with its parameters: what it says of itself. Its row in `scheme.rs` is all that stands elsewhere.
pub trait SchemeConfig {
    /// The sender's half: [`BoxedController`], or a type that [`AnyController`](crate::AnyController) holds in a variant
    /// of its own.
    type Controller;

    /// What is known without its parameters.
    fn info(&self) -> &'static SchemeInfo;

    /// Complains about every parameter that is not allowed.
    fn check(&self, checker: &mut Checker);

    /// Both halves, for one connection.
    fn build(&self, params: &ControllerParams) -> Parts<Self::Controller>;

    /// What it wants from its endpoints: by default repair as in [`SchemeInfo::reliability`] and nothing else.
    fn needs(&self) -> Needs {
        Needs::over(self.info().reliability)
    }

    /// Which laws it keeps.
    fn family(&self) -> Family {
        Family::Window
    }

    /// How much a flow holds in the network's queues at rest, in bytes, for packets of `segment` bytes: its weight in the
    /// fair shares (Xia et al., appendix). `None` where it has no such aim.
    fn held(&self, segment: Bytes) -> Option<f64> {
        let _ = segment;
        None
    }

    /// The field and the value of a rate that the scheme takes the network to guarantee, and sends at before it has
    /// measured anything.
    fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)> {
        None
    }

    /// Whether it needs nothing but reports, so that it can steer an aggregate, whose packets nobody acknowledges.
    fn lives_on_reports(&self) -> bool {
        false
    }

    /// Whether it grows by addition and multiplies that by [`Feedback::gain`](tailback_core::Feedback). A scheme that wraps
    /// another asks it before it scales increases; the conformance suite holds those that say so to it, and all others to
    /// that no gain moves them.
    fn heeds_gain(&self) -> bool {
        false
    }
}
