//! One file per scheme: the paper or RFC, its equations beside the code, and what is known to differ from it.

mod accumulation;
mod bbr1;
mod bbr3;
mod bbr_shared;
mod compound;
mod copa;
mod cubic;
mod dctcp;
mod fixed_rate;
mod fixed_window;
mod gcc;
mod highspeed;
mod illinois;
mod ledbat;
mod ledbat_plus_plus;
mod lied;
pub mod media;
mod monaco;
mod nada;
mod newark;
mod packet_pair;
mod prague;
pub mod probabilistic;
mod reno;
mod sac;
mod scream2;
mod tfrc;
mod vegas;
mod vivace;
mod westwood;

pub use accumulation::{
    Accumulation, AccumulationConfig, AccumulationScheme, Estimator as AccumulationEstimator,
};
pub use bbr1::{Bbr1, Bbr1Config};
pub use bbr3::{Bbr3, Bbr3Config, State as Bbr3State};
pub use compound::{Compound, CompoundConfig};
pub use copa::{Copa, CopaConfig};
pub use cubic::{Cubic, CubicConfig};
pub use dctcp::{Dctcp, DctcpConfig};
pub use fixed_rate::{FixedRate, FixedRateConfig};
pub use fixed_window::{FixedWindow, FixedWindowConfig};
pub use gcc::{Gcc, GccConfig, LossEstimator as GccLossEstimator};
pub use highspeed::{HighSpeed, HighSpeedConfig};
pub use illinois::{Illinois, IllinoisConfig};
pub use ledbat::{Ledbat, LedbatConfig};
pub use ledbat_plus_plus::{LedbatPlusPlus, LedbatPlusPlusConfig};
pub use lied::{Lied, LiedConfig, LiedPolicy};
pub use monaco::MonacoPolicy;
pub use nada::{Nada, NadaConfig};
pub use newark::{
    AdaptiveConfig as NewarkAdaptiveConfig, BurstGrowth as NewarkBurstGrowth,
    BurstReaction as NewarkBurstReaction, Newark, NewarkConfig, Signals as NewarkSignals,
};
pub use packet_pair::{
    ControlledAt as PacketPairControlledAt, Law as PacketPairLaw, PacketPair, PacketPairConfig,
    PacketPairPolicy, PacketPairRemote, PacketPairSender, Propagation as PacketPairPropagation,
    RateChange as PacketPairRateChange, Setpoint as PacketPairSetpoint,
};
pub use prague::{Prague, PragueConfig};
pub use probabilistic::{Probabilistic, ProbabilisticConfig, ProbabilisticPolicy};
pub use reno::{Reno, RenoConfig, RenoScheme};
pub use sac::{PredictorConfig, Sac, SacConfig, SlowerConfig};
pub use scream2::{Scream2, Scream2Config};
pub use tfrc::{Tfrc, TfrcConfig, TfrcPolicy};
pub use vegas::{Retransmission as VegasRetransmission, Vegas, VegasConfig, VegasKConfig};
pub use vivace::{Vivace, VivaceConfig};
pub use westwood::{Westwood, WestwoodConfig};
