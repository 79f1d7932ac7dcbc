//! What there is to choose from: names, summaries and sources, for listings. The parameters of each discipline, with
//! their defaults, come from the schema of [`Config`].

use tailback_core::{BitRate, Bytes, Capacity, QueueDiscipline, Time};

use crate::config::{BuildCx, Config};

/// One discipline, as a listing shows it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in scenarios.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// Its configuration with all defaults.
    pub default: fn() -> Config,
}

macro_rules! table {
    ($($name:literal $variant:ident $family:literal: $summary:literal, $source:literal;)*) => {
        /// All disciplines, family by family.
        pub const ALL: &[Info] = &[$(Info {
            name: $name,
            family: $family,
            summary: $summary,
            source: $source,
            default: || Config::$variant(Default::default()),
        },)*];

        impl Config {
            /// The discipline's name in scenarios.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Custom(_) => "custom",
                }
            }
        }
    };
}

table! {
    "drop-tail" DropTail "first in, first out":
        "An arrival at a full buffer is dropped", "common practice";
    "drop-head" DropHead "first in, first out":
        "An arrival at a full buffer pushes the oldest waiting packet out",
        "Lakshman, Neidhardt and Ott, The Drop from Front Strategy in TCP and in TCP over ATM, 1996";
    "random-drop" RandomDrop "first in, first out":
        "An arrival at a full buffer pushes any packet out, each with the same chance",
        "Mankin, Random Drop Congestion Control, 1990";
    "priority" Priority "priority":
        "Strict priority of two or more lanes, each with a queue of its own",
        "Xia, Harrison, Kalyanaraman and Ramachandran, accumulation.txt §IV-B";
    "round-robin" RoundRobin "fair":
        "Each flow with packets sends one in turn",
        "Nagle, On Packet Switches with Infinite Storage, RFC 970; packet-pair.txt §2.1";
    "weighted-round-robin" WeightedRoundRobin "fair":
        "Each flow with packets sends as many as its weight in turn", "packet-pair.txt §2.1";
    "cell-round-robin" CellRoundRobin "fair":
        "Each flow with packets sends one 53-byte cell in turn", "packet-pair.txt §2.1";
    "framed-round-robin" FramedRoundRobin "fair":
        "Each flow has an allotment per frame of constant length; the line idles rather than exceed it",
        "packet-pair.txt §2.1";
    "hierarchical-round-robin" HierarchicalRoundRobin "fair":
        "Framed round robin on several levels, from short frames to long",
        "Kalmanek, Kanakia and Keshav, Rate Controlled Servers for Very High-Speed Networks, 1990";
    "deficit-round-robin" DeficitRoundRobin "fair":
        "Round robin that is fair in bytes, by carrying over what a visit left",
        "Shreedhar and Varghese, Efficient Fair Queuing Using Deficit Round Robin, 1995";
    "self-clocked-fair-queueing" SelfClockedFairQueueing "fair":
        "Fair queueing by tags measured against the packet in service",
        "Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, 1994";
    "weighted-fair-queueing" WeightedFairQueueing "fair":
        "Fair queueing by the virtual time of generalised processor sharing",
        "Demers, Keshav and Shenker, Analysis and Simulation of a Fair Queueing Algorithm, 1989; \
         Parekh and Gallager, A Generalized Processor Sharing Approach to Flow Control, 1993";
    "virtual-clock" VirtualClock "fair":
        "Each flow is served as if by a private line of its reserved rate",
        "Zhang, Virtual Clock: A New Traffic Control Algorithm for Packet Switching Networks, 1990";
    "red" Red "active":
        "Drops or marks with a probability that grows with the average queue; gentle and adaptive forms",
        "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, 1993; \
         Floyd, Gummadi and Shenker, Adaptive RED, 2001";
    "rem" Rem "active":
        "Drops or marks by a price that clears the buffer and matches the rate",
        "Athuraliya, Li, Low and Yin, REM: Active Queue Management, 2001";
    "pi" Pi "active":
        "Drops or marks so that the queue settles at a target",
        "Hollot, Misra, Towsley and Gong, On Designing Improved Controllers for AQM Routers, 2001";
    "pie" Pie "active":
        "Drops or marks so that the queueing delay settles at a target", "RFC 8033";
    "codel" Codel "active":
        "Drops or marks at the head of the queue on a standing delay, ever more often while it stands", "RFC 8289";
    "fq-codel" FqCodel "active":
        "Fair queueing with a CoDel law in each queue", "RFC 8290";
    "dualpi2" DualPi2 "active":
        "Two queues, for L4S and classic traffic, with coupled marking", "RFC 9332";
    "avq" Avq "active":
        "Drops or marks what a virtual queue of adapting capacity would lose, so that utilization settles at a target",
        "Kunniyur and Srikant, Analysis and Design of an Adaptive Virtual Queue Algorithm, 2001";
    "avd" Avd "active":
        "Adds the delay of an adaptive virtual queue to the control packets that pass", "accumulation.txt §IV-D";
    "tdqm" Tdqm "active":
        "Marks packets for utilization and for burstiness, each with a bit of its own",
        "Li and Mills, Control Architecture for Tuning Intensity and Burstiness of Traffic, tdqm.txt §II";
    "token-bucket" TokenBucket "shaper":
        "Holds packets back until a token bucket allows them, alone or over classes with buckets of their own",
        "Turner, New Directions in Communications, 1986";
    "policer" Policer "shaper":
        "Drops packets that exceed a token bucket", "RFC 2697 §3, with one bucket";
}

