//! What a new directive changes in a shaper: it mostly says what the last one said, or another rate, and then little is to be done.
//! When a packet may leave is in `shaper.rs`.

use tailback_core::{BitRate, Burst, Bytes, Directive, Gate, ProbePlan, Stream, Time};

use super::{Due, Shaper};

/// What a directive says to a shaper: all but the window and the time-out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Said {
    rate: Option<BitRate>,
    burst: Burst,
    gate: Gate,
    pub(super) probe: Option<ProbePlan>,
    media: Option<BitRate>,
}

impl Said {
    #[inline]
    fn of(directive: &Directive) -> Self {
        let Directive { rate, burst, gate, probe, media, .. } = *directive;
        Self { rate, burst, gate, probe, media }
    }

    /// Whether a directive says the same of all but the rate and its bucket. Mostly both say nothing.
    #[inline]
    fn is_same_except_rate(&self, directive: &Directive) -> bool {
        let quiet = self.gate.is_open() && self.probe.is_none() && self.media.is_none();
        let stays = directive.gate.is_open() && directive.probe.is_none() && directive.media.is_none();
        quiet && stays
            || self.gate == directive.gate && self.probe == directive.probe && self.media == directive.media
    }
}

/// What a directive means to a shaper, compared with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The same.
    Same,
    /// Another rate or bucket, and nothing else.
    OtherRate,
    /// It may say anything.
    News,
}

impl Shaper {
    /// Takes a new directive. It mostly says what the last one said, as where a rate is measured once per round trip, or
    /// another rate.
    #[inline]
    pub fn direct(&mut self, now: Time, directive: &Directive, rng: &mut Stream) {
        let heard = self.hear(directive);
        self.heed(now, heard, rng);
    }

    /// Compares a directive with the last one, and keeps it.
    #[inline(always)]
    pub(crate) fn hear(&mut self, directive: &Directive) -> Heard {
        let Some(said) = self.said.as_mut().filter(|said| said.is_same_except_rate(directive)) else {
            self.said = Some(Said::of(directive));
            return Heard::News;
        };
        if said.rate == directive.rate && said.burst == directive.burst {
            return Heard::Same;
        }
        let keeps = said.rate.is_some() && directive.rate.is_some() && said.media.is_none();
        (said.rate, said.burst) = (directive.rate, directive.burst);
        if keeps && self.cluster_due.is_none() { Heard::OtherRate } else { Heard::News }
    }

    /// Does what was heard.
    #[inline(always)]
    pub(crate) fn heed(&mut self, now: Time, heard: Heard, rng: &mut Stream) {
        match heard {
            Heard::Same => self.go_on(now, rng),
            Heard::OtherRate => {
                if let Some(Said { rate: Some(rate), burst, .. }) = self.said {
                    self.change_rate(now, rate, burst, rng);
                }
            }
            Heard::News => {
                if let Some(said) = self.said {
                    self.take(now, &said, rng);
                }
            }
        }
    }

    /// The directive stays as it is: at most, tokens have to go.
    #[inline]
    fn go_on(&mut self, now: Time, rng: &mut Stream) {
        let now = self.as_of(now);
        if now < self.waiting.1 || self.bucket.is_up_to_date(now) {
            return;
        }
        self.waiting.1 = Time::ZERO;
        self.bucket.accrue(now, self.rate_in_force().unwrap_or(BitRate::ZERO), rng);
        self.bucket.trim();
    }

    /// The directive says another rate, and nothing else.
    fn change_rate(&mut self, now: Time, rate: BitRate, burst: Burst, rng: &mut Stream) {
        self.waiting.1 = Time::ZERO;
        self.bucket.accrue(self.as_of(now), self.rate.unwrap_or(BitRate::ZERO), rng);
        self.bucket.configure(burst, self.at_once());
        self.rate = Some(rate);
    }

    /// The application offers without end from now on: the next directive is read anew.
    pub(crate) fn never_ends(&mut self) {
        self.is_endless = true;
        self.said = None;
    }

    /// Reads the next directive as if it were the first, to compare with.
    #[doc(hidden)]
    pub fn forget_said(&mut self) {
        self.said = None;
    }

    /// Takes a directive that may say anything.
    fn take(&mut self, now: Time, directive: &Said, rng: &mut Stream) {
        self.waiting.1 = Time::ZERO;
        self.gate_changed |= self.gate != directive.gate;
        self.gate = directive.gate;
        self.gate_times.set(now, self.gate);
        self.pairs = None;
        match directive.probe {
            Some(ProbePlan::DataPairs { singleton_timeout }) => self.pairs = Some(singleton_timeout),
            Some(ProbePlan::ControlPair { id }) if self.control_pair != Some(id) => {
                self.control_pair = Some(id);
                self.control_due = 2;
            }
            Some(ProbePlan::ControlPair { .. } | ProbePlan::Cluster { .. } | ProbePlan::Padding) | None => {}
        }
        let at_once = self.at_once();
        let had_rate = self.rate_in_force().is_some();
        self.bucket.accrue(self.as_of(now), self.rate_in_force().unwrap_or(BitRate::ZERO), rng);
        if let Some(ProbePlan::Cluster { id, rate, bytes }) = directive.probe
            && self.cluster != Some(id)
        {
            self.cluster = Some(id);
            self.cluster_due = Some(Due { rate, bytes }).filter(|due| due.bytes > Bytes::ZERO);
        }
        self.bucket.configure(directive.burst, at_once);
        self.media = directive.media;
        let most = directive.media.filter(|_| self.is_endless);
        let rate = match (directive.rate, most) {
            (Some(rate), Some(most)) => Some(rate.min(most)),
            (rate, most) => rate.or(most),
        };
        if rate.is_some() && !had_rate {
            self.bucket.fill(now, at_once, rng);
            self.forget_lateness();
        }
        self.rate = rate;
    }
}
