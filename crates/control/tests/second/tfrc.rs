//! TFRC, written a second time from RFC 5348: both halves, each beside its own.

use serde_json::json;
use tailback_control::Scheme;
use tailback_core::{Feedback, Report, Sent};

use super::datagrams::{Came, Datagrams, Path, SIZE, SecondReceiver, SecondSender};
use super::wire::params;

/// `t_mbi`.
const T_MBI: f64 = 64.0;
const S: f64 = SIZE as f64;
/// Times that are equal in the first writing may differ by less in seconds.
const NANO: f64 = 2e-10;

/// §3.1 with b = 1 and `t_RTO` = 4 R, in bytes per second.
fn equation(r: f64, p: f64) -> f64 {
    let root = (2.0 * p / 3.0).sqrt();
    let timeouts = 4.0 * r * (3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p));
    S / (r * root + timeouts)
}

#[derive(Default)]
struct Sender {
    x: f64,
    x_bps: f64,
    r: Option<f64>,
    sqmean: f64,
    /// The root of the newest sample.
    root: f64,
    p: f64,
    tld: f64,
    /// Receive rates with their times; infinite at first.
    x_recv_set: Vec<(f64, f64)>,
    timer: Option<f64>,
    /// Something left since the timer was set.
    sent: bool,
    /// When packets left that the rate held up.
    not_limited: Vec<f64>,
}

impl Sender {
    fn new() -> Self {
        Self { x: S, x_recv_set: vec![(0.0, f64::INFINITY)], ..Self::default() }
    }

    fn max_recv(&self) -> f64 {
        self.x_recv_set.iter().fold(0.0, |most, (_, rate)| rate.max(most))
    }

    fn maximize(&mut self, now: f64, x_recv: f64) {
        let most = self.x_recv_set.iter().map(|(_, rate)| *rate).filter(|rate| rate.is_finite());
        self.x_recv_set = vec![(now, most.fold(x_recv, f64::max))];
    }

    /// The initial infinity is two round trips old when two rates are known.
    fn receive(&mut self, now: f64, r: f64, x_recv: f64) {
        self.x_recv_set.retain(|(at, rate)| rate.is_infinite() || now - at <= 2.0 * r + NANO);
        self.x_recv_set.push((now, x_recv));
        if self.x_recv_set.len() > 2 {
            self.x_recv_set.retain(|(_, rate)| rate.is_finite());
        }
    }

    fn initial_rate(&self) -> f64 {
        (4.0 * S).min((2.0 * S).max(4380.0)) / self.r.expect("measured")
    }

    /// §8.2.1, with every time known.
    fn was_data_limited(&mut self, t_new: f64, r: f64) -> bool {
        self.not_limited.retain(|at| *at > t_new - 2.0 * r);
        !self.not_limited.iter().any(|at| t_new - r + NANO < *at && *at <= t_new + NANO)
    }

    /// §4.3.
    fn report(&mut self, now: f64, sample: f64, t_new: f64, p: f64, mut x_recv: f64) {
        let first = self.r.is_none();
        let r = self.r.map_or(sample, |r| 0.9 * r + 0.1 * sample);
        self.r = Some(r);
        self.root = sample.sqrt();
        self.sqmean = if first { self.root } else { 0.9 * self.sqmean + 0.1 * self.root };
        // §4.2 takes the place of step 4 of §4.3 for the first report.
        let data_limited = self.was_data_limited(t_new, r) && !first;
        let worse = p > self.p;
        self.p = p;
        if first {
            (self.x, self.tld) = (self.initial_rate(), now);
            self.receive(now, r, x_recv);
        }
        if !first || p > 0.0 {
            let recv_limit = if data_limited && worse {
                for (_, rate) in &mut self.x_recv_set {
                    // Infinity stays what it is.
                    *rate /= 2.0;
                }
                x_recv *= 0.85;
                self.maximize(now, x_recv);
                self.max_recv()
            } else if data_limited {
                self.maximize(now, x_recv);
                2.0 * self.max_recv()
            } else {
                if !first {
                    self.receive(now, r, x_recv);
                }
                2.0 * self.max_recv()
            };
            self.allow(now, recv_limit);
        }
        self.timer = Some(now + (4.0 * r).max(2.0 * S / self.x));
        self.sent = false;
    }

