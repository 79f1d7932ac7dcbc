//! A window that never changes, whatever happens. The scheme `fixed-window`: a yardstick for queues and estimators,
//! and ns-2's TCP when its window is small. No source beyond sliding windows themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Controller, Cx, DataAmount, Directive, Feedback, Time};

use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Parameters of the fixed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixedWindowConfig {
    /// The window, in packets or bytes on the wire. Default 10 packets. Never less than one packet and never more
    /// than the receiver's window.
    pub window: DataAmount,
}

impl Default for FixedWindowConfig {
    fn default() -> Self {
        Self { window: DataAmount::Packets(10.0) }
    }
}

impl SchemeConfig for FixedWindowConfig {
    type Controller = FixedWindow;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "fixed-window",
            summary: "A window that never changes",
            source: "none",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn family(&self) -> Family {
        Family::Unresponsive
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, ..Needs::over(Reliability::Sack) }
    }

    fn build(&self, params: &ControllerParams) -> Parts<FixedWindow> {
        Parts::sender(FixedWindow::new(self, params))
    }

    fn check(&self, checker: &mut Checker) {
        let whole = !matches!(self.window, DataAmount::Packets(packets) if packets < 1.0);
        let ok = whole && self.window.is_sensible();
        checker.require(ok, "window", self.window, "1 to 16777216 packets, or 1 B to 16 GB");
    }
}

/// A window that never changes.
#[derive(Clone, Debug)]
pub struct FixedWindow {
    window: Bytes,
}

impl FixedWindow {
    /// A connection's start.
    pub fn new(config: &FixedWindowConfig, params: &ControllerParams) -> Self {
        let window = config.window.in_bytes(params.segment);
        Self { window: window.min(params.max_window).max(params.segment) }
    }
}

impl Controller for FixedWindow {
    fn watches_sent(&self) -> bool {
        false
    }

    fn on_feedback(&mut self, _: Time, _: &Feedback<'_>, _: &mut Cx<'_>) {}

    fn directive(&self) -> Directive {
        Directive::window(self.window)
    }
}
