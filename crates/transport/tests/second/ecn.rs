//! Marks written anew from RFC 3168 §6.1: which packets may bear them, when the receiver echoes them, and when an echo is an
//! indication of congestion.
//!
//! Where the text leaves a choice, this one is taken, as ours has it: an echo counts once more than all is acknowledged that had
//! left before the last reduction, so that CWR has had its chance to arrive; a mark on what arrived before says nothing (§6.1.5); an
//! acknowledgement that means something else already leaves its echo to the next one. At a window of one segment the retransmission
//! timer begins anew (§6.1.2), no probe is due before it expires, and the reordering timer goes on.

/// The sender's part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reductions {
    /// So many segments had left at the last reduction.
    until: usize,
    cwr: bool,
}

impl Reductions {
    /// §6.1.2: the window is reduced, "for any reason".
    pub fn note(&mut self, sent: usize) {
        (self.until, self.cwr) = (sent, true);
    }

    /// The last reduction was for nothing.
    pub fn take_back(&mut self, una: usize) {
        self.until = una;
    }

    /// Whether an echo is news: not "more than once every window of data".
    pub fn is_news(&self, una: usize) -> bool {
        una > self.until
    }

    /// Whether the new segment that leaves says that the window was reduced.
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr)
    }
}

/// The receiver's part, §6.1.3.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo {
    pub is_on: bool,
}

impl Echo {
    /// A segment arrives; whether it was delivered before.
    pub fn hear(&mut self, marked: bool, cwr: bool, is_old: bool) {
        self.is_on = self.is_on && !cwr || marked && !is_old;
    }
}
