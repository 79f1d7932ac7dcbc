//! Whether an episode was for nothing, written anew from RFC 3522 §3.2 (Eifel detection) and RFC 5682 §2.1 and §3.1 (F-RTO).
//! What ours says of itself and is followed: what was thought lost counts as in the network again; the second acknowledgement
//! of F-RTO shows a time-out to be for nothing where it covers anything that was sent once, be it beyond a hole.

use tailback_transport::SpuriousDetection;

/// What is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    None,
    /// Eifel: the first retransmission has yet to leave; or it left at this time.
    Unsent,
    Sent(u64),
    /// F-RTO awaits the first or the second acknowledgement.
    First,
    Second,
}

/// What an acknowledgement says of the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Spurious,
    /// It was real, and the retransmissions that F-RTO held back are due.
    Real,
}

impl Doubt {
    pub fn of_loss(detection: SpuriousDetection) -> Self {
        if detection == SpuriousDetection::Eifel { Self::Unsent } else { Self::None }
    }

    /// RFC 5682 §2.1 step 1: not where a time-out is being repaired already. RFC 3522 §3.2 step 2: the time of the first
    /// retransmission "does not get overwritten" by a second time-out.
    pub fn of_timeout(self, detection: SpuriousDetection, again: bool) -> Self {
        match detection {
            SpuriousDetection::Eifel if again && matches!(self, Self::Sent(_)) => self,
            SpuriousDetection::Eifel => Self::Unsent,
            SpuriousDetection::FRto if !again => Self::First,
            _ => Self::None,
        }
    }

    /// A retransmission leaves.
    pub fn left(&mut self, now: u64) {
        if *self == Self::Unsent {
            *self = Self::Sent(now);
        }
    }

    /// RFC 5682 §2.1 step 2b, once the first acknowledgement is in: where "the TCP sender does not have any new data to send, or the
    /// advertised window prohibits new transmissions", the second one is not waited for. What the application writes afterwards does not
    /// change this. Neither a full congestion window nor a rate is such a reason: new data leaves when they let it.
    pub fn is_given_up(self, sent_new: bool, has_new: bool) -> bool {
        self == Self::Second && !sent_new && !has_new
    }

    pub fn is_of_timeout(self) -> bool {
        matches!(self, Self::First | Self::Second)
    }

    /// An acknowledgement: whether it advances, covers all that was sent before, and covers anything of that sent once.
    pub fn hear(&mut self, echo: Option<u64>, advances: bool, covers: bool, original: bool) -> Verdict {
        let (next, verdict) = match *self {
            Self::Sent(sent) if advances => {
                let older = echo.is_some_and(|echo| echo < sent);
                (Self::None, if older { Verdict::Spurious } else { Verdict::Nothing })
            }
            Self::First if advances && !covers => (Self::Second, Verdict::Nothing),
            Self::First => (Self::None, Verdict::Nothing),
            Self::Second => (Self::None, if original { Verdict::Spurious } else { Verdict::Real }),
            other => (other, Verdict::Nothing),
        };
        *self = next;
        verdict
    }
}
