//! Staged links whose transmissions end when they must: at a fixed rate, without trace or governor, under a discipline that
//! may hear late that its server has run dry. A packet is on the wire as soon as its transmission begins, as the end of it
//! is known, and an event is spent only where another packet waits for that end. A packet that finds nothing waiting passes
//! its discipline by, which hears of it only if that can matter. Where what leaves enters another link ahead of its time, even
//! that end needs no event: it is found out when the next packet comes, or somebody looks, or the next packet that left could
//! reach the far end. All other staged links go by `stage.rs` alone; packets, times and counts are the same.

use tailback_core::{Annexes, BitRate, Packet, Span, Time};
use tailback_qdisc::{Discipline, HearsLate};

use crate::driver::{LinkCx, LinkDriver};
use crate::link::Link;
use crate::server::Server;
use crate::stage::{Passed, Stage};

/// The discipline of a link in its own type, which never changes.
#[inline(always)]
fn of<Q: HearsLate>(discipline: &mut Discipline) -> &mut Q {
    Q::of(discipline).expect("who asks has looked which it is")
}

impl Stage {
    /// A packet is offered. Gives the end of its transmission where it passes: then nothing but the wire need know of it.
    #[inline(always)]
    pub(crate) fn offer_ahead<Q: HearsLate>(
        &mut self,
        packet: Packet,
        server: &mut Server,
        now: Time,
        annexes: &mut Annexes,
    ) -> Option<Time> {
        let rate = server.rate();
        self.integrate_over(now, self.waiting);
        self.run_dry::<Q>(rate, now, annexes);
        let is_free = self.in_service.is_none() && self.waiting == 0 && rate > BitRate::ZERO;
        if is_free && of::<Q>(&mut self.discipline).lets_pass(now, rate) {
            return Some(self.pass(packet, server, now));
        }
        self.tell_passed::<Q>(rate, annexes);
        self.with(rate, annexes, |queue, cx| of::<Q>(queue).enqueue(now, packet, cx));
        None
    }

    /// The end of a transmission for which another packet waits.
    #[inline(always)]
    pub(crate) fn serve_ahead(&mut self, now: Time) {
        self.integrate_over(now, self.waiting);
        if self.service_end <= now {
            (self.in_service, self.service_end) = (None, Time::NEVER);
        }
    }

    /// Begins the next transmission if the server is free; its end. What [`Stage::start`] does, less what does not concern a
    /// server that works ahead: it has neither trace nor governor, and its discipline asks nothing of its surroundings.
    #[inline(always)]
    pub(crate) fn start_ahead<Q: HearsLate>(&mut self, server: &mut Server, now: Time) -> Option<Time> {
        let mut begun = None;
        if self.in_service.is_none() && server.rate() > BitRate::ZERO {
            self.in_service = of::<Q>(&mut self.discipline).take_next(now);
            if let Some(packet) = &self.in_service {
                self.idle_since = Time::NEVER;
                self.service_end = server.transmit(now, packet.size());
                self.busy += self.service_end.since(now);
                begun = Some(self.service_end);
            } else if self.idle_since == Time::NEVER {
                self.idle_since = now;
            }
        }
        self.waiting = of::<Q>(&mut self.discipline).waiting();
        begun
    }

    /// Transmits a packet that finds the server free and nothing waiting, without a word to the discipline: mostly the packet
    /// has left before the next one comes, and the discipline is then as if it had never been there. Gives the end of its
    /// transmission.
    #[inline(always)]
    fn pass(&mut self, packet: Packet, server: &mut Server, now: Time) -> Time {
        self.passed =
            Some(Passed { at: now, idle_since: std::mem::replace(&mut self.idle_since, Time::NEVER) });
        let ends = server.transmit(now, packet.size());
        self.busy += ends.since(now);
        (self.in_service, self.service_end) = (Some(packet), ends);
        ends
    }

