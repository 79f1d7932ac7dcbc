//! What two hosts say before they know that they speak the same version: a hello, and the answer of a host that speaks another
//! one. No version of the envelope changes either of them, so that hosts of different versions find that out, whichever is the
//! older one (as RFC 8999 keeps a part of QUIC for all its versions). What follows a hello is the business of `handshake.rs`.
//!
//! Both carry a code of the invitation, so a stranger gets no answer and can make none up. The answer is shorter than the
//! shortest hello, and it is for one hello only.

use ring::hmac;

use super::envelope::{self, CODE, Envelope, SHORTEST_HELLO};
use super::keys::Invitation;

/// Makes and checks both, for whoever has the invitation.
#[derive(Clone, Debug)]
pub struct Greeter {
    hello: hmac::Key,
    other: hmac::Key,
}

impl Greeter {
    /// Of this invitation.
    pub fn new(invitation: &Invitation) -> Self {
        Self {
            hello: invitation.code_key(b"tailback hello"),
            other: invitation.code_key(b"tailback version"),
        }
    }

    /// A hello of this version and length, which is at least [`SHORTEST_HELLO`].
    pub fn hello(&self, version: u8, nonce: u64, length: u16) -> Vec<u8> {
        let length = length.max(SHORTEST_HELLO as u16);
        let mut bytes = envelope::hello(version, nonce);
        bytes.extend_from_slice(hmac::sign(&self.hello, &meant(version, nonce, length)).as_ref());
        bytes.resize(usize::from(length), 0);
        bytes
    }

    /// Whether somebody with the invitation said this hello, and meant this length.
    pub fn is_ours(&self, (version, nonce, length): (u8, u64, u16), code: &[u8; CODE]) -> bool {
        hmac::verify(&self.hello, &meant(version, nonce, length), code).is_ok()
    }

    /// The answer of a host that speaks this version to a hello of another one.
    pub fn other(&self, version: u8, nonce: u64) -> Vec<u8> {
        let mut bytes = envelope::other(version, nonce);
        let code = hmac::sign(&self.other, &bytes);
        bytes.extend_from_slice(code.as_ref());
        bytes
    }

    /// The version that the host speaks which answers the hello with this nonce so.
    pub fn read_other(&self, nonce: u64, datagram: &[u8]) -> Option<u8> {
        match Envelope::read(datagram)? {
            Envelope::Other { version, nonce: of, code } if of == nonce => {
                hmac::verify(&self.other, &envelope::other(version, nonce), &code).is_ok().then_some(version)
            }
            _ => None,
        }
    }
}

/// What a hello's code is of: its head, and its length in the place of its zeros.
fn meant(version: u8, nonce: u64, length: u16) -> Vec<u8> {
    [envelope::hello(version, nonce), length.to_be_bytes().to_vec()].concat()
}
