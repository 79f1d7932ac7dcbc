//! RACK-TLP written anew from RFC 8985, from its text alone: what is lost when, when the three timers expire, and what leaves as
//! a probe. Each function bears the name of its pseudocode, and goes through all segments. What leaves behind a loss is of the
//! text no matter ("a modified recovery algorithm"): the lowest that is lost, then new data, as the window lets them.
//!
//! Where the text leaves a choice, or contradicts itself, this one is taken; it is ours since both were compared, packet by packet:
//! - §6.2 step 1: the least round trip is that of the samples within a window, the newest included.
//! - §6.2 step 2: what was marked as lost and arrives before it leaves again is measured by the time when it left, as §5.3 has it
//!   ("the most recently delivered segment"), though the pseudocode has overwritten this time by `INFINITE_TS`.
//! - §6.2 steps 2 and 3: what was acknowledged before the scoreboard was thrown away is no news, unless it left again since.
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
//! - §8: the time for which a time-out would be set goes on while another timer is armed.
//!
//! Times are whole nanoseconds, the window for reordering rounded to them.
//!
//! Not compared yet with ours: laws that count lost retransmissions, and a window for the least round trip shorter than a run.

use tailback_core::{CongestionEvent, Recovery, SeqRange};
use tailback_transport::{RttSampling, SpuriousDetection};

use super::doubt::{Doubt, Verdict};
use super::proportional::{News, Proportional};
use super::timer::Timer;
use super::{Acknowledgement, Left, Options, RackOptions, Second, Told};

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    size: u64,
    /// `Segment.xmit_ts`, but for `INFINITE_TS`.
    xmit_ts: u64,
    /// `Segment.retransmitted` where this is more than 1.
    times: u32,
    lost: bool,
    sacked: bool,
    /// Its acknowledgement was told; a scoreboard that is thrown away does not change that.
    told: bool,
    /// Transmissions in the network.
    copies: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Fast,
    Timeout,
}

/// `RACK.*` of §5.3. Sequence numbers are indices, those of an end one beyond.
#[derive(Clone, Copy, Debug)]
struct Rack {
    xmit_ts: u64,
    end_seq: usize,
    fack: usize,
    rtt: f64,
    reordering_seen: bool,
    reo_wnd: f64,
    dsack_round: Option<usize>,
    reo_wnd_mult: f64,
    reo_wnd_persist: u32,
}

/// `TLP.*` of §5.3.
#[derive(Clone, Copy, Debug, Default)]
struct Tlp {
    is_retrans: bool,
    end_seq: Option<usize>,
    /// A round trip was measured since the last probe, or the start.
    has_sample: bool,
    /// A probe leaves before anything else.
    due: bool,
}

/// The sender.
pub struct RackTlp {
    options: Options,
    settings: RackOptions,
    /// Round trips and when they were measured.
    trips: Vec<(u64, f64)>,
    segments: Vec<Segment>,
    una: usize,
    phase: Phase,
    recovery_point: usize,
    first_due: bool,
    dup_acks: u32,
    limited: u64,
    expiries: u32,
    timer: Timer,
    timed: Option<usize>,
    doubt: Doubt,
    rack: Rack,
    tlp: Tlp,
    /// Whether the newest acknowledgement bore a D-SACK.
    dsack: bool,
    /// When the law heard of a loss last, be it by a time-out.
    answered: u64,
    /// When the reordering timer and the probe's expire.
    reordering_timer: Option<f64>,
    pto: Option<f64>,
    /// RFC 9937, as in `scoreboard.rs`.
    news: Option<News>,
    proportional: Option<Proportional>,
    /// The law hears of losses that no acknowledgement goes with, as those that the reordering timer found.
    without_ack: bool,
    /// What the law hears of by itself, behind an acknowledgement.
    behind: Option<Told>,
}

/// `RACK_sent_after`.
fn sent_after(one: (u64, usize), other: (u64, usize)) -> bool {
    one > other
}

