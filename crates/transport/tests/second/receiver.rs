//! The receiver's acknowledgements written anew from RFC 5681 §4.2 (when) and RFC 2018 §3 and §4 (with which ranges), in
//! segments. Named choices of ours that it follows: so many segments for an acknowledgement as configured, at once for what
//! bears PSH or no data, and the stamp of the segment that caused the acknowledgement, where RFC 7323 §4.3 has the earliest one. Six segments
//! are remembered by which ranges changed last; what room is left goes to the lowest ranges.

use std::collections::BTreeSet;

use tailback_core::SeqRange;

use super::asking::Request;
use super::ecn::Echo;

/// An acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    pub number: u64,
    pub size: u64,
    pub blocks: Vec<SeqRange>,
    pub echo: Option<u64>,
    /// Whether a mark is echoed.
    pub marks: bool,
}

/// A data packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub number: u64,
    /// It bears PSH, or no data.
    pub at_once: bool,
    pub stamp: Option<u64>,
    pub marked: bool,
    pub cwr: bool,
    pub request: Option<Request>,
}

/// The receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    every: u32,
    delay: u64,
    most_blocks: usize,
    /// Whether it names what arrives twice, and what it has yet to name (RFC 2883).
    names_twice: bool,
    twice: Option<u64>,
    next: u64,
    beyond: BTreeSet<u64>,
    /// What caused acknowledgements from beyond a hole, the newest first: each stands for the block that it is in now. One that
    /// grows at its end has one place.
    reported: Vec<u64>,
    waiting: u32,
    due: Option<u64>,
    newest: Option<u64>,
    echo: Echo,
    /// How it is configured, and the number of the newest request.
    configured: (u32, u64),
    asked: Option<u64>,
}

impl Receiver {
    pub fn new(every: u32, delay: u64, most_blocks: usize, names_twice: bool) -> Self {
        Self { every, delay, most_blocks, names_twice, configured: (every, delay), ..Self::default() }
    }

    pub fn deadline(&self) -> Option<u64> {
        self.due
    }

    pub fn data(&mut self, now: u64, data: Data) -> Option<Ack> {
        if let Some(request) = data.request {
            self.heed(now, request);
        }
        self.newest = data.stamp;
        // "Expediting Explicit Congestion Notification (ECN) Signals".
        let begins_to_mark = data.marked && self.asked.is_some() && (data.cwr || !self.echo.is_on);
        self.echo.hear(data.marked, data.cwr, data.number < self.next);
        let had_hole = !self.beyond.is_empty();
        let in_order = data.number == self.next;
        let is_twice = data.number < self.next || self.beyond.contains(&data.number);
        self.twice = (self.names_twice && is_twice).then_some(data.number);
        if data.number >= self.next {
            self.beyond.insert(data.number);
        }
        if in_order {
            while self.beyond.remove(&self.next) {
                self.next += 1;
            }
        } else if data.number > self.next {
            if self.reported.first() == Some(&(data.number - 1)) {
                self.reported.remove(0);
            }
            self.reported.insert(0, data.number);
            self.reported.truncate(6);
        }
        if in_order && !had_hole && !data.at_once && !begins_to_mark {
            self.waiting += 1;
            if self.waiting < self.every {
                self.due.get_or_insert(now + self.delay);
                return None;
            }
        }
        Some(self.acknowledge())
    }

    /// The newest request counts, not one that it has overtaken; an acknowledgement that waits leaves no later than it says.
    fn heed(&mut self, now: u64, (number, frequency): Request) {
        if self.asked.is_some_and(|newest| newest >= number) {
            return;
        }
        self.asked = Some(number);
        (self.every, self.delay) = frequency.unwrap_or(self.configured);
        self.due = self.due.map(|due| due.min(now + self.delay));
    }

    pub fn expire(&mut self, now: u64) -> Option<Ack> {
        (self.due? <= now).then(|| self.acknowledge())
    }

    fn acknowledge(&mut self) -> Ack {
        (self.waiting, self.due) = (0, None);
        let mut blocks: Vec<SeqRange> = Vec::new();
        for &within in self.reported.iter().chain(&self.beyond).filter(|within| self.beyond.contains(within))
        {
            let block = self.block_around(within);
            if !blocks.contains(&block) && blocks.len() < self.most_blocks {
                blocks.push(block);
            }
        }
        if let Some(twice) = self.twice.take() {
            self.name_twice(twice, &mut blocks);
        }
        Ack {
            number: self.next,
            size: 40 + 8 * blocks.len() as u64,
            blocks,
            echo: self.newest,
            marks: self.echo.is_on,
        }
    }

    /// RFC 2883 §4: first what arrived twice; where it is part of a larger block, that block behind it. Where there is no room for
    /// both, the block alone.
    fn name_twice(&self, twice: u64, blocks: &mut Vec<SeqRange>) {
        if twice >= self.next {
            let around = self.block_around(twice);
            let Some(at) = blocks.iter().position(|block| *block == around) else { return };
            if self.most_blocks < 2 {
                return;
            }
            blocks.remove(at);
            blocks.insert(0, around);
        }
        blocks.insert(0, SeqRange { start: twice, end: twice + 1 });
        blocks.truncate(self.most_blocks);
    }

    fn block_around(&self, within: u64) -> SeqRange {
        let (mut start, mut end) = (within, within + 1);
        while start > 0 && self.beyond.contains(&(start - 1)) {
            start -= 1;
        }
        while self.beyond.contains(&end) {
            end += 1;
        }
        SeqRange { start, end }
    }
}
