//! Whether a receiver is still of use to its sender: what it says, what it acknowledges, and whether it ever says how it ended.
//! What is done about one that is not is in `send.rs`.

use tailback_core::{Bytes, Span, Time};

use super::{IDLE, SIGN_OF_LIFE};
use crate::udp::Unanswered;

/// So quickly at least a receiver reads a file again from its disk, or brings it there, in bytes per second.
const DISK: u64 = 10_000_000;

/// So much unanswered data is no accident: one packet may get lost, and a slow scheme sends the next a minute later.
const ENOUGH: u64 = 3;

/// How a receiver stands now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) now: Time,
    /// When anything at all last came from it.
    pub(super) heard: Time,
    /// The data that has left since an acknowledgement, or a report, last came.
    pub(super) unanswered: Unanswered,
    /// How much of the file it has acknowledged.
    pub(super) done: u64,
}

/// What does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// Any word.
    Word,
    /// Any acknowledgement.
    Answer,
    /// The acknowledgement of anything new.
    Progress,
    /// How it ended, when all is acknowledged.
    Verdict,
}

/// What came of a receiver so far.
#[derive(Clone, Debug)]
pub(super) struct News {
    patience: Span,
    size: u64,
    done: u64,
    /// When more of the file was last acknowledged.
    grown: Time,
    /// When anything last came, and when it came after a silence.
    heard: Time,
    back: Time,
}

/// A silence of this part of the patience was one of the way: a sender's time-outs have become so long by then (RFC 6298 §5.5)
/// that its next packet may leave a patience after the first that was lost.
const SILENCE: u64 = 3;
/// Fewer signs of life in a row may be lost on a way that is there.
const SIGNS: u64 = 4;

impl News {
    /// Before anything came, now; `done` bytes are there from earlier attempts.
    pub(super) fn new(patience: Span, size: u64, done: u64, now: Time) -> Self {
        Self { patience, size, done, grown: now, heard: now, back: now }
    }

    /// What has not come for too long, and for how long that is.
    pub(super) fn lack(&mut self, standing: &Standing) -> Option<(Lack, Span)> {
        let Standing { now, heard, unanswered, done } = *standing;
        if done > self.done {
            (self.done, self.grown) = (done, now);
        }
        if heard.since(self.heard) >= (self.patience / SILENCE).max(SIGN_OF_LIFE * SIGNS) {
            self.back = heard;
        }
        self.heard = heard;
        if now.since(heard) >= self.patience {
            return Some((Lack::Word, self.patience));
        }
        // A receiver that is there and whose acknowledgements do not come is of no more use than one that is gone. Nothing could
        // come of it before it was there, and of one that has fallen silent, too, its silence is what is to be told.
        let since = unanswered.since.max(self.back);
        let is_there = now.since(heard) < self.patience / SILENCE;
        if is_there && unanswered.packets >= ENOUGH && now.since(since) >= self.patience {
            return Some((Lack::Answer, self.patience));
        }
        // Nor is one that only says that it is there.
        let (lack, longest) = if self.done < self.size {
            (Lack::Progress, self.patience * IDLE)
        } else {
            (Lack::Verdict, self.patience * IDLE + time_for(Bytes::new(self.size)))
        };
        (now.since(self.grown) >= longest).then_some((lack, longest))
    }
}

