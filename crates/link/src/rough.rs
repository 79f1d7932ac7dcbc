//! What the wire does to packets that reach the far end of a rough link: some go no further, some go twice, some later.
//! Which, decides `impairment.rs`.

use std::cmp::Reverse;

use tailback_core::{DropReason, Packet, Span, Time};

use crate::driver::{LinkCx, LinkDriver};
use crate::late::Late;
use crate::link::{Cold, Link};

impl Cold {
    /// When the next packet held back arrives.
    fn next_late(&self) -> Time {
        self.late.peek().map_or(Time::NEVER, |Reverse(late)| late.time)
    }
}

impl Link {
    /// A packet held back on the wire is due.
    pub fn arrive_late<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) -> Option<Packet> {
        let cold = self.cold();
        let Reverse(late) = cold.late.pop()?;
        cx.driver.arm(cold.timers.late, cold.next_late());
        Some(late.packet)
    }

    /// Strikes a packet at the far end; gives it back if it goes on at once.
    pub fn wear<D: LinkDriver>(&mut self, mut packet: Packet, cx: &mut LinkCx<'_, D>) -> Option<Packet> {
        let Some(wear) = self.cold.as_mut().and_then(|cold| cold.wear.as_mut()) else { return Some(packet) };
        let fate = wear.strike(cx.now, &mut packet);
        if fate.lost {
            self.cold().lost_on_wire.add(packet.size());
            self.drop(packet, DropReason::Loss, cx);
            return None;
        }
        if fate.copied {
            let mut copy = packet;
            copy.annex = cx.annexes.copy(packet.annex);
            self.cold().duplicated.add(copy.size());
            cx.driver.duplicated(cx.now, &copy);
            self.hold(copy, cx.now + fate.held, &mut cx.driver);
        }
        if fate.held > Span::ZERO {
            self.hold(packet, cx.now + fate.held, &mut cx.driver);
            return None;
        }
        Some(packet)
    }

    fn hold(&mut self, packet: Packet, time: Time, driver: &mut impl LinkDriver) {
        let cold = self.cold();
        cold.late_count += 1;
        cold.late.push(Reverse(Late { time, order: cold.late_count, packet }));
        driver.arm(cold.timers.late, cold.next_late());
    }
}
