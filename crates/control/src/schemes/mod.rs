//! One file per scheme: the paper or RFC, its equations beside the code, and what is known to differ from it.

mod accumulation;
mod cubic;
mod fixed_rate;
mod fixed_window;
mod monaco;
mod packet_pair;
mod reno;
mod vegas;

pub use accumulation::{Accumulation, AccumulationConfig, Estimator as AccumulationEstimator};
pub use cubic::{Cubic, CubicConfig};
pub use fixed_rate::{FixedRate, FixedRateConfig};
pub use fixed_window::{FixedWindow, FixedWindowConfig};
pub use monaco::MonacoPolicy;
pub use packet_pair::{
    ControlledAt as PacketPairControlledAt, Law as PacketPairLaw, PacketPair, PacketPairConfig,
    PacketPairPolicy, PacketPairRemote, Propagation as PacketPairPropagation,
    RateChange as PacketPairRateChange, Setpoint as PacketPairSetpoint,
};
pub use reno::{Reno, RenoConfig};
pub use vegas::{Retransmission as VegasRetransmission, Vegas, VegasConfig, VegasKConfig};