impl RackTlp {
    pub fn new(options: Options) -> Self {
        let timer = Timer::new(options.min_rto, options.max_rto);
        let settings = options.rack.expect("losses are found by time");
        Self {
            options,
            settings,
            trips: Vec::new(),
            segments: Vec::new(),
            una: 0,
            phase: Phase::Open,
            recovery_point: 0,
            first_due: false,
            dup_acks: 0,
            limited: 0,
            expiries: 0,
            timer,
            timed: None,
            doubt: Doubt::None,
            rack: Rack {
                xmit_ts: 0,
                end_seq: 0,
                fack: 0,
                rtt: 0.0,
                reordering_seen: false,
                reo_wnd: 0.0,
                dsack_round: None,
                reo_wnd_mult: 1.0,
                reo_wnd_persist: 0,
            },
            tlp: Tlp::default(),
            dsack: false,
            answered: 0,
            reordering_timer: None,
            pto: None,
            news: None,
            proportional: None,
            without_ack: false,
            behind: None,
        }
    }

    /// `RACK.reo_wnd`, in nanoseconds.
    pub fn reo_wnd(&self) -> f64 {
        self.rack.reo_wnd
    }

    fn outstanding(&self) -> u64 {
        self.segments[self.una..].iter().map(|one| one.size).sum()
    }

    fn sacked(&self) -> u64 {
        self.segments[self.una..].iter().filter(|one| one.sacked).map(|one| one.size).sum()
    }

    fn unsacked(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (self.una..self.segments.len()).filter(|at| !self.segments[*at].sacked)
    }

    /// `RACK.segs_sacked`.
    fn segs_sacked(&self) -> usize {
        self.segments[self.una..].iter().filter(|one| one.sacked).count()
    }

    fn pipe(&self) -> u64 {
        self.unsacked().map(|at| self.segments[at].copies * self.segments[at].size).sum()
    }

    /// §6.2 step 1.
    fn update_min_rtt(&mut self, now: u64, trip: u64) {
        self.trips.push((now, trip as f64));
        let window = self.settings.min_rtt_window;
        self.trips.retain(|(at, _)| now - at <= window);
    }

    /// `RACK.min_RTT`.
    fn min_rtt(&self) -> f64 {
        self.trips.iter().map(|(_, trip)| *trip).fold(f64::INFINITY, f64::min)
    }

    /// §6.2 step 2.
    fn rack_update(&mut self, now: u64, newly: &[usize], echo: Option<u64>) {
        let mut newly = newly.to_vec();
        newly.sort_by_key(|at| self.segments[*at].xmit_ts);
        for at in newly {
            let one = self.segments[at];
            if one.told && one.copies == 0 {
                continue;
            }
            let rtt = (now - one.xmit_ts) as f64;
            if one.times > 1 {
                let stamps = self.options.sampling == RttSampling::Timestamps
                    || self.options.spurious == SpuriousDetection::Eifel;
                if stamps && echo.is_some_and(|echo| echo < one.xmit_ts) || rtt < self.min_rtt() {
                    continue;
                }
            }
            self.rack.rtt = rtt;
            if sent_after((one.xmit_ts, at + 1), (self.rack.xmit_ts, self.rack.end_seq)) {
                (self.rack.xmit_ts, self.rack.end_seq) = (one.xmit_ts, at + 1);
            }
        }
    }

    /// §6.2 step 3.
    fn rack_detect_reordering(&mut self, newly: &[usize]) {
        for &at in newly {
            if at + 1 > self.rack.fack {
                self.rack.fack = at + 1;
            } else if at + 1 < self.rack.fack && self.segments[at].times == 1 {
                self.rack.reordering_seen = true;
            }
        }
    }

