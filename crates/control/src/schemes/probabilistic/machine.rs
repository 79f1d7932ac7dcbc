//! The receiver's state machine of probabilistic congestion control (Widmer, Mauve and Damm, Fig. 2, §3.4 to §3.7), as an
//! explicit type: it is told what arrives and what is known of the network, and commands the sender. Probabilities are in
//! `experiments.rs`; measuring is the receiver's business (`receiver.rs`).
//!
//! | from | what happens | to |
//! | --- | --- | --- |
//! | `Idle` | data | `Protected`, or `Clip` with fixed on-time |
//! | `Idle` | a probe, where probes come before on | `Probing` |
//! | `Probing` | enough is known, and the experiment succeeds | `Steady`, data may start |
//! | `Probing` | enough is known, and it fails | `Off` |
//! | `Protected` | enough is known, and the experiment with p' succeeds | `FirstSlot` |
//! | `Protected` | it fails, or p' ≤ 0 | `Off`, for T or the stretched T |
//! | `FirstSlot` | T has passed since the protected time | `Steady` |
//! | `FirstSlot`, `Steady` | an experiment fails | `Off` |
//! | `Clip` | its time is over, and it sent more than TCP would have | `Off`, until it has not |
//! | `Clip` | its time is over, and it sent no more | `Clip` |
//! | `Off` | probes show conditions under which every experiment would have succeeded | `Conditional`, data may start |
//! | `Off` | its time is over | `Idle` |
//! | `Conditional` | an experiment would have failed after all | `Off` |
//! | `Conditional` | the last experiment is older than T | `Steady` |
//! | any on-state | no data for T | `Idle` |
//! | any | the flow dominates its link | `Suspended`, for good |

use tailback_core::{Span, Stream, Time};

use super::experiments::{Experiments, Outcome, Protected, Rates};

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// Nothing has come yet, or the off-time is over: the sender may start, and nothing is known of the network.
    Idle,
    /// Probes measure the network before any data may come (§3.7.4).
    Probing,
    /// On, while the network is not known yet (§3.6).
    Protected {
        /// Since when.
        since: Time,
    },
    /// On; what was sent in the protected time is made up for.
    FirstSlot,
    /// On.
    Steady,
    /// On for a fixed time (§3.7.2).
    Clip {
        /// Since when.
        since: Time,
        /// For how long.
        until: Time,
    },
    /// On again by what probes showed, as long as every experiment would have succeeded (§3.7.3).
    Conditional,
    /// Off.
    Off {
        /// Until when.
        until: Time,
    },
    /// Off for good: the flow is too large for its network (§3.7.1).
    Suspended,
}

impl State {
    /// Whether data may come.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Probing | Self::Off { .. } | Self::Suspended)
    }
}

/// What the sender is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Stop for so long.
    Stop(Span),
    /// Data may come at once.
    Start,
}

/// What the machine does beyond §3.4 to §3.6.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// On for T, then off for as long as that costs (§3.7.2).
    pub fixed_on_time: bool,
    /// Back on when probes show better conditions: by how much `r_TCP` must exceed what the experiments need, as a
    /// fraction (§3.7.3, and the threshold of §3.7.4).
    pub probe_while_off: Option<f64>,
    /// No data before a passed experiment (§3.7.4).
    pub probe_before_on: bool,
}

/// What is known of the network at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knowledge {
    /// The rates, by the newest measurement.
    pub rates: Rates,
    /// Whether the measurement rests on enough to decide by (§3.6, the end of T').
    pub sufficient: bool,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Machine {
    state: State,
    options: Options,
    /// T as the application wants it.
    nominal: Span,
    /// By up to which fraction T varies.
    jitter: f64,
    experiments: Experiments,
    /// TCP's bytes in a clip, up to some time.
    allowed: (f64, Time),
    active_at: Time,
}

/// No flow is off for longer than this many T, unless for good: a network in which it would be should be asked again.
const LONGEST_OFF: u64 = 100;

impl Machine {
    /// A receiver that has seen nothing.
    pub fn new(period: Span, jitter: f64, options: Options) -> Self {
        Self {
            state: State::Idle,
            options,
            nominal: period,
            jitter,
            experiments: Experiments::new(period),
            allowed: (0.0, Time::ZERO),
            active_at: Time::ZERO,
        }
    }

    /// Where the flow stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// The sets of probabilities.
    pub fn experiments(&self) -> &Experiments {
        &self.experiments
    }

    /// When [`Machine::on_time`] has something to do.
    pub fn next_timer(&self) -> Option<Time> {
        match self.state {
            State::Idle | State::Probing | State::Suspended => None,
            State::Off { until } => Some(until),
            State::Clip { .. } | State::Protected { .. } => Some(self.idle_at()),
            State::FirstSlot | State::Steady | State::Conditional => {
                let expiry = self.experiments.next_expiry().unwrap_or(Time::NEVER);
                Some(expiry.min(self.idle_at()))
            }
        }
    }

    fn idle_at(&self) -> Time {
        self.active_at + self.experiments.period()
    }

