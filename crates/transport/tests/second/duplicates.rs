//! Loss recovery by duplicate acknowledgements written anew from RFC 5681 §3.2 (Reno) and RFC 6582 §3.2 (NewReno), with limited
//! transmit (RFC 3042): the window is inflated as the text has it, and compared with `FlightSize`. What is said to be in the
//! network is what is outstanding, less the inflation.
//!
//! Of what the texts leave open, or where ours departs by its own account: an impatient NewReno, and one that is careful where
//! it is so configured; limited transmit lets a segment go for each of the first duplicates, be they three or another
//! number; the timer begins anew with an episode. Losses that were none are in `doubt.rs`.

use tailback_control::Reliability;
use tailback_core::{CongestionEvent, Recovery};

use super::common::{Newly, trip};
use super::doubt::{Doubt, Verdict};
use super::timer::Timer;
use super::{Acknowledgement, Left, Options, SEGMENT, Second, Told};

#[derive(Clone, Copy, Debug)]
struct Segment {
    size: u64,
    sent_at: u64,
    times: u32,
    /// Transmissions in the network, two at most.
    copies: u64,
    lost: bool,
}

/// The sender. Numbers are indices; `recover` is one beyond the text's.
#[derive(Clone)]
pub struct Duplicates {
    options: Options,
    segments: Vec<Segment>,
    una: usize,
    recovery: Recovery,
    /// The highest number sent before the last loss or time-out; none before the first.
    recover: Option<usize>,
    dup_acks: u32,
    inflation: u64,
    limited: u64,
    first_due: bool,
    partial_seen: bool,
    /// After a time-out retransmissions go on from here.
    next_again: usize,
    lost_until: usize,
    expiries: u32,
    timer: Timer,
    timed: Option<usize>,
    doubt: Doubt,
}

impl Duplicates {
    pub fn new(options: Options) -> Self {
        let timer = Timer::new(&options);
        Self {
            options,
            segments: Vec::new(),
            una: 0,
            recovery: Recovery::Open,
            recover: None,
            dup_acks: 0,
            inflation: 0,
            limited: 0,
            first_due: false,
            partial_seen: false,
            next_again: 0,
            lost_until: 0,
            expiries: 0,
            timer,
            timed: None,
            doubt: Doubt::None,
        }
    }

    fn is_reno(&self) -> bool {
        self.options.reliability == Reliability::Reno
    }

    fn outstanding(&self) -> u64 {
        self.segments[self.una..].iter().map(|one| one.size).sum()
    }

    /// Whether the receiver has room for so many new bytes, if any.
    fn has_new(&self, waiting: u64) -> bool {
        waiting > 0 && self.outstanding() + waiting <= self.options.receive_window
    }

    fn flying(&self) -> u64 {
        let flying = self.segments[self.una..].iter().map(|one| one.copies * one.size);
        flying.sum::<u64>().saturating_sub(self.inflation)
    }

    /// RFC 6582 §3.2 step 2 and §4: the acknowledgement must cover more than `recover`, or all of it where it is not careful.
    fn may_begin(&self) -> bool {
        let Some(recover) = self.recover else { return true };
        if self.is_reno() && !self.options.one_recovery {
            return true;
        }
        if self.options.careful { self.una > recover } else { self.una >= recover }
    }

    /// The oldest is lost, and leaves again whatever the window.
    fn lose_first(&mut self) -> Vec<u64> {
        self.first_due = true;
        let one = &mut self.segments[self.una];
        let was = one.copies > 0;
        (one.copies, one.lost) = (one.copies.saturating_sub(1), true);
        was.then_some(self.una as u64).into_iter().collect()
    }

