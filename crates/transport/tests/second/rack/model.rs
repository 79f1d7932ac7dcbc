//! What RFC 8985 knows of segments (§5.2, §5.3), and what it finds to be lost (§6.2): the second writing's data, without timers,
//! episodes, and the law. Choices that the text leaves are named in `rack.rs`.

use tailback_transport::{RttSampling, SpuriousDetection};

use super::super::common::{Marked, mark};
use super::super::{Acknowledgement, Options, RackOptions};

#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    pub size: u64,
    /// `Segment.xmit_ts`, but for `INFINITE_TS`.
    pub xmit_ts: u64,
    /// `Segment.retransmitted` where this is more than 1.
    pub times: u32,
    pub lost: bool,
    pub sacked: bool,
    /// Its acknowledgement was told; a scoreboard that is thrown away does not change that.
    pub told: bool,
    /// When it left was thrown away with the scoreboard.
    pub timeless: bool,
    /// Transmissions in the network.
    pub copies: u64,
}

impl Marked for Segment {
    fn is_told(&self) -> bool {
        self.told
    }

    fn sacked(&mut self) -> &mut bool {
        &mut self.sacked
    }
}

/// `RACK.*` of §5.3. Sequence numbers are indices, those of an end one beyond.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
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

/// All that is known of segments.
#[derive(Clone)]
pub struct Model {
    settings: RackOptions,
    dup_threshold: usize,
    stamps: bool,
    /// Round trips and when they were measured.
    trips: Vec<(u64, f64)>,
    pub segments: Vec<Segment>,
    pub una: usize,
    rack: Rack,
    /// Whether the newest acknowledgement bore a D-SACK.
    pub dsack: bool,
}

/// `RACK_sent_after`.
fn sent_after(one: (u64, usize), other: (u64, usize)) -> bool {
    one > other
}

impl Model {
    pub fn new(options: &Options, settings: RackOptions) -> Self {
        let stamps =
            options.sampling == RttSampling::Timestamps || options.spurious == SpuriousDetection::Eifel;
        Self {
            settings,
            dup_threshold: options.dup_threshold as usize,
            stamps,
            trips: Vec::new(),
            segments: Vec::new(),
            una: 0,
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
            dsack: false,
        }
    }

    /// `RACK.reo_wnd`, in nanoseconds.
    pub fn reo_wnd(&self) -> f64 {
        self.rack.reo_wnd
    }

    /// `RACK.*`, to print.
    pub fn variables(&self) -> String {
        format!("{:?}", self.rack)
    }

    pub fn is_idle(&self) -> bool {
        self.una == self.segments.len()
    }

    pub fn outstanding(&self) -> u64 {
        self.segments[self.una..].iter().map(|one| one.size).sum()
    }

    pub fn sacked(&self) -> u64 {
        self.segments[self.una..].iter().filter(|one| one.sacked).map(|one| one.size).sum()
    }

    pub fn unsacked(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (self.una..self.segments.len()).filter(|at| !self.segments[*at].sacked)
    }

    /// `RACK.segs_sacked`.
    pub fn segs_sacked(&self) -> usize {
        self.segments[self.una..].iter().filter(|one| one.sacked).count()
    }

    pub fn pipe(&self) -> u64 {
        self.unsacked().map(|at| self.segments[at].copies * self.segments[at].size).sum()
    }

    /// §6.2 step 1.
    pub fn update_min_rtt(&mut self, now: u64, trip: u64) {
        self.trips.push((now, trip as f64));
        let window = self.settings.min_rtt_window;
        self.trips.retain(|(at, _)| now - at <= window);
    }

    /// `RACK.min_RTT`.
    fn min_rtt(&self) -> f64 {
        self.trips.iter().map(|(_, trip)| *trip).fold(f64::INFINITY, f64::min)
    }

