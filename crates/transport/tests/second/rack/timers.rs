//! The three timers of RFC 8985 (§7.2, §8), and the probe that the second one sends (§7): the second writing's, without what it
//! knows of segments. Choices that the text leaves are named in `rack.rs`.

use tailback_core::SeqRange;

use super::super::timer::Timer;
use super::super::{Acknowledgement, RackOptions};
use super::model::Model;

/// `TLP.*` of §5.3.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tlp {
    pub is_retrans: bool,
    pub end_seq: Option<usize>,
    /// A round trip was measured since the last probe, or the start.
    pub has_sample: bool,
    /// A probe leaves before anything else.
    pub due: bool,
}

/// Which timers run; one at a time counts.
#[derive(Clone)]
pub struct Timers {
    settings: RackOptions,
    pub rto: Timer,
    /// When the reordering timer and the probe's expire.
    pub reordering: Option<f64>,
    pub pto: Option<f64>,
    pub tlp: Tlp,
}

impl Timers {
    pub fn new(rto: Timer, settings: RackOptions) -> Self {
        Self { settings, rto, reordering: None, pto: None, tlp: Tlp::default() }
    }

    pub fn deadline(&self) -> Option<f64> {
        self.reordering.or(self.pto).or(self.rto.deadline)
    }

    /// The receiver is asked to hold acknowledgements back for so long: no timer that waits for one expires earlier. What has not
    /// arrived in order is acknowledged at once, whatever was asked, so that the reordering timer goes on.
    pub fn hold(&mut self, held: f64) {
        let longer = (held - self.rto.held).max(0.0);
        self.pto = self.pto.map(|due| due + longer);
        self.rto.hold(held);
    }

    /// The reordering timer takes the place of the probe's.
    pub fn reorder(&mut self, at: Option<f64>) {
        self.reordering = at;
        if at.is_some() {
            self.pto = None;
        }
    }

    /// §7.1, of an episode that begins.
    pub fn tlp_init(&mut self) {
        (self.tlp.end_seq, self.tlp.is_retrans, self.tlp.due, self.pto) = (None, false, false, None);
    }

    /// §7.2: none where no probe is to be scheduled.
    fn tlp_calc_pto(&self, now: u64, model: &Model, repairs: bool) -> Option<f64> {
        let rto = self.rto.deadline?;
        let may_leave = self.tlp.end_seq.is_none() && self.tlp.has_sample;
        if !self.settings.probes || !may_leave || repairs || model.is_idle() {
            return None;
        }
        if model.segs_sacked() > 0 || self.reordering.is_some() {
            return None;
        }
        let one = model.segments.len() - model.una == 1;
        let late = if one { self.settings.max_ack_delay as f64 } else { 0.0 };
        let pto = self.rto.srtt().map_or(1e9, |srtt| 2.0 * srtt + late + self.rto.held);
        Some((now as f64 + pto).min(rto))
    }

    /// New data has left (§7.2).
    pub fn set_pto(&mut self, now: u64, model: &Model, repairs: bool) {
        self.pto = self.tlp_calc_pto(now, model, repairs);
    }

    /// §7.2, upon an acknowledgement.
    pub fn restart_pto(&mut self, now: u64, model: &Model, repairs: bool, advanced: u64) {
        if advanced > 0 || self.pto.is_none() {
            self.pto = self.tlp_calc_pto(now, model, repairs);
        } else if model.segs_sacked() > 0 {
            self.pto = None;
        }
    }

    /// §7.4.2: whether the probe has repaired a loss.
    pub fn tlp_process_ack(&mut self, ack: &Acknowledgement, advances: bool) -> bool {
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
}
