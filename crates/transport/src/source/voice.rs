//! A voice call of fixed quality: packets of one size at even intervals while somebody talks, and, where silence is
//! suppressed, none while nobody does. What a listener makes of lost packets is not modelled.
//!
//! Sources: G.711 is 64 kbit/s (ITU-T G.711) in packets of 20 ms (RFC 3551 §4.2); talk spurts and pauses of a speaker last
//! 1.004 s and 1.587 s on average (ITU-T P.59 (1993), table 1), taken as exponential.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Span, Stream, Time};

use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// Mean talk spurt and pause in seconds.
const TALK: f64 = 1.004;
const PAUSE: f64 = 1.587;

/// A voice call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VoiceConfig {
    /// The codec's rate, headers not counted. Default 64 kbit/s, G.711.
    pub rate: BitRate,
    /// How much speech is in a packet. Default 20 ms.
    pub frame: Span,
    /// Whether nothing is sent in pauses. Default false.
    pub suppress_silence: bool,
}

impl Default for VoiceConfig {
    fn default() -> Self {
        Self {
            rate: BitRate::from_bits_per_sec(64_000),
            frame: Span::from_millis(20),
            suppress_silence: false,
        }
    }
}

impl SourceKind for VoiceConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "voice";

    fn check(&self, checker: &mut Checker) {
        checker.require(self.rate > BitRate::ZERO, "rate", self.rate, "a rate above zero");
        let ok = self.frame >= Span::from_millis(1) && self.frame <= Span::from_secs(1);
        checker.require(ok, "frame", self.frame, "1 ms to 1 s");
    }

    fn build(&self) -> BoxedSource {
        Box::new(Voice { config: self.clone(), next: None, until: Time::NEVER, stopped: false })
    }

    fn has_messages(&self) -> bool {
        false
    }
}

/// A voice call, running.
#[derive(Clone, Debug)]
pub struct Voice {
    config: VoiceConfig,
    next: Option<Time>,
    /// The end of the talk spurt.
    until: Time,
    stopped: bool,
}

impl Voice {
    /// A talk spurt begins.
    fn talk(&mut self, now: Time, rng: &mut Stream) {
        self.next = Some(now);
        if self.config.suppress_silence {
            self.until = now + Span::from_secs_f64(TALK * rng.exponential());
        }
    }
}

impl Source for Voice {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        // Calls are not in step with each other.
        let begun = if self.config.suppress_silence { PAUSE * rng.exponential() } else { 0.0 };
        let within = self.config.frame.as_secs_f64() * rng.uniform();
        self.talk(now + Span::from_secs_f64(begun + within), rng);
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        let due = self.next.filter(|due| *due <= now)?;
        let following = due + self.config.frame;
        if following > self.until {
            self.talk(following + Span::from_secs_f64(PAUSE * rng.exponential()), rng);
        } else {
            self.next = Some(following);
        }
        let bytes = self.config.rate.bytes_per_sec() * self.config.frame.as_secs_f64();
        Some(Offer {
            bytes: Bytes::from_f64(bytes.round().max(1.0)),
            new_connection: false,
            ends_message: false,
        })
    }

    fn stated_rate(&self) -> Option<BitRate> {
        let talks = if self.config.suppress_silence { TALK / (TALK + PAUSE) } else { 1.0 };
        Some(self.config.rate.mul_f64(talks))
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.stopped
    }

    fn stop(&mut self, _: Time) {
        (self.next, self.stopped) = (None, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits per second over a simulated hour and more.
    fn mean_rate(config: &VoiceConfig) -> f64 {
        let (mut voice, mut rng) = (config.build(), Stream::new(4, "voice"));
        voice.start(Time::ZERO, &mut rng);
        let (mut bits, mut last) = (0.0, Time::ZERO);
        while let Some(due) = voice.next_offer().filter(|due| *due < Time::ZERO + Span::from_secs(20_000)) {
            assert!(due >= last, "time goes on");
            last = due;
            bits += voice.take_offer(due, &mut rng).expect("due").bytes.as_f64() * 8.0;
        }
        bits / last.as_secs_f64()
    }

    #[test]
    fn a_call_has_its_codecs_rate() {
        let rate = mean_rate(&VoiceConfig::default());
        assert!((rate / 64_000.0 - 1.0).abs() < 1e-3, "{rate}");
    }

    #[test]
    fn without_pauses_it_sends_while_somebody_talks() {
        let config = VoiceConfig { suppress_silence: true, ..VoiceConfig::default() };
        let (rate, stated) = (mean_rate(&config), config.build().stated_rate().expect("said"));
        // A spurt of exponential length has half a frame more than its length; 7700 spurts, so 1.6 % of noise.
        let expected = 64_000.0 * (TALK + 0.01) / (TALK + 0.01 + PAUSE);
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate}");
        assert!((stated.bits_per_sec() as f64 / rate - 1.0).abs() < 0.06, "{stated}");
    }
}