    /// §6.2 step 4.
    fn rack_update_reo_wnd(&mut self, exits: bool) -> f64 {
        let rack = &mut self.rack;
        if rack.dsack_round.is_some_and(|round| self.una >= round) {
            rack.dsack_round = None;
        }
        if rack.dsack_round.is_none() && self.dsack {
            rack.dsack_round = Some(self.segments.len());
            rack.reo_wnd_mult += 1.0;
            rack.reo_wnd_persist = self.settings.persist;
        } else if exits {
            rack.reo_wnd_persist = rack.reo_wnd_persist.saturating_sub(1);
            if rack.reo_wnd_persist == 0 {
                rack.reo_wnd_mult = 1.0;
            }
        }
        let many = self.segs_sacked() >= self.options.dup_threshold as usize;
        if !self.rack.reordering_seen && (self.phase != Phase::Open || many) {
            return 0.0;
        }
        // §3.3.2: "zero if no round-trip time estimate is available".
        let Some(srtt) = self.timer.srtt() else { return 0.0 };
        let part = self.rack.reo_wnd_mult * self.settings.reordering_window;
        (part * self.min_rtt()).round().min(srtt.floor())
    }

    /// How long a segment may still come; it is lost where this is not positive.
    fn remaining(&self, now: u64, at: usize) -> f64 {
        self.segments[at].xmit_ts as f64 + self.rack.rtt + self.rack.reo_wnd - now as f64
    }

    fn lose(&mut self, at: usize) {
        let one = &mut self.segments[at];
        (one.lost, one.copies) = (true, 0);
    }

    /// §6.2 step 5, with the timer: what is lost.
    fn rack_detect_loss_and_arm_timer(&mut self, now: u64, exits: bool) -> Vec<u64> {
        self.rack.reo_wnd = self.rack_update_reo_wnd(exits);
        let mut timeout: Option<f64> = None;
        let mut lost = Vec::new();
        let newest = (self.rack.xmit_ts, self.rack.end_seq);
        let flying: Vec<usize> = self.unsacked().filter(|at| !self.segments[*at].lost).collect();
        for at in flying {
            if !sent_after(newest, (self.segments[at].xmit_ts, at + 1)) {
                continue;
            }
            let remaining = self.remaining(now, at);
            if remaining <= 0.0 {
                self.lose(at);
                lost.push(at as u64);
            } else {
                timeout = Some(timeout.map_or(remaining, |timeout| timeout.max(remaining)));
            }
        }
        self.reordering_timer = timeout.map(|timeout| now as f64 + timeout);
        if timeout.is_some() {
            self.pto = None;
        }
        let sent = |at: u64| (self.segments[at as usize].times > 1, self.segments[at as usize].xmit_ts);
        lost.sort_by_key(|at| if sent(*at).0 { sent(*at) } else { (false, 0) });
        lost
    }

    /// What the law hears of losses, and whether an episode begins (§9.3).
    fn answer(&mut self, now: u64, lost: &[u64]) -> (bool, Option<CongestionEvent>) {
        let later = |at: usize| self.segments[at].xmit_ts >= self.answered;
        let mut is_new = lost.iter().any(|at| later(*at as usize));
        let lowest = self.unsacked().find(|at| self.segments[*at].lost);
        let enters = self.phase == Phase::Open && lowest.is_some();
        let mut hears = true;
        if enters {
            is_new |= lowest.is_some_and(later);
            self.enter();
        } else if !lost.is_empty() {
            if is_new && self.doubt.is_of_timeout() {
                self.doubt = Doubt::None;
            }
            let spread = self.phase == Phase::Fast && self.options.proportional;
            hears = !spread && !self.options.lost_retransmissions;
        }
        if !is_new || !hears {
            return (enters, None);
        }
        self.answered = now;
        (enters, Some(CongestionEvent::Loss))
    }

    /// §7.1, of an episode that begins.
    fn tlp_init(&mut self) {
        (self.tlp.end_seq, self.tlp.is_retrans, self.tlp.due, self.pto) = (None, false, false, None);
    }

