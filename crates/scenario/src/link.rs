//! A link: rate, propagation delay, buffer, queue discipline, and what may go wrong on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Capacity, Checker, Span};
use tailback_link::DeliveryTrace;

use crate::impairment::{
    CoalescingConfig, CorruptionConfig, DuplicationConfig, HostCoalescing, ReorderingConfig,
};
use crate::loss_choice::LossChoice;
use crate::parts::QueueConfig;
use crate::schedule::{self, ScheduleStep};
use crate::spread::Spread;
use crate::trace::TraceConfig;
use tailback_core::Choice;

/// The slowest and the fastest link taken seriously.
const RATES: (u64, u64) = (1, 100_000_000_000_000);
/// The largest buffer taken seriously.
const MOST_BYTES: Bytes = Bytes::new(1_000_000_000_000);
/// The longest propagation delay taken seriously: Mars is 22 minutes away.
const LONGEST_DELAY: Span = Span::from_secs(3600);

/// A link in its forward direction, and by default in its reverse direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkConfig {
    /// The rate of the server, in both directions unless `reverse` says otherwise.
    pub rate: BitRate,
    /// The one-way propagation delay, in both directions unless `reverse` says otherwise; `20 ms` where it is left out.
    pub delay: Span,
    /// How much may wait before the server, not counting the packet in transmission: packets (whatever their size: an
    /// acknowledgement takes the room of one), bytes, `"unlimited"`, or multiples of the bandwidth-delay product (`"1 BDP"`): this
    /// link's rate times the mean propagation round trip time of the flows whose data crosses it. Never more than 16 777 216
    /// packets.
    pub buffer: Capacity,
    /// The queue discipline, by name or as a table with its parameters.
    pub queue: Choice<QueueConfig>,
    /// Loss besides overflow: the probability of independent loss (`0.01`), or a model by name or as a table with its
    /// parameters; none where absent. Forward direction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossChoice>,
    /// Damage on the wire; none where absent. Forward direction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corruption: Option<CorruptionConfig>,
    /// Duplicated packets; none where absent. Forward direction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplication: Option<DuplicationConfig>,
    /// Packets held back so that others overtake them; none where absent. Forward direction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<ReorderingConfig>,
    /// The far end takes packets in batches; one by one where absent. Forward direction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<CoalescingConfig>,
    /// Changes of rate and delay at given times, in order. Forward direction only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduleStep>,
    /// A recorded trace of delivery opportunities in place of a constant rate. Forward direction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// What is different in the reverse direction. Rate, delay, buffer and queue are the same where not given; loss,
    /// impairments, schedule and trace are absent there where not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse: Option<ReverseConfig>,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: BitRate::from_bits_per_sec(10_000_000),
            delay: Span::from_millis(20),
            buffer: Capacity::MilliBdp(1000),
            queue: Choice::default(),
            loss: None,
            corruption: None,
            duplication: None,
            reordering: None,
            coalescing: None,
            schedule: Vec::new(),
            trace: None,
            reverse: None,
        }
    }
}

/// What a link's reverse direction has different from its forward direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReverseConfig {
    /// The rate; as forward where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The one-way propagation delay; as forward where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// How much may wait; as forward where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Capacity>,
    /// The queue discipline; as forward where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Choice<QueueConfig>>,
    /// Loss besides overflow; none where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossChoice>,
    /// Damage on the wire; none where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corruption: Option<CorruptionConfig>,
    /// Duplicated packets; none where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplication: Option<DuplicationConfig>,
    /// Packets held back; none where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<ReorderingConfig>,
    /// The far end takes packets in batches; one by one where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<CoalescingConfig>,
    /// Changes of rate and delay at given times, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduleStep>,
    /// A recorded trace of delivery opportunities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
}

impl LinkConfig {
    /// The rate that stands for the link where one number must: that of its trace, on average, or its own, before any
    /// change.
    pub fn nominal_rate(&self) -> BitRate {
        let trace = self.trace.as_ref().and_then(|trace| trace.times.as_ref());
        trace.map_or(self.rate, DeliveryTrace::mean_rate)
    }

    /// The greatest rate that it ever has, in either direction; of a trace, its mean.
    fn fastest(&self) -> BitRate {
        let scheduled = self.schedule.iter().filter_map(|step| step.rate);
        let fastest = scheduled.fold(self.nominal_rate(), BitRate::max);
        self.reverse.is_some().then(|| self.reversed().fastest()).map_or(fastest, |back| fastest.max(back))
    }

    /// The reverse direction as a link of its own.
    pub fn reversed(&self) -> Self {
        let given = self.reverse.clone().unwrap_or_default();
        Self {
            rate: given.rate.unwrap_or(self.rate),
            delay: given.delay.unwrap_or(self.delay),
            buffer: given.buffer.unwrap_or(self.buffer),
            queue: given.queue.unwrap_or_else(|| self.queue.clone()),
            loss: given.loss,
            corruption: given.corruption,
            duplication: given.duplication,
            reordering: given.reordering,
            coalescing: given.coalescing,
            schedule: given.schedule,
            trace: given.trace,
            reverse: None,
        }
    }

