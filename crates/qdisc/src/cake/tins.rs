//! CAKE's tins: which codepoint goes into which, and what part of the rate each may use ahead of the others (Piece of CAKE,
//! 2018; tc-cake, "priority queue parameters", with the codepoints of today's Linux). How tins are served is
//! decided in `mod.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many tins there are, and what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CakeTins")]
pub enum Tins {
    /// One for all.
    #[serde(rename = "besteffort")]
    BestEffort,
    /// Three: bulk (CS1, LE), voice (EF, VA, CS6, CS7), and all others.
    #[default]
    #[serde(rename = "diffserv3")]
    Three,
    /// Four: bulk, best effort, video (AF21 to AF43, CS2, CS3), voice (EF, VA, CS4 to CS7).
    #[serde(rename = "diffserv4")]
    Four,
    /// Eight, from least effort to network control.
    #[serde(rename = "diffserv8")]
    Eight,
    /// Eight, by the three bits that were IP precedence once (RFC 791), 7 before all others. Obsolete (tc-cake).
    Precedence,
}

/// One tin's share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// By what name it tells how many packets wait in it.
    pub(super) name: &'static str,
    /// The part of the rate up to which it is served ahead of those before it.
    pub(super) part: f64,
    /// Bytes per turn where there is no rate.
    pub(super) quantum: i64,
}

const fn share(name: &'static str, part: f64, quantum: i64) -> Share {
    Share { name, part, quantum }
}

const BEST_EFFORT: &str = "best_effort_packets";
const BULK: &str = "bulk_packets";
const VOICE: &str = "voice_packets";

const EIGHT: [&str; 8] = [
    "least_effort_packets",
    "high_throughput_packets",
    BEST_EFFORT,
    "streaming_packets",
    "low_latency_packets",
    "interactive_packets",
    "minimum_latency_packets",
    "network_control_packets",
];

const PRECEDENCE: [&str; 8] = [
    "precedence_0_packets",
    "precedence_1_packets",
    "precedence_2_packets",
    "precedence_3_packets",
    "precedence_4_packets",
    "precedence_5_packets",
    "precedence_6_packets",
    "precedence_7_packets",
];

/// Eight shares, each with seven eighths of the one before.
fn eight(names: [&'static str; 8]) -> Vec<Share> {
    let mut quantum = 256;
    let next = |(tin, name): (i32, _)| {
        let now = share(name, 0.875_f64.powi(tin), quantum);
        quantum = quantum * 7 / 8;
        now
    };
    (0..).zip(names).map(next).collect()
}

impl Tins {
    /// The shares, in order of priority: each goes before those ahead of it in the list.
    pub(super) fn shares(self) -> Vec<Share> {
        match self {
            Self::BestEffort => vec![share(BEST_EFFORT, 1.0, 65_535)],
            Self::Three => {
                vec![share(BEST_EFFORT, 1.0, 1024), share(BULK, 1.0 / 16.0, 64), share(VOICE, 0.25, 256)]
            }
            Self::Four => vec![
                share(BEST_EFFORT, 1.0, 1024),
                share(BULK, 1.0 / 16.0, 64),
                share("video_packets", 0.5, 512),
                share(VOICE, 0.25, 256),
            ],
            Self::Eight => eight(EIGHT),
            Self::Precedence => eight(PRECEDENCE),
        }
    }

    /// The tin, by its place among the shares, of a codepoint.
    pub(super) const fn of(self, codepoint: Codepoint) -> usize {
        let number = codepoint.number();
        match self {
            Self::BestEffort => 0,
            Self::Three => match number {
                1 | 8 => 1,
                44 | 46 | 48.. => 2,
                _ => 0,
            },
            Self::Four => match number {
                1 | 8 => 1,
                16..=31 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48.. => 3,
                _ => 0,
            },
            Self::Eight => match number {
                1 => 0,
                8 | 10 | 12 | 14 => 1,
                16 => 5,
                18 | 20 | 22 => 4,
                24..=31 | 34 | 36 | 38 => 3,
                32 | 40 | 44 | 46 => 6,
                48.. => 7,
                _ => 2,
            },
            Self::Precedence => (number >> 3) as usize,
        }
    }
}

/// Makes the enum of codepoints, of rows `Variant("name"): number`.
macro_rules! codepoints {
    ($( $variant:ident($name:literal): $number:literal, $doc:literal; )*) => {
        /// A codepoint of the differentiated services field (RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Codepoint {
            $(
                #[doc = $doc]
                #[serde(rename = $name)]
                $variant,
            )*
            /// Best effort.
            #[default]
            #[serde(rename = "CS0")]
            Cs0,
        }

        impl Codepoint {
            /// The six bits of the field.
            pub const fn number(self) -> u8 {
                match self {
                    $( Self::$variant => $number, )*
                    Self::Cs0 => 0,
                }
            }
        }
    };
}