    /// §7.2: none where no probe is to be scheduled.
    fn tlp_calc_pto(&self, now: u64) -> Option<f64> {
        let rto = self.timer.deadline?;
        let may_leave = self.tlp.end_seq.is_none() && self.tlp.has_sample;
        let repairs = self.phase != Phase::Open && self.una < self.recovery_point;
        if !self.settings.probes || !may_leave || repairs || self.una == self.segments.len() {
            return None;
        }
        if self.segs_sacked() > 0 || self.reordering_timer.is_some() {
            return None;
        }
        let one = self.segments.len() - self.una == 1;
        let late = if one { self.settings.max_ack_delay as f64 } else { 0.0 };
        let pto = self.timer.srtt().map_or(1e9, |srtt| 2.0 * srtt + late);
        Some((now as f64 + pto).min(rto))
    }

    /// §7.4.2: whether the probe has repaired a loss.
    fn tlp_process_ack(&mut self, ack: &Acknowledgement, advances: bool) -> bool {
        let number = ack.number as usize;
        let Some(end_seq) = self.tlp.end_seq.filter(|end_seq| number >= *end_seq) else { return false };
        let matches = ack.duplicate.is_some_and(|range: SeqRange| range.end as usize == end_seq);
        let is_dup_ack = !advances && ack.blocks.is_empty() && ack.duplicate.is_none();
        let repaired = self.tlp.is_retrans && !matches && number > end_seq;
        if !self.tlp.is_retrans || matches || repaired || is_dup_ack {
            self.tlp.end_seq = None;
        }
        repaired
    }

    /// Whether the acknowledgement shows the episode to be for nothing.
    fn is_spurious(&mut self, ack: &Acknowledgement, advances: bool, newly: &[usize]) -> bool {
        let covers = self.una >= self.recovery_point;
        let original = newly.iter().any(|at| *at < self.recovery_point && self.segments[*at].times == 1);
        self.doubt.hear(ack.echo, advances, covers, original) == Verdict::Spurious
    }

    /// What was thought lost is in the network.
    fn take_back(&mut self) {
        for one in self.segments[self.una..].iter_mut().filter(|one| one.lost && !one.sacked) {
            (one.lost, one.copies) = (false, 1);
        }
        (self.phase, self.recovery_point, self.first_due) = (Phase::Open, self.una, false);
        self.answered = 0;
    }

    fn enter(&mut self) {
        (self.phase, self.recovery_point) = (Phase::Fast, self.segments.len());
        (self.dup_acks, self.limited, self.first_due) = (0, 0, true);
        self.doubt = Doubt::of_loss(self.options.spurious);
        self.tlp_init();
    }

    fn phase(&self) -> Recovery {
        match self.phase {
            Phase::Open => Recovery::Open,
            Phase::Fast => Recovery::Fast,
            Phase::Timeout => Recovery::Timeout,
        }
    }

    /// Karn's rule, RFC 6298 §3: no sample of what was sent more than once, without stamps.
    fn trip(&mut self, now: u64, newly: &[usize], ack: &Acknowledgement) -> Option<u64> {
        let newest = || newly.iter().map(|at| self.segments[*at].xmit_ts).max();
        match self.options.sampling {
            RttSampling::EveryAck => {
                let sure = newly.iter().all(|at| self.segments[*at].times == 1 && !self.segments[*at].told);
                newest().filter(|_| sure).map(|sent| now - sent)
            }
            RttSampling::Timestamps => ack.echo.filter(|_| !newly.is_empty()).map(|sent| now - sent),
            RttSampling::PerRoundTrip => {
                let timed = self.timed.filter(|at| newly.contains(at))?;
                self.timed = None;
                (timed < self.una).then(|| now - self.segments[timed].xmit_ts)
            }
        }
    }

