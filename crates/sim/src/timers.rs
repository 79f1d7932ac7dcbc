//! Senders' timers ahead of their time: when a paced sender's next packet may leave before anything else reaches it, that
//! packet leaves at once, as of its time, and the timer needs no event. Links do the same with arrivals (`feeding.rs`).
//!
//! A packet that waits for tokens leaves when its time has come, unless an acknowledgement comes before. Which comes first is
//! known where all acknowledgements come over one link: its head arrives then, and nothing behind it sooner. Until then nobody
//! calls the sender, and where nobody else sends into its first link, which has no bound, that link takes the packet now as it
//! would then. So the next acknowledgement always finds a sender whose timer lies behind it, and the link that it comes over
//! does what the timer's entry in the event queue is for. Nothing that is simulated changes.

use tailback_core::{Controller, Endpoint, FlowId, Input, Kind, Packet, Time};
use tailback_transport::source::Source;
use tailback_transport::{AnySender, Sender};

use crate::flow::{Flow, Port};
use crate::links::{Links, OPEN, Place, ROUGH, TAKES_TIME_FOR_BYTES};
use crate::neighbours::{Neighbours, Ways};
use crate::paths::Paths;
use crate::recorder::{PacketEvent, Recorder};

/// The link over which all comes that reaches a flow's sender, where that and the sender's first link are its own.
pub(crate) fn heard_over(links: &Links, flow: &Ways, neighbours: &Neighbours) -> Option<Place> {
    let (first, last) = (flow.there.first?, flow.back.last?);
    let is_own = neighbours.is_one_ends(first) && neighbours.is_heard_by_one(last);
    // What has passed in no time would go on before others' timers and arrivals of that instant that come first.
    let is_open = links.about(first).is(OPEN | TAKES_TIME_FOR_BYTES);
    (is_own && is_open && !links.about(last).is(ROUGH)).then_some(last)
}

/// How a sender's timer goes on.
enum Next {
    /// The sender is to be called at once, as of this time.
    Call(Time),
    /// Before the timer is due, a packet comes.
    Heard,
    /// The timer needs an entry in the event queue.
    List(Time),
}

impl Port {
    /// Moves the timer's entry in the event queue if it must be earlier.
    fn list<R>(&mut self, at: Time, paths: &mut Paths<R>) {
        if at < self.listed {
            self.listed = at;
            paths.events.bring_forward(self.leaf, at);
        }
    }

    /// How the timer of a stream's sender goes on that wants to be called at [`Port::armed`], and hears over this link.
    #[inline(always)]
    fn next<C: Controller, S: Source, R: Recorder>(
        &mut self,
        sender: &Sender<C, S>,
        (heard_over, command_at): (Option<Place>, Time),
        paths: &mut Paths<R>,
    ) -> Next {
        // Of packets that lie in shared slots the event queue alone knows when the head arrives.
        let head = heard_over.map_or(Time::NEVER, |link| paths.events.due(paths.links.leaf(link)));
        if head == Time::NEVER {
            return Next::List(self.armed);
        }
        // At equal times arrivals go before timers.
        while self.armed < head {
            let at = self.armed;
            let is_due = self.due <= at;
            if at >= paths.until || at >= command_at || is_due && !sender.is_shapers_time(at) {
                return Next::List(at);
            }
            // The event that is left out.
            paths.left_out += 1;
            if is_due {
                self.armed = command_at;
                return Next::Call(at);
            }
            self.armed = self.due.min(command_at);
        }
        Next::Heard
    }
}

impl Flow {
    /// A packet has reached a stream's sender, whose code stands inline here: once for the packet, and once for what leaves
    /// ahead of time.
    #[inline(always)]
    pub(crate) fn hear<R: Recorder>(&mut self, packet: Packet, paths: &mut Paths<R>) {
        let AnySender::Stream(sender) = &mut self.sender else { return };
        let (port, now, id) = (&mut self.sender_port, paths.now, packet.flow);
        let mut is_ahead = false;
        if R::PACKETS {
            paths.recorder.packet(now, PacketEvent::Delivered(id, &packet));
        }
        sender.handle(now, Input::Packet(packet), &mut port.cx(paths));
        loop {
            if port.drain(sender, id, paths) {
                self.finished_at = paths.now;
            }
            if R::OBSERVED && !is_ahead && !matches!(packet.kind(), Kind::Data | Kind::Control) {
                paths.recorder.observed(now, id, &sender.observe());
            }
            port.armed = port.armed.min(port.due);
            if port.armed >= port.listed {
                break;
            }
            match port.next(sender, (self.heard_over, self.command_at), paths) {
                Next::Call(at) => (paths.now, is_ahead) = (at, true),
                Next::Heard => break,
                Next::List(at) => {
                    port.list(at, paths);
                    break;
                }
            }
        }
        paths.now = now;
    }

    /// The entry of its sender's timer is due: whether the timer is. The entry may be one that was left when the timer had
    /// gone ahead.
    pub(crate) fn sender_timer<R: Recorder>(&mut self, id: FlowId, paths: &mut Paths<R>) -> bool {
        let now = paths.now;
        let is_due = self.sender_port.armed <= now;
        let mut is_paced = !is_due;
        if is_due {
            if self.command_at <= now {
                let input = self.next_command();
                self.call_sender(id, input, paths);
            } else if self.sender_port.due <= now {
                is_paced = matches!(&self.sender, AnySender::Stream(sender) if sender.is_shapers_time(now));
                self.call_sender(id, Input::Timeout, paths);
            }
            self.sender_port.armed = self.sender_port.due.min(self.command_at);
        }
        // Timers that run while acknowledgements come and mostly never expire keep their entries.
        let listed = if is_paced { self.call_ahead(id, paths) } else { self.sender_port.armed };
        self.sender_port.listed = listed;
        paths.events.arm(self.sender_port.leaf, listed);
        is_due
    }

    /// Something has reached the sender's end that is no packet for a stream: its timer's entry in the event queue moves only
    /// if it must be earlier.
    pub(crate) fn settle_sender<R: Recorder>(&mut self, id: FlowId, paths: &mut Paths<R>) {
        let port = &mut self.sender_port;
        port.armed = port.armed.min(port.due);
        if port.armed < port.listed {
            let listed = self.call_ahead(id, paths);
            self.sender_port.list(listed, paths);
        }
    }

    /// Calls its sender at once as often as it is due before the next packet reaches it; when an entry in the event queue is
    /// to be due.
    fn call_ahead<R: Recorder>(&mut self, id: FlowId, paths: &mut Paths<R>) -> Time {
        let now = paths.now;
        let listed = loop {
            let AnySender::Stream(sender) = &self.sender else { break self.sender_port.armed };
            match self.sender_port.next(sender, (self.heard_over, self.command_at), paths) {
                Next::Call(at) => {
                    paths.now = at;
                    self.call_sender(id, Input::Timeout, paths);
                    self.sender_port.armed = self.command_at.min(self.sender_port.due);
                }
                Next::Heard => break Time::NEVER,
                Next::List(at) => break at,
            }
        };
        paths.now = now;
        listed
    }

    /// From now on its sender's timer has an entry in the event queue whenever it runs.
    pub(crate) fn call_by_events<R>(&mut self, paths: &mut Paths<R>) {
        if self.heard_over.take().is_some() {
            let port = &mut self.sender_port;
            port.listed = port.armed;
            paths.events.arm(port.leaf, port.armed);
        }
    }
}
