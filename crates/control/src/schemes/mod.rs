//! One file per scheme: the paper or RFC, its equations beside the code, and what is known to differ from it.

mod accumulation;
mod cubic;
mod fixed_rate;
mod fixed_window;
mod lied;
mod monaco;
mod newark;
mod packet_pair;
pub mod probabilistic;
mod reno;
mod sac;
mod tfrc;
mod vegas;

pub use accumulation::{
    Accumulation, AccumulationConfig, AccumulationScheme, Estimator as AccumulationEstimator,
};
pub use cubic::{Cubic, CubicConfig};
pub use fixed_rate::{FixedRate, FixedRateConfig};
pub use fixed_window::{FixedWindow, FixedWindowConfig};
pub use lied::{Lied, LiedConfig, LiedPolicy};
pub use monaco::MonacoPolicy;
pub use newark::{
    AdaptiveConfig as NewarkAdaptiveConfig, BurstGrowth as NewarkBurstGrowth,
    BurstReaction as NewarkBurstReaction, Newark, NewarkConfig, Signals as NewarkSignals,
};
pub use packet_pair::{
    ControlledAt as PacketPairControlledAt, Law as PacketPairLaw, PacketPair, PacketPairConfig,
    PacketPairPolicy, PacketPairRemote, PacketPairSender, Propagation as PacketPairPropagation,
    RateChange as PacketPairRateChange, Setpoint as PacketPairSetpoint,
};
pub use probabilistic::{Probabilistic, ProbabilisticConfig, ProbabilisticPolicy};
pub use reno::{Reno, RenoConfig, RenoScheme};
pub use sac::{PredictorConfig, Sac, SacConfig, SlowerConfig};
pub use tfrc::{Tfrc, TfrcConfig, TfrcPolicy};
pub use vegas::{Retransmission as VegasRetransmission, Vegas, VegasConfig, VegasKConfig};