    /// Complains about every value that makes no link.
    pub fn check(&self, checker: &mut Checker) {
        self.check_direction(checker);
        if self.reverse.is_some() {
            // What the reverse direction has from the forward one was complained of there.
            let given = Self { reverse: self.reverse.clone(), ..Self::default() }.reversed();
            checker.within("reverse", |checker| given.check_direction(checker));
        }
    }

    fn check_direction(&self, checker: &mut Checker) {
        check_rate(checker, "rate", self.rate);
        check_delay(checker, "delay", self.delay);
        check_buffer(checker, "buffer", self.buffer);
        checker.within("queue", |checker| self.queue.check(checker));
        check_part(checker, "loss", self.loss.as_ref(), |loss, checker| loss.check(checker));
        check_part(checker, "corruption", self.corruption.as_ref(), CorruptionConfig::check);
        check_part(checker, "duplication", self.duplication.as_ref(), DuplicationConfig::check);
        check_part(checker, "reordering", self.reordering.as_ref(), ReorderingConfig::check);
        check_part(checker, "coalescing", self.coalescing.as_ref(), CoalescingConfig::check);
        check_part(checker, "trace", self.trace.as_ref(), TraceConfig::check);
        schedule::check(&self.schedule, checker);
        if self.trace.is_some() {
            let rates = self.schedule.iter().any(|step| step.rate.is_some());
            checker.require(
                !rates,
                "schedule",
                "a schedule of rates",
                "either `trace` or rates in `schedule`, not both",
            );
        }
    }
}

/// The links between hosts and their router in a template, the same in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessConfig {
    /// The rate; ten times that of the links between routers where absent, and at least 100 Mbit/s, so that hosts are not
    /// what limits flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The one-way propagation delay: one for all hosts, a list dealt out in turn (`["1 ms", "2 ms"]`), or
    /// `{ from, to }` spread evenly over the hosts.
    pub delay: Spread,
    /// How much may wait.
    pub buffer: Capacity,
    /// The queue discipline.
    pub queue: Choice<QueueConfig>,
    /// Hosts take packets in batches, all alike or each in turn as a list says; one by one where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<HostCoalescing>,
}

impl Default for AccessConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Spread::Same(Span::from_millis(5)),
            buffer: Capacity::Unlimited,
            queue: Choice::default(),
            coalescing: None,
        }
    }
}

impl AccessConfig {
    /// The access link of host `index` among `count` to routers joined by such links.
    pub fn link(&self, index: usize, count: usize, between: &LinkConfig) -> LinkConfig {
        let fastest = between.fastest().bits_per_sec();
        let following = BitRate::from_bits_per_sec(fastest.saturating_mul(10).clamp(100_000_000, RATES.1));
        LinkConfig {
            rate: self.rate.unwrap_or(following),
            delay: self.delay.of(index, count),
            buffer: self.buffer,
            queue: self.queue.clone(),
            ..LinkConfig::default()
        }
    }

    /// Complains about every value that makes no link.
    pub fn check(&self, checker: &mut Checker) {
        if let Some(rate) = self.rate {
            check_rate(checker, "rate", rate);
        }
        self.delay.check("delay", checker);
        for delay in self.delay.values() {
            check_delay(checker, "delay", delay);
        }
        check_buffer(checker, "buffer", self.buffer);
        checker.within("queue", |checker| self.queue.check(checker));
        if let Some(coalescing) = &self.coalescing {
            coalescing.check("coalescing", checker);
        }
    }
}

/// Complains about a part that a link need not have, under its own name.
fn check_part<T>(checker: &mut Checker, name: &str, part: Option<&T>, check: impl Fn(&T, &mut Checker)) {
    if let Some(part) = part {
        checker.within(name, |checker| check(part, checker));
    }
}

/// Complains about a rate that no link has.
pub(crate) fn check_rate(checker: &mut Checker, field: &str, rate: BitRate) {
    let ok = (RATES.0..=RATES.1).contains(&rate.bits_per_sec());
    checker.require(ok, field, rate, "a rate from 1 bit/s to 100 Tbit/s");
}

/// Complains about a delay that no link has.
pub(crate) fn check_delay(checker: &mut Checker, field: &str, delay: Span) {
    checker.require(delay <= LONGEST_DELAY, field, delay, format_args!("a delay of at most {LONGEST_DELAY}"));
}

/// Complains about a buffer that holds nothing, where nothing could ever be sent, or more than memory does.
pub(crate) fn check_buffer(checker: &mut Checker, field: &str, buffer: Capacity) {
    // "0 packets" is a link without a waiting room: what it sends, it sends at once. Zero bytes or zero
    // bandwidth-delay products say the same less clearly and are more likely slips.
    let (ok, allowed) = match buffer {
        Capacity::Unlimited => (true, String::new()),
        Capacity::Packets(packets) => {
            let most = Capacity::MOST_PACKETS;
            (packets <= most, format!("at most {most} packets, or \"unlimited\""))
        }
        Capacity::Bytes(bytes) => {
            let sane = bytes.get() > 0 && bytes <= MOST_BYTES;
            (sane, format!("a positive number of bytes, at most {MOST_BYTES}, or \"unlimited\""))
        }
        Capacity::MilliBdp(thousandths) => {
            ((1..=1_000_000).contains(&thousandths), "0.001 to 1000 BDP".to_owned())
        }
    };
    checker.require(ok, field, buffer, allowed);
}
