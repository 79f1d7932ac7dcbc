//! Proportional rate reduction written anew from RFC 9937 §6.1 to §6.4, from the text alone, in bytes with headers. `inflight` is
//! RFC 6675's `pipe` (`scoreboard.rs`), `ssthresh` the window that the law chose when it heard of the loss.
//!
//! Choices where the text leaves one, as ours has them: what a time-out has had the sender forget is no newly delivered data when it
//! is told again, behind a time-out that was spurious; what is newly acknowledged in `RecoverFS` leaves out what was selectively
//! acknowledged before; an acknowledgement that lets the rescue go may still be a `SafeACK` ("may indicate further losses"); the
//! first retransmission leaves whatever the window (RFC 6675 §5 step 4.3), though `SndCnt` be less than a segment; `pipe`
//! stays `inflight` where lost retransmissions are found, too. The share is rounded up to whole segments, as by the examples of §8,
//! which count in segments; it was in bytes at first, which the text of §6.2 says. A `SndCnt` below zero is none: it was kept at
//! first, and what a timer declares lost then could not leave in its place.

use super::SEGMENT;

/// What an acknowledgement brought, until the law has heard of it.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// What is acknowledged, selectively or not, for the first time.
    pub delivered_data: i128,
    /// `SND.NXT - SND.UNA` after it, and how much of this is selectively acknowledged.
    pub outstanding: i128,
    pub sacked: i128,
    /// `SND.UNA` advances.
    pub advances: bool,
    pub losses: bool,
    pub begins: bool,
}

/// A PRR episode.
#[derive(Clone, Debug)]
pub struct Proportional {
    ssthresh: i128,
    prr_delivered: i128,
    prr_out: i128,
    recover_fs: i128,
    /// None before the first acknowledgement that delivers anything.
    cwnd: Option<i128>,
}

fn div_round_up(n: i128, d: i128) -> i128 {
    (n + d - 1) / d
}

impl Proportional {
    /// §6.1, initialization steps. What is newly acknowledged, selectively or not, is `DeliveredData`.
    pub fn begin(ssthresh: u64, news: &News) -> Self {
        let recover_fs = news.outstanding - news.sacked + news.delivered_data;
        Self { ssthresh: ssthresh.into(), prr_delivered: 0, prr_out: 0, recover_fs, cwnd: None }
    }

    /// The law has lowered its window within the episode, for a mark.
    pub fn lower(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh.into();
    }

    /// §6.2, per-ACK steps.
    pub fn acknowledge(&mut self, delivered_data: i128, inflight: u64, safe_ack: bool) {
        if delivered_data == 0 {
            return;
        }
        let (inflight, smss) = (i128::from(inflight), i128::from(SEGMENT));
        self.prr_delivered += delivered_data;
        let mut snd_cnt = if inflight > self.ssthresh {
            div_round_up(self.prr_delivered * self.ssthresh, self.recover_fs * smss) * smss - self.prr_out
        } else {
            let conserving = (self.prr_delivered - self.prr_out).max(delivered_data);
            let more = if safe_ack { smss } else { 0 };
            (self.ssthresh - inflight).min(conserving + more)
        };
        if self.prr_out == 0 && snd_cnt == 0 {
            snd_cnt = smss;
        }
        self.cwnd = Some(inflight + snd_cnt.max(0));
    }

    /// An episode has begun without an acknowledgement: one segment leaves until there is one.
    pub fn begin_without(&mut self, inflight: u64) {
        self.cwnd = Some(i128::from(inflight + SEGMENT));
    }

    /// §6.3, per-transmit steps.
    pub fn sent(&mut self, size: u64) {
        self.prr_out += i128::from(size);
    }

    /// The window of the episode; none where nothing has set it yet. §6.4: after it, the law's.
    pub fn cwnd(&self) -> Option<u64> {
        self.cwnd.map(|cwnd| cwnd.max(0) as u64)
    }
}
