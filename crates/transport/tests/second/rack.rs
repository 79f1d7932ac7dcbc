//! RACK-TLP written anew from RFC 8985, from its text alone: what is lost when, when the three timers expire, and what leaves as
//! a probe. Each function bears the name of its pseudocode, and goes through all segments. What leaves behind a loss is of the
//! text no matter ("a modified recovery algorithm"): the lowest that is lost, then new data, as the window lets them.
//!
//! Where the text leaves a choice, or contradicts itself, this one is taken; it is ours since both were compared, packet by packet:
//! - §6.2 step 1: the least round trip is that of the samples within a window, the newest included.
//! - §6.2 step 2: what was marked as lost and arrives before it leaves again is measured by the time when it left, as §5.3 has it
//!   ("the most recently delivered segment"), though the pseudocode has overwritten this time by `INFINITE_TS`.
//! - §6.2 steps 2 and 3: what was acknowledged before the scoreboard was thrown away is no news, unless it left again since. Where
//!   the time-out is taken back, it is not judged by time either: when it left has been thrown away, too.
//! - §6.2 step 4: an acknowledgement that ends recovery is outside it, before it looks for losses; so is one that shows recovery to
//!   be for nothing. That is none of the recoveries which are counted: it was no recovery from a loss.
//! - §6.2 steps 4 and 5 come upon every acknowledgement, such a one too. The law hears first that it was for nothing,
//!   and of any loss after that, since its answer was taken back.
//! - §6.3: what is thrown away with the scoreboard is lost, however young. What is marked is not in flight, either; the earliest
//!   leaves whatever the window (RFC 6298 §5.4).
//! - §7.3: the retransmitted probe flies beside the original (§9.3, "accounted for"), until either is acknowledged or lost.
//! - §7.2, §7.3: no timer is set for a probe that may not leave. It is set, too, where an acknowledgement that does not advance leaves
//!   it unset and a probe may leave by now; one that brings ranges ends it.
//! - §7.4.2: the loss that a probe repaired begins a fast recovery with nothing to repair.
//! - §9.3: the law hears of a loss of what left when it heard last, or later; within fast recovery not where recovery reduces in
//!   proportion, nor where the law counts lost retransmissions itself. An episode begins where anything lost waits, heard of or not.
//! - RFC 4015 §3.1 step 9: where the acknowledgement that shows an episode to be for nothing echoes a mark, the law's answer stands, for
//!   the mark. The law hears of the end of a fast recovery. Steps 4 and 5 go on as ever.
//! - RFC 9937 §6.1: a mark that the law hears of within an episode lowers `ssthresh`; it begins none.
//! - §8: the time for which a time-out would be set goes on while another timer is armed.
//!
//! Times are whole nanoseconds, the window for reordering rounded to them.
//!
//! Not compared yet with ours: laws that count lost retransmissions, and a window for the least round trip shorter than a run.

mod episodes;
mod model;
mod timers;

use tailback_core::{CongestionEvent, Recovery};

use super::common::{Newly, Phase, trip};
use super::doubt::Doubt;
use super::ecn::Reductions;
use super::proportional::{News, Proportional};
use super::timer::Timer;
use super::{Acknowledgement, Left, Options, Second, Told};
use model::{Model, Segment};
use timers::Timers;

/// The sender.
#[derive(Clone)]
pub struct RackTlp {
    options: Options,
    model: Model,
    timers: Timers,
    phase: Phase,
    recovery_point: usize,
    first_due: bool,
    dup_acks: u32,
    limited: u64,
    expiries: u32,
    timed: Option<usize>,
    doubt: Doubt,
    /// When the law heard of a loss last, be it by a time-out.
    answered: u64,
    reductions: Reductions,
    /// The law lowers its window for a mark.
    lowers: bool,
    /// RFC 9937, as in `scoreboard.rs`.
    news: Option<News>,
    proportional: Option<Proportional>,
    /// The law hears of losses that no acknowledgement goes with, as those that the reordering timer found.
    without_ack: bool,
    /// What the law hears of by itself, behind an acknowledgement.
    behind: Option<Told>,
}

