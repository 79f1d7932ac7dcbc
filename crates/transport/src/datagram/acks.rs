//! What a datagram sender learns from acknowledgements of every datagram: what arrived, what is lost, round trip
//! times. Nothing is retransmitted.

use tailback_core::{
    Acked, Bytes, CongestionEvent, Echoes, FlowId, Lost, PairPosition, Recovery, Span, Time, rng::mix,
};

use super::DatagramConfig;
use crate::config::EcnMode;
use crate::stream::ring::{Record, Ring};
use crate::stream::rtt::RttEstimator;
use crate::teller::{Books, Outcome};

/// Datagrams on their way.
#[derive(Debug)]
pub(super) struct Ledger {
    ring: Ring,
    in_flight: u64,
    /// Losses of datagrams below this belong to a window already reduced.
    reduced_until: u64,
    deadline: Time,
    consecutive: u32,
    pub(super) rtt: RttEstimator,
    acked: Vec<Acked>,
    lost: Vec<Lost>,
    /// All marks that the receiver has counted, where it counts them.
    marks: Echoes,
}

impl Books for Ledger {
    fn lists(&self) -> (&[Acked], &[Lost]) {
        (&self.acked, &self.lost)
    }

    /// What recovery amounts to without retransmissions: after a time-out, until something is acknowledged.
    fn state(&self) -> Recovery {
        if self.consecutive > 0 { Recovery::Timeout } else { Recovery::Open }
    }

    /// Nothing is acknowledged cumulatively: what is neither acknowledged nor lost.
    fn outstanding(&self) -> u64 {
        self.in_flight
    }

    fn in_flight(&self) -> u64 {
        self.in_flight
    }
}

impl Ledger {
    pub(super) fn new(flow: FlowId, config: &DatagramConfig) -> Self {
        Self {
            ring: Ring::default(),
            in_flight: 0,
            reduced_until: 0,
            deadline: Time::NEVER,
            consecutive: 0,
            rtt: RttEstimator::new(&config.rto, mix(u64::from(flow.0))),
            acked: Vec::new(),
            lost: Vec::new(),
            marks: Echoes::NONE,
        }
    }

    pub(super) const fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn sent(
        &mut self,
        now: Time,
        size: u16,
        tag: u32,
        pair: PairPosition,
        config: &DatagramConfig,
    ) {
        self.ring.push(Record::new(now, size, tag, pair));
        self.in_flight += u64::from(size);
        if self.deadline.is_never() {
            self.restart_timer(now, config);
        }
    }

    fn restart_timer(&mut self, now: Time, config: &DatagramConfig) {
        self.deadline = now + self.rtt.timeout(&config.rto).max(Span::from_nanos(1));
    }

    /// The datagram below `number` arrived; `None` if that says nothing new. Its marks are echoed by flags, or all are
    /// `counted` by the receiver: then none is missed where acknowledgements are lost.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        number: u64,
        flags: Echoes,
        counted: Option<Echoes>,
        config: &DatagramConfig,
    ) -> Option<Outcome> {
        let at = number.checked_sub(1)?;
        if at < self.ring.first() || at >= self.ring.end() || self.ring.get(at).is_sacked() {
            return None;
        }
        self.acked.clear();
        self.lost.clear();
        let outstanding = self.in_flight;
        let record = *self.ring.get(at);
        let late = record.is_lost();
        self.in_flight -= record.in_network();
        let size = u64::from(record.size);
        self.acked.push(Acked {
            number: at,
            size: Bytes::new(size),
            sent_at: record.sent_at(),
            retransmitted: false,
            pair: record.pair(),
            tag: record.tag,
        });
        self.ring.get_mut(at).sack(0);
        self.consecutive = 0;
        let echoes = counted.map_or(flags, |counted| self.marks.take_newer(counted));
        let rtt = Some(self.rtt.sample(now, record.sent_at(), &config.rto));
        let mut event = self.judge(at, config);
        let is_echo = echoes.ce > 0 && config.ecn != EcnMode::Off;
        if is_echo && event.is_none() && at >= self.reduced_until {
            event = Some(CongestionEvent::Ecn);
            self.reduced_until = self.ring.end();
        }
        if self.ring.is_empty() || self.in_flight == 0 {
            self.deadline = Time::NEVER;
        } else {
            self.restart_timer(now, config);
        }
        self.ring.tidy();
        let advanced = if late { 0 } else { size };
        Some(Outcome { advanced, outstanding, rtt, event, echoes, one_way: None })
    }

    /// What has `dup_threshold` numbers acknowledged beyond it, counted from the newest, is lost.
    fn judge(&mut self, newest: u64, config: &DatagramConfig) -> Option<CongestionEvent> {
        let mut event = None;
        while let Some(first) = (!self.ring.is_empty()).then(|| self.ring.first()) {
            let gone = self.ring.get(first).is_sacked() || self.ring.get(first).is_lost();
            if !gone {
                if first + u64::from(config.dup_threshold) > newest {
                    break;
                }
                self.lose(first);
                if first >= self.reduced_until {
                    self.reduced_until = self.ring.end();
                    event = Some(CongestionEvent::Loss);
                }
            }
            self.ring.pop();
        }
        event
    }

    fn lose(&mut self, number: u64) {
        let record = self.ring.get_mut(number);
        self.in_flight -= record.in_network();
        record.lose_all();
        self.lost.push(Lost {
            number,
            size: Bytes::new(u64::from(record.size)),
            sent_at: record.sent_at(),
            tag: record.tag,
        });
    }

    /// The time of [`Ledger::deadline`] has come: everything on its way is lost.
    pub(super) fn on_timeout(&mut self, now: Time, config: &DatagramConfig) -> Option<Outcome> {
        if now < self.deadline {
            return None;
        }
        self.deadline = Time::NEVER;
        if self.in_flight == 0 {
            return None;
        }
        self.acked.clear();
        self.lost.clear();
        let outstanding = self.in_flight;
        for number in self.ring.first()..self.ring.end() {
            let record = self.ring.get(number);
            if !record.is_sacked() && !record.is_lost() {
                self.lose(number);
            }
        }
        self.ring.clear();
        self.reduced_until = self.ring.end();
        self.consecutive = self.consecutive.saturating_add(1);
        self.rtt.back_off(&config.rto);
        let event = Some(CongestionEvent::Timeout { consecutive: self.consecutive });
        Some(Outcome { outstanding, event, ..Outcome::default() })
    }
}
