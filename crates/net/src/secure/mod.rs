//! Keys, handshake and encryption of what two hosts say to each other over UDP, without a socket or a clock. Noise comes
//! from `snow` and ciphers from `ring`; here are only the parts that a datagram transport adds: cookies, packet counters as
//! nonces, replay windows and new keys after so many packets. Who sends what over which socket is said in `channel`.

pub mod cipher;
pub mod cookie;
pub mod envelope;
pub mod greeting;
pub mod handshake;
pub mod keys;
pub mod random;

pub use cipher::{Cipher, Opener, Sealer};
pub use cookie::Cookies;
pub use envelope::{Envelope, SessionId, Visible};
pub use greeting::Greeter;
pub use handshake::{Accepted, HandshakeError, Initiator, Knock, Responder};
pub use keys::{Invitation, KeyPair};
pub use random::Random;
