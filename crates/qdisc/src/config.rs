//! What a scenario writes about a queue: every discipline in one row, and what is asked of any of them. What a discipline
//! is stands in its own file, as [`QueueConfig`].

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Capacity, Checker, QueueDiscipline, Time};

use crate::avq::{AvdConfig, AvqConfig};
use crate::bucket::{PolicerConfig, TokenBucketConfig};
use crate::builtin::Built;
use crate::cake::CakeConfig;
use crate::codel::CodelConfig;
use crate::custom::CustomQueueConfig;
use crate::droptail::DropTailConfig;
use crate::dualpi2::DualPi2Config;
use crate::fair::clock::VirtualClockConfig;
use crate::fair::frames::{FramedRoundRobinConfig, HierarchicalRoundRobinConfig};
use crate::fair::round::{DeficitRoundRobinConfig, RoundRobinConfig, WeightedRoundRobinConfig};
use crate::fair::selfclocked::{CellRoundRobinConfig, SelfClockedConfig};
use crate::fair::weighted::WeightedFairConfig;
use crate::fq_codel::FqCodelConfig;
use crate::known::KnownFlows;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, QueuesWithin, Within};
use crate::pi::PiConfig;
use crate::pie::PieConfig;
use crate::priority::PriorityConfig;
use crate::pushout::{DropHeadConfig, RandomDropConfig};
use crate::red::RedConfig;
use crate::rem::RemConfig;
use crate::step::StepConfig;
use crate::tdqm::TdqmConfig;