impl RackTlp {
    pub fn new(options: Options) -> Self {
        let settings = options.rack.expect("losses are found by time");
        Self {
            model: Model::new(&options, settings),
            timers: Timers::new(Timer::new(&options), settings),
            options,
            phase: Phase::Open,
            recovery_point: 0,
            first_due: false,
            dup_acks: 0,
            limited: 0,
            expiries: 0,
            timed: None,
            doubt: Doubt::None,
            answered: 0,
            reductions: Reductions::default(),
            lowers: false,
            news: None,
            proportional: None,
            without_ack: false,
            behind: None,
        }
    }

    /// `RACK.reo_wnd`, in nanoseconds.
    pub fn reo_wnd(&self) -> f64 {
        self.model.reo_wnd()
    }

    /// Whether an episode is at hand, and something that was sent before it is missing.
    fn repairs(&self) -> bool {
        self.phase != Phase::Open && self.model.una < self.recovery_point
    }

    /// §6.2 step 4.
    fn set_reo_wnd(&mut self, exits: bool) {
        self.model.set_reo_wnd(exits, self.phase != Phase::Open, self.timers.rto.srtt());
    }

    /// §6.2 steps 4 and 5, with the timer: what is lost.
    fn rack_detect_loss_and_arm_timer(&mut self, now: u64, exits: bool) -> Vec<u64> {
        self.set_reo_wnd(exits);
        let (lost, timeout) = self.model.rack_detect_loss(now);
        self.timers.reorder(timeout);
        lost
    }

    /// The law hears of congestion, of what left before now.
    fn reduce(&mut self, now: u64) {
        self.answered = now;
        self.reductions.note(self.model.segments.len());
    }

    /// §7.2, upon an acknowledgement.
    fn restart_pto(&mut self, now: u64, advanced: u64) {
        let repairs = self.repairs();
        self.timers.restart_pto(now, &self.model, repairs, advanced);
    }

    /// Whether the receiver has room for so many new bytes, if any.
    fn has_new(&self, waiting: u64) -> bool {
        waiting > 0 && self.model.outstanding() + waiting <= self.options.receive_window
    }

    /// Karn's rule.
    fn trip(&mut self, now: u64, newly: &[usize], echo: Option<u64>) -> Option<u64> {
        let known = newly.iter().map(|&number| {
            let one = &self.model.segments[number];
            Newly { number, sent_at: one.xmit_ts, is_sure: one.times == 1 && !one.told }
        });
        let known: Vec<_> = known.collect();
        trip(self.options.sampling, now, &known, echo, self.model.una, &mut self.timed)
    }

    fn report(&self, outstanding: u64, event: Option<CongestionEvent>, lost: Vec<u64>) -> Told {
        let (in_flight, recovery) = (self.model.pipe(), self.phase.into());
        Told { acked: Vec::new(), lost, advanced: 0, outstanding, in_flight, event, recovery, rtt: None }
    }

    /// What RFC 9937 has yet to hear, when the law has heard.
    fn note(&mut self, delivered: u64, advanced: u64, lost: &[u64], begins: bool) {
        let sacked = i128::from(self.model.sacked());
        self.news = self.options.proportional.then(|| News {
            delivered_data: delivered.into(),
            outstanding: self.model.outstanding().into(),
            sacked,
            advances: advanced > 0,
            losses: !lost.is_empty(),
            begins,
        });
    }
}

