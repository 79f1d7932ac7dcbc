//! The sending half of a stream's sender: the next data packet, and when it may leave.

use tailback_core::{
    AckRequest, Annex, BitRate, Bytes, Controller, EndpointCx, Kind, Packet, PairPosition, Sent, Time,
};

use super::train::Shaped;
use super::{Opening, Sender, train};
use crate::config::EcnMode;
use crate::shaper::Verdict;
use crate::source::Source;
use crate::stream::{Choice, Room};
use crate::teller::Books;

impl<C: Controller, S: Source> Sender<C, S> {
    #[inline(always)]
    fn room(&self) -> Room {
        let new = match self.opening {
            Opening::Done => match self.app.payload(u64::from(self.payload)) {
                0 => 0,
                payload => self.header + payload as u16,
            },
            Opening::Due if self.app.has_data() => self.header,
            Opening::Due | Opening::Requested => 0,
        };
        Room { window: self.recovery.window(self.steering.window), receive_window: self.receive_window, new }
    }

    /// The next data packet, if one may leave now.
    #[inline(always)]
    pub(super) fn data_packet(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        self.wake = Time::NEVER;
        self.recovery.settle();
        let room = self.room();
        let mut choice = self.recovery.choose(&room, &self.config);
        if choice == Choice::New && self.waits_for_train(now, &room) {
            choice = Choice::WindowFull;
        }
        match choice {
            Choice::Nothing if self.recovery.holds_back() && self.recovery.give_up_doubt() => {
                return self.data_packet(now, cx);
            }
            Choice::WindowFull | Choice::Nothing => {
                self.steering.teller.pause(choice == Choice::Nothing, self.recovery.in_flight());
                self.jitter_end = Time::NEVER;
                if let Some(shaper) = &mut self.steering.shaper {
                    shaper.pass();
                }
                return None;
            }
            Choice::Forced(_) | Choice::Probe(_) => {}
            _ => {
                if self.is_delayed(now, cx) {
                    return None;
                }
            }
        }
        let pair = if self.steering.shaper.is_some() {
            self.shape(now, choice, &room, cx)?
        } else {
            PairPosition::Single
        };
        Some(self.transmit(now, choice, room.new, pair, cx))
    }

