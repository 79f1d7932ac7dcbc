//! The loss event rate that a slower flow would see, from the losses of this one: every packet takes part with a
//! probability, so that those that do pass at the slower flow's rate, and loss events are found among them alone
//! (`loss_events.rs`).
//!
//! The loss event rate of RFC 5348 depends on the rate at which it is measured: losses within a round trip are one event,
//! so the more packets pass per round trip, the fewer events there are per packet (Ramesh and Rhee 1999; Widmer, Mauve and
//! Damm, §5.5). With independent loss ℓ at X packets per second an event costs the rest of its round trip, and the mean
//! interval is `1/ℓ + X R` packets; with bursts that are shorter than a round trip the events per second are the same at any
//! rate. Thinning needs neither assumption: what takes part are packets that the network really lost or carried.
//!
//! It stops working where the flow's packets do not see what the other's would: a TCP that sends in bursts loses more
//! of each burst; a flow that is itself the congestion (R1 of the paper broken) would leave less loss if it were
//! slower; and a flow that is slower than the one it imitates cannot be thinned at all and is measured as it is.

use std::collections::VecDeque;

use tailback_core::rng::mix;
use tailback_core::{Span, Time};

use super::loss_events::{Counting, Judged, LossEvents};
use super::loss_intervals::LossIntervalsConfig;

/// So many numbers are remembered for packets that come late.
const REMEMBERED: usize = 256;
/// A jump in numbers beyond this is counted, not looked at packet by packet.
const LOOKED_AT: u64 = 100_000;

/// Loss events among a random share of the packets.
#[derive(Clone, Debug)]
pub struct ThinnedLosses {
    events: LossEvents,
    /// Decides who takes part.
    salt: u64,
    /// The next number not yet decided on.
    next: u64,
    /// How many take part so far: the numbers of the slower flow.
    part: u64,
    /// The place in the slower flow of the last numbers decided on, if they take part.
    recent: VecDeque<Option<u64>>,
    started: bool,
}

impl ThinnedLosses {
    /// Without history; `salt` decides who takes part.
    pub fn new(config: &LossIntervalsConfig, salt: u64) -> Self {
        Self {
            events: LossEvents::new(config, Counting::Events),
            salt,
            next: 0,
            part: 0,
            recent: VecDeque::new(),
            started: false,
        }
    }

    /// Loss events of the slower flow.
    pub fn events(&self) -> &LossEvents {
        &self.events
    }

    /// Forgets everything but the numbers.
    pub fn restart(&mut self) {
        self.events.restart();
        self.recent.clear();
        self.started = false;
    }

    /// Begins anew with a full history of intervals of so many packets of the slower flow.
    pub fn presume(&mut self, packets: f64) {
        self.restart();
        self.events.presume(packets);
    }

    /// A packet arrived, of which the share `share` takes part from the last number on.
    pub fn on_arrival(
        &mut self,
        now: Time,
        number: u64,
        marked: bool,
        is_new: bool,
        round_trip: Span,
        share: f64,
    ) -> Judged {
        if !self.started {
            (self.started, self.next) = (true, number);
        }
        if number >= self.next {
            self.decide(number, share);
        }
        let age = (self.next - 1 - number.min(self.next - 1)) as usize;
        let place = self.recent.len().checked_sub(age + 1).and_then(|index| self.recent[index]);
        place.map_or_else(Judged::default, |place| {
            self.events.on_arrival(now, place, marked, is_new, round_trip)
        })
    }

    /// Who takes part among the numbers up to this one.
    fn decide(&mut self, number: u64, share: f64) {
        let first = number.saturating_sub(LOOKED_AT);
        if first > self.next {
            self.part += ((first - self.next) as f64 * share) as u64;
            self.next = first;
        }
        for candidate in self.next..=number {
            let draw = (mix(candidate ^ self.salt) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
            let place = (draw < share).then_some(self.part);
            self.part += u64::from(place.is_some());
            if self.recent.len() == REMEMBERED {
                self.recent.pop_front();
            }
            self.recent.push_back(place);
        }
        self.next = number.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    /// The event rate of a flow with a packet per `gap` microseconds under independent loss, a share of it taking part; and the
    /// other way round what a flow of that rate sees.
    fn measured(gap: u64, share: f64, loss: f64) -> f64 {
        let config = LossIntervalsConfig { intervals: 64, discounting: false };
        let mut losses = ThinnedLosses::new(&config, 7);
        let mut rng = Stream::new(3, "losses");
        let (mut sum, mut count) = (0.0, 0.0);
        for number in 0..400_000_u64 {
            if !rng.chance(loss) {
                let at = Time::ZERO + Span::from_micros(gap * number);
                losses.on_arrival(at, number, false, true, Span::from_millis(100), share);
                sum += losses.events().event_rate();
                count += 1.0;
            }
        }
        sum / count
    }

    #[test]
    fn a_fast_flow_thinned_sees_what_a_slow_one_sees() {
        // 100 packets per round trip at 1 %: events every 1/0.01 + 100 packets. A quarter of them: every 1/0.01 + 25.
        let (all, thinned, slow) =
            (measured(1000, 1.0, 0.01), measured(1000, 0.25, 0.01), measured(4000, 1.0, 0.01));
        assert!((all * 200.0 - 1.0).abs() < 0.1, "{all}");
        assert!((thinned * 125.0 - 1.0).abs() < 0.1, "{thinned}");
        assert!((slow * 125.0 - 1.0).abs() < 0.1, "{slow}");
    }

    #[test]
    fn absurd_numbers_end_soon() {
        let mut losses = ThinnedLosses::new(&LossIntervalsConfig::default(), 7);
        for number in [5, u64::MAX, 3, 0, u64::MAX - 1, u64::MAX, 1 << 60] {
            losses.on_arrival(Time::from_nanos(1), number, true, true, Span::from_millis(1), 0.5);
        }
    }
}