impl Info {
    /// The names of the state that the discipline tells when its link's series asks for it, as configured by default.
    pub fn state(&self) -> Vec<&'static str> {
        let rate = BitRate::from_bits_per_sec(10_000_000);
        let cx = BuildCx { capacity: Capacity::Packets(100), rate, mean_packet: Bytes::new(1000) };
        let mut names = Vec::new();
        (self.default)().build(&cx).into_discipline().observe(Time::ZERO, &mut |name, _| names.push(name));
        names
    }
}

/// The discipline of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    ALL.iter().find(|info| info.name == name)
}

#[cfg(test)]
mod tests {
    use schemars::schema_for;
    use tailback_core::Checker;

    use super::*;

    #[test]
    fn every_name_is_that_of_its_configuration() {
        for info in ALL {
            let written = format!("{{\"name\":\"{}\"}}", info.name);
            let config: Config = serde_json::from_str(&written).expect(info.name);
            assert_eq!(config, (info.default)());
            assert_eq!(config.name(), info.name);
        }
    }

    #[test]
    fn every_default_passes_its_own_check() {
        for info in ALL {
            let mut checker = Checker::new();
            (info.default)().check(&mut checker);
            assert_eq!(checker.finish(), Ok(()), "{}", info.name);
        }
    }

    #[test]
    fn configurations_survive_writing_and_reading() {
        for info in ALL {
            let config = (info.default)();
            let written = serde_json::to_string(&config).unwrap();
            assert_eq!(serde_json::from_str::<Config>(&written).unwrap(), config, "{written}");
        }
    }

    #[test]
    fn the_schema_describes_every_parameter() {
        let schema = serde_json::to_value(schema_for!(Config)).unwrap();
        let variants = schema["oneOf"].as_array().unwrap();
        assert_eq!(variants.len(), ALL.len() + 1, "and those of the user's own");
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            let Some(properties) = definition["properties"].as_object() else { continue };
            for (field, property) in properties {
                assert!(property["description"].is_string(), "{name}.{field} is not described");
            }
        }
    }

    #[test]
    fn the_state_that_is_told_has_names_of_its_own() {
        for info in ALL {
            let mut names = info.state();
            let told = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), told, "{} tells two values by one name", info.name);
            let managed = info.family == "active" || info.family == "shaper";
            assert!(!managed || told > 0, "{} keeps its state to itself", info.name);
        }
        assert_eq!(find("tdqm").map(Info::state).unwrap_or_default(), ["rho", "eta"]);
    }

    #[test]
    fn unknown_parameters_are_refused() {
        let read = |text: &str| serde_json::from_str::<Config>(text);
        assert!(read(r#"{"name":"red","min":"5 packets"}"#).is_ok());
        let message = read(r#"{"name":"red","minimum":"5 packets"}"#).unwrap_err().to_string();
        assert!(message.contains("minimum"), "{message}");
    }
}
