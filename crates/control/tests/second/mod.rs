//! Schemes of today, each written a second time from its text, and both fed the same. The writings stand in files of their own,
//! the feedback in `wire`; nothing here reads the code of the schemes.

mod bbr1;
mod bbr3;
mod classic;
mod compound;
mod copa;
mod cubic;
mod datagrams;
mod gcc;
mod ledbat;
mod ledbat_plus_plus;
mod media;
mod monaco;
mod nada;
mod paced;
mod prague;
mod reno;
mod scream2;
mod tfrc;
mod trace;
mod vegas;
mod vivace;
mod wire;

use tailback_core::{Directive, Feedback, Sent, Span, Stream, Time};

/// A second writing: hears what the controller hears, and says what it should direct. Windows in segments, rates in bits per
/// second, times in seconds.
pub(crate) trait Second {
    fn sent(&mut self, _now: f64, _sent: &Sent) {}
    fn heard(&mut self, now: f64, feedback: &Feedback<'_>);
    fn window(&self) -> f64;
    fn rate(&self) -> Option<f64> {
        None
    }
    /// What to print where both differ.
    fn state(&self) -> String;
}

/// Where the two differ by more than a part in so many, which is more than a byte.
pub(crate) fn agree(directive: &Directive, second: &dyn Second, segment: f64) -> bool {
    let window = directive.window.expect("a window").as_f64() / segment;
    let near = |ours: f64, theirs: f64, floor: f64| (ours - theirs).abs() <= floor + 1e-5 * theirs.abs();
    near(window, second.window(), 1.5 / segment)
        && second
            .rate()
            .is_none_or(|rate| near(directive.rate.map_or(0.0, |rate| rate.bits_per_sec() as f64), rate, 8.0))
}

/// So many seconds later.
pub(crate) fn after(now: Time, seconds: f64) -> Time {
    now + Span::from_secs_f64(seconds)
}

/// So long later, and up to so much more; with a power, mostly little.
pub(crate) fn within(now: Time, rng: &mut Stream, (least, more): (f64, f64), power: i32) -> Time {
    let drawn = rng.uniform().powi(power);
    after(now, least + more * drawn)
}

pub(crate) fn seconds(at: Time) -> f64 {
    at.as_nanos() as f64 * 1e-9
}
