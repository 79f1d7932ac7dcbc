//! Between the application's offers and segments: what is waiting to be sent, where messages end, and when they are
//! done. What applications offer is decided in `source`.

use std::collections::VecDeque;

use tailback_core::{AppHint, BitRate, Bytes, Gate, Stream, Time};

use crate::hints::Hints;
use crate::source::{Offer, Source};

/// Data offered and not yet cut into segments. Segments never cross the end of a message.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    left: u64,
    /// The whole message's size so far.
    message: u64,
    began: Time,
    ends: bool,
}

/// A message whose last segment was sent.
#[derive(Clone, Copy, Debug)]
struct End {
    /// One beyond its last segment's number.
    number: u64,
    size: u64,
    began: Time,
}

/// Messages beyond the one that is being cut.
#[derive(Debug, Default)]
struct Messages {
    /// All that have begun.
    begun: u64,
    waiting: VecDeque<Chunk>,
    /// Those whose last segment was sent, and is not yet acknowledged.
    ends: VecDeque<End>,
}

/// What most flows have nothing of.
#[derive(Debug, Default)]
struct Rare {
    /// An offer that begins a new connection waits here until everything before it is acknowledged.
    held: Option<(Offer, Time)>,
    /// What a real application has heard, where one listens.
    hints: Option<Hints>,
}

/// The application's side of a sender.
#[derive(Debug)]
pub(crate) struct Application<S> {
    source: S,
    /// What is being cut; `None` between messages.
    front: Option<Chunk>,
    /// Of a transfer without end there are none.
    messages: Option<Box<Messages>>,
    next_offer: Time,
    next_end: u64,
    rare: Option<Box<Rare>>,
    /// When data was last written.
    written_at: Time,
    finished: bool,
}

impl<S: Source> Application<S> {
    pub(crate) fn new(source: S) -> Self {
        Self {
            source,
            front: None,
            messages: None,
            next_offer: Time::NEVER,
            next_end: u64::MAX,
            rare: None,
            written_at: Time::ZERO,
            finished: false,
        }
    }

    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    pub(crate) fn start(&mut self, now: Time, rng: &mut Stream) {
        self.source.start(now, rng);
        self.refresh();
    }

    /// No further offers; what was offered is still sent.
    pub(crate) fn close(&mut self, now: Time) {
        self.source.stop(now);
        self.refresh();
    }

    /// Nothing more is sent.
    pub(crate) fn stop(&mut self, now: Time) {
        self.close(now);
        self.front = None;
        if let Some(messages) = &mut self.messages {
            **messages = Messages { begun: messages.begun, ..Messages::default() };
        }
        self.next_end = u64::MAX;
        if let Some(rare) = &mut self.rare {
            rare.held = None;
        }
        self.finished = true;
    }

    fn refresh(&mut self) {
        self.next_offer =
            if self.is_holding() { Time::NEVER } else { self.source.next_offer().unwrap_or(Time::NEVER) };
    }

    /// When the source will offer more.
    #[inline]
    pub(crate) fn next_offer(&self) -> Time {
        self.next_offer
    }

    /// What the source may send, for offers to come; `rate` is application data per time.
    pub(crate) fn tell(&mut self, rate: Option<BitRate>, gate: Gate) -> AppHint {
        let waiting = self.messages.iter().flat_map(|messages| &messages.waiting);
        let waiting = waiting.map(|chunk| chunk.left).fold(self.left(), u64::saturating_add);
        let hint = AppHint { rate, backlog: Bytes::new(waiting), gate };
        self.source.tell(hint);
        hint
    }

    /// Takes the offers that are due. `next` is the number of the next new segment.
    pub(crate) fn take_offers(&mut self, now: Time, next: u64, rng: &mut Stream) {
        while self.next_offer <= now {
            let Some(offer) = self.source.take_offer(now, rng) else {
                self.refresh();
                return;
            };
            if offer.new_connection && (next > 0 || self.has_data()) {
                self.begin(offer);
                self.rare.get_or_insert_default().held = Some((offer, now));
            } else {
                if self.is_between_messages() {
                    self.begin(offer);
                }
                self.write(offer.bytes, offer.ends_message, now, next);
            }
            self.refresh();
        }
    }

    /// A message begins with this offer. A transfer without end is none.
    fn begin(&mut self, offer: Offer) {
        if offer.bytes != Bytes::MAX {
            self.messages.get_or_insert_default().begun += 1;
        }
    }

