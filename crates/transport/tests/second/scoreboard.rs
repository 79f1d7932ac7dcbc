//! Loss recovery by selective acknowledgements written anew from RFC 6675 §2 to §5.1, plainly: what is lost, what leaves next
//! and how much is in the network is found by going through all segments, whenever it is asked for. Segments take the place of
//! bytes: `DupThresh` segments above one mean that it is lost, and of what is not full only its own size must fit.
//!
//! Of what the text leaves open, or where ours departs from it by its own account (`crates/transport/src/stream`): transmissions
//! count in the network one by one until they are acknowledged or lost, two of a segment at most; after a time-out the lowest
//! that is lost goes first, then new data; an episode may begin without new ranges where another has just ended; the timer
//! begins anew with an episode.
//!
//! Beside it, where configured: losses that were none (`doubt.rs`), and lost retransmissions (RFC 8985 §6.2, of retransmissions
//! only, with a window of an eighth of a round trip), and proportional rate reduction (`proportional.rs`).

use tailback_core::CongestionEvent;

use super::common::{Marked, Newly, Phase, mark, trip};
use super::doubt::{Doubt, Verdict};
use super::proportional::{News, Proportional};
use super::timer::Timer;
use super::{Acknowledgement, Left, Options, Second, Told};

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    size: u64,
    sent_at: u64,
    times: u32,
    sacked: bool,
    /// Its acknowledgement was told; a scoreboard that is thrown away does not change that.
    told: bool,
    /// `IsLost`, or lost by the timer.
    lost: bool,
    /// Transmissions in the network.
    copies: u64,
    /// It was overtaken before it was believed lost: its retransmission is left to the timer.
    waived: bool,
}

impl Marked for Segment {
    fn is_told(&self) -> bool {
        self.told
    }

    fn sacked(&mut self) -> &mut bool {
        &mut self.sacked
    }
}

/// The sender. Numbers are indices; those that limit are one beyond what the text's name.
#[derive(Clone)]
pub struct Scoreboard {
    options: Options,
    segments: Vec<Segment>,
    high_ack: usize,
    high_rxt: usize,
    /// The segment that `RescueRxt` is in; none after the rescue.
    rescue_rxt: Option<usize>,
    recovery_point: usize,
    phase: Phase,
    /// The first retransmission of an episode leaves whatever the window (§5 step 4.3).
    first_due: bool,
    /// Duplicates since the last cumulative acknowledgement, and bytes that they let go (§5 step 3).
    dup_acks: u32,
    limited: u64,
    expiries: u32,
    timer: Timer,
    /// The segment that is timed, once per round trip.
    timed: Option<usize>,
    doubt: Doubt,
    /// What an acknowledgement brought that the law has yet to hear of, and the episode of RFC 9937.
    news: Option<News>,
    proportional: Option<Proportional>,
}

impl Scoreboard {
    pub fn new(options: Options) -> Self {
        let timer = Timer::new(&options);
        Self {
            options,
            segments: Vec::new(),
            high_ack: 0,
            high_rxt: 0,
            rescue_rxt: None,
            recovery_point: 0,
            phase: Phase::Open,
            first_due: false,
            dup_acks: 0,
            limited: 0,
            expiries: 0,
            timer,
            timed: None,
            doubt: Doubt::None,
            news: None,
            proportional: None,
        }
    }

    fn outstanding(&self) -> u64 {
        self.segments[self.high_ack..].iter().map(|one| one.size).sum()
    }

    fn sacked(&self) -> u64 {
        self.segments[self.high_ack..].iter().filter(|one| one.sacked).map(|one| one.size).sum()
    }

    fn unsacked(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (self.high_ack..self.segments.len()).filter(|at| !self.segments[*at].sacked)
    }

    /// One beyond the highest selectively acknowledged.
    fn high_sack(&self) -> usize {
        self.segments.iter().rposition(|one| one.sacked).map_or(0, |at| at + 1)
    }

    /// §4, `IsLost`: all of which that has become true.
    fn find_lost(&mut self) -> Vec<u64> {
        let threshold = self.options.dup_threshold as usize;
        let above = |at: usize| self.segments[at + 1..].iter().filter(|one| one.sacked).count();
        let newly: Vec<usize> =
            self.unsacked().filter(|at| !self.segments[*at].lost && above(*at) >= threshold).collect();
        for &at in &newly {
            self.segments[at].lost = true;
            self.segments[at].copies -= 1;
        }
        newly.into_iter().map(|at| at as u64).collect()
    }

