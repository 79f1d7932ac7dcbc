//! The sending half of a multicast sender: new data for all, what one receiver misses for that one alone, and when either
//! may leave.

use tailback_core::{Bytes, Controller, EndpointCx, FlowId, Kind, Packet, PairPosition, Sent, Time};

use super::MulticastSender;
use super::branch::Branch;
use crate::shaper::Verdict;
use crate::source::Source;
use crate::stream::{Choice, Room};

/// What may leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// New data, to all.
    New(u16),
    /// What one receiver misses: which receiver, why, and the number.
    Again(usize, Choice, u64),
}

/// New data that is to leave: its size, and that of a packet behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    size: u16,
    behind: u16,
}

impl<C: Controller, S: Source> MulticastSender<C, S> {
    /// What may leave to a receiver again.
    pub(super) fn missing(&self, branch: &Branch<C>) -> Choice {
        let room = Room { window: branch.window(), receive_window: self.receive_window, new: 0 };
        branch.recovery.choose(&room, &self.config)
    }

    /// Whether new data may leave to a receiver, and whether a packet may leave behind it.
    pub(super) fn fits(&self, branch: &Branch<C>, asked: Asked) -> (bool, bool) {
        let room = Room { window: branch.window(), receive_window: self.receive_window, new: asked.size };
        let now = branch.recovery.choose(&room, &self.config);
        // What this receiver misses is a queue of its own; only room counts here.
        let fits = now == Choice::New || now.again().is_some();
        let fits_behind = fits && {
            let then = branch.recovery.choose_after(Choice::New, &room, asked.behind, &self.config);
            !matches!(then, Choice::WindowFull | Choice::Nothing)
        };
        (fits, fits_behind)
    }

    /// Whether new data of `size` may leave to every receiver; `behind` for a packet of `new` bytes after that one.
    fn new_fits(&mut self, size: u16, behind: Option<u16>) -> bool {
        let asked = Asked { size, behind: behind.unwrap_or(self.asked.behind) };
        if std::mem::replace(&mut self.asked, asked) != asked {
            self.stand_all();
        }
        let worst = self.standings.worst();
        if behind.is_some() { worst.fits_behind } else { worst.fits }
    }

    /// The next packet, were the shaper to let it leave; what receivers miss goes first, in turn.
    fn next(&mut self) -> Option<Next> {
        // The second of a pair is new data as its first was.
        if self.shaper.pair_is_whole() {
            let from = self.turn % self.branches.len().max(1);
            let next = |from| self.standings.next(from, |standing| standing.misses);
            if let Some(place) = next(from).or_else(|| next(0)) {
                let choice = self.missing(&self.branches[place]);
                return choice.again().map(|number| Next::Again(place, choice, number));
            }
        }
        let payload = self.app.payload(u64::from(self.payload));
        let size = self.header + payload as u16;
        (payload > 0 && self.new_fits(size, None)).then_some(Next::New(size))
    }

    pub(super) fn data_packet(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        self.wake = Time::NEVER;
        let Some(next) = self.next() else {
            self.app_limited = !self.app.has_data();
            self.shaper.pass();
            return None;
        };
        self.app_limited = false;
        let (size, behind, since) = match next {
            Next::New(size) => {
                let after = self.app.payload_after(u64::from(size - self.header), u64::from(self.payload));
                let behind = Some(self.header + after as u16).filter(|_| after > 0);
                let behind = behind.filter(|new| self.new_fits(size, Some(*new)));
                (size, behind, (after == 0).then(|| self.app.written_at()))
            }
            Next::Again(index, _, number) => {
                (self.branches[index].recovery.size_of(number), None, Some(Time::ZERO))
            }
        };
        let bytes = |size| Bytes::new(u64::from(size));
        match self.shaper.ask(now, bytes(size), behind.map(bytes), since, cx.rng) {
            Verdict::Send(pair) => Some(match next {
                Next::New(size) => self.send_new(now, size, pair, cx),
                Next::Again(index, choice, number) => self.send_again(now, index, (choice, number), cx),
            }),
            Verdict::Wait(at) => {
                self.wake = at;
                None
            }
        }
    }

    fn send_new(&mut self, now: Time, size: u16, pair: PairPosition, cx: &mut EndpointCx<'_>) -> Packet {
        let number = self.end();
        let bytes = Bytes::new(u64::from(size));
        let sent = Sent {
            number,
            size: bytes,
            in_flight: bytes,
            retransmission: false,
            pair,
            app_limited: false,
            tag: 0,
        };
        for branch in &mut self.branches {
            let tag = branch.on_sent(now, sent, cx);
            branch.recovery.sent_new(now, size, tag, pair, &self.config);
        }
        self.stand_all();
        self.obey(now, cx);
        let mut packet = self.packet(self.group, number, bytes);
        packet.set_pair(pair);
        packet.set_last(self.app.cut(u64::from(size - self.header), number + 1));
        packet
    }

    fn send_again(
        &mut self,
        now: Time,
        index: usize,
        (choice, number): (Choice, u64),
        cx: &mut EndpointCx<'_>,
    ) -> Packet {
        self.turn = index + 1;
        let branch = &mut self.branches[index];
        let bytes = Bytes::new(u64::from(branch.recovery.size_of(number)));
        let pair = PairPosition::Single;
        let sent = Sent {
            number,
            size: bytes,
            in_flight: bytes,
            retransmission: true,
            pair,
            app_limited: false,
            tag: 0,
        };
        let tag = branch.on_sent(now, sent, cx);
        branch.recovery.retransmitted(now, choice, tag, pair, &self.config);
        let flow = branch.flow;
        self.stand(index);
        self.obey(now, cx);
        self.counters.retransmitted += 1;
        let mut packet = self.packet(flow, number, bytes);
        packet.set_retransmitted(true);
        packet
    }

    fn packet(&mut self, flow: FlowId, number: u64, size: Bytes) -> Packet {
        self.counters.packets += 1;
        self.counters.bytes += size;
        let mut packet = Packet::new(Kind::Data, flow, number, size);
        packet.set_ecn(self.config.ecn.codepoint());
        packet
    }
}
