//! Long-term keys, and what a receiver gives to senders. How keys are kept in files and typed is the command line's business.

use ring::hmac;
use snow::Builder;

/// The Noise protocol (revision 34): the sender knows the receiver's key beforehand, both prove theirs, and the sender proves
/// in its first message that it has the invitation (pattern IK with a pre-shared key at position 1).
pub(super) const PROTOCOL: &str = "Noise_IKpsk1_25519_AESGCM_SHA256";

/// Bytes of a key.
pub const KEY: usize = 32;
/// Bytes of an invitation's secret.
pub const SECRET: usize = 16;

/// A host's long-term key pair (X25519).
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// What only the host knows.
    pub private: [u8; KEY],
    /// What it is known by.
    pub public: [u8; KEY],
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

impl KeyPair {
    /// A new one, from the system's random numbers.
    ///
    /// # Errors
    /// Where the system has none.
    pub fn generate() -> Result<Self, snow::Error> {
        let pair = builder()?.generate_keypair()?;
        let wrong = |_| snow::Error::Input;
        Ok(Self {
            private: pair.private.try_into().map_err(wrong)?,
            public: pair.public.try_into().map_err(wrong)?,
        })
    }
}

/// What a receiver gives to whoever may send: its key, and a secret that proves that it was given.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The receiver's public key.
    pub public: [u8; KEY],
    /// The secret.
    pub secret: [u8; SECRET],
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invitation").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Invitation {
    /// Bytes of an invitation.
    pub const LENGTH: usize = KEY + SECRET;

    /// The invitation of a receiver. Its secret follows from the private key, so that a receiver that is started again gives
    /// the same.
    pub fn of(pair: &KeyPair) -> Self {
        let secret = derive(&pair.private, b"tailback invitation");
        let mut kept = [0; SECRET];
        kept.copy_from_slice(&secret[..SECRET]);
        Self { public: pair.public, secret: kept }
    }

    /// As bytes, for whoever types it.
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..KEY].copy_from_slice(&self.public);
        bytes[KEY..].copy_from_slice(&self.secret);
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Self {
        let (mut public, mut secret) = ([0; KEY], [0; SECRET]);
        public.copy_from_slice(&bytes[..KEY]);
        secret.copy_from_slice(&bytes[KEY..]);
        Self { public, secret }
    }

    /// The key that is mixed into the handshake.
    pub(super) fn shared(&self) -> [u8; KEY] {
        derive(&self.secret, b"tailback handshake")
    }

    /// The key of the code that messages of this kind carry in the clear, by which either side tells, before it computes anything
    /// dear or believes a word, whether the other has the invitation.
    pub(super) fn code_key(&self, purpose: &[u8]) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &derive(&self.secret, purpose))
    }
}

/// A key for one use out of a secret (HMAC-SHA-256 as a pseudo-random function, RFC 5869).
fn derive(secret: &[u8], purpose: &[u8]) -> [u8; KEY] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), purpose);
    let mut key = [0; KEY];
    key.copy_from_slice(tag.as_ref());
    key
}

/// The beginning of either side of a handshake.
pub(super) fn builder<'a>() -> Result<Builder<'a>, snow::Error> {
    Ok(Builder::new(PROTOCOL.parse()?))
}

/// The same with a key that must come again, if there is one.
pub(super) fn builder_with(ephemeral: Option<&[u8; KEY]>) -> Result<Builder<'_>, snow::Error> {
    let builder = builder()?;
    Ok(match ephemeral {
        Some(key) => builder.fixed_ephemeral_key_for_testing_only(key),
        None => builder,
    })
}
