//! What a sender of media remembers, and what a report tells it. The flow itself is in the parent.
//!
//! What a report says that was not known before is written a second time here, from RFC 8888 §3.1 and the choices that the
//! first writing states: a packet is lost when one three beyond it has arrived, and does not turn into one that arrived.

use tailback_core::{ArrivalWord, Time};

use crate::second::seconds;

/// A packet that is known to have arrived: when it left by the sender's clock and when it came by the receiver's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) number: u64,
    pub(crate) size: f64,
    pub(crate) left: f64,
    pub(crate) at: f64,
    pub(crate) marked: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    pub(crate) size: f64,
    pub(crate) left: f64,
}

/// What a report said that was not known before. Bytes and seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    pub(crate) came: Vec<Came>,
    pub(crate) lost: Vec<Missing>,
    /// Of the newest packet among these, without the time that its arrival was held back.
    pub(crate) round_trip: f64,
}

/// What the sender remembers.
#[derive(Default)]
pub(super) struct Records {
    /// Size, when it left, and whether it arrived or is lost.
    pub(super) packets: Vec<(u64, Time, bool)>,
    /// The first that is neither, and one beyond the newest that arrived.
    open: usize,
    pub(super) beyond: usize,
}

impl Records {
    pub(super) fn bytes(&self, from: usize, to: usize) -> f64 {
        self.packets[from..to].iter().map(|(size, ..)| *size as f64).sum()
    }

    pub(super) fn report(&mut self, now: Time, first: u64, left: Time, words: &[ArrivalWord]) -> News {
        let mut news = News::default();
        for (number, word) in (first..).zip(words) {
            let Some(age) = word.age() else { continue };
            let (size, sent, known) = &mut self.packets[number as usize];
            if std::mem::replace(known, true) {
                continue;
            }
            let (size, left_at) = (*size as f64, *sent);
            let at = seconds(Time::from_nanos(left.as_nanos() - age.as_nanos()));
            news.came.push(Came { number, size, left: seconds(left_at), at, marked: word.is_marked() });
            news.round_trip = seconds(now) - seconds(left_at) - age.as_secs_f64();
            self.beyond = self.beyond.max(number as usize + 1);
        }
        for number in self.open..self.beyond.saturating_sub(3) {
            let (size, sent, known) = &mut self.packets[number];
            if !std::mem::replace(known, true) {
                news.lost.push(Missing { size: *size as f64, left: seconds(*sent) });
            }
        }
        self.open = self.open.max(self.beyond.saturating_sub(3));
        news
    }
}