    /// §4, `SetPipe`.
    fn pipe(&self) -> u64 {
        self.unsacked().map(|at| self.segments[at].copies * self.segments[at].size).sum()
    }

    /// §4, `NextSeg` rules 1 to 3, and after a time-out.
    fn next_seg(&self, has_new: bool) -> Option<usize> {
        let finds = self.options.lost_retransmissions;
        let not_again = |at: &usize| {
            let one = &self.segments[*at];
            *at >= self.high_rxt && !(finds && one.lost && one.copies > 0)
        };
        let rule_1 = || self.unsacked().filter(not_again).find(|at| self.segments[*at].lost);
        let rule_3 = || self.unsacked().filter(not_again).find(|at| *at < self.high_sack());
        let rule_2 = has_new.then_some(self.segments.len());
        match self.phase {
            Phase::Open => rule_2,
            Phase::Timeout if self.doubt == Doubt::Second => rule_2,
            Phase::Timeout => rule_1().or(rule_2),
            Phase::Fast => rule_1().or(rule_2).or_else(rule_3),
        }
    }

    /// Whether the receiver has room for so many new bytes, if any.
    fn has_new(&self, waiting: u64) -> bool {
        waiting > 0 && self.outstanding() + waiting <= self.options.receive_window
    }

    /// §4, `NextSeg` rule 4: "If `HighACK` is greater than `RescueRxt`".
    fn rescue(&self) -> Option<usize> {
        let may = self.rescue_rxt.is_some_and(|rescue| self.high_ack > rescue + 1);
        (self.options.rescue && self.phase == Phase::Fast && may)
            .then(|| self.unsacked().next_back())
            .flatten()
    }

    /// §5 step 4. A retransmission by an earlier episode is as lost as the original: it is told.
    fn enter(&mut self) -> Option<u64> {
        (self.phase, self.recovery_point) = (Phase::Fast, self.segments.len());
        (self.first_due, self.high_rxt) = (true, self.high_ack);
        self.rescue_rxt = Some(self.high_ack);
        (self.dup_acks, self.limited) = (0, 0);
        self.doubt = Doubt::of_loss(self.options.spurious);
        let first = &mut self.segments[self.high_ack];
        let flew = first.copies > 0;
        first.copies = first.copies.saturating_sub(1);
        flew.then_some(self.high_ack as u64)
    }

    /// An episode begins where the oldest is lost, by news or behind another.
    fn enter_if_lost(&mut self, has_news: bool, lost: &mut Vec<u64>) -> bool {
        let first = self.segments.get(self.high_ack).copied();
        let enters = self.phase == Phase::Open
            && first.is_some_and(|first| first.lost && (has_news || first.copies == 0));
        if enters {
            lost.extend(self.enter());
        }
        enters
    }

    /// Whether the acknowledgement shows the episode to be for nothing.
    fn is_spurious(&mut self, ack: &Acknowledgement, advanced: u64, newly: &[usize]) -> bool {
        let covers = self.high_ack >= self.recovery_point;
        let original = newly.iter().any(|at| *at < self.recovery_point && self.segments[*at].times == 1);
        let verdict = self.doubt.hear(ack.echo, advanced > 0, covers, original);
        if verdict == Verdict::Real {
            self.high_rxt = self.high_ack;
        }
        verdict == Verdict::Spurious
    }

    /// What was thought lost is in the network.
    fn take_back(&mut self) {
        for at in self.high_ack..self.recovery_point {
            let one = &mut self.segments[at];
            if !one.sacked && one.lost {
                (one.lost, one.copies) = (false, one.copies.max(1));
            }
        }
        self.phase = Phase::Open;
        self.first_due = false;
        (self.recovery_point, self.high_rxt) = (self.high_ack, self.high_ack);
    }

    /// RFC 8985 §6.2, for retransmissions of what is lost: in the order in which they left.
    fn find_overtaken(&mut self, now: u64, newly: &[usize]) -> Vec<u64> {
        let least = self.timer.least as u64;
        let sure = |at: &&usize| {
            let one = &self.segments[**at];
            one.times == 1 || self.timer.least.is_finite() && now - one.sent_at >= least
        };
        let Some(newest) = newly.iter().filter(sure).map(|at| self.segments[*at].sent_at).max() else {
            return Vec::new();
        };
        let margin = (now - newest) / 8;
        let mut overtaken: Vec<usize> = self
            .unsacked()
            .filter(|at| {
                let one = &self.segments[*at];
                one.times > 1 && one.copies > 0 && !one.waived && one.sent_at + margin < newest
            })
            .collect();
        overtaken.sort_by_key(|at| self.segments[*at].sent_at);
        overtaken.retain(|at| {
            let one = &mut self.segments[*at];
            one.waived = !one.lost;
            if one.lost {
                one.copies = 0;
            }
            one.lost
        });
        if let Some(lowest) = overtaken.iter().min() {
            self.high_rxt = self.high_rxt.min(*lowest);
            if self.doubt.is_of_timeout() {
                self.doubt = Doubt::None;
            }
        }
        overtaken.into_iter().map(|at| at as u64).collect()
    }

