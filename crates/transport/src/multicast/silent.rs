//! The other end of a flow that has only one.

use tailback_core::{Endpoint, EndpointCx, Input, Output, Time};

/// An endpoint that says nothing and hears nothing: the other end of a flow that has only one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Endpoint for Silent {
    fn handle(&mut self, _: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if let Input::Packet(packet) = input {
            cx.annexes.free(packet.annex);
        }
    }

    fn poll(&mut self, _: Time, _: &mut EndpointCx<'_>) -> Output {
        Output::Wait(None)
    }
}