impl Second for RackTlp {
    fn acknowledge(&mut self, now: u64, ack: &Acknowledgement) -> Option<Told> {
        let number = ack.number as usize;
        if !(self.model.una..=self.model.segments.len()).contains(&number) {
            return None;
        }
        self.model.dsack = ack.duplicate.is_some();
        if self.model.is_idle() {
            // Nothing is outstanding, but a probe may prove to have been for nothing.
            self.timers.tlp_process_ack(ack, false);
            self.set_reo_wnd(false);
            return None;
        }
        let outstanding = self.model.outstanding() - self.limited;
        let advanced: u64 = self.model.segments[self.model.una..number].iter().map(|one| one.size).sum();
        let (mut newly, has_news) = self.model.mark(ack);
        let rtt = self.trip(now, &newly, ack.echo);
        if let Some(trip) = rtt {
            self.timers.rto.sample(trip as f64);
            self.model.update_min_rtt(now, trip);
            self.timers.tlp.has_sample = true;
        }
        self.model.rack_update(now, &newly, ack.echo);
        newly.retain(|at| !self.model.segments[*at].told);
        self.model.rack_detect_reordering(&newly);
        for &at in &newly {
            self.model.segments[at].told = true;
        }
        for one in self.model.segments.iter_mut().filter(|one| one.sacked) {
            (one.lost, one.copies) = (false, 0);
        }
        if advanced > 0 {
            (self.dup_acks, self.limited, self.expiries, self.first_due) = (0, 0, 0, false);
            self.timers.pto = None;
        }
        // A probe that has yet to leave is not needed any more.
        self.timers.tlp.due &= advanced == 0 && !has_news;
        let repaired = self.timers.tlp_process_ack(ack, advanced > 0);
        let spurious = self.is_spurious(ack, advanced > 0, &newly);
        // RFC 4015 §3.1 step 9: what is told of losses is taken back, and the law's answer is not.
        let stands = spurious && ack.marks && self.options.beside.ecn;
        let mut event = None;
        if spurious {
            let fast = self.phase == Phase::Fast;
            self.take_back(stands);
            let end = fast.then_some(CongestionEvent::RecoveryEnd);
            event = if stands { end } else { Some(CongestionEvent::Spurious) };
        } else {
            self.dup_acks += u32::from(advanced == 0 && has_news);
        }
        let delivered = newly.iter().map(|at| self.model.segments[*at].size).sum();
        let acked = newly.iter().map(|at| *at as u64).collect();
        if spurious && !stands {
            let told = Told { acked, advanced, rtt, ..self.report(outstanding, event, Vec::new()) };
            self.go_on(now, advanced);
            return Some(told);
        }
        let exits = self.phase != Phase::Open && self.model.una >= self.recovery_point;
        if exits {
            let fast = self.phase == Phase::Fast;
            (self.phase, self.first_due) = (Phase::Open, false);
            event = event.or(fast.then_some(CongestionEvent::RecoveryEnd));
        }
        let lost = self.rack_detect_loss_and_arm_timer(now, exits);
        let (mut enters, answer) = self.answer(now, &lost);
        event = answer.or(event);
        if repaired && self.phase == Phase::Open {
            (self.phase, self.recovery_point) = (Phase::Fast, self.model.segments.len());
            (self.dup_acks, self.limited, self.first_due) = (0, 0, false);
            self.reduce(now);
            (enters, event) = (true, Some(CongestionEvent::Loss));
        }
        if advanced > 0 || !lost.is_empty() || enters {
            self.timers.rto.acknowledged(now as f64, !self.model.is_idle());
        }
        self.restart_pto(now, advanced);
        self.note(delivered, advanced, &lost, enters);
        if ack.marks && self.options.beside.ecn && event.is_none() && self.reductions.is_news(self.model.una)
        {
            event = Some(CongestionEvent::Ecn);
            self.reduce(now);
            self.lowers = true;
        }
        Some(Told { acked, advanced, rtt, ..self.report(outstanding, event, lost) })
    }

    fn behind(&mut self) -> Option<Told> {
        self.behind.take()
    }

    fn expire(&mut self, now: u64) -> Option<Told> {
        if self.model.is_idle() {
            // The end of a silence.
            self.timers.rto.deadline = None;
            return None;
        }
        match (self.timers.reordering, self.timers.pto) {
            (Some(_), _) => self.reordered(now),
            (None, Some(_)) => {
                self.probe(now);
                None
            }
            (None, None) => Some(self.time_out(now)),
        }
    }

    /// RFC 9937 §6.1, §6.2 and §6.4, when the law has heard.
    fn heard(&mut self, window: u64) {
        let without_ack = std::mem::take(&mut self.without_ack);
        let lowers = std::mem::take(&mut self.lowers);
        let Some(news) = self.news.take() else { return };
        if self.phase != Phase::Fast {
            self.proportional = None;
            return;
        }
        if news.begins {
            self.proportional = Some(Proportional::begin(window, &news));
        }
        let inflight = self.model.pipe();
        if without_ack
            && let Some(episode) = self.proportional.as_mut().filter(|episode| episode.cwnd().is_none())
        {
            episode.begin_without(inflight);
        }
        if let Some(episode) = &mut self.proportional {
            if lowers {
                episode.lower(window);
            }
            episode.acknowledge(news.delivered_data, inflight, news.advances && !news.losses);
        }
    }