    fn allow(&mut self, now: f64, recv_limit: f64) {
        let r = self.r.expect("measured");
        if self.p > 0.0 {
            self.x_bps = equation(r, self.p);
            self.x = self.x_bps.min(recv_limit).max(S / T_MBI);
        } else if now - self.tld >= r - NANO {
            self.x = (2.0 * self.x).min(recv_limit).max(self.initial_rate());
            self.tld = now;
        }
    }

    /// §4.4.
    fn no_feedback(&mut self, now: f64) {
        let idle = !self.sent;
        let x_recv = self.max_recv();
        let stays = idle
            && self.r.is_none_or(|_| {
                let recover = self.initial_rate();
                (self.p > 0.0 && x_recv < recover) || (self.p <= 0.0 && self.x < 2.0 * recover)
            });
        if !stays {
            if self.p <= 0.0 {
                self.x = (self.x / 2.0).max(S / T_MBI);
            } else if self.x_bps > 2.0 * x_recv {
                self.update_limits(now, x_recv);
            } else {
                self.update_limits(now, self.x_bps / 2.0);
            }
        }
        self.timer = Some(now + (4.0 * self.r.unwrap_or(0.0)).max(2.0 * S / self.x));
        self.sent = false;
    }

    fn update_limits(&mut self, now: f64, timer_limit: f64) {
        let limit = timer_limit.max(S / T_MBI);
        self.x_recv_set = vec![(now, limit / 2.0)];
        self.allow(now, limit);
    }
}

impl SecondSender for Sender {
    fn sent(&mut self, now: f64, sent: &Sent) {
        self.timer = self.timer.or(Some(now + 2.0));
        self.sent = true;
        if !sent.app_limited {
            self.not_limited.push(now);
        }
    }

    fn heard(&mut self, now: f64, feedback: &Feedback<'_>) {
        let envelope = feedback.report.expect("a report");
        let Report::Loss { event_rate, receive_rate } = envelope.report else { panic!("of another kind") };
        let t_new = super::seconds(envelope.echo.expect("stamped"));
        let sample = now - t_new - envelope.held.as_secs_f64();
        self.report(now, sample, t_new, event_rate, receive_rate.bits_per_sec() as f64 / 8.0);
    }

    fn timer(&mut self, now: f64) {
        self.no_feedback(now);
    }

    fn due(&self) -> Option<f64> {
        self.timer
    }

    fn rate(&self) -> Option<f64> {
        // §4.5.
        let damped = if self.r.is_some() { self.x * self.sqmean / self.root } else { self.x };
        Some(8.0 * damped.max(S / T_MBI))
    }

    fn state(&self) -> String {
        format!(
            "X {:.1} X_Bps {:.1} R {:?} p {} set {:?}",
            self.x, self.x_bps, self.r, self.p, self.x_recv_set
        )
    }
}

/// A loss event: its first packet, and when that came or would have.
#[derive(Clone, Copy, Debug)]
struct Event {
    number: u64,
    at: f64,
}

#[expect(clippy::struct_excessive_bools, reason = "plain, as the text")]
struct Receiver {
    discounting: bool,
    /// All that arrived: number and time, in the order of arrival.
    history: Vec<(u64, f64)>,
    r: Option<f64>,
    event: Option<Event>,
    /// Below this every number is decided.
    decided: u64,
    /// Closed intervals with their discounts, the newest first.
    closed: Vec<(f64, f64)>,
    /// What was reported last, and the largest receive rate.
    p: f64,
    most: f64,
    /// When a report left last, and when the timer expires first after it.
    reported: Option<f64>,
    timer: f64,
    fresh: bool,
    due: bool,
    /// A new event left the rate as it was except for rounding: whether it is reported at once is not compared.
    even: bool,
}

const N: usize = 8;

fn weight(i: usize) -> f64 {
    if 2 * i < N { 1.0 } else { 2.0 * (N - i) as f64 / (N as f64 + 2.0) }
}

