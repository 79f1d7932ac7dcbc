//! Schemes of the user's own, named in scenarios as `{ name = "custom", part = "…" }`. What they do is written elsewhere,
//! in Rust against the traits of `core` or in Python by subclassing; here they are only found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::custom::{Register, Settings};
use tailback_core::{Checker, Controller, FeedbackPolicy};

use crate::any::{AnyController, AnyPolicy};
use crate::scheme::{ControllerParams, Needs, Parts, Reliability};
use crate::schemes::{FixedWindow, FixedWindowConfig};

/// All schemes of the user's own in this process.
pub static OWN_SCHEMES: Register<OwnScheme> = Register::new();

/// A scheme of the user's own, as a scenario names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CustomSchemeConfig {
    /// The name under which the scheme was registered in the process that runs the scenario.
    pub part: String,
    /// What it is told, by the names that it knows.
    pub settings: Settings,
}

/// Makes a controller for one connection.
pub type MakeController =
    Box<dyn Fn(&ControllerParams, &Settings) -> Box<dyn Controller + Send> + Send + Sync>;

/// Makes a feedback policy for one connection.
pub type MakePolicy =
    Box<dyn Fn(&ControllerParams, &Settings) -> Box<dyn FeedbackPolicy + Send> + Send + Sync>;

/// Says what is wrong with settings.
pub type CheckSettings = Box<dyn Fn(&Settings) -> Result<(), String> + Send + Sync>;

/// How to make a scheme of the user's own.
pub struct OwnScheme {
    /// The sender's half.
    pub controller: MakeController,
    /// The receiver's half, where there is one besides acknowledgements.
    pub policy: Option<MakePolicy>,
    /// How lost data is repaired.
    pub reliability: Reliability,
    /// What else it wants from its endpoints.
    pub needs: Needs,
    /// Whether settings make sense.
    pub check: CheckSettings,
}

impl OwnScheme {
    /// A scheme of a controller alone, over selective acknowledgements, that takes any settings.
    pub fn new<C: Controller + Send + 'static>(
        make: impl Fn(&ControllerParams, &Settings) -> C + Send + Sync + 'static,
    ) -> Self {
        Self {
            controller: Box::new(move |params, settings| Box::new(make(params, settings))),
            policy: None,
            reliability: Reliability::Sack,
            needs: Needs::default(),
            check: Box::new(|_| Ok(())),
        }
    }
}

impl CustomSchemeConfig {
    pub(crate) fn reliability(&self) -> Reliability {
        OWN_SCHEMES.find(&self.part).map_or(Reliability::Sack, |own| own.reliability)
    }

    pub(crate) fn needs(&self) -> Needs {
        OWN_SCHEMES.find(&self.part).map_or_else(Needs::default, |own| own.needs)
    }

    pub(crate) fn check(&self, checker: &mut Checker) {
        match OWN_SCHEMES.find(&self.part) {
            None => checker.require(false, "part", format_args!("{:?}", self.part), OWN_SCHEMES.allowed()),
            Some(own) => {
                if let Err(why) = (own.check)(&self.settings) {
                    checker.require(false, "settings", "this table", why);
                }
            }
        }
    }

    pub(crate) fn build(&self, params: &ControllerParams) -> Parts {
        let Some(own) = OWN_SCHEMES.find(&self.part) else {
            // A checked scenario names registered parts only; whoever did not check gets a sender that stands still.
            let still = FixedWindow::new(&FixedWindowConfig::default(), params);
            return Parts {
                controller: AnyController::FixedWindow(still),
                policy: None,
                reliability: Reliability::Sack,
                needs: Needs::default(),
            };
        };
        Parts {
            controller: AnyController::Custom((own.controller)(params, &self.settings)),
            policy: own.policy.as_ref().map(|make| AnyPolicy::Custom(make(params, &self.settings))),
            reliability: own.reliability,
            needs: own.needs,
        }
    }
}