    /// Tells the discipline of the packet that passed it by: it joined when it came, and left at once.
    #[inline(always)]
    fn tell_passed<Q: HearsLate>(&mut self, rate: BitRate, annexes: &mut Annexes) {
        if let Some(passed) = self.passed.take() {
            self.tell_of::<Q>(passed, rate, annexes);
        }
    }

    #[inline(never)]
    fn tell_of<Q: HearsLate>(
        &mut self,
        Passed { at, idle_since }: Passed,
        rate: BitRate,
        annexes: &mut Annexes,
    ) {
        let Some(packet) = self.in_service else { return };
        let since = std::mem::replace(&mut self.idle_since, idle_since);
        let same = self.with(rate, annexes, |queue, cx| {
            let queue = of::<Q>(queue);
            queue.enqueue(at, packet, cx);
            queue.dequeue(at, cx)
        });
        debug_assert_eq!(same, self.in_service, "it was alone");
        self.idle_since = since;
    }

    /// What was not worth an event: that by `until` a transmission has ended behind which nothing waited. The discipline is
    /// asked for a packet that it does not have, as at that end.
    #[inline(always)]
    fn run_dry<Q: HearsLate>(&mut self, rate: BitRate, until: Time, annexes: &mut Annexes) {
        if self.service_end > until || self.waiting > 0 {
            return;
        }
        let end = self.service_end;
        if let (Some(passed), Some(packet)) = (self.passed, self.in_service)
            && of::<Q>(&mut self.discipline).has_forgotten(passed.at, until, packet.size(), rate)
        {
            self.passed = None;
        } else {
            self.tell_dry::<Q>(rate, end, annexes);
        }
        (self.in_service, self.service_end) = (None, Time::NEVER);
        self.idle_since = end;
    }

    #[inline(never)]
    fn tell_dry<Q: HearsLate>(&mut self, rate: BitRate, end: Time, annexes: &mut Annexes) {
        self.tell_passed::<Q>(rate, annexes);
        let none = self.with(rate, annexes, |queue, cx| of::<Q>(queue).dequeue(end, cx));
        debug_assert!(none.is_none(), "nothing waits");
    }

    /// When somebody must look again without an arrival. A timer that is set to an earlier time does no harm where ends are
    /// found out late.
    #[inline]
    pub(crate) fn next_alarm(&self) -> Time {
        if self.waiting > 0 { self.service_end.after(self.lag) } else { Time::NEVER }
    }

    /// By when [`Link::work_off`] must be called: for [`Stage::next_alarm`], or for the first arrival that was put off.
    fn must_look_at(&self) -> Time {
        let put_off = self.put_off.first().map_or(Time::NEVER, |first| first.at.after(self.lag));
        put_off.min(self.next_alarm())
    }
}