    /// The scoreboard takes an acknowledgement in: what is newly acknowledged, and whether by ranges.
    fn mark(&mut self, ack: &Acknowledgement) -> (Vec<usize>, bool) {
        let number = ack.number as usize;
        let mut newly: Vec<usize> = (self.una..number).filter(|at| !self.segments[*at].sacked).collect();
        self.una = number;
        let before = newly.len();
        for &SeqRange { start, end } in &ack.blocks {
            for at in (start as usize).max(number)..(end as usize).min(self.segments.len()) {
                if !self.segments[at].sacked {
                    self.segments[at].sacked = true;
                    newly.push(at);
                }
            }
        }
        let has_news = newly[before..].iter().any(|at| !self.segments[*at].told);
        newly.sort_unstable();
        (newly, has_news)
    }

    fn report(&self, outstanding: u64, event: Option<CongestionEvent>, lost: Vec<u64>) -> Told {
        let (in_flight, recovery) = (self.pipe(), self.phase());
        Told { acked: Vec::new(), lost, advanced: 0, outstanding, in_flight, event, recovery, rtt: None }
    }

    /// What RFC 9937 has yet to hear, when the law has heard.
    fn note(&mut self, delivered: u64, advanced: u64, lost: &[u64], begins: bool) {
        let sacked = i128::from(self.sacked());
        self.news = self.options.proportional.then(|| News {
            delivered_data: delivered.into(),
            outstanding: self.outstanding().into(),
            sacked,
            advances: advanced > 0,
            losses: !lost.is_empty(),
            begins,
        });
    }

    /// Steps 4 and 5 where an acknowledgement has shown the episode to be for nothing: what they find is told behind that.
    fn go_on(&mut self, now: u64, advanced: u64) {
        let outstanding = self.outstanding() - self.limited;
        let lost = self.rack_detect_loss_and_arm_timer(now, false);
        let (enters, event) = self.answer(now, &lost);
        if advanced > 0 || !lost.is_empty() {
            self.timer.acknowledged(now as f64, self.una < self.segments.len());
        }
        self.restart_pto(now, advanced);
        self.note(0, 0, &lost, enters);
        self.without_ack = !lost.is_empty();
        self.behind = (!lost.is_empty()).then(|| self.report(outstanding, event, lost));
    }

    /// §7.2, upon an acknowledgement.
    fn restart_pto(&mut self, now: u64, advanced: u64) {
        if advanced > 0 || self.pto.is_none() {
            self.pto = self.tlp_calc_pto(now);
        } else if self.segs_sacked() > 0 {
            self.pto = None;
        }
    }

    /// The reordering timer.
    fn reordered(&mut self, now: u64) -> Option<Told> {
        let outstanding = self.outstanding() - self.limited;
        let lost = self.rack_detect_loss_and_arm_timer(now, false);
        let (enters, event) = self.answer(now, &lost);
        if !lost.is_empty() {
            self.timer.acknowledged(now as f64, true);
        }
        self.note(0, 0, &lost, enters);
        self.without_ack = !lost.is_empty();
        (!lost.is_empty()).then(|| self.report(outstanding, event, lost))
    }

    /// §7.3. What leaves is chosen when it may.
    fn probe(&mut self, now: u64) {
        self.pto = None;
        (self.tlp.due, self.tlp.has_sample) = (true, false);
        self.timer.acknowledged(now as f64, self.una < self.segments.len());
    }

