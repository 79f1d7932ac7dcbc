//! The straight ways through a sender: an acknowledgement of the next number, and full segments of new data, where a window
//! says how many, or a window and a rate. What they leave out cannot matter while [`Sender::way_now`] allows them, so results
//! are the same as on the general way (`sender.rs`, `output.rs`), which all else takes; a property test holds them equal.

use tailback_core::{
    AnnexId, Bytes, Controller, EndpointCx, Kind, OneWay, Output, Packet, PairPosition, Said, Sent, Time,
};

use super::{Opening, Sender, Way};
use crate::config::EcnMode;
use crate::shaper::Verdict;
use crate::source::Source;
use crate::teller::{Books, Next};

impl<C: Controller, S: Source> Sender<C, S> {
    /// The same sender without the straight ways, and whose controller hears of every packet, to compare with.
    #[doc(hidden)]
    #[must_use]
    pub fn on_general_way(mut self) -> Self {
        self.may_go_straight = false;
        self.steering.teller.tell_of_all();
        self
    }

    /// Whether the next acknowledgement may go a straight way.
    #[doc(hidden)]
    pub fn goes_straight(&self) -> bool {
        self.way != Way::General
    }

    /// Whether nothing but a window and a rate is in force, and nothing is missing. Asked after whatever goes the general way,
    /// since only that can change it, and the controller, which is asked by itself.
    pub(super) fn way_now(&self) -> Way {
        let config = &*self.config;
        let straight = self.may_go_straight
            && config.send_jitter.is_zero()
            && !config.segmentation_offload
            && config.limited_transmit
            && !self.stopped
            && !self.app.listens()
            && self.opening == Opening::Done
            && self.recovery.is_usual(config)
            && self.steering.is_plain();
        if !straight {
            Way::General
        } else if !self.recovery.is_calm() {
            if self.recovery.counts_ranges() { Way::Beside } else { Way::General }
        } else if self.steering.is_window_only() && config.ecn == EcnMode::Off && !self.annotates {
            Way::Window
        } else {
            Way::Paced
        }
    }

    /// Takes an acknowledgement of the next number that says nothing else, or beside a hole one of a segment more beyond it;
    /// any other is left as it is.
    #[inline(always)]
    pub(super) fn take_next(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) -> bool {
        let heard = match self.way {
            Way::Beside | Way::Repaired => return self.take_beyond(now, packet, cx),
            Way::Window | Way::Paced if packet.is_bare_ack() => Some(None),
            Way::Paced if packet.is_quiet_ack() => self.no_news(packet.annex, cx),
            Way::General | Way::Window | Way::Paced => None,
        };
        let Some(one_way) = heard else { return false };
        let Some(mut next) = self.recovery.on_next(now, packet.number, &self.config) else { return false };
        next.one_way = one_way;
        if packet.annex.is_some() {
            cx.annexes.free(packet.annex);
        }
        self.counters.acked_packets += 1;
        self.counters.acked += next.acked.size;
        let (steering, books) = (&mut self.steering, &self.recovery);
        let stays = match self.way {
            Way::Window => steering.tell_next(now, &next, books, cx),
            _ => steering.tell_one::<false>(now, &next, books, cx),
        };
        if !stays {
            self.way = Way::General;
        }
        true
    }

    /// Takes an acknowledgement that tells of a segment more beyond a hole and nothing else; any other is left as it is.
    #[inline(always)]
    fn take_beyond(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) -> bool {
        let Some(said) = cx.annexes.said(packet.annex).filter(|_| packet.is_quiet_ack()) else {
            return false;
        };
        if !self.recovery.knows_of(said.marks()) {
            return false;
        }
        let mut next = Next { one_way: said.one_way(), ..Next::EMPTY };
        let (recovery, number, config) = (&mut self.recovery, packet.number, &*self.config);
        let is_taken = match said {
            Said::Brief(said) => recovery.on_beyond(now, number, said, config, &mut next),
            Said::Whole(said) => recovery.on_beyond(now, number, said.as_slice(), config, &mut next),
        };
        if !is_taken {
            return false;
        }
        cx.annexes.free(packet.annex);
        self.counters.note(next.event);
        let stays = self.steering.tell_one::<true>(now, &next, &self.recovery, cx);
        self.way = if stays && next.event.is_none() { Way::Beside } else { self.way_now() };
        true
    }