    fn duplicate(&mut self) -> (Option<CongestionEvent>, Vec<u64>) {
        if self.recovery == Recovery::Fast {
            // RFC 5681 §3.2 step 4.
            self.inflation += SEGMENT;
            return (None, Vec::new());
        }
        self.dup_acks += 1;
        let threshold = self.options.dup_threshold;
        if self.dup_acks == threshold && self.may_begin() {
            // Steps 2 and 3.
            self.recovery = Recovery::Fast;
            self.recover = Some(self.segments.len());
            self.inflation = u64::from(threshold) * SEGMENT;
            (self.dup_acks, self.limited, self.partial_seen) = (0, 0, false);
            self.next_again = self.una;
            self.doubt = Doubt::of_loss(self.options.spurious);
            return (Some(CongestionEvent::Loss), self.lose_first());
        }
        if self.dup_acks < threshold && self.options.limited_transmit {
            self.inflation = u64::from(self.dup_acks) * SEGMENT;
        }
        (None, Vec::new())
    }

    /// Something new is acknowledged; whether the timer begins anew.
    fn advance(&mut self, advanced: u64) -> (Option<CongestionEvent>, Vec<u64>, bool) {
        let covered = self.recover.is_none_or(|recover| self.una >= recover);
        match self.recovery {
            Recovery::Fast if self.is_reno() || covered => {
                (self.recovery, self.inflation) = (Recovery::Open, 0);
                (Some(CongestionEvent::RecoveryEnd), Vec::new(), true)
            }
            Recovery::Fast => {
                // RFC 6582 §3.2 step 3, a partial acknowledgement.
                self.inflation = self.inflation.saturating_sub(advanced);
                if advanced >= SEGMENT {
                    self.inflation += SEGMENT;
                }
                let is_first = !std::mem::replace(&mut self.partial_seen, true);
                (None, self.lose_first(), is_first || !self.options.impatient)
            }
            _ => {
                self.inflation = 0;
                if covered {
                    self.recovery = Recovery::Open;
                }
                (None, Vec::new(), true)
            }
        }
    }

    /// Whether the acknowledgement shows the episode to be for nothing; then what was thought lost is in the network.
    fn is_spurious(&mut self, ack: &Acknowledgement, newly: &std::ops::Range<usize>) -> bool {
        let recover = self.recover.unwrap_or(0);
        let original = newly.clone().any(|at| at < recover && self.segments[at].times == 1);
        let verdict = self.doubt.hear(ack.echo, !newly.is_empty(), self.una >= recover, original);
        match verdict {
            Verdict::Nothing => {}
            Verdict::Real => self.next_again = self.una,
            Verdict::Spurious => {
                for at in self.una..recover {
                    let one = &mut self.segments[at];
                    one.copies = one.copies.max(u64::from(one.lost));
                    one.lost = false;
                }
                (self.recovery, self.recover, self.inflation) = (Recovery::Open, Some(self.una), 0);
                (self.next_again, self.lost_until, self.first_due) = (self.una, self.una, false);
            }
        }
        verdict == Verdict::Spurious
    }

    fn trip(&mut self, now: u64, newly: std::ops::Range<usize>, echo: Option<u64>) -> Option<u64> {
        let known = newly.map(|number| {
            let one = &self.segments[number];
            Newly { number, sent_at: one.sent_at, is_sure: one.times == 1 }
        });
        let known: Vec<_> = known.collect();
        trip(self.options.sampling, now, &known, echo, self.una, &mut self.timed)
    }
}

impl Second for Duplicates {
    fn acknowledge(&mut self, now: u64, ack: &Acknowledgement) -> Option<Told> {
        let number = ack.number as usize;
        if !(self.una..=self.segments.len()).contains(&number) || self.una == self.segments.len() {
            return None;
        }
        let outstanding = self.outstanding() - self.limited;
        let newly = self.una..number;
        let advanced: u64 = self.segments[newly.clone()].iter().map(|one| one.size).sum();
        self.una = number;
        self.next_again = self.next_again.max(number);
        let rtt = self.trip(now, newly.clone(), ack.echo);
        if let Some(trip) = rtt {
            self.timer.sample(trip as f64);
        }
        if advanced > 0 {
            (self.dup_acks, self.limited, self.expiries, self.first_due) = (0, 0, 0, false);
        }
        let (event, lost, anew) = if self.is_spurious(ack, &newly) {
            (Some(CongestionEvent::Spurious), Vec::new(), advanced > 0)
        } else if newly.is_empty() {
            let (event, lost) = self.duplicate();
            (event, lost, event.is_some())
        } else {
            self.advance(advanced)
        };
        let rest = self.una < self.segments.len();
        if anew || !rest {
            self.timer.acknowledged(now as f64, rest);
        }
        let (in_flight, recovery) = (self.flying(), self.recovery);
        let acked = newly.map(|at| at as u64).collect();
        Some(Told { acked, lost, advanced, outstanding, in_flight, event, recovery, rtt })
    }

