//! A template for a custom controller in Rust: registered under a name, named by a scenario, run. What the trait
//! means is said in `tailback_core::Controller`; how built-in schemes look, in `crates/control/src/schemes/`.

use tailback_control::{CUSTOM_SCHEMES, ControllerParams, CustomScheme};
use tailback_core::custom::{Setting, Settings};
use tailback_core::{Bytes, CongestionEvent, Controller, Cx, Directive, Feedback, Recovery, Time};
use tailback_scenario::{Problems, Run, Scenario};

/// Additive increase, multiplicative decrease.
struct Aimd {
    /// Bytes.
    window: f64,
    /// A full segment in bytes.
    segment: f64,
    /// Segments per round trip time.
    increase: f64,
}

impl Aimd {
    fn new(params: &ControllerParams, settings: &Settings) -> Self {
        let increase = match settings.get("increase") {
            Some(Setting::Number(value)) => *value,
            _ => 1.0,
        };
        Self { window: params.initial_window.as_f64(), segment: params.segment.as_f64(), increase }
    }
}

impl Controller for Aimd {
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        match feedback.event {
            Some(CongestionEvent::Loss | CongestionEvent::Ecn) => self.window /= 2.0,
            Some(CongestionEvent::Timeout { .. }) => self.window = self.segment,
            _ if feedback.recovery != Recovery::Fast => {
                self.window += self.increase * self.segment * feedback.advanced.as_f64() / self.window;
            }
            _ => {}
        }
        self.window = self.window.max(self.segment);
        cx.note("window", self.window);
    }

    fn directive(&self) -> Directive {
        Directive::window(Bytes::from_f64(self.window))
    }
}

const SCENARIO: &str = r#"{
    "duration": "30 s",
    "topology": { "template": "dumbbell", "rate": "10 Mbit/s", "delay": "20 ms" },
    "flows": [
        { "name": "mine", "scheme": { "name": "custom", "part": "my-aimd", "settings": { "increase": 2 } } },
        { "name": "sack", "scheme": "sack" }
    ]
}"#;

/// Bytes that each flow delivered.
fn delivered() -> Result<Vec<(String, u64)>, Problems> {
    CUSTOM_SCHEMES.enter("my-aimd", CustomScheme::new(Aimd::new));
    let outcome = Run::new(Scenario::from_json(SCENARIO)?, None)?.finish()?;
    let names = ["mine", "sack"].map(str::to_owned);
    let bytes = outcome.flows.counts("goodput_bytes").iter().copied();
    Ok(names.into_iter().zip(bytes).collect())
}

fn main() {
    match delivered() {
        Ok(flows) => flows.iter().for_each(|(name, bytes)| println!("{name}: {bytes} bytes delivered")),
        Err(problems) => eprintln!("{problems}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_increase_takes_the_greater_share() {
        let flows = delivered().expect("the scenario is good");
        assert!(flows[0].1 > flows[1].1, "{flows:?}");
        assert!(flows[1].1 > 1_000_000, "{flows:?}");
    }
}
