//! What a link does to packets other than queueing and delaying them: loss, corruption, duplication, reordering, coalescing.
//! Each draws from a stream of its own, so that switching one on changes no other's draws.

use tailback_core::{Distribution, Kind, Packet, Span, Stream, Time};

/// How packets are lost.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Each packet with this probability, independently.
    Independent {
        /// 0 to 1.
        probability: f64,
    },
    /// Packets of one class with this probability, independently; all others pass.
    Selective {
        /// 0 to 1.
        probability: f64,
        /// Which packets.
        class: PacketClass,
    },
    /// Gilbert and Elliott's two-state chain, which moves once per packet.
    GilbertElliott {
        /// Probability of moving from the good state to the bad one.
        to_bad: f64,
        /// Probability of moving from the bad state to the good one.
        to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Every `every`-th packet, the first at `offset` (counted from zero).
    Periodic {
        /// The period in packets, at least 1.
        every: u64,
        /// The first packet lost.
        offset: u64,
    },
    /// Each packet independently, with a probability that changes at given times; none before the first.
    Scheduled {
        /// From when on, in order, and the probability, 0 to 1.
        steps: Vec<(Time, f64)>,
    },
}

/// A class of packets that a loss model may single out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketClass {
    /// What carries the application's data.
    Data,
    /// Acknowledgements.
    Acknowledgements,
    /// Senders' control packets and receivers' reports.
    Control,
}

impl PacketClass {
    /// Whether a packet is of this class.
    pub const fn holds(self, packet: &Packet) -> bool {
        matches!(
            (self, packet.kind()),
            (Self::Data, Kind::Data)
                | (Self::Acknowledgements, Kind::Ack)
                | (Self::Control, Kind::Control | Kind::Report)
        )
    }
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub(crate) struct LossState {
    model: LossModel,
    stream: Stream,
    bad: bool,
    seen: u64,
}

impl LossState {
    pub(crate) fn new(model: LossModel, stream: Stream) -> Self {
        Self { model, stream, bad: false, seen: 0 }
    }

    /// Whether this packet, the next, is lost.
    #[inline]
    pub(crate) fn loses(&mut self, now: Time, packet: &Packet) -> bool {
        let index = self.seen;
        self.seen += 1;
        match self.model {
            LossModel::Scheduled { ref steps } => {
                let begun = steps.partition_point(|(at, _)| *at <= now);
                begun.checked_sub(1).is_some_and(|step| self.stream.chance(steps[step].1))
            }
            LossModel::Independent { probability } => self.stream.chance(probability),
            LossModel::Selective { probability, class } => {
                class.holds(packet) && self.stream.chance(probability)
            }
            LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let moves = self.stream.chance(if self.bad { to_good } else { to_bad });
                self.bad ^= moves;
                self.stream.chance(if self.bad { loss_bad } else { loss_good })
            }
            LossModel::Periodic { every, offset } => {
                index >= offset && (index - offset).is_multiple_of(every.max(1))
            }
        }
    }
}

/// An impairment that strikes each packet with a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// 0 to 1.
    pub probability: f64,
}

/// Packets that are held back at the far end, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// Which share of the packets is held back, 0 to 1.
    pub probability: f64,
    /// The shortest hold.
    pub min: Span,
    /// The longest hold; holds are uniform between the two.
    pub max: Span,
}

/// A far end that takes packets in batches, as a network card that coalesces interrupts or a host whose program must first
/// wake up: the packet with which a batch begins waits for a time, and those that arrive meanwhile are taken with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Coalescing {
    /// From a batch's first packet until all of it is taken.
    pub time: Distribution<Span>,
}

/// A far end that coalesces, at work.
#[derive(Clone, Debug)]
struct Batches {
    time: Distribution<Span>,
    stream: Stream,
    /// When the newest batch is taken.
    taken: Time,
}

impl Batches {
    /// When a packet that arrives now is taken.
    fn take(&mut self, now: Time) -> Time {
        if now >= self.taken {
            self.taken = now + self.time.sample(&mut self.stream);
        }
        self.taken
    }
}

/// Everything that may happen to a packet on the wire, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Loss after transmission: the packet has used the link's capacity.
    pub loss: Option<LossModel>,
    /// Damage: the packet travels on, and its receiver discards it.
    pub corruption: Option<Chance>,
    /// A copy is delivered right behind the packet.
    pub duplication: Option<Chance>,
    /// Some packets are held back.
    pub reordering: Option<Reordering>,
    /// Packets are taken in batches, those that were held back when they arrive at last.
    pub coalescing: Option<Coalescing>,
}

impl Impairments {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether packets may arrive later than the link's delay says.
    pub fn may_hold(&self) -> bool {
        self.duplication.is_some() || self.reordering.is_some() || self.coalescing.is_some()
    }
}

/// What becomes of a packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) copied: bool,
    /// How much later it arrives.
    pub(crate) held: Span,
}

/// The impairments of one link at work.
#[derive(Clone, Debug)]
pub(crate) struct Wear {
    loss: Option<LossState>,
    corruption: Option<(Chance, Stream)>,
    duplication: Option<(Chance, Stream)>,
    reordering: Option<(Reordering, Stream)>,
    batches: Option<Batches>,
}

impl Wear {
    pub(crate) fn new(impairments: &Impairments, seed: u64, link: &str) -> Self {
        let stream = |what: &str| Stream::of_part(seed, link, what);
        Self {
            loss: impairments.loss.clone().map(|model| LossState::new(model, stream("loss"))),
            corruption: impairments.corruption.map(|chance| (chance, stream("corruption"))),
            duplication: impairments.duplication.map(|chance| (chance, stream("duplication"))),
            reordering: impairments.reordering.map(|reordering| (reordering, stream("reordering"))),
            batches: impairments.coalescing.clone().map(|Coalescing { time }| Batches {
                time,
                stream: stream("coalescing"),
                taken: Time::ZERO,
            }),
        }
    }

