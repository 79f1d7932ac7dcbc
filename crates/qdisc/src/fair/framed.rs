//! Framed and hierarchical round robin: servers that leave the line idle rather than exceed a flow's allotment.
//!
//! A frame is a constant length of time, and in each a flow may send no more than its allotment (Keshav 1994,
//! §2.1). A hierarchical server (Kalmanek, Kanakia and Keshav, "Rate Controlled Servers for Very High-Speed Networks",
//! 1990) has several levels of frames, each slower than the one above: in every frame of a level, all slower levels
//! together may send no more than the part of that frame left to them. Short frames bound the delay of fast flows;
//! long frames allow fine allotments for slow ones.
//!
//! Allotments here are bytes instead of the 1990 paper's slots, and what is left of one that is too little for the
//! next packet is kept for the next frame, so that over k frames a flow sends at most k allotments and one packet.
//! Levels take turns, from the one after that served last, and so do the flows of a level, packet by packet. A slower level
//! may begin a packet while anything is left for it; what that is too much counts in the next frame. A flow without a packet
//! keeps what it had in a frame until the next. Frames start at multiples of their length. Allotments that add up to more than a frame holds share what there is.
//! What frames and levels there may be is described in [`super::frames`].

use std::collections::VecDeque;

use tailback_core::{Bytes, Packet, QueueCx, Span, Time};

use super::shares::FlowMap;
use super::{Flows, Plain, Scheduler};
use crate::known::NamedFlow;
use crate::parts::BuildCx;

/// A level as it is described: its frame, the part of the link's rate that its flows have together, and those flows.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// How long a frame lasts.
    pub length: Span,
    /// The part of the link's rate.
    pub part: f64,
    /// The flows; those named nowhere belong to the last level.
    pub flows: &'a [NamedFlow],
}

/// A level at work.
#[derive(Clone, Debug)]
struct Level {
    frame: Span,
    /// Bytes per frame and unit of weight.
    allotment: f64,
    /// Bytes per frame that slower levels may send together, and what is left of them in this frame.
    below: f64,
    below_left: f64,
    /// The number of the present frame, and where the next begins.
    number: u64,
    ends: Time,
    /// Flows that may send in this frame, and those that must wait for the next.
    eligible: VecDeque<u32>,
    waiting: VecDeque<u32>,
}

impl Level {
    /// Whether a flow has had its allotment of the present frame.
    const fn has_supplied(&self, flow: &Allotment) -> bool {
        flow.numbered && flow.number == self.number as u32
    }

    /// Where the frame after that of `now` begins.
    fn next_frame(&self, now: Time) -> Time {
        let number = now.as_nanos() / self.frame.as_nanos() + 1;
        Time::from_nanos(number.saturating_mul(self.frame.as_nanos()))
    }
}

/// Flows that waited for a frame are fetched from memory so many before their turn.
const LOOKAHEAD: usize = 8;

/// Framed round robin on one or more levels.
#[derive(Clone, Debug)]
pub struct Framed {
    levels: Vec<Level>,
    level_of: FlowMap<u8>,
    /// The level served last: levels take turns.
    served: usize,
}

/// A flow's place in the frames. A flow that may send is listed; one that must wait for the next frame bears the mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allotment {
    /// The frame that `credit` belongs to, if any yet. No flow waits until the numbers, cut to this width, come round.
    number: u32,
    numbered: bool,
    /// Counted from one; zero while it is not known.
    level: u8,
    credit: f64,
}

type FramedFlows = Flows<Allotment, Plain>;

impl Framed {
    /// These levels, the fastest first, where a flow of weight 1 has the part `reserve` of the link's rate.
    pub fn new(frames: &[Frame<'_>], reserve: f64, cx: &BuildCx) -> Self {
        let rate = cx.rate.bytes_per_sec();
        let mut level_of = FlowMap::default();
        let mut levels = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            let frame_bytes = rate * frame.length.as_secs_f64();
            let part_below: f64 = frames[index + 1..].iter().map(|level| level.part).sum();
            levels.push(Level {
                frame: frame.length,
                allotment: frame_bytes * reserve,
                below: frame_bytes * part_below,
                below_left: frame_bytes * part_below,
                number: 0,
                ends: Time::ZERO + frame.length,
                eligible: VecDeque::new(),
                waiting: VecDeque::new(),
            });
            level_of.extend(cx.flows.numbers(frame.flows).map(|flow| (flow, index as u8)));
        }
        Self { levels, level_of, served: 0 }
    }

    /// Begins a new frame of each level whose time has come.
    fn turn(&mut self, now: Time, flows: &mut FramedFlows) {
        for level in &mut self.levels {
            if now < level.ends {
                continue;
            }
            level.number = now.as_nanos() / level.frame.as_nanos();
            level.ends = level.next_frame(now);
            level.below_left = level.below + level.below_left.min(0.0);
            while let Some(slot) = level.waiting.pop_front() {
                if let Some(ahead) = level.waiting.get(LOOKAHEAD) {
                    flows.fetch(*ahead);
                }
                if !flows.get(slot).is_listed() {
                    flows.list(slot);
                    level.eligible.push_back(slot);
                }
                flows.unmark(slot);
            }
        }
    }