    /// How many messages have begun, whether or not they have ended.
    pub(crate) fn begun(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.begun)
    }

    /// The offer that waits for a new connection, once all before it was sent; the caller saw that all of it was
    /// acknowledged, too.
    pub(crate) fn release_held(&mut self, next: u64) -> bool {
        if self.has_data() || self.next_end != u64::MAX {
            return false;
        }
        let held = self.rare.as_mut().and_then(|rare| rare.held.take());
        let Some((offer, at)) = held else { return false };
        self.write(offer.bytes, offer.ends_message, at, next);
        self.refresh();
        true
    }

    /// Whether an offer waits for a new connection.
    #[inline]
    pub(crate) fn is_holding(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.held.is_some())
    }

    /// A real application listens from now on to what it may send.
    pub(crate) fn listen(&mut self) {
        self.rare.get_or_insert_default().hints = Some(Hints::default());
    }

    /// Whether a real application listens.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.hints.is_some())
    }

    /// The application hears of this hint if `always`, or if it is news; whether it does.
    pub(crate) fn hear(&mut self, hint: AppHint, always: bool) -> bool {
        let hints = self.rare.as_mut().and_then(|rare| rare.hints.as_mut());
        let Some(hints) = hints.filter(|hints| always || hints.is_news(&hint)) else { return false };
        hints.note(hint);
        true
    }

    /// What was offered last, if any of it is yet to be sent.
    fn last(&self) -> Option<&Chunk> {
        let waiting = self.messages.as_ref().and_then(|messages| messages.waiting.back());
        waiting.or(self.front.as_ref())
    }

    /// Whether what is offered next begins a message.
    fn is_between_messages(&self) -> bool {
        self.last().is_none_or(|last| last.ends)
    }

    /// More data of the current message, or of a new one. `next` is the number of the next new segment.
    pub(crate) fn write(&mut self, bytes: Bytes, ends: bool, now: Time, next: u64) {
        let bytes = bytes.get();
        self.written_at = now;
        let last = self.messages.as_mut().and_then(|messages| messages.waiting.back_mut());
        match last.or(self.front.as_mut()) {
            Some(last) if !last.ends => {
                last.left = last.left.saturating_add(bytes);
                last.message = last.message.saturating_add(bytes);
                last.ends = ends;
            }
            _ => {
                let chunk = Chunk { left: bytes, message: bytes, began: now, ends };
                if self.front.is_none() {
                    self.front = Some(chunk);
                } else {
                    self.messages.get_or_insert_default().waiting.push_back(chunk);
                }
            }
        }
        self.turn(next);
    }

    /// Ends the messages at the front that have nothing left.
    fn turn(&mut self, next: u64) {
        while let Some(Chunk { left: 0, ends: true, message, began }) = self.front {
            let messages = self.messages.get_or_insert_default();
            messages.ends.push_back(End { number: next, size: message, began });
            self.next_end = self.next_end.min(next);
            self.front = messages.waiting.pop_front();
        }
    }

    #[inline]
    fn left(&self) -> u64 {
        self.front.as_ref().map_or(0, |chunk| chunk.left)
    }

    /// Whether anything waits to be cut into segments.
    #[inline]
    pub(crate) fn has_data(&self) -> bool {
        self.left() > 0
    }

    /// When data was last written.
    pub(crate) fn written_at(&self) -> Time {
        self.written_at
    }

    /// The payload of the next segment, at most `max`; 0 without data.
    #[inline]
    pub(crate) fn payload(&self, max: u64) -> u64 {
        self.left().min(max)
    }

    /// The payload of the segment after a next one of `first`; 0 without data.
    pub(crate) fn payload_after(&self, first: u64, max: u64) -> u64 {
        let left = match self.left() {
            u64::MAX => u64::MAX,
            left => left - first,
        };
        if left > 0 {
            return left.min(max);
        }
        let waiting = self.messages.as_ref().and_then(|messages| messages.waiting.front());
        waiting.map_or(0, |chunk| chunk.left.min(max))
    }

    /// When the oldest message not yet done ends: one beyond its last segment's number, or never.
    #[inline(always)]
    pub(crate) fn next_end(&self) -> u64 {
        self.next_end
    }

    /// Whether more than `payload` waits of one message.
    #[inline(always)]
    pub(crate) fn has_more_than(&self, payload: u64) -> bool {
        self.left() > payload
    }

    /// A segment of `payload` was cut, with which no message ends.
    #[inline(always)]
    pub(crate) fn take_part(&mut self, payload: u64) {
        if let Some(front) = &mut self.front
            && front.left != u64::MAX
        {
            front.left -= payload;
        }
    }

    /// A segment of `payload` was cut; the next one's number is `next`. Whether it ends a message.
    #[inline]
    pub(crate) fn cut(&mut self, payload: u64, next: u64) -> bool {
        let Some(front) = &mut self.front else { return false };
        if front.left == u64::MAX {
            return false;
        }
        front.left -= payload;
        if front.left > 0 || !front.ends {
            return false;
        }
        self.turn(next);
        true
    }

    /// The oldest message, if all below `acknowledged` ends it; the source is told.
    #[inline]
    pub(crate) fn message_done(
        &mut self,
        acknowledged: u64,
        now: Time,
        rng: &mut Stream,
    ) -> Option<(Bytes, Time)> {
        if acknowledged < self.next_end {
            return None;
        }
        let ends = &mut self.messages.as_mut()?.ends;
        let end = ends.pop_front()?;
        self.next_end = ends.front().map_or(u64::MAX, |end| end.number);
        self.source.on_message_done(now, rng);
        self.refresh();
        Some((Bytes::new(end.size), end.began))
    }

    /// Whether the application has just finished; true once. The caller saw that all was acknowledged.
    pub(crate) fn finish(&mut self) -> bool {
        let done = !self.finished
            && !self.has_data()
            && !self.is_holding()
            && self.next_end == u64::MAX
            && self.source.is_finished();
        self.finished |= done;
        done
    }
}
