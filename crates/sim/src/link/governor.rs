//! Who lets packets leave a governed link: a shaper that obeys the directives of the endpoint that governs the link. What
//! it directs is the endpoint's business, the order of packets the queue discipline's.

use tailback_core::{Bytes, Directive, Stream, Time};
use tailback_transport::{Shaper, Verdict};

/// A shaper in place of a server.
#[derive(Debug)]
pub(super) struct Governor {
    shaper: Option<Shaper>,
    packet: Bytes,
    rng: Stream,
}

impl Governor {
    /// One that lets nothing go before it is directed; its bucket holds at least `packet` bytes, which larger packets find
    /// full.
    pub(super) fn new(packet: Bytes, rng: Stream) -> Self {
        Self { shaper: None, packet, rng }
    }

    /// Obeys a directive from now on.
    pub(super) fn direct(&mut self, now: Time, directive: &Directive) {
        let shaper = self.shaper.get_or_insert_with(|| Shaper::new(now, self.packet.get()));
        shaper.direct(now, directive, &mut self.rng);
    }

    /// Whether a packet of `size` bytes leaves now, which spends its tokens; else when to ask again.
    pub(super) fn ask(&mut self, now: Time, size: Bytes) -> Result<(), Time> {
        let Some(shaper) = &mut self.shaper else { return Err(Time::NEVER) };
        match shaper.ask(now, size.get(), None, None, &mut self.rng) {
            Verdict::Send(_) => Ok(()),
            Verdict::Wait(at) => Err(at),
        }
    }
}
