//! The frames and levels of framed and hierarchical round robin as a user describes them. How flows are served by them
//! is decided in [`super::framed`].

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

use super::shares::{check_reservations, check_reserve, check_shares};
use super::{BufferConfig, Share};
use crate::fair::PerFlow;
use crate::fair::framed::{Frame, Framed};
use crate::known::NamedFlow;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, numbered, shared};

/// Framed round robin: in each frame of constant length every flow may send its allotment, and no more even when the
/// line stays idle (Keshav 1994, §2.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FramedRoundRobinConfig {
    /// The length of a frame, from 10 µs to 1 s. Default 10 ms.
    pub frame: Span,
    /// The part of the link's rate that is allotted to a flow of weight 1, above 0, at most 1. Default 0.1.
    pub reserve: f64,
    /// Weights, as multiples of `reserve`; flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

/// Hierarchical round robin (Kalmanek, Kanakia and Keshav 1990): levels of framed round robin, the faster first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HierarchicalRoundRobinConfig {
    /// The levels, each with a longer frame than the one before. Default: 1 ms with half of the rate, and 10 ms with
    /// the other half.
    pub levels: Vec<LevelConfig>,
    /// The part of the link's rate that is allotted to a flow of weight 1, above 0, at most 1. Default 0.1.
    pub reserve: f64,
    /// Weights, as multiples of `reserve`; flows named nowhere have weight 1.
    pub shares: Vec<Share>,
    /// How the flows share the link's buffer.
    pub buffer: BufferConfig,
}

/// One level of a hierarchical server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LevelConfig {
    /// The length of a frame, from 10 µs to 1 s. Default 10 ms.
    pub frame: Span,
    /// The part of the link's rate that all flows of this level have together; those of all levels add up to at most
    /// 1. Default 0.5.
    pub part: f64,
    /// The flows that belong to this level, by the names of groups or flows, or by numbers counted from 0 over all groups in
    /// their order; a flow named nowhere belongs to the last.
    pub flows: Vec<NamedFlow>,
}

impl Default for FramedRoundRobinConfig {
    fn default() -> Self {
        Self {
            frame: Span::from_millis(10),
            reserve: 0.1,
            shares: Vec::new(),
            buffer: BufferConfig::default(),
        }
    }
}

impl Default for LevelConfig {
    fn default() -> Self {
        Self { frame: Span::from_millis(10), part: 0.5, flows: Vec::new() }
    }
}

impl Default for HierarchicalRoundRobinConfig {
    fn default() -> Self {
        let fast = LevelConfig { frame: Span::from_millis(1), ..LevelConfig::default() };
        Self {
            levels: vec![fast, LevelConfig::default()],
            reserve: 0.1,
            shares: Vec::new(),
            buffer: BufferConfig::default(),
        }
    }
}

/// More levels than this would be looked through for each packet in vain.
const MOST_LEVELS: usize = 64;

fn check_frame(frame: Span, checker: &mut Checker) {
    let ok = (Span::from_micros(10)..=Span::from_secs(1)).contains(&frame);
    checker.require(ok, "frame", frame, "a time from 10 µs to 1 s");
}

impl FramedRoundRobinConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_frame(self.frame, checker);
        check_reserve(self.reserve, checker);
        check_shares(&self.shares, "shares", checker);
        check_reservations(&self.shares, self.reserve, checker);
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for FramedRoundRobinConfig {
    type Queue = Box<PerFlow<Framed>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "framed-round-robin",
            family: "fair",
            summary: "Each flow has an allotment per frame of constant length; the line idles rather than exceed it",
            source: "Keshav, Packet-Pair Flow Control, 1994, §2.1",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        let frame = Frame { length: self.frame, part: 1.0, flows: &[] };
        PerFlow::boxed(Framed::new(&[frame], self.reserve, cx), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        shared(&self.shares)
    }
}

impl HierarchicalRoundRobinConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        let many = self.levels.len();
        let allowed = format_args!("from 1 to {MOST_LEVELS} levels");
        checker.require((1..=MOST_LEVELS).contains(&many), "levels", format_args!("{many} levels"), allowed);
        let mut above = Span::ZERO;
        let mut named = BTreeSet::new();
        for (index, level) in self.levels.iter().enumerate() {
            checker.within(format!("levels[{index}]"), |checker| {
                check_frame(level.frame, checker);
                let longer = level.frame > above;
                checker.require(
                    longer,
                    "frame",
                    level.frame,
                    format!("longer than {above}, the frame of the level before"),
                );
                let part = level.part;
                checker.require(part > 0.0 && part <= 1.0, "part", part, "above 0, at most 1");
                for flow in &level.flows {
                    checker.require(
                        named.insert(flow.clone()),
                        "flows",
                        flow,
                        "a flow that is named only once",
                    );
                }
            });
            above = level.frame;
        }
        let sum: f64 = self.levels.iter().map(|level| level.part).sum();
        checker.require(
            sum <= 1.0 + 1e-9 || self.levels.iter().any(|level| level.part > 1.0),
            "levels",
            format!("parts that add up to {sum}"),
            "at most 1 in all",
        );
        check_reserve(self.reserve, checker);
        check_shares(&self.shares, "shares", checker);
        check_reservations(&self.shares, self.reserve, checker);
        checker.within("buffer", |checker| self.buffer.check(checker));
    }
}

impl QueueConfig for HierarchicalRoundRobinConfig {
    type Queue = Box<PerFlow<Framed>>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "hierarchical-round-robin",
            family: "fair",
            summary: "Framed round robin on several levels, from short frames to long",
            source: "Kalmanek, Kanakia and Keshav, Rate Controlled Servers for Very High-Speed Networks, 1990",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        let frames: Vec<_> = self
            .levels
            .iter()
            .map(|level| Frame { length: level.frame, part: level.part, flows: &level.flows })
            .collect();
        PerFlow::boxed(Framed::new(&frames, self.reserve, cx), &self.shares, &self.buffer, cx)
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        let mut lists = shared(&self.shares);
        lists.extend(numbered("levels", self.levels.iter().map(|level| &level.flows)));
        lists
    }
}
