//! The retransmission timer written anew from RFC 6298, in nanoseconds as real numbers. Named choices of ours that it follows:
//! a minimum of 200 ms where §2.4 says 1 s; a back-off that lasts until the next sample, as §5 leaves open; an exact clock,
//! G = 0.

/// SRTT, RTTVAR and RTO, and when the timer expires.
#[derive(Clone, Debug)]
pub struct Timer {
    pub min: f64,
    pub max: f64,
    pub rto: f64,
    smoothed: Option<(f64, f64)>,
    pub least: f64,
    pub deadline: Option<f64>,
}

impl Timer {
    /// §2.1: one second before any sample.
    pub fn new(min: f64, max: f64) -> Self {
        Self { min, max, rto: 1e9, smoothed: None, least: f64::INFINITY, deadline: None }
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
        self.rto = (srtt + 4.0 * variation).clamp(self.min, self.max);
    }

    /// §5.1: data leaves.
    pub fn left(&mut self, now: f64) {
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rto);
        }
    }

    /// §5.2 and §5.3: new data is acknowledged.
    pub fn acknowledged(&mut self, now: f64, anything_outstanding: bool) {
        self.deadline = anything_outstanding.then_some(now + self.rto);
    }

    /// It begins anew, whatever is outstanding.
    pub fn restart(&mut self, now: f64) {
        self.deadline = Some(now + self.rto);
    }

    /// §5.5 and §5.6.
    pub fn expire(&mut self, now: f64) {
        self.rto = (2.0 * self.rto).min(self.max);
        self.deadline = Some(now + self.rto);
    }
}