    /// A data packet came. Whatever the state, the caller reminds the sender of [`State::Off`].
    pub fn on_data(&mut self, now: Time, rng: &mut Stream) {
        self.active_at = now;
        if self.state == State::Idle && !self.options.probe_before_on {
            self.begin(rng);
            self.state = if self.options.fixed_on_time {
                self.allowed = (0.0, now);
                State::Clip { since: now, until: now + self.experiments.period() }
            } else {
                State::Protected { since: now }
            };
        }
    }

    /// A probe came.
    pub fn on_probe(&mut self, rng: &mut Stream) {
        if self.state == State::Idle && self.options.probe_before_on {
            self.begin(rng);
            self.state = State::Probing;
        }
    }

    /// A new cycle: T is drawn anew (§3.4).
    fn begin(&mut self, rng: &mut Stream) {
        let factor = 1.0 + self.jitter * (2.0 * rng.uniform() - 1.0);
        self.experiments = Experiments::new(self.nominal.mul_f64(factor));
    }

    /// Time passed.
    pub fn on_time(&mut self, now: Time) {
        self.experiments.expire(now);
        match self.state {
            State::Off { until } if until <= now => self.state = State::Idle,
            State::FirstSlot if self.experiments.slot_ends().is_none() => self.state = State::Steady,
            State::Conditional if self.experiments.is_clear() => self.state = State::Steady,
            _ => {}
        }
        let waits_for_data = self.state.is_on() && self.state != State::Idle;
        if waits_for_data && self.idle_at() <= now {
            self.state = State::Idle;
        }
    }

    /// The network was measured: the continuous evaluation of §3.5.
    pub fn on_knowledge(&mut self, now: Time, known: &Knowledge, rng: &mut Stream) -> Option<Command> {
        self.on_time(now);
        match self.state {
            State::Probing if known.sufficient => match self.conduct(now, known, rng) {
                None => {
                    (self.state, self.active_at) = (State::Steady, now);
                    Some(Command::Start)
                }
                stop => stop,
            },
            State::Protected { since } if known.sufficient => {
                let protected = Protected { span: now.since(since), rates: known.rates };
                self.experiments.protect(now, protected);
                self.state = State::FirstSlot;
                self.conduct(now, known, rng)
            }
            State::Idle | State::Suspended | State::Probing | State::Protected { .. } => None,
            State::FirstSlot | State::Steady => self.conduct(now, known, rng),
            State::Clip { since, until } => self.clip(now, since, until, known),
            State::Off { .. } => self.reconsider(now, known),
            State::Conditional => {
                let stays = self.experiments.all_succeed(&known.rates);
                if stays { None } else { Some(self.turn_off(now, self.rest(now))) }
            }
        }
    }

    fn conduct(&mut self, now: Time, known: &Knowledge, rng: &mut Stream) -> Option<Command> {
        match self.experiments.conduct(now, &known.rates, || rng.uniform_positive()) {
            Outcome::None | Outcome::Stays => None,
            Outcome::Fails => Some(self.turn_off(now, self.experiments.period())),
            Outcome::Owes(span) => Some(self.turn_off(now, span)),
        }
    }

    fn turn_off(&mut self, now: Time, span: Span) -> Command {
        let span = span.min(self.nominal * LONGEST_OFF);
        self.state = State::Off { until: now + span };
        Command::Stop(span)
    }

    /// What is left of T since the last experiment.
    fn rest(&self, now: Time) -> Span {
        self.experiments.last_expiry().map_or(Span::ZERO, |until| until.since(now))
    }

    /// A flow that stays on for T whatever happens, and is off for as long as TCP would have needed for the rest (§3.7.2).
    fn clip(&mut self, now: Time, since: Time, until: Time, known: &Knowledge) -> Option<Command> {
        let (mut allowed, counted) = self.allowed;
        if known.sufficient {
            // What came before anything was known is taken as what came since.
            let passed = if allowed == 0.0 { now.since(since) } else { now.since(counted) };
            allowed += known.rates.friendly * passed.as_secs_f64();
            self.allowed = (allowed, now);
        }
        if now < until {
            return None;
        }
        let on = now.since(since);
        let average = allowed / on.as_secs_f64().max(1e-9);
        let sent = known.rates.application;
        if average <= 0.0 || average >= sent {
            // Nothing known, or no more than TCP: the next clip may follow.
            self.allowed = (0.0, now);
            self.state = State::Clip { since: now, until: now + self.experiments.period() };
            return None;
        }
        Some(self.turn_off(now, on.mul_f64(sent / average - 1.0)))
    }

    /// Probes while off (§3.7.3).
    fn reconsider(&mut self, now: Time, known: &Knowledge) -> Option<Command> {
        let threshold = self.options.probe_while_off.filter(|_| known.sufficient)?;
        let rates = Rates { friendly: known.rates.friendly / (1.0 + threshold), ..known.rates };
        if self.experiments.is_clear() || !self.experiments.all_succeed(&rates) {
            return None;
        }
        (self.state, self.active_at) = (State::Conditional, now);
        Some(Command::Start)
    }

    /// The flow dominates its link (§3.7.1).
    pub fn suspend(&mut self) -> Command {
        self.state = State::Suspended;
        Command::Stop(Span::MAX)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