    /// Karn's rule.
    fn trip(&mut self, now: u64, newly: &[usize], echo: Option<u64>) -> Option<u64> {
        let known = newly.iter().map(|&number| {
            let one = &self.segments[number];
            Newly { number, sent_at: one.sent_at, is_sure: one.times == 1 && !one.told }
        });
        let known: Vec<_> = known.collect();
        trip(self.options.sampling, now, &known, echo, self.high_ack, &mut self.timed)
    }
}

impl Second for Scoreboard {
    fn acknowledge(&mut self, now: u64, ack: &Acknowledgement) -> Option<Told> {
        let number = ack.number as usize;
        if !(self.high_ack..=self.segments.len()).contains(&number) || self.high_ack == self.segments.len() {
            return None;
        }
        let outstanding = self.outstanding() - self.limited;
        let advanced: u64 = self.segments[self.high_ack..number].iter().map(|one| one.size).sum();
        let (mut newly, has_news) = mark(&mut self.segments, &mut self.high_ack, ack);
        let rtt = self.trip(now, &newly, ack.echo);
        if let Some(trip) = rtt {
            self.timer.sample(trip as f64);
        }
        newly.retain(|at| !self.segments[*at].told);
        let acked = newly.iter().map(|at| *at as u64).collect();
        let delivered: u64 = newly.iter().map(|at| self.segments[*at].size).sum();
        for &at in &newly {
            self.segments[at].told = true;
        }
        if advanced > 0 {
            (self.dup_acks, self.limited, self.expiries, self.first_due) = (0, 0, 0, false);
        }
        for one in self.segments.iter_mut().filter(|one| one.sacked) {
            (one.lost, one.copies) = (false, 0);
        }
        let before = self.phase;
        let mut event = None;
        let mut lost = Vec::new();
        let spurious = self.is_spurious(ack, advanced, &newly);
        if spurious {
            self.take_back();
            event = Some(CongestionEvent::Spurious);
        } else {
            self.dup_acks += u32::from(advanced == 0 && has_news);
            lost = self.find_lost();
        }
        if self.phase != Phase::Open && self.high_ack >= self.recovery_point {
            // §5 step A.
            self.phase = Phase::Open;
            self.first_due = false;
            event = (before == Phase::Fast).then_some(CongestionEvent::RecoveryEnd);
        }
        if !spurious && self.enter_if_lost(has_news, &mut lost) {
            event = Some(CongestionEvent::Loss);
        }
        if self.options.lost_retransmissions && !spurious {
            let overtaken = self.find_overtaken(now, &newly);
            if !overtaken.is_empty() {
                self.timer.acknowledged(now as f64, true);
            }
            lost.extend(overtaken);
            if self.enter_if_lost(false, &mut lost) {
                event = Some(CongestionEvent::Loss);
            }
        }
        if advanced > 0 || self.phase == Phase::Fast && before != Phase::Fast {
            self.timer.acknowledged(now as f64, self.high_ack < self.segments.len());
        }
        if self.options.proportional {
            let sacked = i128::from(self.sacked());
            self.news = Some(News {
                delivered_data: delivered.into(),
                outstanding: self.outstanding().into(),
                sacked,
                advances: advanced > 0,
                losses: !lost.is_empty(),
                begins: event == Some(CongestionEvent::Loss),
            });
        }
        let (in_flight, recovery) = (self.pipe(), self.phase.into());
        Some(Told { acked, lost, advanced, outstanding, in_flight, event, recovery, rtt })
    }

