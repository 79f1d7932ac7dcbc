//! GCC's newer loss part, written a second time from libwebrtc (`loss_based_bwe_v2`, June 2025, with its defaults). What is
//! done with it is in the parent.

use crate::second::media::News;

/// What is told of a report; bits per second.
pub(crate) struct Observed<'a> {
    pub(crate) news: &'a News,
    pub(crate) acked: Option<f64>,
    pub(crate) delay: f64,
    pub(crate) limited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Delay,
    Padding,
    Decreasing,
}

/// Bytes, bits per second, and which observation it is.
#[derive(Clone, Copy)]
struct Observation {
    size: f64,
    lost: f64,
    rate: f64,
    id: i32,
}

#[derive(Clone, Copy, Debug)]
struct Channel {
    inherent: f64,
    bandwidth: f64,
}

/// Times in microseconds.
pub(crate) struct Bwe {
    least: f64,
    most: f64,
    ring: Vec<Observation>,
    count: i32,
    partial: (f64, f64),
    /// When the newest packet of the newest observation left.
    last_sent: Option<i64>,
    mean_loss: f64,
    best: Option<Channel>,
    acked: Option<f64>,
    delay: f64,
    result: (f64, State),
    hold: (i64, i64, f64),
    padding: (i64, f64),
    limit: f64,
    recovering: Option<i64>,
}

const LONG_AGO: i64 = i64::MIN / 4;

impl Bwe {
    pub(crate) fn new(least: f64, most: f64) -> Self {
        Self {
            least,
            most,
            ring: Vec::new(),
            count: 0,
            partial: (0.0, 0.0),
            last_sent: None,
            mean_loss: 0.0,
            best: None,
            acked: None,
            delay: f64::INFINITY,
            result: (f64::INFINITY, State::Delay),
            hold: (LONG_AGO, 300_000, f64::INFINITY),
            padding: (LONG_AGO, f64::NEG_INFINITY),
            limit: f64::INFINITY,
            recovering: None,
        }
    }

    fn ready(&self) -> bool {
        self.best.is_some() && self.count >= 3
    }

    pub(crate) fn rate(&self) -> f64 {
        if self.ready() { self.result.0 } else { self.delay }
    }

    pub(crate) fn state(&self) -> State {
        if self.ready() { self.result.1 } else { State::Delay }
    }

    pub(crate) fn print(&self) -> String {
        format!(
            "bwe {:?} of {} best {:?} loss {:.4} hold {:?} padding {:?} limit {:.1}",
            self.result, self.count, self.best, self.mean_loss, self.hold, self.padding, self.limit
        )
    }

    fn weight(&self, observation: &Observation) -> f64 {
        0.9_f64.powi(self.count - 1 - observation.id)
    }

    fn lower(&self) -> f64 {
        self.acked.unwrap_or(0.0).max(self.least)
    }

    fn upper(&self) -> f64 {
        if self.mean_loss > 0.05 { 100e3 / (self.mean_loss - 0.05) } else { self.most }
    }

    /// Whether that completes an observation.
    fn push(&mut self, news: &News) -> bool {
        let micros = |at: f64| (at * 1e6).round() as i64;
        let all = || news.came.iter().map(|came| came.left).chain(news.lost.iter().map(|lost| lost.left));
        let bytes: f64 = news.came.iter().map(|came| came.size).sum();
        let lost: f64 = news.lost.iter().map(|lost| lost.size).sum();
        self.partial.0 += bytes + lost;
        self.partial.1 += lost;
        let first = micros(all().fold(f64::INFINITY, f64::min));
        let newest = micros(all().fold(f64::NEG_INFINITY, f64::max));
        let duration = newest - *self.last_sent.get_or_insert(first);
        if duration < 250_000 {
            return false;
        }
        self.last_sent = Some(newest);
        let (size, lost) = std::mem::take(&mut self.partial);
        let observation = Observation { size, lost, rate: 8e6 * size / duration as f64, id: self.count };
        let place = (self.count % 15) as usize;
        if place < self.ring.len() {
            self.ring[place] = observation;
        } else {
            self.ring.push(observation);
        }
        self.count += 1;
        self.mean_loss = self.average();
        true
    }

