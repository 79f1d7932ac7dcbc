//! Who lets packets leave a governed link: a shaper that obeys the directives of the endpoint that governs the link. What
//! it directs is the endpoint's business, the order of packets the queue discipline's.

use tailback_core::{Bytes, Directive, Stream, Time};
use tailback_transport::{Shaper, Verdict};

/// A shaper in place of a server.
#[derive(Debug)]
pub(super) struct Governor {
    shaper: Option<Shaper>,
    /// How much may have left in all, where a window says so, and how much has.
    limit: Option<Bytes>,
    left: Bytes,
    packet: Bytes,
    rng: Stream,
}

impl Governor {
    /// One that lets nothing go before it is directed. Its bucket holds at least `packet` bytes, and where the window has room
    /// for so much, a larger packet finds room too.
    pub(super) fn new(packet: Bytes, rng: Stream) -> Self {
        Self { shaper: None, limit: None, left: Bytes::ZERO, packet, rng }
    }

    /// Obeys a directive from now on. Its window is what may have left in all: what is still on the way is known to the
    /// endpoint only.
    pub(super) fn direct(&mut self, now: Time, directive: &Directive) {
        let shaper = self.shaper.get_or_insert_with(|| Shaper::new(now, self.packet.get()));
        shaper.direct(now, directive, &mut self.rng);
        self.limit = directive.window;
    }

    /// Whether a packet of `size` bytes leaves now, which spends its tokens; else when to ask again.
    pub(super) fn ask(&mut self, now: Time, size: Bytes) -> Result<(), Time> {
        let Some(shaper) = &mut self.shaper else { return Err(Time::NEVER) };
        let needed = self.left + size.min(self.packet);
        if self.limit.is_some_and(|limit| needed > limit) {
            return Err(Time::NEVER);
        }
        match shaper.ask(now, size.get(), None, None, &mut self.rng) {
            Verdict::Send(_) => {
                self.left += size;
                Ok(())
            }
            Verdict::Wait(at) => Err(at),
        }
    }
}
