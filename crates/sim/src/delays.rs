//! Delays of flows: one-way delays, their variation from packet to packet, and round trip times, as sketches of bounded
//! size and error. Series of round trip times live in `series.rs`.
//!
//! A one-way delay is the time between a data packet's leaving its sender and its reaching its receiver (RFC 7679),
//! undamaged, whether it is the first copy or not; hosts' clocks agree in a simulator. The variation is the mean of the absolute
//! differences between consecutive arrivals (RFC 5481, inter-packet delay variation). A round trip time is what the
//! sender's estimator takes as a sample; of several with one acknowledgement the newest.
//!
//! Means, least and greatest are exact. Percentiles are those of a histogram with cells of at most 0.8 % of the value
//! (`HdrHistogram`, two significant digits): a tenth of a second is told to 0.4 ms.

use std::collections::HashMap;

use hdrhistogram::Histogram;
use tailback_core::{FlowId, Kind, Observation, Packet, Span, Time};

use crate::recorder::{PacketEvent, Recorder};

/// The delays of one flow.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    histogram: Option<Histogram<u32>>,
    count: u64,
    sum: u128,
    least: Option<Span>,
    greatest: Span,
}

/// What was seen of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowDelays {
    /// From sender to receiver.
    pub one_way: Delays,
    /// As the sender sampled it.
    pub round_trip: Delays,
    /// The sum of absolute differences between consecutive one-way delays, and how many there were.
    variation: (u128, u64),
}

/// Records delays of flows from one instant on.
#[derive(Debug)]
pub struct DelayRecorder {
    from: Time,
    flows: Vec<Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    seen: FlowDelays,
    /// When what is under way left; a retransmission has an entry of its own. Looked up only, never walked.
    left: HashMap<(u64, bool), Time>,
    last: Option<Span>,
    samples: u32,
}

impl Delays {
    fn add(&mut self, delay: Span) {
        self.count += 1;
        self.sum += u128::from(delay.as_nanos());
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        self.greatest = self.greatest.max(delay);
        let histogram = self.histogram.get_or_insert_with(|| {
            let mut made = Histogram::new(2).expect("two digits are allowed");
            made.auto(true);
            made
        });
        // A histogram that grows takes any value.
        let _ = histogram.record(delay.as_nanos());
    }

    /// The mean; `None` where there was nothing.
    pub fn mean(&self) -> Option<Span> {
        self.sum.checked_div(u128::from(self.count)).map(|nanos| Span::from_nanos(nanos as u64))
    }

    /// The value below which this share of all lies, 0 to 1, within 0.4 %.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let histogram = self.histogram.as_ref()?;
        let cell = histogram.value_at_quantile(share);
        let middle = histogram.median_equivalent(cell);
        let (least, greatest) = (self.least?.as_nanos(), self.greatest.as_nanos());
        Some(Span::from_nanos(middle.clamp(least, greatest)))
    }

    /// The least.
    pub fn least(&self) -> Option<Span> {
        self.least
    }

    /// The greatest.
    pub fn greatest(&self) -> Option<Span> {
        self.least.map(|_| self.greatest)
    }
}

impl FlowDelays {
    /// The mean absolute difference between the one-way delays of consecutive arrivals.
    pub fn jitter(&self) -> Option<Span> {
        self.variation.0.checked_div(u128::from(self.variation.1)).map(|nanos| Span::from_nanos(nanos as u64))
    }
}

impl DelayRecorder {
    /// A recorder of so many flows, of what arrives from `from` on.
    pub fn new(flows: usize, from: Time) -> Self {
        Self { from, flows: std::iter::repeat_with(Watched::default).take(flows).collect() }
    }

    /// What was seen, flow by flow.
    pub fn finish(self) -> Vec<FlowDelays> {
        self.flows.into_iter().map(|flow| flow.seen).collect()
    }

    fn data(&mut self, packet: &Packet) -> Option<&mut Watched> {
        if packet.kind() == Kind::Data { self.flows.get_mut(packet.flow.index()) } else { None }
    }
}

impl Recorder for DelayRecorder {
    const PACKETS: bool = true;
    const OBSERVED: bool = true;

    fn packet(&mut self, now: Time, event: PacketEvent<'_>) {
        let from = self.from;
        match event {
            PacketEvent::Sent(_, packet) => {
                if let Some(flow) = self.data(packet) {
                    flow.left.insert((packet.number, packet.is_retransmitted()), now);
                }
            }
            PacketEvent::Dropped(_, packet, _) => {
                if let Some(flow) = self.data(packet) {
                    flow.left.remove(&(packet.number, packet.is_retransmitted()));
                }
            }
            PacketEvent::Delivered(_, packet) => {
                let Some(flow) = self.data(packet) else { return };
                let Some(left) = flow.left.remove(&(packet.number, packet.is_retransmitted())) else {
                    return;
                };
                if now < from {
                    return;
                }
                let delay = now.since(left);
                flow.seen.one_way.add(delay);
                if let Some(last) = flow.last.replace(delay) {
                    let change = delay.as_nanos().abs_diff(last.as_nanos());
                    flow.seen.variation.0 += u128::from(change);
                    flow.seen.variation.1 += 1;
                }
            }
            PacketEvent::Offered(..) | PacketEvent::Served { .. } => {}
        }
    }

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        let Some(flow) = self.flows.get_mut(flow.index()) else { return };
        let is_new = std::mem::replace(&mut flow.samples, sender.rtt_samples) != sender.rtt_samples;
        if let (true, true, Some(rtt)) = (is_new, now >= self.from, sender.latest_rtt) {
            flow.seen.round_trip.add(rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_their_bound_of_the_exact_ones() {
        // A minimal standard generator's numbers, stretched over four orders of magnitude.
        let mut state = 1_u64;
        let mut values: Vec<u64> = (0..20_000)
            .map(|_| {
                state = state * 48_271 % 2_147_483_647;
                (1e5 * (state as f64 / 2_147_483_647.0 * 9.0).exp()) as u64
            })
            .collect();
        let mut delays = Delays::default();
        for &nanos in &values {
            delays.add(Span::from_nanos(nanos));
        }
        values.sort_unstable();
        for share in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = values[((share * 20_000.0) as usize).clamp(1, 20_000) - 1] as f64;
            let told = delays.quantile(share).unwrap().as_nanos() as f64;
            assert!((told / exact - 1.0).abs() <= 0.004, "{share}: {told} for {exact}");
        }
        assert_eq!(delays.least().unwrap().as_nanos(), values[0]);
        assert_eq!(delays.greatest().unwrap().as_nanos(), values[19_999]);
        assert_eq!(Delays::default().quantile(0.5), None);
    }
}
