//! The registry: every scheme in one row, and what is asked of any of them. What a scheme is stands in its own file, as
//! [`SchemeConfig`]; no algorithm lives here.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker};

use crate::any::AnyController;
use crate::custom::CustomSchemeConfig;
use crate::needs::{Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use crate::schemes::{
    AccumulationConfig, AccumulationScheme, Bbr1Config, Bbr3Config, CompoundConfig, CopaConfig, CubicConfig,
    DctcpConfig, FixedRateConfig, FixedWindowConfig, GccConfig, HighSpeedConfig, IllinoisConfig,
    LedbatConfig, LedbatPlusPlusConfig, LiedConfig, NadaConfig, NewarkConfig, PacketPairConfig, PragueConfig,
    ProbabilisticConfig, RenoConfig, RenoScheme, SacConfig, Scream2Config, TfrcConfig, VegasConfig,
    VegasKConfig, VivaceConfig, WestwoodConfig,
};

/// Makes the enum of schemes, the table of those that are listed, and the one match over them. A row is
/// `Variant(Config)`, where `Config` is a [`SchemeConfig`]; where several schemes share one configuration,
/// `Variant(Config => view)`, where `view` makes of it the [`SchemeConfig`] that is meant.
macro_rules! schemes {
    (@view $config:ident) => { $config };
    (@view $config:ident $view:path) => { &$view($config) };
    (
        listed { $( $(#[$meta:meta])* $variant:ident($config:ty $(=> $view:path)?), )* }
        unlisted { $( $(#[$hidden_meta:meta])* $hidden:ident($hidden_config:ty), )* }
    ) => {
        /// A scheme by name, with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Scheme {
            $( $(#[$meta])* $variant($config), )*
            $( $(#[$hidden_meta])* $hidden($hidden_config), )*
        }

        /// All schemes of this library.
        pub const SCHEMES: &[Registered] =
            &[$( Registered { default: || Scheme::$variant(<$config>::default()) }, )*];

        impl Scheme {
            /// Asks the scheme in hand.
            fn ask<T>(&self, question: impl FnOnce(&dyn Described) -> T) -> T {
                match self {
                    $( Self::$variant(config) => question(schemes!(@view config $($view)?)), )*
                    $( Self::$hidden(config) => question(config), )*
                }
            }
        }
    };
}

schemes! {
    listed {
        /// TCP Reno (RFC 5681).
        Reno(RenoConfig => RenoScheme::reno),
        /// TCP NewReno (RFC 6582).
        #[serde(rename = "newreno")]
        NewReno(RenoConfig => RenoScheme::newreno),
        /// TCP with selective acknowledgements (RFC 6675) and Reno's window law.
        Sack(RenoConfig => RenoScheme::sack),
        /// CUBIC (RFC 9438).
        Cubic(CubicConfig),
        /// BBR, version 1 (Cardwell et al. 2016, as in Linux).
        Bbr1(Bbr1Config),
        /// BBR, version 3 (draft-ietf-ccwg-bbr-06).
        Bbr3(Bbr3Config),
        /// Copa (Arun and Balakrishnan, NSDI 2018).
        Copa(CopaConfig),
        /// PCC Vivace (Dong et al., NSDI 2018): performance-oriented congestion control.
        Vivace(VivaceConfig),
        /// TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04).
        Prague(PragueConfig),
        /// Data Center TCP (RFC 8257).
        Dctcp(DctcpConfig),
        /// HighSpeed TCP (RFC 3649).
        #[serde(rename = "highspeed")]
        HighSpeed(HighSpeedConfig),
        /// TCP Westwood+ (Grieco and Mascolo 2004).
        #[serde(rename = "westwood-plus")]
        Westwood(WestwoodConfig),
        /// TCP Illinois (Liu, Başar and Srikant 2008).
        Illinois(IllinoisConfig),
        /// Compound TCP (Tan, Song, Zhang and Sridharan 2006).
        Compound(CompoundConfig),
        /// LEDBAT (RFC 6817).
        Ledbat(LedbatConfig),
        /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06).
        LedbatPlusPlus(LedbatPlusPlusConfig),
        /// TCP Vegas (Brakmo and Peterson 1995).
        Vegas(VegasConfig),
        /// TCP Vegas with a bounded memory of round trip times (Mo et al. 1999; Xia et al., §IV-A).
        VegasK(VegasKConfig),
        /// Additive increase and decrease towards a target accumulation (Xia et al., equation 3).
        AccumulationAiad(AccumulationConfig => AccumulationScheme::aiad),
        /// Mo and Walrand's law towards a target accumulation (Xia et al., equation 5).
        AccumulationMw(AccumulationConfig => AccumulationScheme::mw),
        /// Proportional control towards a target accumulation (Xia et al., equation 6).
        AccumulationP(AccumulationConfig => AccumulationScheme::proportional),
        /// Monaco (Xia et al., §IV-B): proportional control of an accumulation measured at the receiver.
        Monaco(AccumulationConfig => AccumulationScheme::monaco),
        /// Packet-pair flow control (Keshav 1994).
        PacketPair(PacketPairConfig),
        /// TCP-friendly rate control (RFC 5348), and its variant for small packets (RFC 4828).
        Tfrc(TfrcConfig),
        /// Probabilistic congestion control (Widmer, Mauve and Damm 2002).
        Probabilistic(ProbabilisticConfig),
        /// Google congestion control (libwebrtc), for media.
        Gcc(GccConfig),
        /// NADA (RFC 8698), for media.
        Nada(NadaConfig),
        /// SCReAM, version 2 (draft-johansson-ccwg-rfc8298bis-screamv2), for media.
        Scream2(Scream2Config),
        /// TCP Newark (Li and Mills §III).
        Newark(NewarkConfig),
        /// A window that never changes.
        FixedWindow(FixedWindowConfig),
        /// Linear increase and exponential decrease of a datagram rate (Tuan and Park 1999, §3.1).
        Lied(LiedConfig),
        /// Selective aggressiveness over any scheme that increases (Tuan and Park 1999, §3.2).
        Sac(SacConfig),
        /// A rate that never changes.
        FixedRate(FixedRateConfig),
    }
    unlisted {
        /// A custom scheme, registered in the process that runs the scenario.
        Custom(CustomSchemeConfig),
    }
}

tailback_core::choosable!(Scheme);

/// A scheme in the table of all.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The scheme with its published defaults.
    pub default: fn() -> Scheme,
}

impl Deref for Registered {
    type Target = SchemeInfo;
    fn deref(&self) -> &SchemeInfo {
        (self.default)().info()
    }
}

/// A [`SchemeConfig`] whose type is forgotten.
trait Described {
    fn info(&self) -> &'static SchemeInfo;
    fn check(&self, checker: &mut Checker);
    fn build(&self, params: &ControllerParams) -> Parts<AnyController>;
    fn needs(&self) -> Needs;
    fn family(&self) -> Family;
    fn held(&self, segment: Bytes) -> Option<f64>;
    fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)>;
    fn lives_on_reports(&self) -> bool;
    fn heeds_gain(&self) -> bool;
}

impl<S: SchemeConfig> Described for S
where
    AnyController: From<S::Controller>,
{
    fn info(&self) -> &'static SchemeInfo {
        SchemeConfig::info(self)
    }

    fn check(&self, checker: &mut Checker) {
        SchemeConfig::check(self, checker);
    }

    fn build(&self, params: &ControllerParams) -> Parts<AnyController> {
        let Parts { controller, policy } = SchemeConfig::build(self, params);
        Parts { controller: controller.into(), policy }
    }

    fn needs(&self) -> Needs {
        SchemeConfig::needs(self)
    }

    fn family(&self) -> Family {
        SchemeConfig::family(self)
    }

    fn held(&self, segment: Bytes) -> Option<f64> {
        SchemeConfig::held(self, segment)
    }

    fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)> {
        SchemeConfig::guaranteed_rate(self)
    }

    fn lives_on_reports(&self) -> bool {
        SchemeConfig::lives_on_reports(self)
    }

    fn heeds_gain(&self) -> bool {
        SchemeConfig::heeds_gain(self)
    }
}

impl Scheme {
    /// What is known of it without its parameters.
    pub fn info(&self) -> &'static SchemeInfo {
        self.ask(|scheme| scheme.info())
    }

    /// The registered name.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// What tables call it: its name, or that of the custom part behind it.
    pub fn title(&self) -> &str {
        if let Self::Custom(custom) = self { &custom.part } else { self.name() }
    }

    /// What it wants from its endpoints.
    pub fn needs(&self) -> Needs {
        self.ask(|scheme| scheme.needs())
    }

    /// Which laws it keeps.
    pub fn family(&self) -> Family {
        self.ask(|scheme| scheme.family())
    }

    /// How lost data is repaired, which may depend on parameters.
    pub fn reliability(&self) -> Reliability {
        self.needs().reliability
    }

    /// The field and the value of a rate that the scheme takes the network to guarantee, and sends at before it has
    /// measured anything.
    pub fn guaranteed_rate(&self) -> Option<(&'static str, BitRate)> {
        self.ask(|scheme| scheme.guaranteed_rate())
    }

    /// Whether it needs nothing but reports, so that it can steer an aggregate, whose packets nobody acknowledges.
    pub fn lives_on_reports(&self) -> bool {
        self.ask(|scheme| scheme.lives_on_reports())
    }

    /// Whether it grows by addition and heeds the gain of a batch, so that a wrapping scheme can scale its increases.
    pub fn heeds_gain(&self) -> bool {
        self.ask(|scheme| scheme.heeds_gain())
    }

    /// Complains about every parameter that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        self.ask(|scheme| scheme.check(checker));
    }

    /// How much a flow of the scheme holds in the network's queues at rest, in bytes, for packets of `segment` bytes: its
    /// weight in the fair shares (Xia et al., appendix). `None` where it has no such aim.
    pub fn held(&self, segment: Bytes) -> Option<f64> {
        self.ask(|scheme| scheme.held(segment))
    }

    /// The scheme's parts, for one connection.
    pub fn build(&self, params: &ControllerParams) -> Parts<AnyController> {
        self.ask(|scheme| scheme.build(params))
    }
}
