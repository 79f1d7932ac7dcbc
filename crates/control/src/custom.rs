//! Custom schemes, named in scenarios as `{ name = "custom", part = "…" }`. What they do is written elsewhere,
//! in Rust against the traits of `core` or in Python by subclassing; here they are only found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::custom::{Register, Settings};
use tailback_core::{Checker, Controller};

use crate::needs::{Needs, Reliability};
use crate::parts::{BoxedController, BoxedPolicy, ControllerParams, Parts, SchemeConfig, SchemeInfo};
use crate::schemes::{FixedWindow, FixedWindowConfig};

/// All custom schemes in this process.
pub static CUSTOM_SCHEMES: Register<CustomScheme> = Register::new();

/// A custom scheme, as a scenario names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CustomSchemeConfig {
    /// The name under which the scheme was registered in the process that runs the scenario.
    pub part: String,
    /// What it is told, by the names that it knows.
    pub settings: Settings,
}

/// Makes a controller for one connection.
pub type MakeController = Box<dyn Fn(&ControllerParams, &Settings) -> BoxedController + Send + Sync>;

/// Makes a feedback policy for one connection.
pub type MakePolicy = Box<dyn Fn(&ControllerParams, &Settings) -> BoxedPolicy + Send + Sync>;

/// Says what is wrong with settings.
pub type CheckSettings = Box<dyn Fn(&Settings) -> Result<(), String> + Send + Sync>;

/// How to make a custom scheme.
pub struct CustomScheme {
    /// The sender's half.
    pub controller: MakeController,
    /// The receiver's half, where there is one besides acknowledgements.
    pub policy: Option<MakePolicy>,
    /// What it wants from its endpoints.
    pub needs: Needs,
    /// Whether settings make sense.
    pub check: CheckSettings,
}

impl CustomScheme {
    /// A scheme of a controller alone, over selective acknowledgements, that takes any settings.
    pub fn new<C: Controller + Send + 'static>(
        make: impl Fn(&ControllerParams, &Settings) -> C + Send + Sync + 'static,
    ) -> Self {
        Self {
            controller: Box::new(move |params, settings| Box::new(make(params, settings))),
            policy: None,
            needs: Needs::default(),
            check: Box::new(|_| Ok(())),
        }
    }
}

impl SchemeConfig for CustomSchemeConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "custom",
            summary: "A custom scheme, registered in the process that runs the scenario",
            source: "none",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        CUSTOM_SCHEMES.find(&self.part).map_or_else(Needs::default, |custom| custom.needs)
    }

    fn lives_on_reports(&self) -> bool {
        let needs = self.needs();
        needs.reliability == Reliability::Datagram && !needs.stamps
    }

    fn check(&self, checker: &mut Checker) {
        match CUSTOM_SCHEMES.find(&self.part) {
            None => checker.require(false, "part", format_args!("{:?}", self.part), CUSTOM_SCHEMES.allowed()),
            Some(custom) => {
                if let Err(why) = (custom.check)(&self.settings) {
                    checker.require(false, "settings", "this table", why);
                }
            }
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn build(&self, params: &ControllerParams) -> Parts {
        let Some(custom) = CUSTOM_SCHEMES.find(&self.part) else {
            // A checked scenario names registered parts only; whoever did not check gets a sender that stands still.
            return Parts::sender(Box::new(FixedWindow::new(&FixedWindowConfig::default(), params)));
        };
        Parts {
            controller: (custom.controller)(params, &self.settings),
            policy: custom.policy.as_ref().map(|make| make(params, &self.settings)),
        }
    }
}
