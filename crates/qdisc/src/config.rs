//! What a scenario writes about a queue, and the way from there to a discipline at work. The parameters of each
//! discipline stand in its own file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Capacity, Checker};

use crate::avq::{Avd, AvdConfig, Avq, AvqConfig};
use crate::bucket::{Policer, PolicerConfig, TokenBucket, TokenBucketConfig};
use crate::builtin::{Admission, Discipline};
use crate::codel::{Codel, CodelConfig};
use crate::custom::CustomQueueConfig;
use crate::droptail::{DropTail, DropTailConfig};
use crate::dualpi2::{DualPi2, DualPi2Config};
use crate::fair::clock::{VirtualClock, VirtualClockConfig};
use crate::fair::framed::Framed;
use crate::fair::frames::{FramedRoundRobinConfig, HierarchicalRoundRobinConfig};
use crate::fair::round::{DeficitRoundRobinConfig, RoundRobin, RoundRobinConfig, WeightedRoundRobinConfig};
use crate::fair::selfclocked::{CellRoundRobinConfig, SelfClocked, SelfClockedConfig};
use crate::fair::weighted::{Fluid, WeightedFairConfig};
use crate::fair::{BufferConfig, PerFlow, Scheduler, Share};
use crate::fifo::Fifo;
use crate::fq_codel::{FqCodel, FqCodelConfig};
use crate::pi::{Pi, PiConfig};
use crate::pie::{Pie, PieConfig};
use crate::priority::{Priority, PriorityConfig};
use crate::pushout::{DropHeadConfig, PushOut, RandomDropConfig, Victim};
use crate::red::{Red, RedConfig};
use crate::rem::{Rem, RemConfig};
use crate::tdqm::{Tdqm, TdqmConfig};

/// A queue discipline with its parameters, as scenarios name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Config {
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
    /// DualPI2 (RFC 9332).
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// Adaptive virtual queue (Kunniyur and Srikant 2001).
    Avq(AvqConfig),
    /// Adaptive virtual delay (`accumulation.txt` §IV-D).
    Avd(AvdConfig),
    /// Two-dimensional queue management (`tdqm.txt` §II).
    Tdqm(TdqmConfig),
    /// Token bucket shaper, alone or over classes with buckets of their own.
    TokenBucket(TokenBucketConfig),
    /// Policer: drops what exceeds a token bucket.
    Policer(PolicerConfig),
    /// A discipline of the user's own, registered in the process that runs the scenario.
    Custom(CustomQueueConfig),
}

impl Default for Config {
    fn default() -> Self {
        Self::DropTail(DropTailConfig::default())
    }
}

/// What a discipline needs to know of the link it is built for.
#[derive(Clone, Copy, Debug)]
pub struct BuildCx {
    /// The link's buffer, already resolved: packets, bytes or unlimited.
    pub capacity: Capacity,
    /// The server's nominal rate.
    pub rate: BitRate,
    /// The size of a typical packet, for thresholds written in packets and for idle times.
    pub mean_packet: Bytes,
}

/// A discipline at work, in the narrowest form that it has.
#[derive(Debug)]
pub enum Built {
    /// It acts on arrivals only: departures are known at entry.
    Arrival(Admission),
    /// It acts at departure, or keeps an order of its own.
    Full(Discipline),
}

impl Built {
    /// The discipline in its general form.
    pub fn into_discipline(self) -> Discipline {
        match self {
            Self::Arrival(policy) => Discipline::Fifo(Fifo::new(policy)),
            Self::Full(discipline) => discipline,
        }
    }
}

impl From<Admission> for Built {
    fn from(policy: Admission) -> Self {
        Self::Arrival(policy)
    }
}

impl From<Discipline> for Built {
    fn from(discipline: Discipline) -> Self {
        Self::Full(discipline)
    }
}