    fn median(&self) -> f64 {
        let mut rates: Vec<f64> = self.ring.iter().map(|one| one.rate).filter(|rate| *rate > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let half = rates.len() / 2;
        match rates.len() {
            0 => 0.0,
            even if even % 2 == 0 => rates[half - 1].midpoint(rates[half]),
            _ => rates[half],
        }
    }

    fn average(&self) -> f64 {
        let (mut total, mut lost) = (0.0, 0.0);
        let (mut best, mut worst, mut worst_rate) = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0);
        for one in &self.ring {
            let weight = self.weight(one);
            total += weight * one.size;
            lost += weight * one.lost;
            let part = if one.size > 0.0 { one.lost / one.size } else { 0.0 };
            if self.count > 3 && part > worst.0 {
                worst = (part, weight * one.lost, weight * one.size);
                worst_rate = one.rate;
            }
            if self.count > 3 && part < best.0 {
                best = (part, weight * one.lost, weight * one.size);
            }
        }
        let rest = total - best.2 - worst.2;
        if 2.0 * self.median() <= worst_rate || rest <= 0.0 {
            return lost / total;
        }
        (lost - best.1 - worst.1) / rest
    }

    fn feasible(channel: Channel) -> f64 {
        let most = (0.05 + 100e3 / channel.bandwidth).min(1.0);
        channel.inherent.max(1e-3).min(most)
    }

    fn loss_at(channel: Channel, rate: f64) -> f64 {
        let beyond = (rate - channel.bandwidth).max(0.0) / rate;
        (channel.inherent + (1.0 - channel.inherent) * beyond).clamp(1e-6, 1.0 - 1e-6)
    }

    fn newton(&self, mut channel: Channel) -> Channel {
        let (mut first, mut second) = (0.0, 0.0);
        for one in &self.ring {
            let (p, weight) = (Self::loss_at(channel, one.rate), self.weight(one));
            let (lost, kept) = (one.lost / 1000.0, (one.size - one.lost) / 1000.0);
            first += weight * (lost / p - kept / (1.0 - p));
            second -= weight * (lost / (p * p) + kept / ((1.0 - p) * (1.0 - p)));
        }
        channel.inherent -= 0.75 * first / second.min(-1e-6);
        channel.inherent = Self::feasible(channel);
        channel
    }

    fn objective(&self, channel: Channel) -> f64 {
        let off = 0.2 - self.mean_loss;
        let kilobits = channel.bandwidth / 1e3;
        let bias = off / (0.002 + off.abs()) * (0.0002 * kilobits + 0.02 * (1.0 + kilobits).ln());
        let mut sum = 0.0;
        for one in &self.ring {
            let (p, weight) = (Self::loss_at(channel, one.rate), self.weight(one));
            let (lost, kept) = (one.lost / 1000.0, (one.size - one.lost) / 1000.0);
            sum += weight * (lost * p.ln() + kept * (1.0 - p).ln() + bias * one.size / 1000.0);
        }
        sum
    }

    fn candidates(&self, best: Channel, limited: bool) -> Vec<Channel> {
        let mut rates: Vec<f64> = [1.02, 1.0, 0.95].iter().map(|factor| factor * best.bandwidth).collect();
        let padded = self.padding.0 + 2_000_000 >= self.last_sent.expect("observed");
        rates.extend(self.acked.filter(|_| !limited || padded));
        rates.extend((self.delay > best.bandwidth).then_some(self.delay));
        let limits = self.result.1 != State::Delay && self.limit.is_finite();
        let most = if limits { self.limit } else { self.most };
        let channel = |rate: f64| {
            let channel = Channel { bandwidth: rate.min(best.bandwidth.max(most)), ..best };
            Channel { inherent: Self::feasible(channel), ..channel }
        };
        rates.into_iter().map(channel).collect()
    }

