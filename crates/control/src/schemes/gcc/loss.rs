//! What loss makes of the rate: which of the two loss parts decides, and the older of them. The newer one is in `bwe_v2/`.
//!
//! Source of the older one: draft-ietf-rmcat-gcc-02 §6, as in libwebrtc's `send_side_bandwidth_estimation` before version 2. It
//! is a cap, which falls by half of the loss above 10 %, and grows by 8 % per second below 2 %. Rates are bits per second,
//! times seconds. Where the two differ, and what neither says:
//!
//! | the draft | libwebrtc | here |
//! | --- | --- | --- |
//! | at each report | at most each 500 ms, once 20 packets are told of | each second, as often as reports once came, of however few |
//! | grows by 5 % each time | by 8 % of the least of the last second, and 1 kbit/s | by 8 % and 1 kbit/s each time |
//! | falls each time | not within 300 ms and a round trip of the last fall | as libwebrtc |
//! | its own estimate falls, which delay's does not bound | the target does, bounded by delay's | the target falls, and delay's rate does not lower what grows |
//! | what it begins with is not said | the first rate | no cap before the first fall |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bwe_v2::{BweV2, State};
use super::heard::Heard;

/// What GCC makes of loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LossEstimator {
    /// The rate and the inherent loss that explain the last observations best, as in libwebrtc's `LossBasedBweV2`.
    #[default]
    #[serde(rename = "bwe-v2")]
    BweV2,
    /// A cap that falls by half of the loss above 10 %, as in draft-ietf-rmcat-gcc-02 §6.
    #[serde(rename = "draft-02")]
    Draft02,
}

/// The loss part that is configured.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    BweV2(Box<BweV2>),
    Draft02(Cap),
}

impl Loss {
    pub(super) fn new(which: LossEstimator, bounds: (f64, f64)) -> Self {
        match which {
            LossEstimator::BweV2 => Self::BweV2(Box::new(BweV2::new(bounds))),
            LossEstimator::Draft02 => Self::Draft02(Cap::default()),
        }
    }

    /// Takes a report in.
    pub(super) fn take(&mut self, heard: &Heard) {
        match self {
            Self::BweV2(part) => part.take(heard),
            Self::Draft02(part) => part.take(heard),
        }
    }

    /// The largest rate that loss allows.
    pub(super) fn cap(&self) -> f64 {
        match self {
            Self::BweV2(part) => part.cap(),
            Self::Draft02(part) => part.most,
        }
    }

    /// Whether loss forbids probes: they would only lose more.
    pub(super) fn forbids_probes(&self) -> bool {
        matches!(self, Self::BweV2(part) if part.state() != State::Delay)
    }

    /// Whether what the application leaves of the rate is to be padded: loss's part raises it, by what arrives.
    pub(super) fn pads(&self) -> bool {
        matches!(self, Self::BweV2(part) if part.state() == State::Increasing)
    }

    /// The part that the path is taken to lose whatever the rate.
    pub(super) fn inherent(&self) -> Option<f64> {
        match self {
            Self::BweV2(part) => Some(part.inherent()),
            Self::Draft02(_) => None,
        }
    }
}

/// Loss is judged over so long; less a microsecond, because reports often come just so far apart, and no rounding should decide.
const WINDOW: f64 = 1.0 - 1e-6;
/// Losses below the first part raise the cap, above the second reduce it.
const LOSSES: (f64, f64) = (0.02, 0.10);
/// Growth of the cap each time.
const GROWTH: f64 = 1.08;

/// No second fall of the cap within this and a round trip.
const BETWEEN_FALLS: f64 = 0.3;

/// The older part: a cap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    most: f64,
    /// Packets since loss was judged.
    kept: f64,
    lost: f64,
    judged: Option<f64>,
    fell: Option<f64>,
}

impl Default for Cap {
    fn default() -> Self {
        Self { most: f64::INFINITY, kept: 0.0, lost: 0.0, judged: None, fell: None }
    }
}

impl Cap {
    fn take(&mut self, heard: &Heard) {
        self.kept += heard.packets.0;
        self.lost += heard.packets.1;
        let all = self.kept + self.lost;
        let judged = *self.judged.get_or_insert(heard.now);
        if all > 0.0 && heard.now - judged >= WINDOW {
            self.judge(heard.now, self.lost / all, heard.target, heard.round_trip);
            (self.kept, self.lost, self.judged) = (0.0, 0.0, Some(heard.now));
        }
    }

    fn judge(&mut self, now: f64, lost: f64, target: f64, round_trip: f64) {
        if lost > LOSSES.1 {
            if self.fell.is_none_or(|fell| now - fell >= BETWEEN_FALLS + round_trip) {
                self.most = target * (1.0 - 0.5 * lost);
                self.fell = Some(now);
            }
        } else if lost < LOSSES.0 {
            self.most = self.most * GROWTH + 1000.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_loss_caps_and_light_loss_does_not() {
        let mut cap = Cap::default();
        cap.judge(0.0, 0.05, 1e6, 0.1);
        assert!(cap.most.is_infinite());
        cap.judge(1.0, 0.2, 1e6, 0.1);
        assert!((cap.most - 0.9e6).abs() < 1.0);
    }

    /// A round trip of a second: a fall may follow a rise at once, and no other fall.
    #[test]
    fn only_a_fall_delays_the_next_one() {
        let mut cap = Cap::default();
        cap.judge(1.0, 0.2, 1e6, 1.0);
        cap.judge(2.0, 0.2, 0.9e6, 1.0);
        assert!((cap.most - 0.9e6).abs() < 1.0, "too soon");
        cap.judge(3.0, 0.0, 1e6, 1.0);
        assert!((cap.most - 0.973e6).abs() < 1.0);
        cap.judge(4.0, 0.2, 0.9e6, 1.0);
        assert!((cap.most - 0.81e6).abs() < 1.0);
    }
}
