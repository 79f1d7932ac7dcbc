//! The retransmission timer written anew from RFC 6298, in nanoseconds as real numbers. Named choices of ours that it follows:
//! a minimum of 200 ms where §2.4 says 1 s; a back-off that lasts until the next sample, as §5 leaves open; an exact clock. What
//! §2.3 calls G, the least that the variation counts for, is configured. Where the receiver was asked to hold acknowledgements back,
//! the timeout is as much longer, before the back-off (RFC 9002 §6.2.1, `max_ack_delay`), and so is a timer that runs already.

use super::Options;

/// SRTT, RTTVAR and RTO, and when the timer expires.
#[derive(Clone, Debug)]
pub struct Timer {
    pub min: f64,
    pub max: f64,
    /// G of §2.3.
    pub least_variation: f64,
    /// Without what the receiver holds back, and without back-off.
    base: f64,
    backoff: f64,
    /// For so long the receiver may hold acknowledgements back.
    pub held: f64,
    smoothed: Option<(f64, f64)>,
    pub least: f64,
    pub deadline: Option<f64>,
}

impl Timer {
    /// §2.1: one second before any sample.
    pub fn new(options: &Options) -> Self {
        Self {
            min: options.min_rto,
            max: options.max_rto,
            least_variation: options.least_variation,
            base: 1e9,
            backoff: 1.0,
            held: 0.0,
            smoothed: None,
            least: f64::INFINITY,
            deadline: None,
        }
    }

    pub fn rto(&self) -> f64 {
        ((self.base + self.held) * self.backoff).min(self.max)
    }

    /// The receiver is asked to hold acknowledgements back for so long.
    pub fn hold(&mut self, held: f64) {
        let longer = (held - self.held).max(0.0);
        self.held = held;
        self.deadline = self.deadline.map(|due| due + longer);
    }

    pub fn srtt(&self) -> Option<f64> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// §2.2 to §2.5.
    pub fn sample(&mut self, trip: f64) {
        let (srtt, variation) = match self.smoothed {
            None => (trip, trip / 2.0),
            Some((srtt, variation)) => {
                (0.875 * srtt + 0.125 * trip, 0.75 * variation + 0.25 * (srtt - trip).abs())
            }
        };
        self.smoothed = Some((srtt, variation));
        self.least = self.least.min(trip);
        self.base = (srtt + self.least_variation.max(4.0 * variation)).max(self.min);
        self.backoff = 1.0;
    }

    /// §5.7: "If the timer expires awaiting the ACK of a SYN segment", and nothing was measured.
    pub fn request_was_lost(&mut self) {
        if self.base < 3e9 {
            (self.base, self.backoff) = (3e9, 1.0);
        }
    }

    /// §5.1: data leaves.
    pub fn left(&mut self, now: f64) {
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rto());
        }
    }

    /// §5.2 and §5.3: new data is acknowledged.
    pub fn acknowledged(&mut self, now: f64, anything_outstanding: bool) {
        self.deadline = anything_outstanding.then_some(now + self.rto());
    }

    /// It begins anew, whatever is outstanding.
    pub fn restart(&mut self, now: f64) {
        self.deadline = Some(now + self.rto());
    }

    /// §5.5 and §5.6: it begins with the retransmission, or at once if anything is still in the network.
    pub fn expire(&mut self, now: f64, anything_flies: bool) {
        self.backoff *= 2.0;
        self.deadline = anything_flies.then_some(now + self.rto());
    }
}