    /// §6.2 step 2.
    pub fn rack_update(&mut self, now: u64, newly: &[usize], echo: Option<u64>) {
        let mut newly = newly.to_vec();
        newly.sort_by_key(|at| self.segments[*at].xmit_ts);
        for at in newly {
            let one = self.segments[at];
            if one.told && (one.copies == 0 || one.timeless) {
                continue;
            }
            let rtt = (now - one.xmit_ts) as f64;
            let of_earlier = self.stamps && echo.is_some_and(|echo| echo < one.xmit_ts);
            if one.times > 1 && (of_earlier || rtt < self.min_rtt()) {
                continue;
            }
            self.rack.rtt = rtt;
            if sent_after((one.xmit_ts, at + 1), (self.rack.xmit_ts, self.rack.end_seq)) {
                (self.rack.xmit_ts, self.rack.end_seq) = (one.xmit_ts, at + 1);
            }
        }
    }

    /// §6.2 step 3.
    pub fn rack_detect_reordering(&mut self, newly: &[usize]) {
        for &at in newly {
            if at + 1 > self.rack.fack {
                self.rack.fack = at + 1;
            } else if at + 1 < self.rack.fack && self.segments[at].times == 1 {
                self.rack.reordering_seen = true;
            }
        }
    }

    /// §6.2 step 4.
    fn rack_update_reo_wnd(&mut self, exits: bool, recovers: bool, srtt: Option<f64>) -> f64 {
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
        let many = self.segs_sacked() >= self.dup_threshold;
        if !self.rack.reordering_seen && (recovers || many) {
            return 0.0;
        }
        // §3.3.2: "zero if no round-trip time estimate is available".
        let Some(srtt) = srtt else { return 0.0 };
        let part = self.rack.reo_wnd_mult * self.settings.reordering_window;
        (part * self.min_rtt()).round().min(srtt.floor())
    }

    /// §6.2 step 4, in or outside of recovery.
    pub fn set_reo_wnd(&mut self, exits: bool, recovers: bool, srtt: Option<f64>) {
        self.rack.reo_wnd = self.rack_update_reo_wnd(exits, recovers, srtt);
    }

    /// How long a segment may still come; it is lost where this is not positive.
    pub fn remaining(&self, now: u64, at: usize) -> f64 {
        self.segments[at].xmit_ts as f64 + self.rack.rtt + self.rack.reo_wnd - now as f64
    }

    /// §6.3.
    pub fn is_over(&self, now: u64, at: usize) -> bool {
        self.segments[at].timeless || self.remaining(now, at) <= 0.0
    }

    pub fn lose(&mut self, at: usize) {
        let one = &mut self.segments[at];
        (one.lost, one.copies) = (true, 0);
    }

    /// §6.2 step 5: what is lost, and when the reordering timer expires.
    pub fn rack_detect_loss(&mut self, now: u64) -> (Vec<u64>, Option<f64>) {
        let mut timeout: Option<f64> = None;
        let mut lost = Vec::new();
        let newest = (self.rack.xmit_ts, self.rack.end_seq);
        let flying: Vec<usize> =
            self.unsacked().filter(|at| !self.segments[*at].lost && !self.segments[*at].timeless).collect();
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
        let sent = |at: u64| (self.segments[at as usize].times > 1, self.segments[at as usize].xmit_ts);
        lost.sort_by_key(|at| if sent(*at).0 { sent(*at) } else { (false, 0) });
        (lost, timeout.map(|timeout| now as f64 + timeout))
    }

    /// The scoreboard takes an acknowledgement in: what is newly acknowledged, and whether by ranges.
    pub fn mark(&mut self, ack: &Acknowledgement) -> (Vec<usize>, bool) {
        mark(&mut self.segments, &mut self.una, ack)
    }

    /// The scoreboard is thrown away: what ranges told of is lost.
    pub fn forget_ranges(&mut self) {
        for one in self.segments[self.una..].iter_mut().filter(|one| one.sacked) {
            (one.sacked, one.lost, one.timeless, one.copies) = (false, true, true, 0);
        }
    }
}