impl Link {
    /// Whether the link works ahead.
    #[inline]
    pub(crate) fn works_ahead(&self) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_some_and(|staged| staged.ahead)
    }

    /// A packet is offered to a link that works ahead; gives what may enter another link, if anything.
    #[inline(always)]
    pub(crate) fn offered_ahead<D: LinkDriver>(
        &mut self,
        packet: Packet,
        cx: &mut LinkCx<'_, D>,
    ) -> Option<(Packet, Time)> {
        let staged = self.cold.as_mut()?.staged.as_mut()?;
        match staged.offer_ahead::<Discipline>(packet, &mut self.server, cx.now, cx.annexes) {
            Some(ends) => self.begin(packet, ends, cx),
            None => self.go_on_ahead(cx),
        }
    }

    /// The service timer of a link that works ahead is due; gives what [`Link::offered_ahead`] does.
    #[inline(always)]
    pub(crate) fn served_ahead<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) -> Option<(Packet, Time)> {
        let staged = self.cold.as_mut()?.staged.as_mut()?;
        staged.serve_ahead(cx.now);
        self.go_on_ahead(cx)
    }

    /// Lays a packet whose transmission has begun on the wire, or gives it, where it may enter another link.
    #[inline(always)]
    fn begin<D: LinkDriver>(
        &mut self,
        packet: Packet,
        ends: Time,
        cx: &mut LinkCx<'_, D>,
    ) -> Option<(Packet, Time)> {
        if D::PACKETS {
            cx.driver.served(cx.now, cx.id, &packet, cx.now, ends);
        }
        if self.feeds() {
            return Some((packet, ends.after(self.track.delay)));
        }
        if let Some(arrives) = self.track.push_begun(ends, packet) {
            cx.driver.bring_forward(self.wire_timer(), arrives);
        }
        None
    }

    /// Begins the next transmission if the server is free, sets the timer where that changes, and drops what the discipline
    /// gave up.
    #[inline(always)]
    fn go_on_ahead<D: LinkDriver>(&mut self, cx: &mut LinkCx<'_, D>) -> Option<(Packet, Time)> {
        let cold = self.cold.as_deref_mut()?;
        let staged = cold.staged.as_deref_mut()?;
        let begun = staged.start_ahead::<Discipline>(&mut self.server, cx.now);
        let begun = staged.in_service.zip(begun);
        let (next, before) = (staged.next_alarm(), staged.armed);
        if next < before {
            staged.armed = next;
            cx.driver.bring_forward(cold.timers.service, next);
        } else if next > before && staged.lag.is_zero() {
            staged.armed = next;
            cx.driver.arm(cold.timers.service, next);
        }
        cold.marked += u64::from(staged.take_marks());
        let has_drops = staged.has_drops();
        let begun = begun.and_then(|(packet, ends)| self.begin(packet, ends, cx));
        if has_drops {
            self.drop_given_up(cx);
        }
        begun
    }

    /// Whether it may be found out late what leaves the queue: that is early enough before a packet that leaves then can reach
    /// the far end.
    pub fn may_lag(&self) -> bool {
        self.works_ahead() && self.lag() > Span::ZERO
    }

    /// How late that is: by less than the delay, or the timer would go behind an arrival at the far end.
    pub fn lag(&self) -> Span {
        self.track.delay.saturating_sub(Span::from_nanos(1))
    }

    /// From now on, before anything was offered, what leaves the queue is given by [`Link::work_off`], which is to be called
    /// before a packet is offered, when the service timer is due, and before anybody looks.
    pub fn begin_to_lag(&mut self) {
        let lag = self.lag();
        let puts_off = self.may_put_off(lag);
        if let Some(staged) = self.cold.as_mut().and_then(|cold| cold.staged.as_mut()) {
            (staged.lag, staged.puts_off) = (lag, puts_off);
        }
    }

    /// Whether that is so.
    pub fn lags(&self) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_some_and(|staged| !staged.lag.is_zero())
    }

    /// Whether [`Link::work_off`] must be called by `now`, at which the service timer is due. Often it was called after the timer
    /// was set, as somebody looked, and what is left can wait: a timer that comes too early is set anew, and nothing else.
    pub fn is_due(&self, now: Time) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_some_and(|staged| staged.must_look_at() <= now)
    }

    /// Sets the service timer anew when it was due, and [`Link::work_off`] has given all that it had to.
    pub fn lag_on<D: LinkDriver>(&mut self, driver: &mut D) {
        let Some(cold) = self.cold.as_deref_mut() else { return };
        let Some(staged) = cold.staged.as_deref_mut() else { return };
        staged.armed = staged.must_look_at();
        driver.arm(cold.timers.service, staged.armed);
    }

    /// Tells the discipline by `until` what was not worth an event, for whoever looks at its state.
    pub fn catch_up(&mut self, until: Time) {
        let staged = self.cold.as_mut().and_then(|cold| cold.staged.as_mut());
        if let Some(staged) = staged.filter(|staged| staged.ahead) {
            // Nothing waits that could carry any.
            let (rate, mut none) = (self.server.rate(), Annexes::new());
            staged.tell_passed::<Discipline>(rate, &mut none);
            staged.run_dry::<Discipline>(rate, until, &mut none);
        }
    }
}
