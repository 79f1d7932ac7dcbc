//! A path with troubles: what is lost, delayed, copied and marked on it, and what happens next. It knows neither writing; the two ends
//! are in `both.rs`.

use std::collections::BTreeMap;

use tailback_core::{Annex, Ecn, Kind, Packet, Stream};

use super::PAYLOAD;

/// What goes wrong, as probabilities.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    pub loss: f64,
    pub late: f64,
    pub twice: f64,
    pub ack_loss: f64,
    pub ack_late: f64,
    /// With each packet: that everything after it is lost for a while.
    pub blackouts: f64,
    /// Whether the application writes little at a time, with pauses.
    pub pauses: bool,
    /// Marks on packets that may bear them.
    pub marks: f64,
}

/// What happens next on the path.
#[derive(Clone, Debug)]
pub enum Step {
    Data(Packet, Option<Annex>),
    Ack(Packet, Option<Annex>),
    Write(u64),
}

/// What is on its way.
pub struct Path {
    pub now: u64,
    steps: BTreeMap<(u64, u64), Step>,
    serial: u64,
    rng: Stream,
    trouble: Trouble,
    dark_until: u64,
}

impl Path {
    /// With all that the application will write.
    pub fn new(trouble: Trouble, seed: u64) -> Self {
        let rng = Stream::new(seed, "path");
        let mut path = Self { now: 0, steps: BTreeMap::new(), serial: 0, rng, trouble, dark_until: 0 };
        path.writes();
        path
    }

    /// When the next step is.
    pub fn next_at(&self) -> Option<u64> {
        self.steps.first_key_value().map(|(key, _)| key.0)
    }

    /// Takes the next step.
    pub fn take(&mut self) -> Option<Step> {
        self.steps.pop_first().map(|(_, step)| step)
    }

    fn later(&mut self, after: u64, step: Step) {
        self.serial += 1;
        self.steps.insert((self.now + after, self.serial), step);
    }

    /// A packet sets out: it is lost, delayed or copied.
    pub fn launch(&mut self, packet: Packet, annex: Option<&Annex>) {
        let trouble = self.trouble;
        let (loss, late, twice) = if packet.kind() == Kind::Data {
            if self.now >= self.dark_until && self.rng.chance(trouble.blackouts) {
                self.dark_until = self.now + self.rng.below(500_000_000);
            }
            (trouble.loss, trouble.late, trouble.twice)
        } else {
            (trouble.ack_loss, trouble.ack_late, 0.0)
        };
        if self.now < self.dark_until || self.rng.chance(loss) {
            return;
        }
        let copies = 1 + u32::from(self.rng.chance(twice));
        let mut packet = packet;
        if packet.is_ecn_capable() && self.rng.chance(trouble.marks) {
            packet.set_ecn(Ecn::Ce);
        }
        for _ in 0..copies {
            let mut delay = 20_000_000 + self.rng.below(1000);
            if self.rng.chance(late) {
                let most = if self.rng.chance(0.2) { 600_000_000 } else { 40_000_000 };
                delay += self.rng.below(most);
            }
            let step = if packet.kind() == Kind::Data {
                Step::Data(packet, annex.cloned())
            } else {
                Step::Ack(packet, annex.cloned())
            };
            self.later(delay, step);
        }
    }

    /// Writes of the application: much at once, or little at a time.
    fn writes(&mut self) {
        let mut at = 0;
        for _ in 0..if self.trouble.pauses { 40 } else { 4 } {
            let full = self.rng.below(if self.trouble.pauses { 20 } else { 150 }) * PAYLOAD;
            let bytes = full + if self.rng.chance(0.3) { self.rng.below(PAYLOAD) } else { 0 };
            self.later(at, Step::Write(bytes.max(1)));
            at += if self.rng.chance(0.1) {
                self.rng.below(3_000_000_000)
            } else {
                self.rng.below(100_000_000)
            };
        }
    }
}
