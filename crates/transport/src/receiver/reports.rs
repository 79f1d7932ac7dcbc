//! A feedback policy at work: it sees arrivals and its reports leave as packets, with what every report tells. What else
//! they say is the policy's.

use tailback_core::{
    Annex, Arrival, Bytes, EndpointCx, Envelope, FeedbackPolicy, FlowId, Kind, Lane, Packet, Span, Time,
};

/// The newest stamped packet of the in-band lane.
#[derive(Clone, Copy, Debug)]
struct Echo {
    sent_at: Time,
    arrived: Time,
    /// Data that had arrived with it.
    bytes: Bytes,
    packets: u64,
}

/// A policy, its next timer, and what its reports tell of all that arrived.
pub(crate) struct Reports {
    policy: Box<dyn FeedbackPolicy + Send>,
    next_timer: Time,
    /// Whether the policy takes plain data as a sum, and what of that it has not heard of.
    sums_data: bool,
    unheard: Bytes,
    /// A report may be due before the timer.
    may_be_due: bool,
    bytes: Bytes,
    packets: u64,
    echo: Option<Echo>,
}

impl Reports {
    pub(crate) fn new(policy: Box<dyn FeedbackPolicy + Send>) -> Self {
        let next_timer = policy.next_timer().unwrap_or(Time::NEVER);
        Self {
            sums_data: policy.sums_data(),
            unheard: Bytes::ZERO,
            may_be_due: true,
            policy,
            next_timer,
            bytes: Bytes::ZERO,
            packets: 0,
            echo: None,
        }
    }

    /// Whether the policy takes plain data as a sum.
    pub(crate) fn sums_data(&self) -> bool {
        self.sums_data
    }

    /// Whether the policy acts on packets alone.
    pub(crate) fn answers_at_once(&self) -> bool {
        self.policy.answers_at_once()
    }

    /// The same policy, told of every packet by itself, to compare with.
    pub(crate) fn tell_of_each(&mut self) {
        self.tell_sum();
        self.sums_data = false;
    }

    /// Data without an annex arrived; whether that is all that the policy need hear of, and then nothing is due by it.
    #[inline(always)]
    pub(crate) fn add_data(&mut self, size: Bytes) -> bool {
        if self.sums_data {
            self.bytes += size;
            self.packets += 1;
            self.unheard += size;
        }
        self.sums_data
    }

    /// The policy hears of the data that it has not heard of.
    #[inline]
    fn tell_sum(&mut self) {
        if self.unheard > Bytes::ZERO {
            self.policy.add_data(std::mem::take(&mut self.unheard));
        }
    }

    /// A packet arrived.
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        packet: &Packet,
        annex: Option<&Annex>,
        is_new: bool,
        cx: &mut EndpointCx<'_>,
    ) {
        self.count(now, packet, annex);
        self.tell_sum();
        self.may_be_due = true;
        self.policy.on_arrival(now, &Arrival { packet, annex, is_new }, &mut cx.control());
        self.next_timer = self.policy.next_timer().unwrap_or(Time::NEVER);
    }

    fn count(&mut self, now: Time, packet: &Packet, annex: Option<&Annex>) {
        if packet.kind() == Kind::Data {
            self.bytes += packet.size();
            self.packets += 1;
        }
        if let Some(Annex::Control(info)) = annex
            && packet.lane() == Lane::IN_BAND
            && self.echo.is_none_or(|known| known.sent_at <= info.sent_at)
        {
            let (bytes, packets) = (self.bytes, self.packets);
            self.echo = Some(Echo { sent_at: info.sent_at, arrived: now, bytes, packets });
        }
    }

    /// A report that is due, as a packet. Its number is the time it leaves, which the sender echoes in stamps and
    /// control packets, so that this side can measure the round trip time.
    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Time, flow: FlowId, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        let may_be = self.may_be_due || now >= self.next_timer;
        if may_be { self.poll_policy(now, flow, cx) } else { None }
    }

    #[inline(never)]
    fn poll_policy(&mut self, now: Time, flow: FlowId, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        self.tell_sum();
        let outgoing = self.policy.poll_report(now, &mut cx.control());
        self.next_timer = self.policy.next_timer().unwrap_or(Time::NEVER);
        self.may_be_due = outgoing.is_some() || !self.sums_data;
        let outgoing = outgoing?;
        let mut packet = Packet::new(Kind::Report, flow, now.as_nanos(), outgoing.size);
        packet.set_lane(outgoing.lane);
        let (bytes, packets) =
            self.echo.map_or((self.bytes, self.packets), |echo| (echo.bytes, echo.packets));
        let envelope = Envelope {
            echo: self.echo.map(|echo| echo.sent_at),
            held: self.echo.map_or(Span::ZERO, |echo| now.since(echo.arrived)),
            arrived_bytes: bytes,
            arrived_packets: packets,
            report: outgoing.report,
        };
        packet.annex = cx.annexes.insert(Annex::Report(Box::new(envelope)));
        Some(packet)
    }

    /// When the policy wants to be asked next.
    pub(crate) fn next_timer(&self) -> Time {
        self.next_timer
    }
}