codepoints! {
    Le("LE"): 1, "Lower effort.";
    Cs1("CS1"): 8, "Class selector 1, once for bulk.";
    Af11("AF11"): 10, "Assured forwarding 1, low drop precedence.";
    Af12("AF12"): 12, "Assured forwarding 1, medium drop precedence.";
    Af13("AF13"): 14, "Assured forwarding 1, high drop precedence.";
    Cs2("CS2"): 16, "Class selector 2.";
    Af21("AF21"): 18, "Assured forwarding 2, low drop precedence.";
    Af22("AF22"): 20, "Assured forwarding 2, medium drop precedence.";
    Af23("AF23"): 22, "Assured forwarding 2, high drop precedence.";
    Cs3("CS3"): 24, "Class selector 3.";
    Af31("AF31"): 26, "Assured forwarding 3, low drop precedence.";
    Af32("AF32"): 28, "Assured forwarding 3, medium drop precedence.";
    Af33("AF33"): 30, "Assured forwarding 3, high drop precedence.";
    Cs4("CS4"): 32, "Class selector 4.";
    Af41("AF41"): 34, "Assured forwarding 4, low drop precedence: video calls.";
    Af42("AF42"): 36, "Assured forwarding 4, medium drop precedence.";
    Af43("AF43"): 38, "Assured forwarding 4, high drop precedence.";
    Cs5("CS5"): 40, "Class selector 5.";
    Va("VA"): 44, "Voice admit.";
    Ef("EF"): 46, "Expedited forwarding: voice.";
    Cs6("CS6"): 48, "Class selector 6: network control.";
    Cs7("CS7"): 56, "Class selector 7.";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of tc-cake, for every codepoint that has a name.
    #[test]
    fn codepoints_find_their_tins() {
        use Codepoint::{Af11, Af21, Af31, Af41, Af43, Cs0, Cs1, Cs2, Cs3, Cs4, Cs5, Cs6, Cs7, Ef, Le, Va};
        let tins = |mode: Tins, points: &[Codepoint]| points.iter().map(|p| mode.of(*p)).collect::<Vec<_>>();
        let all = [Cs0, Le, Cs1, Af11, Cs2, Af21, Cs3, Af31, Cs4, Af41, Af43, Cs5, Va, Ef, Cs6, Cs7];
        assert_eq!(tins(Tins::BestEffort, &all), [0; 16]);
        assert_eq!(tins(Tins::Three, &all), [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2]);
        assert_eq!(tins(Tins::Four, &all), [0, 1, 1, 0, 2, 2, 2, 2, 3, 2, 2, 3, 3, 3, 3, 3]);
        assert_eq!(tins(Tins::Eight, &all), [2, 0, 1, 1, 5, 4, 3, 3, 6, 3, 3, 6, 6, 6, 7, 7]);
        assert_eq!(tins(Tins::Precedence, &all), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7]);
    }
}
