//! No source of its own: data is pushed from outside by `AppInput::Write`, as a real application's is. It lasts until
//! `AppInput::Close`.

use tailback_core::{Stream, Time};

use super::parts::{Offer, Source};

/// Data that comes from outside.
#[derive(Clone, Debug, Default)]
pub struct Pushed {
    closed: bool,
}

impl Source for Pushed {
    fn start(&mut self, _: Time, _: &mut Stream) {}

    fn next_offer(&self) -> Option<Time> {
        None
    }

    fn take_offer(&mut self, _: Time, _: &mut Stream) -> Option<Offer> {
        None
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.closed
    }

    fn stop(&mut self, _: Time) {
        self.closed = true;
    }
}