/// How long a receiver may be busy with its disk. A file that was taken up again is read from its beginning for the hash.
fn time_for(size: Bytes) -> Span {
    Span::from_secs(size.get() / DISK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Span = Span::from_secs(10);
    const SIZE: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    /// A receiver that says at every moment that it is there, and has acknowledged so much.
    fn present(seconds: u64, done: u64) -> Standing {
        let now = at(seconds);
        Standing { now, heard: now, unanswered: Unanswered { packets: 9, since: now }, done }
    }

    /// The first second at which something lacks, of those from `from` on.
    fn first(news: &mut News, from: u64, standing: impl Fn(u64) -> Standing) -> (u64, Lack, Span) {
        let found = |second| news.lack(&standing(second)).map(|(lack, span)| (second, lack, span));
        (from..10_000).find_map(found).expect("it ends")
    }

    #[test]
    fn silence_and_missing_acknowledgements_end_within_the_patience() {
        let silent = |second| Standing { heard: at(3), ..present(second, 0) };
        let mut news = News::new(PATIENCE, SIZE, 0, Time::ZERO);
        assert_eq!(first(&mut news, 3, silent), (13, Lack::Word, PATIENCE));
        let unanswered = |packets, second| {
            let unanswered = Unanswered { packets, since: at(3) };
            Standing { unanswered, ..present(second, 0) }
        };
        let mut news = News::new(PATIENCE, SIZE, 0, Time::ZERO);
        assert_eq!(first(&mut news, 3, |second| unanswered(3, second)), (13, Lack::Answer, PATIENCE));
        // What a slow scheme has sent may be lost.
        let mut news = News::new(PATIENCE, SIZE, 0, Time::ZERO);
        let slow = |second: u64| unanswered(1 + second.saturating_sub(3) / 64, second);
        assert_eq!(first(&mut news, 3, slow), (120, Lack::Progress, PATIENCE * IDLE));
    }

    #[test]
    fn who_falls_silent_just_after_its_last_acknowledgement_is_called_silent() {
        let unanswered = Unanswered { packets: 9, since: at(3) };
        let gone = |second| Standing { heard: at(4), unanswered, ..present(second, 0) };
        let mut news = News::new(PATIENCE, SIZE, 0, at(3));
        assert_eq!(first(&mut news, 4, gone), (14, Lack::Word, PATIENCE));
        // Signs of life that are lost now and then are no silence.
        let mut news = News::new(PATIENCE, SIZE, 0, at(3));
        let sparse =
            |second: u64| Standing { heard: at(second - second % 3), unanswered, ..present(second, 0) };
        assert_eq!(first(&mut news, 4, sparse), (13, Lack::Answer, PATIENCE));
    }

    /// The way was gone for 8 s, and the next packet leaves when its time-outs, each twice as long as the one before, let it.
    #[test]
    fn who_comes_back_has_the_patience_once_more() {
        let unanswered = Unanswered { packets: 9, since: at(3) };
        let gone = |from, until| {
            move |second| {
                let heard = at(if (from..until).contains(&second) { from } else { second });
                Standing { heard, unanswered, ..present(second, 0) }
            }
        };
        let mut news = News::new(PATIENCE, SIZE, 0, at(3));
        assert_eq!(first(&mut news, 3, gone(3, 11)), (21, Lack::Answer, PATIENCE));
        // Shorter silences are lost signs of life.
        let mut news = News::new(PATIENCE, SIZE, 0, at(3));
        assert_eq!(first(&mut news, 3, gone(3, 6)), (13, Lack::Answer, PATIENCE));
        // Nobody comes back for ever.
        let mut news = News::new(PATIENCE, SIZE, 0, Time::ZERO);
        let now_and_then =
            |second: u64| Standing { heard: at(second - second % 8), unanswered, ..present(second, 0) };
        assert_eq!(first(&mut news, 0, now_and_then), (120, Lack::Progress, PATIENCE * IDLE));
    }

    /// Old acknowledgements, repeated for ever, are no news.
    #[test]
    fn acknowledgements_of_nothing_new_end_within_twelve_times_the_patience() {
        let mut news = News::new(PATIENCE, SIZE, 7, Time::ZERO);
        let known = |second| present(second, 7 + second.min(5));
        assert_eq!(first(&mut news, 0, known), (5 + 120, Lack::Progress, PATIENCE * 12));
    }

    /// A byte every minute is slow, and may be.
    #[test]
    fn who_acknowledges_a_little_is_waited_for() {
        let mut news = News::new(PATIENCE, SIZE, 0, Time::ZERO);
        assert!((0..10_000).all(|second| news.lack(&present(second, second / 60)).is_none()));
    }

    #[test]
    fn the_verdict_has_the_time_that_a_disk_takes_for_the_file() {
        let all = |second| present(second, SIZE);
        let told = Span::from_secs(120 + 100);
        let mut news = News::new(PATIENCE, SIZE, 0, Time::ZERO);
        assert_eq!(first(&mut news, 0, all), (220, Lack::Verdict, told));
        // All was there before, or there is nothing.
        for size in [SIZE, 0] {
            let longest = PATIENCE * 12 + time_for(Bytes::new(size));
            let mut news = News::new(PATIENCE, size, size, Time::ZERO);
            let checking = |second| present(second, size);
            let (second, lack, span) = first(&mut news, 0, checking);
            assert_eq!((at(second), lack, span), (Time::ZERO + longest, Lack::Verdict, longest));
        }
    }
}
