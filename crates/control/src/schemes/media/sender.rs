//! The sender's half of every scheme for media: it remembers what left, finds in a report what was not known before, and
//! hands that to the scheme's law. What the law makes of it is in the scheme's own file.

use tailback_core::{Bytes, Controller, Cx, Directive, Feedback, Report, Sent, Time};

use crate::estimators::arrivals::{Arrivals, Batch};

/// What a scheme for media does with what reports of arrivals say.
pub trait MediaLaw {
    /// A packet leaves; with it, `ahead` bytes were sent beyond the newest packet that is known to have arrived. Gives whether
    /// what the law directs may be another now.
    fn on_sent(&mut self, now: Time, sent: &Sent, ahead: Bytes) -> bool {
        let _ = (now, sent, ahead);
        false
    }

    /// A report said something new: a packet arrived or is lost.
    fn on_news(&mut self, now: Time, news: &Batch, cx: &mut Cx<'_>);

    /// As [`Controller::directive`].
    fn directive(&self) -> Directive;
}

/// A law, and the packets on their way.
#[derive(Clone, Debug)]
pub struct MediaSender<L> {
    arrivals: Arrivals,
    law: L,
}

impl<L: MediaLaw> MediaSender<L> {
    /// A connection's start.
    pub fn new(law: L) -> Self {
        Self { arrivals: Arrivals::default(), law }
    }

    /// A packet leaves; whether what is directed may be another now.
    fn note_sent(&mut self, now: Time, sent: &Sent) -> bool {
        self.arrivals.on_sent(now, sent.number, sent.size);
        self.law.on_sent(now, sent, self.arrivals.ahead())
    }
}

impl<L: MediaLaw> Controller for MediaSender<L> {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.note_sent(now, sent);
    }

    fn hear_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) -> Option<(Directive, Option<Time>)> {
        self.note_sent(now, sent).then(|| self.orders())
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Some(Report::Arrivals { first, left, words }) = feedback.report.map(|envelope| &envelope.report)
        else {
            return;
        };
        let news = self.arrivals.on_report(now, *first, *left, words);
        if !news.arrived.is_empty() || news.lost > 0 {
            self.law.on_news(now, news, cx);
        }
    }

    fn directive(&self) -> Directive {
        self.law.directive()
    }
}