impl Receiver {
    fn new(discounting: bool) -> Self {
        Self {
            discounting,
            history: Vec::new(),
            r: None,
            event: None,
            decided: 0,
            closed: Vec::new(),
            p: 0.0,
            most: 0.0,
            reported: None,
            timer: f64::INFINITY,
            fresh: false,
            due: false,
            even: false,
        }
    }

    fn highest(&self) -> u64 {
        self.history.iter().map(|(number, _)| *number).max().unwrap_or(0)
    }

    fn has(&self, number: u64) -> bool {
        self.history.iter().any(|(came, _)| *came == number)
    }

    /// §5.2: when a lost packet would have come.
    fn nominal(&self, lost: u64) -> f64 {
        let after = self.history.iter().position(|(number, _)| *number > lost).expect("some beyond");
        let (s_after, t_after) = self.history[after];
        let before =
            self.history[..after].iter().filter(|(number, _)| *number < lost).max_by_key(|came| came.0);
        let Some((s_before, t_before)) = before.copied() else { return t_after };
        t_before + (t_after - t_before) * (lost - s_before) as f64 / (s_after - s_before) as f64
    }

    /// §5.1 and §5.2: which packets are lost or marked now that were not before, in order, each with its time.
    fn congested(&mut self, came: Came, now: f64) -> Vec<Event> {
        let mut found = Vec::new();
        let highest = self.highest();
        // Lost is what three with higher numbers came after, or what a mark came after.
        let beyond = |number: u64| self.history.iter().filter(|(other, _)| *other > number).count();
        while self.decided <= highest {
            let number = self.decided;
            if self.has(number) {
                self.decided += 1;
            } else if beyond(number) >= 3 {
                found.push(Event { number, at: self.nominal(number) });
                self.decided += 1;
            } else {
                break;
            }
        }
        if came.marked {
            found.push(Event { number: came.number, at: now });
        }
        found
    }

    /// Before a round trip is known, a second stands for it.
    fn r(&self) -> f64 {
        self.r.unwrap_or(1.0)
    }

    /// §6.3.1, with what has arrived in the last round trip among the rates.
    fn first_interval(&self, now: f64) -> f64 {
        let target = self.most.max(self.rate_over(now, self.r())).max(0.5 * S / self.r());
        let (mut low, mut high) = (1e-12_f64, 1.0_f64);
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if equation(self.r(), middle) > target { low = middle } else { high = middle }
        }
        1.0 / high
    }

    fn open(&self) -> f64 {
        self.event.map_or(0.0, |event| (self.highest() - event.number + 1) as f64)
    }

    /// §5.5: the general discount, while the open interval is so long.
    fn discount(&self, open: f64) -> f64 {
        let (mut total, mut weights) = (0.0, 0.0);
        for (i, (packets, df)) in self.closed.iter().enumerate() {
            total += packets * weight(i) * df;
            weights += weight(i) * df;
        }
        let mean = total / weights;
        if self.discounting && open > 2.0 * mean { (2.0 * mean / open).max(0.25) } else { 1.0 }
    }

    fn loss_event_rate(&self) -> f64 {
        if self.event.is_none() {
            return 0.0;
        }
        let df = self.discount(self.open());
        let (mut tot0, mut w0, mut tot1, mut w1) = (self.open() * weight(0), weight(0), 0.0, 0.0);
        for (i, (packets, own)) in self.closed.iter().enumerate() {
            if i + 1 < N {
                tot0 += packets * weight(i + 1) * own * df;
                w0 += weight(i + 1) * own * df;
            }
            tot1 += packets * weight(i) * own;
            w1 += weight(i) * own;
        }
        (w0 / tot0).min(w1 / tot1)
    }

    fn begin(&mut self, now: f64, event: Event) {
        let Some(old) = self.event.replace(event) else {
            self.closed = vec![(self.first_interval(now), 1.0)];
            return;
        };
        let packets = (event.number - old.number) as f64;
        let factor = self.discount(packets);
        for (_, df) in &mut self.closed {
            *df *= factor;
        }
        self.closed.insert(0, (packets, 1.0));
        self.closed.truncate(N);
    }

    fn rate_over(&self, now: f64, span: f64) -> f64 {
        let came = self.history.iter().rev().take_while(|(_, at)| *at > now - span + NANO).count();
        came as f64 * S / span
    }

    /// §6.2: what came in the last round trip, or since the last expiration of the timer that is a round trip ago or more.
    fn receive_rate(&self, now: f64) -> f64 {
        let (Some(r), Some(reported)) = (self.r, self.reported) else { return 0.0 };
        let mut since = reported;
        let mut expires = self.timer;
        while expires <= now - r + NANO {
            since = expires;
            expires += r;
        }
        self.rate_over(now, (now - since).max(r))
    }
}

