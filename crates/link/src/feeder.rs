//! A link that feeds others: its packets enter the next link ahead of their time. Which links do is the driver's business, and
//! so is the next link; what is remembered of packets is in `feed.rs`.
//!
//! A link that acts on arrivals only knows at once when a packet will reach the far end. Where nothing else enters the next
//! link, the packet may enter that one at once, too, as of its arrival there, and costs no event on its way. Then it is not
//! on this link's wire; what this link has of it is an entry, as long as anybody may ask where it is.

use tailback_core::{Backlog, DropReason, Packet, RouteCursor, Span, Time, Verdict};

use crate::driver::{LinkCx, LinkDriver};
use crate::feed::{Coming, Feed};
use crate::link::{Link, Mode, Offer};

/// Who feeds no other link by a packet.
const NOWHERE: u32 = Feed::NOWHERE;

impl Link {
    /// Whether the link knows when a packet reaches the far end as it enters, or as it leaves the queue, and nothing happens to it
    /// behind that.
    pub fn may_feed(&self) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_none_or(|staged| staged.is_steady()) && !self.is_rough()
    }

    /// Whether what becomes of packets depends on these and their times alone, so that they may enter ahead of their time
    /// where they come in order and nobody looks before.
    pub fn acts_on_arrivals(&self) -> bool {
        self.mode != Mode::Staged
    }

    /// From now on, before anything was offered, packets come by [`Link::feed`], [`Link::offer_beside`] and
    /// [`Link::feed_at_length`], or, where the link [does not act on arrivals](Link::acts_on_arrivals), what leaves the queue is
    /// given to the driver, which calls [`Link::send_on`] or [`Link::send_beside`] with it.
    pub fn begin_to_feed(&mut self) {
        self.cold().feed = Some(Feed::new());
        if self.mode == Mode::Open {
            self.mode = Mode::OpenFeeder;
        }
    }

    /// Whether packets come so.
    pub fn feeds(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.feed.is_some())
    }

    /// Takes in a packet that enters the link `to` at once, as of when it arrives there, which is given; `None` where a full
    /// buffer has no room for it. Only of a link whose [entrance](Link::entrance) is open or plain.
    #[inline(always)]
    pub fn feed(&mut self, now: Time, packet: &Packet, to: u32) -> Option<Time> {
        debug_assert!(matches!(self.mode, Mode::OpenFeeder | Mode::Plain));
        self.arrived.add(packet.size());
        let cold = self.cold.as_deref_mut()?;
        let delay = self.track.delay;
        let wait = self.server.busy_until().since(now);
        if self.mode == Mode::Plain {
            let backlog = cold.feed.as_mut()?.backlog(now, delay);
            if !cold.admits(packet, &backlog, wait.is_zero()) {
                return None;
            }
        }
        let feed = cold.feed.as_mut()?;
        if !feed.has_room(now) {
            return None;
        }
        let arrives = self.server.transmit(now, packet.size()).after(delay);
        if self.mode == Mode::Plain {
            feed.waits(!wait.is_zero(), packet.size());
        }
        feed.push(wait, arrives, to, packet.size());
        Some(arrives)
    }

    /// The same of a link that has more to say: the packet as it enters the next link, and when. What does not, it has
    /// dropped.
    pub fn feed_at_length<D: LinkDriver>(
        &mut self,
        mut packet: Packet,
        to: u32,
        cx: &mut LinkCx<'_, D>,
    ) -> Option<(Packet, Time)> {
        self.arrived.add(packet.size());
        if self.is_lost_before_queue(&packet, cx.now) {
            self.drop(packet, DropReason::Loss, cx);
            return None;
        }
        let wait = self.server.busy_until().since(cx.now);
        let mut verdict = self.police(&mut packet, wait.is_zero(), cx);
        let feed = self.cold.as_deref_mut()?.feed.as_mut()?;
        if verdict == Verdict::Accept && !feed.has_room(cx.now) {
            verdict = Verdict::Drop(DropReason::Overflow);
        }
        if let Verdict::Drop(reason) = verdict {
            self.drop(packet, reason, cx);
            return None;
        }
        let arrives = self.server.transmit(cx.now, packet.size()).after(self.track.delay);
        feed.waits(!wait.is_zero(), packet.size());
        feed.push(wait, arrives, to, packet.size());
        Some((packet, arrives))
    }

    /// Takes in a packet that goes on by an event: the same as [`Link::offer`] where others are fed.
    #[inline(always)]
    pub fn offer_beside(&mut self, now: Time, packet: Packet, route: RouteCursor) -> Offer {
        match self.feed(now, &packet, NOWHERE) {
            None => Offer::Overflow,
            Some(arrives) => self.lay_arriving(arrives, packet, route),
        }
    }

    /// The same of a link that has more to say.
    pub fn offer_beside_at_length<D: LinkDriver>(
        &mut self,
        packet: Packet,
        route: RouteCursor,
        cx: &mut LinkCx<'_, D>,
    ) {
        if let Some((packet, arrives)) = self.feed_at_length(packet, NOWHERE, cx)
            && let Offer::Leads(leaf, arrives) = self.lay_arriving(arrives, packet, route)
        {
            cx.driver.arm(leaf, arrives);
        }
    }

    /// A packet that has left the queue enters the link `to`, where it arrives at `arrives`.
    #[inline(always)]
    pub fn send_on(&mut self, now: Time, packet: &Packet, arrives: Time, to: u32) {
        if let Some(feed) = self.cold.as_deref_mut().and_then(|cold| cold.feed.as_mut()) {
            feed.make_room(now);
            feed.push(Span::ZERO, arrives, to, packet.size());
        }
    }

    /// A packet that has left the queue goes on by an event.
    #[inline(always)]
    pub fn send_beside(&mut self, now: Time, packet: Packet, arrives: Time) -> Offer {
        self.send_on(now, &packet, arrives, NOWHERE);
        self.lay_arriving(arrives, packet, packet.route)
    }

    /// Puts a packet that was taken in on the wire.
    #[inline(always)]
    pub(crate) fn lay_arriving(&mut self, arrives: Time, packet: Packet, route: RouteCursor) -> Offer {
        match self.track.push_arriving(arrives, packet, route) {
            None => Offer::Queued,
            Some(arrives) => Offer::Leads(self.wire_timer(), arrives),
        }
    }

    /// The packet that was fed last did not enter after all.
    #[cold]
    pub fn feed_in_vain(&mut self) {
        if let Some(feed) = self.cold.as_deref_mut().and_then(|cold| cold.feed.as_mut()) {
            feed.take_back();
        }
    }

    /// The packets that have entered other links, and are to arrive there at `now` or later.
    pub fn coming(&self, now: Time) -> impl Iterator<Item = Coming> {
        let feed = self.cold.as_deref().and_then(|cold| cold.feed.as_ref());
        feed.into_iter().flat_map(move |feed| feed.coming(now, self.track.delay))
    }

    /// What waits at `now`, where a transmission that ends now has ended.
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        match self.cold.as_deref_mut().and_then(|cold| cold.feed.as_mut()) {
            Some(feed) => feed.backlog(now, self.track.delay),
            None => self.track.backlog(now),
        }
    }
}