    /// RFC 6298 §5.4 to §5.6, RFC 6675 §5.1.
    fn expire(&mut self, now: u64) -> Option<Told> {
        if self.high_ack == self.segments.len() {
            return None;
        }
        let outstanding = self.outstanding() - self.limited;
        let lost = self.unsacked().filter(|at| self.segments[*at].copies > 0).map(|at| at as u64).collect();
        for one in &mut self.segments[self.high_ack..] {
            if !one.sacked || !self.options.keep_scoreboard {
                (one.sacked, one.lost, one.copies) = (false, true, 0);
            }
        }
        self.proportional = None;
        self.doubt = self.doubt.of_timeout(self.options.spurious, self.phase == Phase::Timeout);
        let flies = self.pipe() > 0;
        self.timer.expire(now as f64, flies);
        self.expiries += 1;
        (self.dup_acks, self.limited, self.timed, self.first_due) = (0, 0, None, false);
        (self.phase, self.recovery_point, self.high_rxt) =
            (Phase::Timeout, self.segments.len(), self.high_ack);
        Some(Told {
            acked: Vec::new(),
            lost,
            advanced: 0,
            outstanding,
            in_flight: self.pipe(),
            event: Some(CongestionEvent::Timeout { consecutive: self.expiries }),
            recovery: self.phase.into(),
            rtt: None,
        })
    }

    /// RFC 9937 §6.1, §6.2 and §6.4, when the law has heard.
    fn heard(&mut self, window: u64) {
        let Some(news) = self.news.take() else { return };
        if self.phase != Phase::Fast {
            self.proportional = None;
            return;
        }
        if news.begins {
            self.proportional = Some(Proportional::begin(window, &news));
        }
        let inflight = self.pipe();
        if let Some(episode) = &mut self.proportional {
            let safe_ack = news.advances && !news.losses;
            episode.acknowledge(news.delivered_data, inflight, safe_ack);
        }
    }

    fn offer(&mut self, waiting: u64) {
        let sent_new = self.segments.len() != self.recovery_point;
        if self.doubt.is_given_up(sent_new, self.has_new(waiting)) {
            (self.doubt, self.high_rxt) = (Doubt::None, self.high_ack);
        }
    }

    fn next(&mut self, now: u64, window: u64, waiting: u64) -> Option<Left> {
        let window = self.proportional.as_ref().and_then(Proportional::cwnd).unwrap_or(window);
        let has_new = self.has_new(waiting);
        let (at, is_rescue) = if self.first_due {
            (self.high_ack, false)
        } else {
            let chosen = self.next_seg(has_new);
            let at = chosen.or_else(|| self.rescue())?;
            let mut pipe = self.pipe();
            if self.phase == Phase::Open && !self.options.limited_transmit {
                pipe = pipe.max(self.outstanding());
            }
            let size = self.segments.get(at).map_or(waiting, |one| one.size);
            if pipe + size > window && (pipe > 0 || window == 0) {
                return None;
            }
            (at, chosen.is_none())
        };
        let before = self.pipe();
        let again = at < self.segments.len();
        if again {
            self.first_due = false;
            self.timed = None;
            self.doubt.left(now);
            if is_rescue {
                self.rescue_rxt = None;
            } else {
                self.high_rxt = at + 1;
            }
        } else {
            if self.phase == Phase::Open && self.dup_acks > 0 {
                self.limited += waiting;
            }
            self.timed.get_or_insert(at);
            self.segments.push(Segment { size: waiting, ..Segment::default() });
        }
        let one = &mut self.segments[at];
        (one.sent_at, one.times, one.copies) = (now, one.times + 1, (one.copies + 1).min(2));
        one.waived = false;
        let size = one.size;
        self.timer.left(now as f64);
        if let Some(episode) = &mut self.proportional {
            episode.sent(size);
        }
        Some(Left { number: at as u64, size, again, in_flight: before + size })
    }

    fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }

    fn in_flight(&self) -> u64 {
        self.pipe()
    }

    fn is_idle(&self) -> bool {
        self.high_ack == self.segments.len()
    }

    fn timer(&self) -> &Timer {
        &self.timer
    }

    fn state(&self) -> String {
        let marks: String = self.segments[self.high_ack..]
            .iter()
            .map(|one| match (one.sacked, one.lost, one.copies) {
                (true, ..) => 's',
                (_, true, 0) => 'x',
                (_, true, _) => 'r',
                (_, _, 1) => '.',
                _ => '2',
            })
            .collect();
        format!(
            "{:?} to {}, from {}: {marks}, HighRxt {}, RescueRxt {:?}, limited {}, {:?}, {:?}",
            self.phase,
            self.recovery_point,
            self.high_ack,
            self.high_rxt,
            self.rescue_rxt,
            self.limited,
            self.timer,
            self.proportional
        )
    }
}