impl SecondReceiver for Receiver {
    fn came(&mut self, now: f64, came: Came) {
        if let (None, Some(r), Some(reported)) = (self.r, came.rtt, self.reported) {
            self.timer = reported + r;
        }
        self.r = came.rtt.or(self.r);
        self.history.push((came.number, now));
        self.fresh = true;
        self.due |= self.reported.is_none();
        for event in self.congested(came, now) {
            if self.event.is_none_or(|old| event.number > old.number && old.at + self.r() <= event.at + NANO)
            {
                self.begin(now, event);
                let p = self.loss_event_rate();
                self.due |= p > self.p;
                self.even |= (p - self.p).abs() <= 1e-12 * p;
            }
        }
    }

    fn agrees(&mut self, now: f64, reported: Option<&Report>) -> Result<(), String> {
        let expired = self.timer <= now + NANO;
        let due = if std::mem::take(&mut self.even) { reported.is_some() } else { self.due };
        let reports = due || (self.fresh && expired);
        let (p, x_recv) = (self.loss_event_rate(), self.receive_rate(now));
        if reports {
            self.p = p;
            self.most = self.most.max(x_recv);
            (self.reported, self.timer) = (Some(now), now + self.r());
            self.fresh = false;
        }
        self.due = false;
        let agrees = match reported {
            None => !reports,
            Some(Report::Loss { event_rate, receive_rate }) => {
                let rate = receive_rate.bits_per_sec() as f64 / 8.0;
                reports && (event_rate - p).abs() <= 1e-6 * p && (rate - x_recv).abs() <= 1.0 + 1e-5 * x_recv
            }
            Some(_) => false,
        };
        let expected = || format!("reports {reports} p {p} X_recv {:.1} bits/s", 8.0 * x_recv);
        if agrees { Ok(()) } else { Err(expected()) }
    }

    fn state(&self) -> String {
        let open = self.open();
        format!(
            "R {:?} event {:?} open {open} closed {:?} timer {}",
            self.r, self.event, self.closed, self.timer
        )
    }
}

fn run(discounting: bool, path: Path) {
    for seed in 0..10 {
        let config = json!({"name": "tfrc", "loss_intervals": {"discounting": discounting}});
        let parts = serde_json::from_value::<Scheme>(config).expect("registered").build(&params(2, None));
        let halves = (parts.controller, parts.policy.expect("reports"));
        Datagrams::new(halves, (Sender::new(), Receiver::new(discounting)), path, seed).run(6000);
    }
}

#[test]
fn tfrc_alone() {
    run(true, Path::CALM);
    run(false, Path { loss: 0.005, ..Path::CALM });
    run(true, Path { loss: 0.02, burst: 0.3, ..Path::CALM });
}

#[test]
fn tfrc_under_marks() {
    run(true, Path { mark: 0.01, ..Path::CALM });
    run(true, Path { mark: 0.01, loss: 0.01, ..Path::CALM });
    // Some begin with a mark, and some of these with a packet that the application timed.
    run(true, Path { mark: 0.5, ..Path::CALM });
}

#[test]
fn tfrc_with_little_data_and_on_a_rough_path() {
    run(true, Path { limited: 0.005, idle: 0.002, loss: 0.002, ..Path::CALM });
    run(true, Path::ROUGH);
    run(false, Path { mark: 0.005, ..Path::ROUGH });
}
