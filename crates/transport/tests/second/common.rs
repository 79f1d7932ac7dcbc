//! What the second writings have in common: an episode's name, what an acknowledgement marks, and when a round trip is measured.

use tailback_core::{Recovery, SeqRange};
use tailback_transport::RttSampling;

use super::Acknowledgement;

/// Where recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    Fast,
    Timeout,
}

impl From<Phase> for Recovery {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Open => Self::Open,
            Phase::Fast => Self::Fast,
            Phase::Timeout => Self::Timeout,
        }
    }
}

/// A segment that ranges can tell of.
pub trait Marked {
    /// Its acknowledgement was told before.
    fn is_told(&self) -> bool;
    /// It is selectively acknowledged.
    fn sacked(&mut self) -> &mut bool;
}

/// RFC 6675 §3, `Update`: what is newly acknowledged, in the order of numbers, and whether by ranges.
pub fn mark<T: Marked>(segments: &mut [T], una: &mut usize, ack: &Acknowledgement) -> (Vec<usize>, bool) {
    let number = ack.number as usize;
    let mut newly: Vec<usize> = (*una..number).filter(|at| !*segments[*at].sacked()).collect();
    *una = number;
    let before = newly.len();
    for &SeqRange { start, end } in &ack.blocks {
        for at in (start as usize).max(number)..(end as usize).min(segments.len()) {
            if !std::mem::replace(segments[at].sacked(), true) {
                newly.push(at);
            }
        }
    }
    let has_news = newly[before..].iter().any(|at| !segments[*at].is_told());
    newly.sort_unstable();
    (newly, has_news)
}

/// A segment that is newly acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Newly {
    pub number: usize,
    pub sent_at: u64,
    /// It was sent once, and never acknowledged before.
    pub is_sure: bool,
}

/// A round trip, if one is measured. Karn's rule, RFC 6298 §3: no sample of what was sent more than once, without stamps. Where
/// segments are timed one by one, this is the number of the one at hand.
pub fn trip(
    sampling: RttSampling,
    now: u64,
    newly: &[Newly],
    echo: Option<u64>,
    una: usize,
    timed: &mut Option<usize>,
) -> Option<u64> {
    match sampling {
        RttSampling::EveryAck => {
            let newest = newly.iter().map(|one| one.sent_at).max();
            newest.filter(|_| newly.iter().all(|one| one.is_sure)).map(|sent| now - sent)
        }
        RttSampling::Timestamps => echo.filter(|_| !newly.is_empty()).map(|sent| now - sent),
        RttSampling::PerRoundTrip => {
            let one = newly.iter().find(|one| Some(one.number) == *timed)?;
            *timed = None;
            (one.number < una).then(|| now - one.sent_at)
        }
    }
}
