//! What the second writings have in common: an episode's name, and when a round trip is measured.

use tailback_core::Recovery;
use tailback_transport::RttSampling;

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
