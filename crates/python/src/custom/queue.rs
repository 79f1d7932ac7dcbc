//! A queue discipline written in Python. What waits is counted here, so that a discipline that loses or doubles a packet
//! is found out.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use tailback_core::custom::Settings;
use tailback_core::{Backlog, Packet, QueueCx, QueueDiscipline, Time};

use super::Maker;
use super::answers::{timer, wrong};
use super::bridge::Bridge;
use super::patience::Patience;
use super::values::{Context, Gone, LinkInfo, PyPacket, QueueContext, Ticket, plain_number, seconds};

/// A discipline behind the interpreter.
pub(crate) struct CustomDiscipline {
    bridge: Bridge,
    has_ready: bool,
    has_timer: bool,
    timer: Option<Time>,
    ready: Option<Time>,
    inside: HashMap<u64, Packet>,
    gone: Gone,
    serial: u64,
    backlog: Backlog,
    /// With `next_timer` and with `next_ready`.
    patience: (Patience, Patience),
}

impl CustomDiscipline {
    /// A discipline for one link.
    pub(crate) fn new(maker: &Maker, about: LinkInfo, settings: &Settings) -> Self {
        Self {
            bridge: Python::attach(|py| Bridge::new(py, maker, about, settings)),
            has_ready: maker.has("next_ready"),
            has_timer: maker.has("next_timer"),
            timer: None,
            ready: None,
            inside: HashMap::new(),
            gone: Gone::default(),
            serial: 0,
            backlog: Backlog::default(),
            patience: Default::default(),
        }
    }

    /// Calls into the discipline, and settles what it dropped and marked.
    fn call(
        &mut self,
        now: Time,
        cx: &mut QueueCx<'_>,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>, &Bound<'_, QueueContext>) -> PyResult<Option<PyPacket>>,
    ) -> Option<Packet> {
        let (has_timer, has_ready) = (self.has_timer, self.has_ready);
        let (rate, idle) = (cx.rate, cx.idle_since);
        let answer = self.bridge.call(cx.rng, None, |py, part, context: &Bound<'_, Context>| {
            let queue = Bound::new(py, QueueContext::new(context.clone().unbind(), rate, idle))?;
            let given = call(py, part, &queue)?;
            let timer = if has_timer { timer(py, part)? } else { None };
            let ready = if has_ready { ready(py, part, now)? } else { None };
            let mut done = queue.try_borrow_mut()?;
            done.end();
            Ok((given, timer, ready, std::mem::take(&mut done.drops), std::mem::take(&mut done.marks)))
        });
        let Some((given, timer, ready, drops, marks)) = answer else {
            self.fall_silent();
            return None;
        };
        (self.timer, self.ready) = (timer, ready);
        for (serial, packet) in marks {
            if let Some(inside) = self.inside.get_mut(&serial) {
                cx.marks += u32::from(inside.ecn() != packet.ecn());
                *inside = packet;
            }
        }
        for (serial, reason) in drops {
            match self.take(serial) {
                Some(packet) => cx.drop(packet, reason),
                None => self.accuse("dropped a packet that was not in the queue, or twice"),
            }
        }
        let taken = given.as_ref().map(|packet| self.take(packet.serial));
        // Only now may the object go.
        drop(given);
        if taken == Some(None) {
            self.accuse("gave out a packet that was not in the queue, or twice");
        }
        self.look_for_lost();
        taken.flatten()
    }

    /// A packet that is still inside, and of which the discipline keeps no object, will never leave.
    fn look_for_lost(&mut self) {
        let gone = self.gone.lock().map(|mut gone| std::mem::take(&mut *gone)).unwrap_or_default();
        if gone.iter().any(|serial| self.inside.contains_key(serial)) {
            self.accuse("lost a packet: it keeps no object of it, and neither gave it out nor dropped it (`cx.drop(packet)`)");
        }
    }

    fn take(&mut self, serial: u64) -> Option<Packet> {
        let packet = self.inside.remove(&serial)?;
        self.backlog.packets -= 1;
        self.backlog.bytes = self.backlog.bytes.saturating_sub(packet.size());
        Some(packet)
    }

    /// After an error the link has nothing to wait for.
    fn fall_silent(&mut self) {
        (self.timer, self.ready) = (None, None);
    }

    fn accuse(&mut self, what: &str) {
        self.fall_silent();
        let _: Option<()> = self.bridge.ask(|_, part| {
            let class = part.get_type().name()?;
            Err(PyValueError::new_err(format!("{class} {what}")))
        });
    }
}

/// What `next_ready` says.
fn ready(py: Python<'_>, part: &Bound<'_, PyAny>, now: Time) -> PyResult<Option<Time>> {
    let said = part.call_method1(intern!(py, "next_ready"), (seconds(now),))?;
    if said.is_none() {
        return Ok(None);
    }
    let value = plain_number(&said).filter(|seconds| !seconds.is_nan());
    let value = value.ok_or_else(|| wrong(part, "next_ready", &said, "seconds, or None"))?;
    let time = super::values::time_of(value);
    time.map(Some).ok_or_else(|| wrong(part, "next_ready", &said, "seconds of at least 0, or None"))
}

impl QueueDiscipline for CustomDiscipline {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let serial = self.serial;
        self.serial += 1;
        self.inside.insert(serial, packet);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        let ticket = Ticket::new(serial, &self.gone);
        self.call(now, cx, |py, part, context| {
            let object = PyPacket { serial, packet, ticket };
            part.call_method1(intern!(py, "enqueue"), (seconds(now), object, context))?;
            Ok(None)
        });
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let given = self.call(now, cx, |py, part, context| {
            let said = part.call_method1(intern!(py, "dequeue"), (seconds(now), context))?;
            if said.is_none() {
                return Ok(None);
            }
            let packet = said.cast::<PyPacket>();
            let packet =
                packet.map_err(|_| wrong(part, "dequeue", &said, "a packet that was enqueued, or None"))?;
            Ok(Some(packet.borrow().clone()))
        });
        // A link asks again when the next packet may leave.
        let again = self.ready.filter(|_| given.is_none() && self.backlog.packets > 0);
        if self.patience.1.is_lost(&mut self.bridge, "next_ready", now, again) {
            self.fall_silent();
        }
        let waits = self.backlog.packets;
        let stands = given.is_none() && waits > 0 && self.ready.is_none() && self.timer.is_none();
        if stands && self.bridge.is_alive() {
            self.accuse(&format!(
                "gave nothing out although {waits} packets wait; expected a packet from `dequeue`, or seconds from `next_ready` \
                 or `next_timer`"
            ));
        }
        given
    }

    fn next_ready(&self, _now: Time) -> Option<Time> {
        self.ready
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        self.call(now, cx, |py, part, context| {
            part.call_method1(intern!(py, "on_timer"), (seconds(now), context))?;
            Ok(None)
        });
        if self.patience.0.is_lost(&mut self.bridge, "next_timer", now, self.timer) {
            self.fall_silent();
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