impl Config {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::DropTail(_) | Self::DropHead(_) | Self::RandomDrop(_) => {}
            Self::Priority(config) => config.check(checker),
            Self::RoundRobin(config) => config.check(checker),
            Self::WeightedRoundRobin(config) => config.check(checker),
            Self::CellRoundRobin(config) => config.check(checker),
            Self::FramedRoundRobin(config) => config.check(checker),
            Self::HierarchicalRoundRobin(config) => config.check(checker),
            Self::DeficitRoundRobin(config) => config.check(checker),
            Self::SelfClockedFairQueueing(config) => config.check(checker),
            Self::WeightedFairQueueing(config) => config.check(checker),
            Self::VirtualClock(config) => config.check(checker),
            Self::Red(config) => config.check(checker),
            Self::Avq(config) => config.check(checker),
            Self::Avd(config) => config.check(checker),
            Self::Tdqm(config) => config.check(checker),
            Self::Rem(config) => config.check(checker),
            Self::Pi(config) => config.check(checker),
            Self::Pie(config) => config.check(checker),
            Self::Codel(config) => config.check(checker),
            Self::FqCodel(config) => config.check(checker),
            Self::DualPi2(config) => config.check(checker),
            Self::TokenBucket(config) => config.check(checker),
            Self::Policer(config) => config.check(checker),
            Self::Custom(config) => config.check(checker),
        }
    }

    /// The switches that turn ECN marks on, each as the path of its field: `ecn`, or `lanes[1].queue.ecn` of a queue
    /// within. Marks are of no use on a link that no ECN-capable flow passes. `FQ-CoDel` and `DualPI2` are published
    /// with marks and mark where they can without being asked: they have nothing to answer for.
    pub fn ecn_switches(&self) -> Vec<String> {
        let on = match self {
            Self::Red(config) => config.ecn,
            Self::Rem(config) => config.ecn,
            Self::Pi(config) => config.ecn,
            Self::Pie(config) => config.ecn,
            Self::Codel(config) => config.ecn,
            Self::Avq(config) => config.ecn,
            _ => false,
        };
        let within = self.queues_within().into_iter().flat_map(|(path, queue)| {
            queue.ecn_switches().into_iter().map(move |switch| format!("{path}.{switch}"))
        });
        on.then(|| "ecn".to_owned()).into_iter().chain(within).collect()
    }

    /// The lists of flows that shares, classes and levels name by number, each with the path of its field.
    pub fn flow_lists(&self) -> Vec<(String, &[u32])> {
        let within = self.queues_within().into_iter().flat_map(|(path, queue)| {
            queue.flow_lists().into_iter().map(move |(list, flows)| (format!("{path}.{list}"), flows))
        });
        self.own_flow_lists().into_iter().chain(within).collect()
    }

    fn own_flow_lists(&self) -> Vec<(String, &[u32])> {
        fn numbered<'a>(list: &str, flows: impl Iterator<Item = &'a Vec<u32>>) -> Vec<(String, &'a [u32])> {
            flows.enumerate().map(|(index, flows)| (format!("{list}[{index}].flows"), &flows[..])).collect()
        }
        fn shared(shares: &[Share]) -> Vec<(String, &[u32])> {
            numbered("shares", shares.iter().map(|share| &share.flows))
        }
        match self {
            Self::WeightedRoundRobin(config) => shared(&config.shares),
            Self::CellRoundRobin(config) => shared(&config.shares),
            Self::FramedRoundRobin(config) => shared(&config.shares),
            Self::DeficitRoundRobin(config) => shared(&config.shares),
            Self::SelfClockedFairQueueing(config) => shared(&config.shares),
            Self::WeightedFairQueueing(config) => shared(&config.shares),
            Self::VirtualClock(config) => shared(&config.shares),
            Self::HierarchicalRoundRobin(config) => {
                let mut lists = shared(&config.shares);
                lists.extend(numbered("levels", config.levels.iter().map(|level| &level.flows)));
                lists
            }
            Self::Priority(config) => numbered("classes", config.classes.iter().map(|class| &class.flows)),
            Self::TokenBucket(config) => numbered("classes", config.classes.iter().map(|class| &class.flows)),
            _ => Vec::new(),
        }
    }

    /// The queues that the discipline is made of, each with the path of its field.
    fn queues_within(&self) -> Vec<(String, &Self)> {
        let numbered = |list, index| format!("{list}[{index}].queue");
        match self {
            Self::Priority(config) => {
                let lanes = config.lanes.iter().enumerate();
                lanes.map(|(index, lane)| (numbered("lanes", index), &*lane.queue)).collect()
            }
            Self::TokenBucket(config) => {
                let classes = config.classes.iter().enumerate();
                let classes = classes.map(|(index, class)| (numbered("classes", index), &*class.queue));
                std::iter::once(("queue".to_owned(), &*config.queue)).chain(classes).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The discipline for the link that `cx` describes; the configuration must have passed [`Config::check`].
    pub fn build(&self, cx: &BuildCx) -> Built {
        match self {
            Self::DropTail(_) => Admission::DropTail(DropTail::new(cx.capacity)).into(),
            Self::DropHead(_) => Discipline::PushOut(PushOut::new(Victim::Oldest, cx)).into(),
            Self::RandomDrop(_) => Discipline::PushOut(PushOut::new(Victim::Random, cx)).into(),
            Self::Priority(config) => Discipline::Priority(Box::new(Priority::new(config, cx))).into(),
            Self::RoundRobin(config) => {
                Discipline::RoundRobin(fair(RoundRobin::plain(), &[], &config.buffer, cx)).into()
            }
            Self::WeightedRoundRobin(config) => {
                let queue = fair(RoundRobin::weighted(), &config.shares, &config.buffer, cx);
                Discipline::RoundRobin(queue).into()
            }
            Self::CellRoundRobin(config) => {
                let queue = fair(SelfClocked::in_cells(), &config.shares, &config.buffer, cx);
                Discipline::SelfClocked(queue).into()
            }
            Self::FramedRoundRobin(config) => {
                let queue = fair(Framed::single(config, cx), &config.shares, &config.buffer, cx);
                Discipline::Framed(queue).into()
            }
            Self::HierarchicalRoundRobin(config) => {
                let queue = fair(Framed::hierarchical(config, cx), &config.shares, &config.buffer, cx);
                Discipline::Framed(queue).into()
            }
            Self::DeficitRoundRobin(config) => {
                let rounds = RoundRobin::deficit(config.quantum);
                Discipline::RoundRobin(fair(rounds, &config.shares, &config.buffer, cx)).into()
            }
            Self::SelfClockedFairQueueing(config) => {
                let queue = fair(SelfClocked::in_bytes(), &config.shares, &config.buffer, cx);
                Discipline::SelfClocked(queue).into()
            }
            Self::WeightedFairQueueing(config) => {
                let queue = fair(Fluid::by_tag(), &config.shares, &config.buffer, cx);
                Discipline::WeightedFair(queue).into()
            }
            Self::VirtualClock(config) => {
                let queue = fair(VirtualClock::by_tag(config, cx), &config.shares, &config.buffer, cx);
                Discipline::VirtualClock(queue).into()
            }
            Self::Red(config) => Admission::Red(Red::new(config, cx)).into(),
            Self::Avq(config) => Admission::Avq(Avq::new(config, cx)).into(),
            Self::Avd(config) => Admission::Avd(Avd::new(config, cx)).into(),
            Self::Tdqm(config) => Admission::Tdqm(Box::new(Tdqm::new(config, cx))).into(),
            Self::Rem(config) => Admission::Rem(Box::new(Rem::new(config, cx))).into(),
            Self::Pi(config) => Admission::Pi(Box::new(Pi::new(config, cx))).into(),
            Self::Pie(config) => Admission::Pie(Box::new(Pie::new(config, cx))).into(),
            Self::Codel(config) => Discipline::Codel(Box::new(Codel::new(config, cx))).into(),
            Self::FqCodel(config) => Discipline::FqCodel(Box::new(FqCodel::new(config, cx))).into(),
            Self::DualPi2(config) => Discipline::DualPi2(Box::new(DualPi2::new(config, cx))).into(),
            Self::TokenBucket(config) => {
                Discipline::TokenBucket(Box::new(TokenBucket::new(config, cx))).into()
            }
            Self::Policer(config) => Admission::Policer(Policer::new(config, cx)).into(),
            Self::Custom(config) => config.build(cx),
        }
    }
}

fn fair<S: Scheduler>(
    scheduler: S,
    shares: &[Share],
    buffer: &BufferConfig,
    cx: &BuildCx,
) -> Box<PerFlow<S>> {
    Box::new(PerFlow::new(scheduler, shares, buffer, cx))
}
