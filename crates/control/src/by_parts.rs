//! What a controller that stands before another one takes from its own parts: whole calls, made of `on_sent`, `on_feedback`,
//! `directive` and `next_timer`, which it changes. The same as the trait's own; written out, since a lint asks for every method.

/// The methods, for an `impl` of [`Controller`](tailback_core::Controller).
macro_rules! by_parts {
    () => {
        fn hear_sent(
            &mut self,
            now: ::tailback_core::Time,
            sent: &mut ::tailback_core::Sent,
            cx: &mut ::tailback_core::Cx<'_>,
        ) -> Option<(::tailback_core::Directive, Option<::tailback_core::Time>)> {
            self.on_sent(now, sent, cx);
            Some(self.orders())
        }

        fn answer<'a, T>(
            &mut self,
            now: ::tailback_core::Time,
            feedback: impl FnOnce() -> ::tailback_core::Feedback<'a>,
            cx: &mut ::tailback_core::Cx<'_>,
            obey: impl FnOnce(Option<(&::tailback_core::Directive, Option<::tailback_core::Time>)>) -> T,
        ) -> T {
            let orders = self.react(now, &feedback(), cx);
            obey(Some((&orders.0, orders.1)))
        }

        fn hear_feedback(
            &mut self,
            now: ::tailback_core::Time,
            feedback: &::tailback_core::Feedback<'_>,
            cx: &mut ::tailback_core::Cx<'_>,
        ) -> bool {
            self.on_feedback(now, feedback, cx);
            true
        }

        fn react(
            &mut self,
            now: ::tailback_core::Time,
            feedback: &::tailback_core::Feedback<'_>,
            cx: &mut ::tailback_core::Cx<'_>,
        ) -> (::tailback_core::Directive, Option<::tailback_core::Time>) {
            self.on_feedback(now, feedback, cx);
            self.orders()
        }

        fn orders(&self) -> (::tailback_core::Directive, Option<::tailback_core::Time>) {
            (self.directive(), self.next_timer())
        }
    };
}

pub(crate) use by_parts;