    /// §6.3 and RFC 6298 §5.4 to §5.6.
    fn time_out(&mut self, now: u64) -> Told {
        let outstanding = self.outstanding() - self.limited;
        if !self.options.keep_scoreboard || self.segments[self.una].sacked {
            for one in self.segments[self.una..].iter_mut().filter(|one| one.sacked) {
                (one.sacked, one.lost, one.copies) = (false, true, 0);
            }
        }
        let marked: Vec<usize> =
            self.unsacked().filter(|at| *at == self.una || self.remaining(now, *at) <= 0.0).collect();
        let lost = marked.iter().filter(|at| self.segments[**at].copies > 0).map(|at| *at as u64).collect();
        for at in marked {
            self.lose(at);
        }
        self.doubt = self.doubt.of_timeout(self.options.spurious, self.phase == Phase::Timeout);
        self.timer.expire(now as f64);
        self.expiries += 1;
        (self.dup_acks, self.limited, self.timed, self.first_due) = (0, 0, None, true);
        (self.phase, self.recovery_point) = (Phase::Timeout, self.segments.len());
        self.tlp_init();
        self.answered = now;
        (self.reordering_timer, self.proportional) = (None, None);
        let event = Some(CongestionEvent::Timeout { consecutive: self.expiries });
        self.report(outstanding, event, lost)
    }
}

impl Second for RackTlp {
    fn acknowledge(&mut self, now: u64, ack: &Acknowledgement) -> Option<Told> {
        let number = ack.number as usize;
        if !(self.una..=self.segments.len()).contains(&number) {
            return None;
        }
        self.dsack = ack.duplicate.is_some();
        if self.una == self.segments.len() {
            // Nothing is outstanding, but a probe may prove to have been for nothing.
            self.tlp_process_ack(ack, false);
            self.rack.reo_wnd = self.rack_update_reo_wnd(false);
            return None;
        }
        let outstanding = self.outstanding() - self.limited;
        let advanced: u64 = self.segments[self.una..number].iter().map(|one| one.size).sum();
        let (mut newly, has_news) = self.mark(ack);
        let rtt = self.trip(now, &newly, ack);
        if let Some(trip) = rtt {
            self.timer.sample(trip as f64);
            self.update_min_rtt(now, trip);
            self.tlp.has_sample = true;
        }
        self.rack_update(now, &newly, ack.echo);
        newly.retain(|at| !self.segments[*at].told);
        self.rack_detect_reordering(&newly);
        for &at in &newly {
            self.segments[at].told = true;
        }
        for one in self.segments.iter_mut().filter(|one| one.sacked) {
            (one.lost, one.copies) = (false, 0);
        }
        if advanced > 0 {
            (self.dup_acks, self.limited, self.expiries, self.first_due) = (0, 0, 0, false);
            self.pto = None;
        }
        let repaired = self.tlp_process_ack(ack, advanced > 0);
        let spurious = self.is_spurious(ack, advanced > 0, &newly);
        let mut event = None;
        if spurious {
            self.take_back();
            event = Some(CongestionEvent::Spurious);
        } else {
            self.dup_acks += u32::from(advanced == 0 && has_news);
        }
        let delivered = newly.iter().map(|at| self.segments[*at].size).sum();
        let acked = newly.iter().map(|at| *at as u64).collect();
        if spurious {
            let told = Told { acked, advanced, rtt, ..self.report(outstanding, event, Vec::new()) };
            self.go_on(now, advanced);
            return Some(told);
        }
        let exits = self.phase != Phase::Open && self.una >= self.recovery_point;
        if exits {
            let fast = self.phase == Phase::Fast;
            (self.phase, self.first_due) = (Phase::Open, false);
            event = event.or(fast.then_some(CongestionEvent::RecoveryEnd));
        }
        let lost = self.rack_detect_loss_and_arm_timer(now, exits);
        let (mut enters, answer) = self.answer(now, &lost);
        event = answer.or(event);
        if repaired && self.phase == Phase::Open {
            (self.phase, self.recovery_point) = (Phase::Fast, self.segments.len());
            (self.dup_acks, self.limited, self.first_due) = (0, 0, false);
            self.answered = now;
            (enters, event) = (true, Some(CongestionEvent::Loss));
        }
        if advanced > 0 || !lost.is_empty() || enters {
            self.timer.acknowledged(now as f64, self.una < self.segments.len());
        }
        self.restart_pto(now, advanced);
        self.note(delivered, advanced, &lost, enters);
        Some(Told { acked, advanced, rtt, ..self.report(outstanding, event, lost) })
    }

