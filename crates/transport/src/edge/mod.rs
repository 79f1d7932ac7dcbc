//! The two ends of an aggregate: one control loop for all flows between two edge routers, which pass these ends instead
//! of ending there (Xia et al., §III-A, note 2). Where packets wait to enter is the governed link's business
//! (the crate `link`; who lets them go is in `governor.rs`), and the scheme's two halves are those of `control`.
//!
//! An aggregate repairs nothing, and its scheme lives on reports alone. Where the scheme directs a window, the far end
//! tells the near one how much is no longer on the way, so that the window is kept as a host keeps its own. A rate of
//! `window / rtt` would not do: what damps it comes a round trip late (`docs/decisions/0007-edge-to-edge-control.md`).
//!
//! What is no longer on the way has left, or is lost. Packets cannot be told from each other by number, being of many
//! flows; control packets say how much had entered before them, and what had not left by then has been lost, as in
//! Monaco's own count (§IV-B.1).

mod egress;
mod governor;
mod ingress;

pub use egress::Egress;
pub use governor::ShapedGovernor;
pub use ingress::Ingress;

use tailback_control::ControllerParams;
use tailback_core::{Bytes, Checker, DataAmount};

use crate::config::{check_windows, datagram_params};

/// What an aggregate's two ends have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeConfig {
    /// The largest packet on the wire: what the scheme counts in.
    pub segment_size: Bytes,
    /// A control packet on the wire.
    pub header: Bytes,
    /// How much enters before the first report.
    pub initial_window: DataAmount,
    /// The far end tells of every so many packets, where there is a window to keep.
    pub ack_every: u32,
    /// The scheme's window never exceeds this.
    pub window_limit: Option<DataAmount>,
}

impl EdgeConfig {
    /// Complains about windows below one packet, or absurd ones.
    pub fn check_windows(&self, checker: &mut Checker) {
        check_windows(
            self.segment_size,
            self.initial_window,
            &[("window_limit", self.window_limit)],
            checker,
        );
    }

    /// What a controller needs to know of this aggregate.
    pub fn controller_params(&self) -> ControllerParams {
        datagram_params(self.segment_size, self.initial_window, self.window_limit)
    }
}