    /// A random delay before whatever is sent, drawn when something may be sent and none is running.
    #[inline(always)]
    fn is_delayed(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> bool {
        let jitter = self.config.send_jitter;
        if jitter.is_zero() || self.recovery.is_limited_transmit() {
            return false;
        }
        if self.jitter_end.is_never() {
            self.jitter_end = now + jitter.mul_f64(cx.rng.uniform());
        }
        self.steering.teller.app_limited = false;
        self.wake = self.jitter_end;
        now < self.jitter_end
    }

    /// Asks the shaper; `None` if the packet has to wait.
    fn shape(
        &mut self,
        now: Time,
        choice: Choice,
        room: &Room,
        cx: &mut EndpointCx<'_>,
    ) -> Option<PairPosition> {
        let size = self.size_of(choice, room.new);
        match self.train.as_ref().map(|train| train.shaped(now)) {
            Some(Shaped::Paid) if choice == Choice::New => return Some(PairPosition::Single),
            Some(Shaped::Owes(until)) => {
                self.wake = until;
                self.steering.teller.app_limited = false;
                return None;
            }
            _ => {}
        }
        let shaper = self.steering.shaper.as_mut()?;
        // A lone packet waits for its partner from the time that its data was written (Keshav 1994, §8): a retransmission
        // has waited long enough. Where a partner only does not fit a window, it waits from now on.
        let mut since = None;
        let behind = if shaper.wants_pairs() {
            let is_new = matches!(choice, Choice::New | Choice::Probe(None));
            let first = if is_new { u64::from(room.new - self.header) } else { 0 };
            let max = u64::from(self.payload);
            let new = match self.app.payload_after(first, max) {
                0 => 0,
                payload => self.header + payload as u16,
            };
            let new = if self.opening == Opening::Done { new } else { 0 };
            match self.recovery.choose_after(choice, room, new, &self.config) {
                // A probe that is due is chosen first.
                Choice::WindowFull | Choice::Probe(_) => None,
                Choice::Nothing => {
                    since = if !is_new {
                        Some(Time::ZERO)
                    } else if new > 0 {
                        None
                    } else {
                        Some(self.app.written_at())
                    };
                    None
                }
                Choice::New if is_new => Some(u64::from(new)),
                Choice::New => Some(u64::from(room.new)),
                // Of new data the rescue is the same once more.
                Choice::Rescue(number) if number == self.recovery.end() => Some(u64::from(room.new)),
                Choice::Forced(number) | Choice::Again(number) | Choice::Rescue(number) => {
                    Some(u64::from(self.recovery.size_of(number)))
                }
            }
        } else {
            None
        };
        match shaper.ask(now, Bytes::new(u64::from(size)), behind.map(Bytes::new), since, cx.rng) {
            Verdict::Send(pair) => Some(pair),
            Verdict::Wait(at) => {
                self.wake = at;
                self.steering.teller.app_limited = false;
                None
            }
        }
    }

    /// Whether new segments leave in trains: not where they leave in pairs, which a controller measures.
    fn sends_trains(&self) -> bool {
        let in_pairs = self.steering.shaper.as_ref().is_some_and(|shaper| shaper.wants_pairs());
        self.train.is_some() && self.opening == Opening::Done && !in_pairs
    }

    /// Whether a segment of new data should wait until a whole train may leave.
    #[inline]
    fn waits_for_train(&mut self, now: Time, room: &Room) -> bool {
        if !self.sends_trains() {
            return false;
        }
        let now = self.what_trains_follow(now, room.new);
        self.train.as_mut().is_some_and(|train| train.waits(&now))
    }

    /// A segment leaves; whether it is the last one of a train.
    #[cold]
    fn is_end_of_train(&mut self, now: Time, size: u16, again: bool) -> bool {
        let is_free = !again && self.sends_trains();
        let known = self.what_trains_follow(now, size);
        let Some(train) = &mut self.train else { return false };
        if is_free {
            return train.leaves(&known);
        }
        train.breaks(now);
        false
    }

    /// The rate that a shaper keeps to.
    fn directed_rate(&self) -> Option<BitRate> {
        self.steering.shaper.as_ref().and_then(|_| self.steering.rate(None))
    }

    fn what_trains_follow(&self, time: Time, size: u16) -> train::Now {
        let window = self.recovery.window(self.steering.window);
        train::Now {
            time,
            size: u64::from(size),
            window,
            rate: self.directed_rate(),
            room: window.saturating_sub(self.recovery.in_flight()),
            smoothed_rtt: self.srtt(),
            latest_rtt: self.latest_rtt(),
            oldest: self.recovery.oldest_sent_at(),
            state: self.recovery.state(),
        }
    }

    #[inline]
    fn size_of(&self, choice: Choice, new: u16) -> u16 {
        choice.again().map_or(new, |number| self.recovery.size_of(number))
    }

    #[inline(always)]
    fn transmit(
        &mut self,
        now: Time,
        choice: Choice,
        new: u16,
        pair: PairPosition,
        cx: &mut EndpointCx<'_>,
    ) -> Packet {
        let (number, size, again) = match choice.again() {
            Some(number) => (number, self.recovery.size_of(number), true),
            None => (self.recovery.end(), new, false),
        };
        let bytes = Bytes::new(u64::from(size));
        let in_flight = Bytes::new(self.recovery.in_flight()) + bytes;
        let sent =
            Sent { number, size: bytes, in_flight, retransmission: again, pair, app_limited: false, tag: 0 };
        let tag = self.steering.sent(now, sent, cx);
        self.recovery.direct_timeout(self.steering.timeout());
        let mut packet = Packet::new(Kind::Data, self.flow, number, bytes);
        packet.set_pair(pair);
        if self.train.is_some() {
            packet.set_pushed(self.is_end_of_train(now, size, again));
        }
        if again {
            if self.recovery.deadline().is_never() {
                self.note_held(now);
            }
            self.recovery.retransmitted(now, choice, tag, pair, &self.config);
            packet.set_retransmitted(true);
            self.counters.retransmitted += 1;
        } else {
            self.send_new(now, &mut packet, tag, size);
        }
        self.counters.packets += 1;
        self.counters.bytes += bytes;
        if self.annotates {
            self.annotate(now, &mut packet, cx);
        }
        packet
    }

    /// What the controller, which has heard of a packet that leaves, asks of the receiver with it.
    fn ask(&mut self, packet: &mut Packet) -> Option<AckRequest> {
        let next = if packet.is_retransmitted() { self.recovery.end() } else { packet.number };
        let wish = self.steering.teller.controller.ack_wish();
        let asking = self.steering.teller.asking()?;
        let (request, at_once) = asking.leaves(wish, next, self.recovery.first());
        let held = asking.longest_delay();
        if held != self.recovery.rtt().held() {
            self.recovery.hold_acks(held);
        }
        // Nothing may follow that would have it acknowledged: it is the last of the data, or what a time-out retransmits, alone,
        // into a window of one packet.
        let is_alone = packet.is_retransmitted() && Bytes::new(self.recovery.in_flight()) <= packet.size();
        if at_once || is_alone || !self.app.has_data() {
            packet.set_pushed(true);
        }
        request
    }

    /// Gives a packet that leaves its stamp, and what the receiver is to hear about its acknowledgements.
    #[inline(always)]
    pub(super) fn annotate(&mut self, now: Time, packet: &mut Packet, cx: &mut EndpointCx<'_>) {
        if self.config.ack_requests {
            // Apart, so that who does not ask makes its stamps as if nobody did.
            return self.annotate_asking(now, packet, cx);
        }
        let info = self.steering.teller.stamp(now, &self.so_far(), None);
        packet.annex = cx.annexes.insert(Annex::Control(info));
    }

    #[inline(never)]
    fn annotate_asking(&mut self, now: Time, packet: &mut Packet, cx: &mut EndpointCx<'_>) {
        let request = self.ask(packet);
        let annex = if self.stamps {
            Annex::Control(self.steering.teller.stamp(now, &self.so_far(), request))
        } else if let Some(request) = request {
            Annex::Request(request)
        } else {
            return;
        };
        packet.annex = cx.annexes.insert(annex);
    }

    #[inline(always)]
    fn send_new(&mut self, now: Time, packet: &mut Packet, tag: u32, size: u16) {
        self.recovery.sent_new(now, size, tag, packet.pair(), &self.config);
        if self.opening == Opening::Due {
            self.opening = Opening::Requested;
            return;
        }
        packet.set_last(self.app.cut(u64::from(size - self.header), self.recovery.end()));
        if self.config.ecn != EcnMode::Off {
            packet.set_ecn(self.config.ecn.codepoint());
            packet.set_window_reduced(self.recovery.take_reduced());
        }
    }
}