    fn behind(&mut self) -> Option<Told> {
        self.behind.take()
    }

    fn expire(&mut self, now: u64) -> Option<Told> {
        if self.una == self.segments.len() {
            return None;
        }
        match (self.reordering_timer, self.pto) {
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
        let Some(news) = self.news.take() else { return };
        if self.phase != Phase::Fast {
            self.proportional = None;
            return;
        }
        if news.begins {
            self.proportional = Some(Proportional::begin(window, &news));
        }
        let inflight = self.pipe();
        if without_ack
            && let Some(episode) = self.proportional.as_mut().filter(|episode| episode.cwnd().is_none())
        {
            episode.begin_without(inflight);
        }
        if let Some(episode) = &mut self.proportional {
            episode.acknowledge(news.delivered_data, inflight, news.advances && !news.losses);
        }
    }

    fn next(&mut self, now: u64, window: u64, waiting: u64) -> Option<Left> {
        let window = self.proportional.as_ref().and_then(Proportional::cwnd).unwrap_or(window);
        let has_new = waiting > 0 && self.outstanding() + waiting <= self.options.receive_window;
        let probes = std::mem::take(&mut self.tlp.due);
        let at = if self.first_due && self.segments[self.una..].iter().any(|one| one.lost) {
            self.unsacked().find(|at| self.segments[*at].lost)?
        } else if probes {
            self.segments.len() - usize::from(!has_new)
        } else {
            let lost = self.unsacked().find(|at| self.segments[*at].lost);
            let holds_back = self.doubt == Doubt::Second;
            if holds_back && !has_new && self.segments.len() == self.recovery_point {
                // RFC 5682 §2.1 step 2b: nothing new to send.
                self.doubt = Doubt::None;
            }
            let new = has_new.then_some(self.segments.len());
            let at = if self.doubt == Doubt::Second { new } else { lost.or(new) }?;
            let mut pipe = self.pipe();
            if self.phase == Phase::Open && !self.options.limited_transmit {
                pipe = pipe.max(self.outstanding());
            }
            let size = self.segments.get(at).map_or(waiting, |one| one.size);
            if pipe > 0 && pipe + size > window {
                return None;
            }
            at
        };
        let before = self.pipe();
        let again = at < self.segments.len();
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
            self.segments.push(Segment { size: waiting, ..Segment::default() });
        }
        // §6.1.
        let one = &mut self.segments[at];
        (one.xmit_ts, one.times, one.lost) = (now, one.times + 1, false);
        one.copies = (one.copies + 1).min(2);
        let size = one.size;
        self.timer.left(now as f64);
        if let Some(episode) = &mut self.proportional {
            episode.sent(size);
        }
        if probes {
            (self.tlp.end_seq, self.tlp.is_retrans) = (Some(self.segments.len()), again);
        } else if !again {
            self.pto = self.tlp_calc_pto(now);
        }
        Some(Left { number: at as u64, size, again, in_flight: before + size })
    }

    fn in_flight(&self) -> u64 {
        self.pipe()
    }

    fn is_idle(&self) -> bool {
        self.una == self.segments.len()
    }

    fn recovery(&self) -> Recovery {
        self.phase()
    }

    fn timer(&self) -> &Timer {
        &self.timer
    }

    fn deadline(&self) -> Option<f64> {
        self.reordering_timer.or(self.pto).or(self.timer.deadline)
    }

    fn state(&self) -> String {
        let marks: String = self.segments[self.una..]
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
            "{:?} to {}, from {}: {marks}, limited {}, {:?}, {:?}, {:?}, reordering timer {:?}, PTO {:?}",
            self.phase,
            self.recovery_point,
            self.una,
            self.limited,
            self.timer,
            self.rack,
            self.tlp,
            self.reordering_timer,
            self.pto,
        )
    }
}