    fn increases(&self, old: f64, new: f64) -> bool {
        self.result.1 != State::Delay && (old < new || (old == new && self.result.1 == State::Padding))
    }

    /// While loss limits the rate, the bandwidth grows in steps.
    fn bounded(&self, old: Channel, mut best: Channel) -> Channel {
        let last = self.last_sent.expect("observed");
        if self.recovering.is_some_and(|since| since + 300_000 > last) {
            best.bandwidth = best.bandwidth.min(self.limit);
        }
        if let Some(acked) = self.acked.filter(|_| self.increases(old.bandwidth, best.bandwidth)) {
            let held = self.hold.2.is_finite() && acked < 1.3 * self.hold.2;
            let factor = if held { 1.2 } else { 1.5 };
            best.bandwidth = old.bandwidth.max(best.bandwidth.min(factor * acked));
            if self.result.1 == State::Decreasing && best.bandwidth == old.bandwidth {
                best.bandwidth += 1.0;
            }
        }
        best
    }

    pub(crate) fn heard(&mut self, observed: &Observed<'_>) {
        self.acked = observed.acked.or(self.acked);
        self.delay = observed.delay;
        if !self.push(observed.news) {
            return;
        }
        if self.best.is_none() {
            self.best = Some(Channel { inherent: 0.01, bandwidth: self.delay });
            self.result = (self.delay, State::Delay);
        }
        let old = self.best.expect("set");
        let (mut best, mut most) = (old, f64::MIN);
        for candidate in self.candidates(old, observed.limited) {
            let candidate = self.newton(candidate);
            let objective = self.objective(candidate);
            if objective > most {
                (best, most) = (candidate, objective);
            }
        }
        if self.mean_loss > best.inherent && old.bandwidth < best.bandwidth {
            best.bandwidth = old.bandwidth;
        }
        if self.result.1 != State::Delay {
            best = self.bounded(old, best);
        }
        let rate = best.bandwidth.min(self.upper()).min(self.delay).max(self.lower());
        self.best = Some(if rate < best.bandwidth {
            Channel { inherent: 0.0, bandwidth: rate }
        } else {
            Channel { bandwidth: best.bandwidth.max(self.lower()), ..best }
        });
        self.decide(rate);
    }

    fn decide(&mut self, rate: f64) {
        let last = self.last_sent.expect("observed");
        let below = rate < self.delay;
        if self.result.1 == State::Decreasing && self.hold.0 > last && below {
            self.hold.2 = self.hold.2.max(self.lower());
            self.result.0 = self.hold.2.min(rate);
            return;
        }
        let goes_on =
            self.result.1 != State::Padding || self.padding.0 + 2_000_000 >= last || self.padding.1 < rate;
        let limits = below && rate < self.most;
        if limits && self.increases(self.result.0, rate) && goes_on {
            if rate > self.padding.1 {
                self.padding = (last, rate);
            }
            self.result.1 = State::Padding;
        } else if limits {
            if self.result.1 != State::Decreasing {
                self.hold = (last + self.hold.1, (2 * self.hold.1).min(60_000_000), rate);
            }
            self.padding = (LONG_AGO, f64::NEG_INFINITY);
            self.result.1 = State::Decreasing;
        } else {
            self.hold = (LONG_AGO, 300_000, f64::INFINITY);
            self.padding = (LONG_AGO, f64::NEG_INFINITY);
            self.result.1 = State::Delay;
        }
        self.result.0 = rate;
        let over = self.recovering.is_none_or(|since| since + 300_000 < last);
        if self.result.1 != State::Delay && over {
            self.limit = (1.3 * self.best.expect("set").bandwidth).max(5000.0);
            self.recovering = Some(last);
        }
    }
}