    /// The flow of `level` to serve, if one may send.
    fn select_in(level: &mut Level, flows: &mut FramedFlows) -> Option<u32> {
        loop {
            let slot = *level.eligible.front()?;
            let weight = flows.weight(slot);
            let Some(packet) = flows.head(slot) else {
                level.eligible.pop_front();
                Self::rest(level, flows, slot);
                continue;
            };
            let size = packet.size().as_f64();
            let flow = flows.state(slot);
            if !level.has_supplied(flow) {
                (flow.numbered, flow.number) = (true, level.number as u32);
                // More than a packet is left only where the line was too busy; that is no claim on later frames.
                flow.credit = flow.credit.min(size) + level.allotment * weight;
            }
            if flow.credit >= size {
                return Some(slot);
            }
            level.eligible.pop_front();
            Self::wait(level, flows, slot);
        }
    }

    /// `slot`, just taken from the eligible, has nothing to send. Its allotment is remembered until the frame's end,
    /// so that it does not come back for a second one.
    fn rest(level: &mut Level, flows: &mut FramedFlows, slot: u32) {
        if level.has_supplied(&flows.get(slot).state) {
            Self::wait(level, flows, slot);
        } else {
            flows.unlist(slot);
        }
    }

    /// `slot`, just taken from the eligible, must wait for the next frame.
    fn wait(level: &mut Level, flows: &mut FramedFlows, slot: u32) {
        if !flows.get(slot).is_marked() {
            flows.mark(slot);
            level.waiting.push_back(slot);
        }
        flows.unlist(slot);
    }

    /// Whether the faster levels leave `level` something of their present frames.
    fn open(&self, level: usize) -> bool {
        self.levels[..level].iter().all(|above| above.below_left > 0.0)
    }
}

impl Scheduler for Framed {
    type Flow = Allotment;
    type Note = Plain;

    fn note(
        &mut self,
        now: Time,
        flows: &mut FramedFlows,
        slot: u32,
        packet: &Packet,
        _cx: &QueueCx<'_>,
    ) -> Plain {
        self.turn(now, flows);
        let last = self.levels.len() - 1;
        let flow = flows.state(slot);
        if flow.level == 0 {
            flow.level = self.level_of.get(&packet.flow.0).copied().unwrap_or(last as u8) + 1;
        }
        Plain
    }

    fn activated(&mut self, flows: &mut FramedFlows, slot: u32) {
        let flow = flows.get(slot);
        if flow.is_listed() {
            return;
        }
        let level = usize::from(flow.state.level) - 1;
        self.levels[level].eligible.push_back(slot);
        flows.list(slot);
    }

    fn select(&mut self, now: Time, flows: &mut FramedFlows) -> Option<u32> {
        self.turn(now, flows);
        let count = self.levels.len();
        for step in 1..=count {
            let index = (self.served + step) % count;
            if self.open(index)
                && let Some(slot) = Self::select_in(&mut self.levels[index], flows)
            {
                self.served = index;
                return Some(slot);
            }
        }
        None
    }

    fn served(&mut self, _now: Time, flows: &mut FramedFlows, slot: u32, size: Bytes) {
        let size = size.as_f64();
        let empty = flows.get(slot).is_empty();
        let flow = flows.state(slot);
        flow.credit -= size;
        let index = usize::from(flow.level) - 1;
        for above in &mut self.levels[..index] {
            above.below_left -= size;
        }
        let level = &mut self.levels[index];
        level.eligible.pop_front();
        if empty {
            Self::rest(level, flows, slot);
        } else {
            level.eligible.push_back(slot);
        }
    }

    fn ahead(&self, steps: usize) -> Option<u32> {
        // With one level, and of no use but no harm with several, where the level served last may not be the next.
        self.levels[self.served].eligible.get(steps).copied()
    }

    fn next_ready(&self, now: Time, flows: &FramedFlows) -> Option<Time> {
        if flows.backlog().packets == 0 {
            return None;
        }
        let mut earliest: Option<Time> = None;
        for (index, level) in self.levels.iter().enumerate() {
            let closed = self.levels[..index].iter().find(|above| above.below_left <= 0.0);
            let waits_for = match closed {
                Some(above) if !level.eligible.is_empty() || !level.waiting.is_empty() => {
                    above.next_frame(now)
                }
                None if !level.waiting.is_empty() => level.next_frame(now),
                _ => continue,
            };
            earliest = Some(earliest.map_or(waits_for, |time| time.min(waits_for)));
        }
        earliest
    }
}