    fn offer(&mut self, waiting: u64) {
        let sent_new = self.model.segments.len() != self.recovery_point;
        if self.doubt.is_given_up(sent_new, self.has_new(waiting)) {
            self.doubt = Doubt::None;
        }
    }

    fn next(&mut self, now: u64, window: u64, waiting: u64) -> Option<Left> {
        let window = self.proportional.as_ref().and_then(Proportional::cwnd).unwrap_or(window);
        let has_new = self.has_new(waiting);
        let probes = std::mem::take(&mut self.timers.tlp.due);
        let at = if self.first_due && self.model.segments[self.model.una..].iter().any(|one| one.lost) {
            self.model.unsacked().find(|at| self.model.segments[*at].lost)?
        } else if probes {
            self.model.segments.len() - usize::from(!has_new)
        } else {
            let lost = self.model.unsacked().find(|at| self.model.segments[*at].lost);
            let new = has_new.then_some(self.model.segments.len());
            let at = if self.doubt == Doubt::Second { new } else { lost.or(new) }?;
            let mut pipe = self.model.pipe();
            if self.phase == Phase::Open && !self.options.limited_transmit {
                pipe = pipe.max(self.model.outstanding());
            }
            let size = self.model.segments.get(at).map_or(waiting, |one| one.size);
            if pipe + size > window && (pipe > 0 || window == 0) {
                return None;
            }
            at
        };
        let before = self.model.pipe();
        let again = at < self.model.segments.len();
        if again {
            self.timed = None;
            if !probes {
                self.doubt.left(now);
                self.first_due = false;
            }
        } else {
            if self.phase == Phase::Open && self.dup_acks > 0 {
                self.limited += waiting;
            }
            self.timed.get_or_insert(at);
            self.model.segments.push(Segment { size: waiting, ..Segment::default() });
        }
        // §6.1.
        let one = &mut self.model.segments[at];
        (one.xmit_ts, one.times, one.lost) = (now, one.times + 1, false);
        one.copies = (one.copies + 1).min(2);
        one.timeless = false;
        let size = one.size;
        self.timers.rto.left(now as f64);
        if let Some(episode) = &mut self.proportional {
            episode.sent(size);
        }
        if probes {
            (self.timers.tlp.end_seq, self.timers.tlp.is_retrans) = (Some(self.model.segments.len()), again);
            self.timers.tlp.has_sample = false;
        } else if !again {
            let repairs = self.repairs();
            self.timers.set_pto(now, &self.model, repairs);
        }
        Some(Left { number: at as u64, size, again, in_flight: before + size })
    }

    fn take_cwr(&mut self) -> bool {
        self.reductions.take_cwr()
    }

    fn fall_silent(&mut self, now: u64) -> bool {
        self.timers.pto = None;
        self.timers.rto.restart(now as f64);
        self.model.is_idle()
    }

    fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timers.rto
    }

    fn hold(&mut self, held: u64) {
        self.timers.hold(held as f64);
    }

    fn in_flight(&self) -> u64 {
        self.model.pipe()
    }

    fn is_idle(&self) -> bool {
        self.model.is_idle()
    }

    fn recovery(&self) -> Recovery {
        self.phase.into()
    }

    fn timer(&self) -> &Timer {
        &self.timers.rto
    }

    fn deadline(&self) -> Option<f64> {
        self.timers.deadline()
    }

    fn state(&self) -> String {
        let marks: String = self.model.segments[self.model.una..]
            .iter()
            .map(|one| match (one.sacked, one.lost, one.copies) {
                (true, ..) => 's',
                (_, true, _) => 'x',
                (_, _, 1) if one.times > 1 => 'r',
                (_, _, 1) => '.',
                _ => '2',
            })
            .collect();
        format!(
            "{:?} to {}, from {}: {marks}, limited {}, {:?}, {}, {:?}, reordering timer {:?}, PTO {:?}, {:?}",
            self.phase,
            self.recovery_point,
            self.model.una,
            self.limited,
            self.timers.rto,
            self.model.variables(),
            self.timers.tlp,
            self.timers.reordering,
            self.timers.pto,
            self.proportional,
        )
    }
}
