//! Round trip times of a network's flows, and buffers that are given in bandwidth-delay products.

use tailback_core::{BitRate, Bytes, Capacity, Span};

use super::{Network, NetworkFlow};
use crate::flow::FlowConfig;
use crate::scenario::Scenario;

impl Network {
    /// The propagation round trip time of a flow.
    pub fn round_trip(&self, flow: &NetworkFlow) -> Span {
        self.delay_of(&flow.forward, &flow.reverse)
    }

    /// The propagation delay over links forth and back.
    pub(crate) fn delay_of(&self, forward: &[usize], reverse: &[usize]) -> Span {
        forward.iter().chain(reverse).fold(Span::ZERO, |sum, &link| sum + self.links[link].delay)
    }

    /// Per link, the sum and number of the round trip times of the flows whose data, or else acknowledgements, cross it.
    fn round_trips(&self, route: fn(&NetworkFlow) -> &[usize]) -> Vec<(u128, u128)> {
        let mut sums = vec![(0, 0); self.links.len()];
        for flow in &self.flows {
            let nanos = u128::from(self.round_trip(flow).as_nanos());
            for &link in route(flow) {
                sums[link] = (sums[link].0 + nanos, sums[link].1 + 1);
            }
        }
        sums
    }

    /// Per link, the mean propagation round trip time of the flows whose data crosses it, in seconds; not a number where
    /// none does.
    pub fn mean_round_trips(&self) -> Vec<f64> {
        let sums = self.round_trips(|flow| &flow.forward);
        sums.into_iter().map(|sums| mean(sums).map_or(f64::NAN, Span::as_secs_f64)).collect()
    }

    /// Writes every buffer given in bandwidth-delay products in bytes: the link's rate times the mean propagation round
    /// trip time of the flows whose data crosses it; where none does, of those whose acknowledgements do; where none does
    /// either, twice its own delay. At least one packet.
    pub(super) fn resolve_buffers(&mut self, scenario: &Scenario) {
        if !self.links.iter().any(|link| matches!(link.buffer, Capacity::MilliBdp(_))) {
            return;
        }
        let data = self.round_trips(|flow| &flow.forward);
        let acks = self.round_trips(|flow| &flow.reverse);
        let least = scenario.flows.iter().map(FlowConfig::packet_size).max();
        let least = least.unwrap_or(Bytes::new(1000));
        for (index, link) in self.links.iter_mut().enumerate() {
            let Capacity::MilliBdp(thousandths) = link.buffer else { continue };
            let round_trip = mean(data[index]).or_else(|| mean(acks[index])).unwrap_or(link.delay * 2);
            link.buffer =
                Capacity::Bytes(bdp(link.config().nominal_rate(), round_trip, thousandths).max(least));
        }
    }
}

fn mean((sum, count): (u128, u128)) -> Option<Span> {
    sum.checked_div(count).map(|nanos| Span::from_nanos(nanos as u64))
}

fn bdp(rate: BitRate, round_trip: Span, thousandths: u32) -> Bytes {
    Bytes::from_f64(rate.bytes_in(round_trip).as_f64() * f64::from(thousandths) / 1000.0)
}