    /// The segment's way to the receiver, if any, where that is all that an acknowledgement says beyond its number and a count
    /// of marks that is known; `None` where it says more.
    #[expect(clippy::option_option, reason = "that no way is told is not the same as that more is told")]
    #[inline(never)]
    fn no_news(&self, annex: AnnexId, cx: &EndpointCx<'_>) -> Option<Option<OneWay>> {
        let said = cx.annexes.said(annex)?;
        (said.is_in_order() && self.recovery.knows_of(said.marks())).then(|| said.one_way())
    }

    /// Fetches the oldest segment's record, and the place of the next one's, ahead of an acknowledgement.
    #[inline(always)]
    pub fn fetch_records(&self) {
        self.recovery.fetch_records();
    }

    /// Whether a timer that is due is the shaper's, and neither loss recovery's, nor the controller's, nor the application's.
    #[inline(always)]
    pub fn is_shapers_time(&self, now: Time) -> bool {
        matches!(self.way, Way::Paced | Way::Beside | Way::Repaired)
            && now < self.recovery.deadline().min(self.steering.timer()).min(self.app.next_offer())
    }

    /// The size of the next segment, if that is a full one of new data which the receiver has room for, and does not end a
    /// message.
    #[inline(always)]
    fn next_size(&self) -> Option<u16> {
        let size = self.header + self.payload;
        let ends = self.recovery.is_idle() || self.recovery.first() >= self.app.next_end();
        let room = self.recovery.outstanding() + u64::from(size) <= self.receive_window;
        (!ends && self.app.has_more_than(u64::from(self.payload)) && room).then_some(size)
    }

    /// Whether the window has no room for a segment of `size`.
    #[inline(always)]
    fn is_window_full(&self, size: u16) -> bool {
        let (pipe, window) = (self.recovery.pipe(), self.steering.window);
        pipe + u64::from(size) > window && (pipe > 0 || window == 0)
    }

    /// It waits for room, not for the application.
    #[inline(always)]
    fn wait(&mut self, until: Time) -> Output {
        self.steering.teller.app_limited = false;
        let timers = self.recovery.deadline().min(self.steering.timer());
        Output::Wait(timers.min(until).min(self.app.next_offer()).finite())
    }

    /// A full segment of new data leaves.
    #[inline(always)]
    fn send_next(&mut self, now: Time, size: u16, tag: u32) -> Packet {
        let bytes = Bytes::new(u64::from(size));
        self.app.take_part(u64::from(self.payload));
        self.counters.packets += 1;
        self.counters.bytes += bytes;
        let number = self.recovery.sent_next(now, size, tag, &self.config);
        Packet::new(Kind::Data, self.flow, number, bytes)
    }

    /// What is next by the window alone, where that is a full segment of new data or waiting; `None` leaves it to the general
    /// way.
    #[inline(always)]
    pub(super) fn poll_next(&mut self, now: Time) -> Option<Output> {
        let size = self.next_size()?;
        if self.is_window_full(size) {
            return Some(self.wait(Time::NEVER));
        }
        Some(Output::Transmit(self.send_next(now, size, 0)))
    }

    /// The same by window and rate, of a controller that may watch what is sent.
    #[inline(always)]
    pub(super) fn poll_paced(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Output> {
        let size = self.next_size()?;
        let bytes = Bytes::new(u64::from(size));
        self.wake = Time::NEVER;
        if self.is_window_full(size) {
            if let Some(shaper) = &mut self.steering.shaper {
                shaper.pass();
            }
            return Some(self.wait(Time::NEVER));
        }
        if let Some(shaper) = &mut self.steering.shaper
            && let Verdict::Wait(at) = shaper.ask_plain(now, bytes, cx.rng)
        {
            self.wake = at;
            return Some(self.wait(at));
        }
        let sent = Sent {
            number: self.recovery.end(),
            size: bytes,
            in_flight: Bytes::new(self.recovery.in_flight()) + bytes,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: false,
            tag: 0,
        };
        let tag = self.steering.sent(now, sent, cx);
        if !self.steering.is_plain() {
            self.recovery.direct_timeout(self.steering.timeout());
            self.way = Way::General;
        }
        let mut packet = self.send_next(now, size, tag);
        if self.annotates {
            self.annotate(now, &mut packet, cx);
        }
        if self.config.ecn != EcnMode::Off {
            packet.set_ecn(self.config.ecn.codepoint());
            packet.set_window_reduced(self.recovery.take_reduced());
        }
        Some(Output::Transmit(packet))
    }
}
