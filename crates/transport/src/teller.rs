//! What a sender tells: its controller by feedback, its receiver by stamps. This is the one place where feedback is made
//! and stamps are filled, for all sending endpoints. What the controller then directs is obeyed in `steering.rs`.

use tailback_control::estimators::DeliveryRate;
use tailback_core::{
    AckRequest, Acked, BitRate, Bytes, CongestionEvent, ControlInfo, Controller, Directive, Echoes,
    EndpointCx, Envelope, Feedback, Lost, OneWay, PairPosition, Recovery, RttSample, Sent, Span, Time,
};

use crate::asking::Asking;

/// What a sender knows of what it sent, by whoever keeps account of it.
pub(crate) trait Books {
    /// Packets newly acknowledged and newly lost, by the last input that had an [`Outcome`].
    fn lists(&self) -> (&[Acked], &[Lost]);

    /// What loss recovery is doing.
    fn state(&self) -> Recovery;

    /// Bytes sent and not cumulatively acknowledged.
    fn outstanding(&self) -> u64;

    /// Bytes believed in the network.
    fn in_flight(&self) -> u64;
}

/// What an acknowledgement or time-out meant; the packets concerned are in its two lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Bytes newly acknowledged cumulatively.
    pub(crate) advanced: u64,
    /// Bytes outstanding before, without what limited transmit sent (RFC 5681 §3.2 step 2).
    pub(crate) outstanding: u64,
    /// A new round trip time.
    pub(crate) rtt: Option<RttSample>,
    /// What the window must do.
    pub(crate) event: Option<CongestionEvent>,
    /// Marks echoed.
    pub(crate) echoes: Echoes,
    /// A segment's way to the receiver.
    pub(crate) one_way: Option<OneWay>,
}

/// What the acknowledgement of one segment meant: of the next number, where nothing is missing, or of one beyond a hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// The one segment.
    pub(crate) acked: Acked,
    /// Bytes outstanding before.
    pub(crate) outstanding: u64,
    pub(crate) rtt: RttSample,
    /// What the window must do; nothing where nothing is missing.
    pub(crate) event: Option<CongestionEvent>,
    /// The segment's way to the receiver, where segments are stamped.
    pub(crate) one_way: Option<OneWay>,
}

impl Next {
    /// Nothing yet.
    pub(crate) const EMPTY: Self = Self {
        acked: Acked {
            number: 0,
            size: Bytes::ZERO,
            sent_at: Time::ZERO,
            retransmitted: false,
            pair: PairPosition::Single,
            tag: 0,
        },
        outstanding: 0,
        rtt: RttSample { latest: Span::ZERO, smoothed: Span::ZERO, min: Span::ZERO },
        event: None,
        one_way: None,
    };
}

/// What a sender has sent so far, and knows, for its stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoFar {
    pub(crate) packets: u64,
    pub(crate) bytes: Bytes,
    pub(crate) in_flight: u64,
    pub(crate) rtt: Option<Span>,
    pub(crate) app_rate: Option<BitRate>,
}

/// The receiver's newest report, to be echoed.
#[derive(Clone, Copy, Debug)]
struct LastReport {
    sent_at: Time,
    arrived: Time,
}

/// What the receiver hears of beside data.
#[derive(Debug, Default)]
struct ToReceiver {
    last_report: Option<LastReport>,
    /// How it is asked to acknowledge, where the scheme asks.
    asking: Option<Asking>,
}

/// A controller that is told of everything.
pub(crate) struct Teller<C> {
    pub(crate) controller: C,
    /// Whether the controller hears of packets sent, and whether of those alone that end a pause of the application.
    watches_sent: bool,
    watches_pauses_only: bool,
    /// The application, not the window or the rate, ended the last round of sending.
    pub(crate) app_limited: bool,
    to_receiver: Option<Box<ToReceiver>>,
    /// Samples of the delivery rate, where the scheme needs them.
    delivery: Option<Box<DeliveryRate>>,
}

impl<C: Controller> Teller<C> {
    pub(crate) fn new(controller: C) -> Self {
        Self {
            watches_sent: controller.watches_sent(),
            watches_pauses_only: controller.watches_pauses_only(),
            controller,
            app_limited: false,
            to_receiver: None,
            delivery: None,
        }
    }

    /// Measures the delivery rate from now on, where that is wanted.
    pub(crate) fn measure_delivery(&mut self, wanted: bool) {
        self.delivery = wanted.then(Box::default);
    }

    /// Nothing can be sent, because the application has nothing, or for another reason; `in_flight` bytes are.
    #[inline]
    pub(crate) fn pause(&mut self, app_limited: bool, in_flight: u64) {
        self.app_limited = app_limited;
        if let Some(delivery) = &mut self.delivery
            && app_limited
        {
            delivery.ran_dry(Bytes::new(in_flight));
        }
    }

    /// Tells of every packet that leaves, though the controller asked for less.
    pub(crate) fn tell_of_all(&mut self) {
        self.watches_pauses_only = false;
    }

    /// Another controller takes over.
    pub(crate) fn replace(&mut self, fresh: C) {
        self.watches_sent = fresh.watches_sent();
        self.watches_pauses_only = fresh.watches_pauses_only();
        self.controller = fresh;
        self.measure_delivery(self.delivery.is_some());
    }

