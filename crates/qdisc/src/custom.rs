//! Custom disciplines, named in scenarios as `{ name = "custom", part = "…" }`. What they do is written
//! elsewhere, in Rust against the traits of `core` or in Python by subclassing; here they are only found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::custom::{Register, Settings};
use tailback_core::{Checker, QueueDiscipline};

use crate::builtin::{BoxedQueue, Built};
use crate::droptail::DropTail;
use crate::parts::{BuildCx, Info, QueueConfig};

/// All custom disciplines in this process.
pub static CUSTOM_QUEUES: Register<CustomQueue> = Register::new();

/// A custom discipline, as a scenario names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CustomQueueConfig {
    /// The name under which the discipline was registered in the process that runs the scenario.
    pub part: String,
    /// What it is told, by the names that it knows.
    pub settings: Settings,
}

/// Makes a discipline for one link.
pub type MakeQueue = Box<dyn Fn(&BuildCx, &Settings) -> BoxedQueue + Send + Sync>;

/// Says what is wrong with settings.
pub type CheckSettings = Box<dyn Fn(&Settings) -> Result<(), String> + Send + Sync>;

/// How to make a custom discipline.
pub struct CustomQueue {
    /// Makes it.
    pub make: MakeQueue,
    /// Whether settings make sense.
    pub check: CheckSettings,
}

impl CustomQueue {
    /// A discipline that takes any settings.
    pub fn new<Q: QueueDiscipline + Send + 'static>(
        make: impl Fn(&BuildCx, &Settings) -> Q + Send + Sync + 'static,
    ) -> Self {
        Self { make: Box::new(move |cx, settings| Box::new(make(cx, settings))), check: Box::new(|_| Ok(())) }
    }
}

impl QueueConfig for CustomQueueConfig {
    type Queue = Built;

    fn info(&self) -> &'static Info {
        &Info {
            name: "custom",
            family: "custom",
            summary: "A custom discipline, registered in the process that runs the scenario",
            source: "none",
        }
    }

    fn check(&self, checker: &mut Checker) {
        match CUSTOM_QUEUES.find(&self.part) {
            None => checker.require(false, "part", format_args!("{:?}", self.part), CUSTOM_QUEUES.allowed()),
            Some(custom) => {
                if let Err(why) = (custom.check)(&self.settings) {
                    checker.require(false, "settings", "this table", why);
                }
            }
        }
    }

    fn build(&self, cx: &BuildCx) -> Built {
        match CUSTOM_QUEUES.find(&self.part) {
            Some(custom) => (custom.make)(cx, &self.settings).into(),
            // A checked scenario names registered parts only.
            None => DropTail::new(cx.capacity).into(),
        }
    }
}