    fn expire(&mut self, now: u64) -> Option<Told> {
        if self.una == self.segments.len() {
            return None;
        }
        let outstanding = self.outstanding() - self.limited;
        let flew = (self.una..self.segments.len()).filter(|at| self.segments[*at].copies > 0);
        let lost = flew.map(|at| at as u64).collect();
        for one in &mut self.segments {
            (one.copies, one.lost) = (0, true);
        }
        self.doubt = self.doubt.of_timeout(self.options.spurious, self.recovery == Recovery::Timeout);
        self.timer.expire(now as f64, false);
        self.expiries += 1;
        (self.recovery, self.recover) = (Recovery::Timeout, Some(self.segments.len()));
        (self.dup_acks, self.inflation, self.limited, self.first_due) = (0, 0, 0, false);
        (self.timed, self.next_again, self.lost_until) = (None, self.una, self.segments.len());
        Some(Told {
            acked: Vec::new(),
            lost,
            advanced: 0,
            outstanding,
            in_flight: self.flying(),
            event: Some(CongestionEvent::Timeout { consecutive: self.expiries }),
            recovery: self.recovery,
            rtt: None,
        })
    }

    fn offer(&mut self, waiting: u64) {
        let sent_new = Some(self.segments.len()) != self.recover;
        if self.doubt.is_given_up(sent_new, self.has_new(waiting)) {
            (self.doubt, self.next_again) = (Doubt::None, self.una);
        }
    }

    fn next(&mut self, now: u64, window: u64, waiting: u64) -> Option<Left> {
        let has_new = self.has_new(waiting);
        let holds_back = self.doubt == Doubt::Second;
        let repairs = !holds_back && self.recovery != Recovery::Open && self.next_again < self.lost_until;
        let at = if self.first_due {
            self.una
        } else {
            let at = if repairs { self.next_again } else { has_new.then_some(self.segments.len())? };
            let mut flying = self.flying();
            if self.recovery == Recovery::Open && !self.options.limited_transmit {
                flying = flying.max(self.outstanding());
            }
            let size = self.segments.get(at).map_or(waiting, |one| one.size);
            if flying + size > window && (flying > 0 || window == 0) {
                return None;
            }
            at
        };
        let flew = self.flying();
        let again = at < self.segments.len();
        if again {
            self.first_due = false;
            self.timed = None;
            self.doubt.left(now);
            self.next_again = self.next_again.max(at + 1);
        } else {
            if self.recovery == Recovery::Open && self.dup_acks > 0 {
                self.limited += waiting;
            }
            self.timed.get_or_insert(at);
            self.segments.push(Segment { size: waiting, sent_at: now, times: 0, copies: 0, lost: false });
        }
        let one = &mut self.segments[at];
        (one.sent_at, one.times, one.copies) = (now, one.times + 1, (one.copies + 1).min(2));
        let size = one.size;
        self.timer.left(now as f64);
        Some(Left { number: at as u64, size, again, in_flight: flew + size })
    }

    fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }

    fn in_flight(&self) -> u64 {
        self.flying()
    }

    fn is_idle(&self) -> bool {
        self.una == self.segments.len()
    }

    fn timer(&self) -> &Timer {
        &self.timer
    }

    fn state(&self) -> String {
        format!(
            "{:?}, {} to {}, recover {:?}, {} duplicates, inflation {}, again from {} to {}, {:?}",
            self.recovery,
            self.una,
            self.segments.len(),
            self.recover,
            self.dup_acks,
            self.inflation,
            self.next_again,
            self.lost_until,
            self.timer
        )
    }
}