    /// Tells of an input: what it meant for what was sent, if anything, and what the receiver reported, if it did.
    #[inline]
    pub(crate) fn tell(
        &mut self,
        now: Time,
        books: &impl Books,
        outcome: Option<&Outcome>,
        report: Option<&Envelope>,
        cx: &mut EndpointCx<'_>,
    ) {
        let (acked, lost) = if outcome.is_some() { books.lists() } else { (&[][..], &[][..]) };
        let quiet = || Outcome { outstanding: books.outstanding(), ..Outcome::default() };
        let outcome = outcome.copied().unwrap_or_else(quiet);
        let delivery = self.delivery.as_mut().and_then(|delivery| delivery.on_feedback(now, acked, lost));
        let feedback = Feedback {
            acked,
            advanced: Bytes::new(outcome.advanced),
            lost,
            rtt: outcome.rtt,
            event: outcome.event,
            recovery: books.state(),
            echoes: outcome.echoes,
            outstanding: Bytes::new(outcome.outstanding),
            in_flight: Bytes::new(books.in_flight()),
            window_limited: !self.app_limited,
            gain: 1.0,
            report,
            delivery,
            one_way: outcome.one_way,
        };
        self.controller.on_feedback(now, &feedback, &mut cx.control());
    }

    /// Whether [`Teller::sent`] does anything.
    pub(crate) fn is_told_of_sent(&self) -> bool {
        self.watches_sent || self.delivery.is_some()
    }

    /// Tells that one segment was acknowledged, and gives directive and timer to `obey`, or nothing where these are as they
    /// were: the next number, with nothing missing, or one `BEYOND` a hole, which may show that others are lost.
    #[inline(always)]
    pub(crate) fn tell_one<const BEYOND: bool, T>(
        &mut self,
        now: Time,
        next: &Next,
        books: &impl Books,
        cx: &mut EndpointCx<'_>,
        obey: impl FnOnce(Option<(&Directive, Option<Time>)>) -> T,
    ) -> T {
        let window_limited = !self.app_limited;
        let acked = std::slice::from_ref(&next.acked);
        let lost = if BEYOND { books.lists().1 } else { &[] };
        let delivery = self.delivery.as_mut().and_then(|delivery| delivery.on_feedback(now, acked, lost));
        let feedback = || Feedback {
            acked,
            advanced: if BEYOND { Bytes::ZERO } else { next.acked.size },
            lost,
            rtt: Some(next.rtt),
            event: next.event,
            recovery: if BEYOND { books.state() } else { Recovery::Open },
            echoes: Echoes::NONE,
            outstanding: Bytes::new(next.outstanding),
            in_flight: Bytes::new(books.in_flight()),
            window_limited,
            gain: 1.0,
            report: None,
            delivery,
            one_way: next.one_way,
        };
        if BEYOND {
            // One copy is enough of what follows: the commonest law needs no way of its own here.
            if !self.controller.hear_feedback(now, &feedback(), &mut cx.control()) {
                return obey(None);
            }
            let orders = self.controller.orders();
            return obey(Some((&orders.0, orders.1)));
        }
        self.controller.answer(now, feedback, &mut cx.control(), obey)
    }

    /// Tells of a packet that leaves; the controller's note, and directive and timer if these may have changed.
    #[inline(always)]
    pub(crate) fn sent(
        &mut self,
        now: Time,
        mut sent: Sent,
        cx: &mut EndpointCx<'_>,
    ) -> (u32, Option<(Directive, Option<Time>)>) {
        if let Some(delivery) = &mut self.delivery {
            delivery.on_sent(now, &sent);
        }
        if !self.watches_sent {
            return (0, None);
        }
        sent.app_limited = std::mem::take(&mut self.app_limited);
        if self.watches_pauses_only && !sent.app_limited {
            return (0, None);
        }
        let orders = self.controller.hear_sent(now, &mut sent, &mut cx.control());
        (sent.tag, orders)
    }

    /// A report packet arrived; its number is the time it left the receiver.
    pub(crate) fn note_report(&mut self, now: Time, number: u64) {
        let newest = LastReport { sent_at: Time::from_nanos(number), arrived: now };
        self.to_receiver.get_or_insert_default().last_report = Some(newest);
    }

    /// Asks the receiver how to acknowledge from now on, where that is wanted.
    pub(crate) fn ask_receiver(&mut self, wanted: bool) {
        if wanted {
            self.to_receiver.get_or_insert_default().asking = Some(Asking::default());
        }
    }

    /// What the receiver was asked, where the scheme asks.
    #[inline]
    pub(crate) fn asking(&mut self) -> Option<&mut Asking> {
        self.to_receiver.as_mut()?.asking.as_mut()
    }

    /// What a packet that leaves now tells the receiver: of a data packet, with itself counted in `so_far`, and what it asks.
    pub(crate) fn stamp(&self, now: Time, so_far: &SoFar, request: Option<AckRequest>) -> ControlInfo {
        let report = self.to_receiver.as_ref().and_then(|said| said.last_report.as_ref());
        ControlInfo {
            pair: 0,
            packets_sent: so_far.packets,
            bytes_sent: so_far.bytes,
            in_flight: Bytes::new(so_far.in_flight),
            virtual_delay: Span::ZERO,
            sent_at: now,
            echo: report.map(|report| report.sent_at),
            held: report.map_or(Span::ZERO, |report| now.since(report.arrived)),
            rtt: so_far.rtt,
            app_rate: so_far.app_rate,
            request,
        }
    }
}