    /// Decides a packet's fate and damages it if need be.
    pub(crate) fn strike(&mut self, now: Time, packet: &mut Packet) -> Fate {
        let lost = self.loss.as_mut().is_some_and(|model| model.loses(now, packet));
        if let Some((chance, stream)) = &mut self.corruption
            && stream.chance(chance.probability)
        {
            packet.set_corrupted(true);
        }
        let copied = match &mut self.duplication {
            Some((chance, stream)) => stream.chance(chance.probability),
            None => false,
        };
        let mut held = Span::ZERO;
        if let Some((reordering, stream)) = &mut self.reordering
            && stream.chance(reordering.probability)
        {
            held = reordering.min + (reordering.max - reordering.min).mul_f64(stream.uniform());
        }
        Fate { lost, copied, held }
    }

    /// When the far end takes a packet that arrives now.
    pub(crate) fn taken(&mut self, now: Time) -> Time {
        self.batches.as_mut().map_or(now, |batches| batches.take(now))
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Bytes, FlowId};

    use super::*;

    fn rate(model: LossModel, packets: u32) -> f64 {
        let mut state = LossState::new(model, Stream::new(3, "test"));
        let packet = Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(1000));
        f64::from((0..packets).filter(|_| state.loses(Time::ZERO, &packet)).count() as u32)
            / f64::from(packets)
    }

    #[test]
    fn scheduled_loss_follows_its_steps() {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let model = LossModel::Scheduled { steps: vec![(at(1), 1.0), (at(2), 0.0), (at(3), 0.5)] };
        let mut state = LossState::new(model, Stream::new(3, "test"));
        let packet = Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(1000));
        let mut lost = |seconds| (0..1000).filter(|_| state.loses(at(seconds), &packet)).count();
        assert_eq!((lost(0), lost(1), lost(2)), (0, 1000, 0));
        assert!((400..600).contains(&lost(3)));
    }

    #[test]
    fn loss_models_keep_their_rates() {
        assert!((rate(LossModel::Independent { probability: 0.02 }, 500_000) - 0.02).abs() < 1e-3);
        let of = |class| rate(LossModel::Selective { probability: 0.02, class }, 500_000);
        assert!((of(PacketClass::Data) - 0.02).abs() < 1e-3);
        assert_eq!((of(PacketClass::Acknowledgements), of(PacketClass::Control)), (0.0, 0.0));
        assert_eq!(rate(LossModel::Periodic { every: 100, offset: 7 }, 100_000), 0.01);
        // Share of time in the bad state is 0.01 / (0.01 + 0.09) = 0.1.
        let bursty = LossModel::GilbertElliott { to_bad: 0.01, to_good: 0.09, loss_good: 0.0, loss_bad: 0.5 };
        assert!((rate(bursty, 2_000_000) - 0.05).abs() < 2e-3);
    }

    fn coalesced(time: Distribution<Span>, arrivals: &[Time]) -> Vec<Span> {
        let impairments = Impairments { coalescing: Some(Coalescing { time }), ..Impairments::default() };
        let mut wear = Wear::new(&impairments, 3, "test");
        arrivals.iter().map(|now| wear.taken(*now).since(*now)).collect()
    }

    #[test]
    fn a_batch_is_taken_a_time_after_its_first_packet() {
        let millis = |value| Time::ZERO + Span::from_millis(value);
        let arrivals = [0, 4, 9, 10, 25, 26, 35].map(millis);
        let held = coalesced(Distribution::constant(Span::from_millis(10)), &arrivals);
        // What arrives as the batch is taken begins the next one.
        assert_eq!(held, [10, 6, 1, 10, 10, 9, 10].map(Span::from_millis));
    }

    /// Renewal theory: of packets that arrive at random, `rate` per second, a batch of the time T has 1 + rate T on average,
    /// of which the first waits for T and the others for T/2.
    #[test]
    fn packets_at_random_wait_as_theory_says() {
        let (mut stream, mut now) = (Stream::new(5, "arrivals"), Time::ZERO);
        let arrivals: Vec<Time> = (0..400_000)
            .map(|_| {
                now += Span::from_micros(250).mul_f64(stream.exponential());
                now
            })
            .collect();
        for micros in [50_u64, 250, 1000] {
            let held = coalesced(Distribution::constant(Span::from_micros(micros)), &arrivals);
            let (time, more) = (micros as f64 * 1e-6, micros as f64 / 250.0);
            let expected = time * (1.0 + more / 2.0) / (1.0 + more);
            let mean = held.iter().map(|span| span.as_secs_f64()).sum::<f64>() / held.len() as f64;
            assert!((mean / expected - 1.0).abs() < 0.01, "{micros} us: {mean} instead of {expected}");
        }
    }

    #[test]
    fn no_packet_of_a_coalescing_end_overtakes_another() {
        let arrivals: Vec<Time> =
            (0..20_000_u64).map(|index| Time::ZERO + Span::from_micros(index * 37)).collect();
        let held = coalesced(Distribution::exponential(Span::from_micros(120)), &arrivals);
        let taken: Vec<Time> = arrivals.iter().zip(&held).map(|(arrival, span)| *arrival + *span).collect();
        assert!(taken.is_sorted());
        assert!(held.iter().all(|span| *span > Span::ZERO), "every packet waits for its batch");
    }
}