/// Makes the enum of disciplines, the table of those that are listed, and the one match over them, of rows
/// `Variant(Config)` whose `Config` is a [`QueueConfig`].
macro_rules! disciplines {
    (
        listed { $( $(#[$meta:meta])* $variant:ident($config:ty), )* }
        unlisted { $( $(#[$hidden_meta:meta])* $hidden:ident($hidden_config:ty), )* }
    ) => {
        /// A queue discipline with its parameters, as scenarios name it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Config {
            $( $(#[$meta])* $variant($config), )*
            $( $(#[$hidden_meta])* $hidden($hidden_config), )*
        }

        /// All disciplines of this library, family by family.
        pub const ALL: &[Registered] =
            &[$( Registered { default: || Config::$variant(<$config>::default()) }, )*];

        impl Config {
            /// The discipline in hand.
            fn described(&self) -> &dyn Described {
                match self {
                    $( Self::$variant(config) => config, )*
                    $( Self::$hidden(config) => config, )*
                }
            }
        }
    };
}

disciplines! {
    listed {
        /// First in, first out; what finds the buffer full is dropped.
        DropTail(DropTailConfig),
        /// First in, first out; an arrival at a full buffer pushes the oldest waiting packet out.
        DropHead(DropHeadConfig),
        /// First in, first out; an arrival at a full buffer pushes any waiting packet out.
        RandomDrop(RandomDropConfig),
        /// Strict priority of lanes.
        Priority(PriorityConfig),
        /// Round robin, packet by packet.
        RoundRobin(RoundRobinConfig),
        /// Weighted round robin, packet by packet.
        WeightedRoundRobin(WeightedRoundRobinConfig),
        /// Round robin cell by cell over 53-byte ATM cells.
        CellRoundRobin(CellRoundRobinConfig),
        /// Framed round robin, which leaves the line idle rather than exceed an allotment.
        FramedRoundRobin(FramedRoundRobinConfig),
        /// Hierarchical round robin: framed round robin on several levels (Kalmanek, Kanakia and Keshav 1990).
        HierarchicalRoundRobin(HierarchicalRoundRobinConfig),
        /// Deficit round robin (Shreedhar and Varghese 1995).
        DeficitRoundRobin(DeficitRoundRobinConfig),
        /// Self-clocked fair queueing (Golestani 1994).
        SelfClockedFairQueueing(SelfClockedConfig),
        /// Weighted fair queueing (Demers, Keshav and Shenker 1989; Parekh and Gallager 1993).
        WeightedFairQueueing(WeightedFairConfig),
        /// Virtual clock (Zhang 1990).
        VirtualClock(VirtualClockConfig),
        /// Random early detection (Floyd and Jacobson 1993), with its gentle and adaptive forms.
        Red(RedConfig),
        /// Random exponential marking (Athuraliya, Li, Low and Yin 2001).
        Rem(RemConfig),
        /// Proportional integral controller (Hollot, Misra, Towsley and Gong 2001).
        Pi(PiConfig),
        /// PIE (RFC 8033).
        Pie(PieConfig),
        /// Controlled delay (RFC 8289).
        #[serde(rename = "codel")]
        Codel(CodelConfig),
        /// FlowQueue-CoDel (RFC 8290).
        #[serde(rename = "fq-codel")]
        FqCodel(FqCodelConfig),
        /// CAKE (Høiland-Jørgensen, Täht and Morton 2018).
        Cake(CakeConfig),
        /// DualPI2 (RFC 9332).
        #[serde(rename = "dualpi2")]
        DualPi2(DualPi2Config),
        /// Adaptive virtual queue (Kunniyur and Srikant 2001).
        Avq(AvqConfig),
        /// Adaptive virtual delay (Xia et al., §IV-D).
        Avd(AvdConfig),
        /// Step marking (RFC 8257 §3.1).
        Step(StepConfig),
        /// Two-dimensional queue management (Li and Mills, §II).
        Tdqm(TdqmConfig),
        /// Token bucket shaper, alone or over classes with buckets of their own.
        TokenBucket(TokenBucketConfig),
        /// Policer: drops what exceeds a token bucket.
        Policer(PolicerConfig),
    }
    unlisted {
        /// A custom discipline, registered in the process that runs the scenario.
        Custom(CustomQueueConfig),
    }
}

tailback_core::choosable!(Config);

impl Default for Config {
    fn default() -> Self {
        Self::DropTail(DropTailConfig::default())
    }
}

/// A discipline in the table of all.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// Its configuration with all defaults.
    pub default: fn() -> Config,
}

impl Deref for Registered {
    type Target = Info;
    fn deref(&self) -> &Info {
        (self.default)().described().info()
    }
}

impl Registered {
    /// The names of the state that the discipline tells when its link's series asks for it, as configured by default.
    pub fn state(&self) -> Vec<&'static str> {
        let rate = BitRate::from_bits_per_sec(10_000_000);
        let cx = BuildCx {
            capacity: Capacity::Packets(100),
            rate,
            mean_packet: Bytes::new(1000),
            flows: KnownFlows::default(),
        };
        let mut names = Vec::new();
        (self.default)().build(&cx).into_discipline().observe(Time::ZERO, &mut |name, _| names.push(name));
        names
    }
}

/// The discipline of this name.
pub fn find(name: &str) -> Option<&'static Registered> {
    ALL.iter().find(|info| info.name == name)
}

/// A [`QueueConfig`] whose type is forgotten.
trait Described {
    fn info(&self) -> &'static Info;
    fn check(&self, checker: &mut Checker);
    fn build(&self, cx: &BuildCx) -> Built;
    fn ecn(&self) -> bool;
    fn flow_lists(&self) -> FlowLists<'_>;
    fn queues_within(&self) -> QueuesWithin<'_>;
}

impl<Q: QueueConfig> Described for Q
where
    Built: From<Q::Queue>,
{
    fn info(&self) -> &'static Info {
        QueueConfig::info(self)
    }

    fn check(&self, checker: &mut Checker) {
        QueueConfig::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Built {
        QueueConfig::build(self, cx).into()
    }

    fn ecn(&self) -> bool {
        QueueConfig::ecn(self)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        QueueConfig::flow_lists(self)
    }

    fn queues_within(&self) -> QueuesWithin<'_> {
        QueueConfig::queues_within(self)
    }
}

impl Config {
    /// The discipline's name in scenarios.
    pub fn name(&self) -> &'static str {
        self.described().info().name
    }

    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        self.described().check(checker);
    }

    /// The discipline for the link that `cx` describes; the configuration must have passed [`Config::check`].
    pub fn build(&self, cx: &BuildCx) -> Built {
        self.described().build(cx)
    }

    /// The switches that turn ECN marks on, each as the path of its field: `ecn`, or `lanes[1].queue.ecn` of a queue
    /// within. Marks are of no use on a link that no ECN-capable flow passes. `FQ-CoDel`, `CAKE` and `DualPI2` are
    /// published with marks and mark where they can without being asked: they have nothing to answer for.
    pub fn ecn_switches(&self) -> Vec<String> {
        let on = self.described().ecn();
        let within = self.described().queues_within().into_iter().flat_map(|(path, queue)| {
            queue.ecn_switches().into_iter().map(move |switch| format!("{path}.{switch}"))
        });
        on.then(|| "ecn".to_owned()).into_iter().chain(within).collect()
    }

    /// The lists of flows that shares, classes and levels name, each with the path of its field.
    pub fn flow_lists(&self) -> FlowLists<'_> {
        let within = self.described().queues_within().into_iter().flat_map(|(path, queue)| {
            queue.flow_lists().into_iter().map(move |(list, flows)| (format!("{path}.{list}"), flows))
        });
        self.described().flow_lists().into_iter().chain(within).collect()
    }
}

impl Within for Config {
    fn ecn_switches(&self) -> Vec<String> {
        Self::ecn_switches(self)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        Self::flow_lists(self)
    }
}
