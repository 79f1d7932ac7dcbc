//! A sender of a stream as a whole, written a second time: slowly, and plainly. What the application waits for, what the controller
//! directs, and one of the second writings of recovery, put together.

use tailback_core::{Bytes, CongestionEvent, Gate, PairPosition, Recovery, Stream};

use super::super::shaper::{NEVER, Shaper};
use super::super::{HEADER, Left, Options, PAYLOAD, SEGMENT, Second, Told};
use super::law::Law;

/// What comes out of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    Data(Left, PairPosition),
    /// A control packet of a pair, out of band or not.
    Control(u64, bool),
    /// The application hears that the gate was opened or closed.
    Gate(bool),
}

pub struct Anew<S> {
    pub second: S,
    pub law: Law,
    /// None before more than a window is directed: no random number is drawn before.
    pub shaper: Option<Shaper>,
    pub rng: Stream,
    /// Bytes of the application that wait, and when it wrote last.
    waiting: u64,
    written_at: u64,
    /// Since when nothing was sent; none before, and where windows do not begin anew after a rest.
    rests_since: Option<u64>,
    restarts: bool,
    gate: Gate,
    gate_changed: bool,
    /// When the shaper lets the next packet go.
    pub wake: Option<u64>,
}

/// The size of the next new segment, where so much waits.
fn segment(waiting: u64) -> u64 {
    if waiting == 0 { 0 } else { waiting.min(PAYLOAD) + HEADER }
}

impl<S: Second + Clone> Anew<S> {
    pub fn new(options: &Options, second: S, law: Law) -> Self {
        Self {
            second,
            law,
            shaper: None,
            rng: Stream::new(1, "sender"),
            waiting: 0,
            written_at: 0,
            rests_since: None,
            restarts: options.restart_after_idle,
            gate: Gate::Open,
            gate_changed: false,
            wake: None,
        }
    }

    pub fn write(&mut self, now: u64, bytes: u64) {
        self.waiting += bytes;
        self.written_at = now;
    }

    /// "After each of these the caller reads the directive once and obeys it."
    pub fn obey(&mut self, now: u64) {
        let directive = self.law.directive();
        self.gate_changed |= directive.gate != self.gate;
        self.gate = directive.gate;
        let is_more = directive.rate.is_some() || directive.probe.is_some() || directive.gate != Gate::Open;
        if self.shaper.is_none() && is_more {
            self.shaper = Some(Shaper::new(now, SEGMENT));
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.direct(now, &directive, &mut self.rng);
        }
    }

    pub fn window(&self) -> u64 {
        self.law.directive().window.map_or(u64::MAX, Bytes::get)
    }

    /// The law hears of what recovery has found.
    pub fn hear(&mut self, now: u64, told: Option<Told>, all: &mut Vec<Told>) {
        for told in told.into_iter().chain(self.second.behind()) {
            if let (Some(CongestionEvent::Timeout { .. }), Some(shaper)) = (told.event, &mut self.shaper) {
                shaper.time_out(now, &mut self.rng);
            }
            self.law.hear(told.event);
            self.obey(now);
            all.push(told);
        }
        self.second.heard(self.window());
    }

    /// What comes out now.
    pub fn out(&mut self, now: u64, all: &mut Vec<Told>) -> Vec<Out> {
        let mut out = Vec::new();
        self.wake = None;
        loop {
            if std::mem::take(&mut self.gate_changed) {
                out.push(Out::Gate(self.gate.is_open()));
            } else if let Some((pair, first)) = self.shaper.as_mut().and_then(Shaper::take_control) {
                out.push(Out::Control(pair, first));
            } else if let Some(rested) = self.rest(now) {
                self.law.hear(rested.event);
                self.obey(now);
                all.push(rested);
            } else if let Some((left, place)) = self.next(now) {
                // It hears of what leaves, too.
                self.obey(now);
                self.rests_since = self.restarts.then_some(now);
                out.push(Out::Data(left, place));
            } else {
                return out;
            }
        }
    }

    /// The next data packet, if one may leave now.
    fn next(&mut self, now: u64) -> Option<(Left, PairPosition)> {
        self.wake = None;
        self.second.offer(segment(self.waiting));
        let mut tried = self.second.clone();
        let Some(left) = tried.next(now, self.window(), segment(self.waiting)) else {
            if let Some(shaper) = &mut self.shaper {
                shaper.pass();
            }
            return None;
        };
        let waiting = if left.again { self.waiting } else { self.waiting + HEADER - left.size };
        let (mut behind, mut since) = (None, None);
        if self.shaper.as_ref().is_some_and(Shaper::wants_pairs) {
            let follows = |window| tried.clone().next(now, window, segment(waiting));
            behind = follows(self.window()).map(|left| left.size);
            // "A lone packet waits for its partner" from when its data was written; one that leaves again has waited long enough; and
            // where only the window, or the receiver's, has no room for a partner that is there, from now on.
            if follows(u64::MAX).is_none() {
                since = match (left.again, waiting) {
                    (true, _) => Some(0),
                    (false, 0) => Some(self.written_at),
                    _ => None,
                };
            }
        }
        let place = match &mut self.shaper {
            None => Ok(PairPosition::Single),
            Some(shaper) => shaper.ask(now, left.size, behind, since, &mut self.rng),
        };
        match place {
            Ok(place) => {
                self.second = tried;
                self.waiting = waiting;
                Some((left, place))
            }
            Err(at) => {
                self.wake = Some(at).filter(|at| *at != NEVER);
                None
            }
        }
    }

    /// RFC 5681 §4.1: data is about to leave, and none has "in an interval exceeding the retransmission timeout".
    fn rest(&mut self, now: u64) -> Option<Told> {
        let rested = (now - self.rests_since?) as f64 > self.second.timer().rto();
        if !rested || self.waiting == 0 || !self.second.is_idle() {
            return None;
        }
        self.rests_since = Some(now);
        Some(Told {
            acked: Vec::new(),
            lost: Vec::new(),
            advanced: 0,
            outstanding: 0,
            in_flight: 0,
            event: Some(CongestionEvent::Idle),
            recovery: self.idle_recovery(),
            rtt: None,
        })
    }

    fn idle_recovery(&self) -> Recovery {
        self.second.recovery()
    }

    /// Everything that it waits for.
    pub fn waits_for(&self) -> Vec<f64> {
        let whole = [self.wake, self.law.turns_at()].into_iter().flatten().map(|at| at as f64);
        whole.chain(self.second.deadline()).collect()
    }
}
