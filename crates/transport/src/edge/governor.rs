//! Who lets packets leave the link that an aggregate's near edge governs: a shaper in place of a server. What is allowed is
//! the edge's business (`ingress.rs`), the order of packets the queue discipline's.

use tailback_core::{Allowance, Bytes, Directive, Governor, Stream, Time};

use crate::shaper::{Shaper, Verdict};

/// A shaper that lets go what the edge that governs a link allows.
#[derive(Debug)]
pub struct ShapedGovernor {
    shaper: Option<Shaper>,
    /// How much may have left in all, where that is limited, and how much has.
    limit: Option<Bytes>,
    left: Bytes,
    packet: Bytes,
}

impl ShapedGovernor {
    /// One that lets nothing go before it is allowed. Its bucket holds at least `packet` bytes, and where the window has room
    /// for so much, a larger packet finds room too.
    pub const fn new(packet: Bytes) -> Self {
        Self { shaper: None, limit: None, left: Bytes::ZERO, packet }
    }
}

impl Governor for ShapedGovernor {
    fn allow(&mut self, now: Time, allowance: &Allowance, rng: &mut Stream) {
        let Allowance { total, rate, burst, gate } = *allowance;
        let shaper = self.shaper.get_or_insert_with(|| Shaper::new(now, self.packet));
        let directive = Directive { window: None, rate, burst, gate, ..Directive::window(Bytes::MAX) };
        shaper.direct(now, &directive, rng);
        self.limit = total;
    }

    fn ask(&mut self, now: Time, size: Bytes, rng: &mut Stream) -> Result<(), Time> {
        let Some(shaper) = &mut self.shaper else { return Err(Time::NEVER) };
        let needed = self.left + size.min(self.packet);
        if self.limit.is_some_and(|limit| needed > limit) {
            return Err(Time::NEVER);
        }
        match shaper.ask(now, size, None, None, rng) {
            Verdict::Send(_) => {
                self.left += size;
                Ok(())
            }
            Verdict::Wait(at) => Err(at),
        }
    }
}
