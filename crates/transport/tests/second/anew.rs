//! The second writing's sender as a whole: one of the writings of recovery, with the law, the connection's request, the rate, and
//! rests. What recovery decides stands in files of its own.

use tailback_core::CongestionEvent;

use super::asking::Asking;
use super::bucket::{Bucket, Rate};
use super::law::Law;
use super::{HEADER, Left, Options, PAYLOAD, SEGMENT, Second, Seen, Told};

/// Where the second writing's connection stands (RFC 9293 §3.5): a request that bears no data, and its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Due,
    Requested,
    Done,
}

/// The sender.
pub struct Anew<S> {
    pub now: u64,
    pub second: S,
    pub law: Law,
    /// Bytes of the application, without headers, that wait.
    pub waiting: u64,
    /// When anything last left; none before, and where windows do not begin anew after a rest.
    rests_since: Option<u64>,
    restarts: bool,
    opening: Opening,
    bucket: Option<Bucket>,
    /// Where the window is spread over a round trip: by a factor, and so many bytes at once.
    pacing: Option<(f64, u64)>,
    /// The smoothed round trip in whole nanoseconds, as both writings have it, and what of it paces.
    pub smoothed: u64,
    paces: Option<u64>,
    /// Where the law asks the receiver.
    asking: Option<Asking>,
    una: u64,
    next: u64,
    /// When the rate lets the next packet go.
    pub wake: Option<u64>,
    /// An echo keeps it silent.
    pub is_silent: bool,
    pub marking: bool,
}

impl<S: Second + Clone> Anew<S> {
    pub fn new(options: &Options, second: S, law: Law) -> Self {
        let beside = options.beside;
        Self {
            now: 0,
            second,
            bucket: law.rate().map(|rate| Bucket::new(0, rate)),
            law,
            pacing: beside.pacing,
            smoothed: 0,
            paces: None,
            asking: beside.asks.map(|_| Asking::default()),
            una: 0,
            next: 0,
            waiting: 0,
            rests_since: None,
            restarts: options.restart_after_idle,
            opening: if beside.handshake { Opening::Due } else { Opening::Done },
            wake: None,
            is_silent: false,
            marking: beside.ecn,
        }
    }

    /// What leaves and what the law hears, where recovery has said this.
    pub fn answer(&mut self, told: Option<Told>) -> (Vec<(Left, Seen)>, Vec<Told>) {
        let mut told = told;
        let echoes_at_one = self.law.window <= SEGMENT
            && told.as_ref().is_some_and(|told| told.event == Some(CongestionEvent::Ecn));
        if let Some(told) = told.as_mut().filter(|told| told.advanced > 0)
            && self.opening == Opening::Requested
        {
            // RFC 5681 §3.1: the request's acknowledgement does not open the window.
            (self.opening, told.advanced) = (Opening::Done, 0);
            if self.second.timer().srtt().is_none() {
                self.second.timer_mut().request_was_lost();
            }
        }
        let mut all: Vec<Told> = told.into_iter().chain(self.second.behind()).collect();
        for told in &all {
            self.law_hears(told);
        }
        if echoes_at_one {
            self.is_silent = self.second.fall_silent(self.now);
        }
        if let Some(rested) = self.rest() {
            self.law_hears(&rested);
            all.push(rested);
        }
        self.second.heard(self.law.window);
        let mut left = Vec::new();
        self.wake = None;
        while let Some(packet) = self.next() {
            self.rests_since = self.restarts.then_some(self.now);
            let seen = self.see(&packet);
            left.push((packet, seen));
        }
        (left, all)
    }

    fn law_hears(&mut self, told: &Told) {
        self.law.hear(told.event, told.advanced, told.outstanding, told.recovery);
        if told.rtt.is_some() {
            self.paces = Some(self.smoothed);
        }
        if let Some(rate) = self.law.rate().or_else(|| self.spread()) {
            let bucket = self.bucket.get_or_insert_with(|| Bucket::new(self.now, rate));
            if matches!(told.event, Some(CongestionEvent::Timeout { .. })) {
                bucket.time_out(self.now);
            }
            bucket.direct(self.now, rate);
        }
    }

    /// The next packet of the second writing, if one may leave now.
    fn next(&mut self) -> Option<Left> {
        if self.is_silent {
            return None;
        }
        let waiting = match (self.opening, self.waiting.min(PAYLOAD)) {
            (_, 0) | (Opening::Requested, _) => 0,
            (Opening::Due, _) => HEADER,
            (Opening::Done, payload) => payload + HEADER,
        };
        let window = self.law.window;
        // Apart from what leaves, which a rate may hold back.
        self.second.offer(waiting);
        let packet = match &mut self.bucket {
            None => self.second.next(self.now, window, waiting)?,
            Some(bucket) => {
                let mut tried = self.second.clone();
                let packet = tried.next(self.now, window, waiting)?;
                if let Err(later) = bucket.take(self.now, packet.size) {
                    self.wake = Some(later);
                    return None;
                }
                self.second = tried;
                packet
            }
        };
        if !packet.again {
            self.waiting -= packet.size - HEADER;
        }
        Some(packet)
    }

    /// RFC 9002 §7.7: the rate is N times window over smoothed round trip; none before a round trip is measured.
    fn spread(&self) -> Option<Rate> {
        let (factor, depth) = self.pacing?;
        let bits = self.law.window * 8_000_000_000 / self.paces?.max(1);
        Some(Rate { bits: (bits as f64 * factor).round() as u64, depth })
    }

    /// What else is to be seen on a packet that leaves.
    fn see(&mut self, packet: &Left) -> Seen {
        let mut seen =
            Seen { number: packet.number, ecn_capable: false, cwr: false, pushed: false, request: None };
        if !packet.again && self.opening == Opening::Due {
            self.opening = Opening::Requested;
        } else if !packet.again && self.marking {
            (seen.ecn_capable, seen.cwr) = (true, self.second.take_cwr());
        }
        if let Some(asking) = &mut self.asking {
            let next = if packet.again { self.next } else { packet.number };
            let (request, at_once) = asking.leaves(self.law.wish(), next, self.una);
            seen.request = request;
            let alone = packet.again && packet.in_flight <= packet.size;
            seen.pushed = at_once || alone || self.waiting == 0;
            self.second.hold(asking.longest());
        }
        self.next += u64::from(!packet.again);
        seen
    }

    /// So much is acknowledged.
    pub fn acknowledged(&mut self, number: u64) {
        self.una = self.una.max(number.min(self.next));
    }

    /// RFC 5681 §4.1: data is about to leave, and none has "in an interval exceeding the retransmission timeout".
    fn rest(&mut self) -> Option<Told> {
        let rested = (self.now - self.rests_since?) as f64 > self.second.timer().rto();
        if !rested || self.waiting == 0 || !self.second.is_idle() {
            return None;
        }
        self.rests_since = Some(self.now);
        Some(Told {
            acked: Vec::new(),
            lost: Vec::new(),
            advanced: 0,
            outstanding: 0,
            in_flight: 0,
            event: Some(CongestionEvent::Idle),
            recovery: self.second.recovery(),
            rtt: None,
        })
    }
}
