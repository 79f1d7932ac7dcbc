//! A sender's controller written in Python. What it is told, and what it tells the sender, is in `values`.

use pyo3::intern;
use pyo3::prelude::*;
use tailback_control::ControllerParams;
use tailback_core::custom::Settings;
use tailback_core::{AckWish, Controller, Cx, Directive, Feedback, Gate, Sent, Span, Time};

use super::Maker;
use super::answers::{timer, wrong};
use super::bridge::Bridge;
use super::patience::Patience;
use super::values::{Connection, Context, PyDirective, PyFeedback, PySent, seconds};

/// More packets than this leave in [`MOMENT`] without being acknowledged only where a directive bounds nothing, or by a rate
/// far above that of any link: the simulation would hardly go on.
const AT_ONCE: u32 = 1 << 20;
const MOMENT: Span = Span::from_millis(100);

/// A controller behind the interpreter. Its directive is asked for once after each call and kept.
pub(crate) struct CustomController {
    bridge: Bridge,
    sees_sent: bool,
    has_timer: bool,
    read_report: Option<Py<PyAny>>,
    directive: Directive,
    ack_wish: AckWish,
    timer: Option<Time>,
    patience: Patience,
    /// When this moment began, and how many packets were sent in it and not acknowledged.
    sent: (Time, u32),
}

impl CustomController {
    /// A controller for one connection.
    pub(crate) fn new(
        maker: &Maker,
        about: Connection,
        settings: &Settings,
        params: &ControllerParams,
    ) -> Self {
        let bridge = Python::attach(|py| Bridge::new(py, maker, about, settings));
        let mut made = Self {
            bridge,
            sees_sent: maker.has("on_sent"),
            has_timer: maker.has("next_timer"),
            read_report: maker.report(),
            directive: Directive::window(params.initial_window),
            ack_wish: AckWish::default(),
            timer: None,
            patience: Patience::default(),
            sent: (Time::ZERO, 0),
        };
        let has_timer = made.has_timer;
        if let Some(answers) = made.bridge.ask(|py, part| answers(py, part, has_timer)) {
            (made.directive, made.ack_wish, made.timer) = answers;
        }
        made
    }

    fn call(
        &mut self,
        cx: &mut Cx<'_>,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>, &Bound<'_, Context>) -> PyResult<()>,
    ) {
        let has_timer = self.has_timer;
        let answer = self.bridge.call_with(cx, |py, part, context| {
            call(py, part, context)?;
            answers(py, part, has_timer)
        });
        match answer {
            Some(answers) => (self.directive, self.ack_wish, self.timer) = answers,
            None => self.fall_silent(),
        }
    }

    /// After an error nothing more leaves, so that whoever runs the simulation soon comes to tell it.
    fn fall_silent(&mut self) {
        self.timer = None;
        self.directive.gate = Gate::Closed { until: None };
    }

    /// Counts what leaves in a moment.
    fn bound(&mut self, now: Time) {
        self.sent = if now.since(self.sent.0) < MOMENT { (self.sent.0, self.sent.1 + 1) } else { (now, 1) };
        if self.sent.1 <= AT_ONCE {
            return;
        }
        let _: Option<()> = self.bridge.ask(|_, part| {
            let said = part.call_method0("directive")?;
            let allowed =
                format!("a window or a rate that bounds what leaves ({AT_ONCE} packets did in {MOMENT})");
            Err(wrong(part, "directive", &said, &allowed))
        });
        self.fall_silent();
    }
}

/// The directive, what it asks of the receiver, and the timer, as they are after a call.
fn answers(
    py: Python<'_>,
    part: &Bound<'_, PyAny>,
    has_timer: bool,
) -> PyResult<(Directive, AckWish, Option<Time>)> {
    let said = part.call_method0(intern!(py, "directive"))?;
    let directive =
        said.cast::<PyDirective>().map_err(|_| wrong(part, "directive", &said, "a tailback.Directive"))?;
    let &PyDirective(directive, asked) = directive.get();
    // Only the receiver of a class that says so heeds requests.
    if asked != AckWish::default() && !part.getattr(intern!(py, "ack_requests"))?.is_truthy()? {
        let allowed = "no ack_frequency and no immediate_ack, or a class with ack_requests = True";
        return Err(wrong(part, "directive", &said, allowed));
    }
    Ok((directive, asked, if has_timer { timer(py, part)? } else { None }))
}

impl Controller for CustomController {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.bound(now);
        if !self.sees_sent {
            return;
        }
        let copy = *sent;
        let mut tag = sent.tag;
        self.call(cx, |py, part, context| {
            let object = Bound::new(py, PySent(copy))?;
            part.call_method1(intern!(py, "on_sent"), (seconds(now), &object, context))?;
            tag = object.try_borrow()?.0.tag;
            Ok(())
        });
        sent.tag = tag;
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.sent.1 = self.sent.1.saturating_sub(u32::try_from(feedback.acked.len()).unwrap_or(u32::MAX));
        // Lent to this call only.
        let read = self.read_report.take();
        self.call(cx, |py, part, context| {
            let object = PyFeedback::new(py, feedback, read.as_ref())?;
            part.call_method1(intern!(py, "on_feedback"), (seconds(now), object, context)).map(drop)
        });
        self.read_report = read;
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.call(cx, |py, part, context| {
            part.call_method1(intern!(py, "on_timer"), (seconds(now), context)).map(drop)
        });
        if self.patience.is_lost(&mut self.bridge, "next_timer", now, self.timer) {
            self.fall_silent();
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn directive(&self) -> Directive {
        self.directive
    }

    fn ack_wish(&self) -> AckWish {
        self.ack_wish
    }
}
