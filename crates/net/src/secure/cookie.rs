//! Cookies: what a receiver gives to whoever says hello, so that it keeps nothing before the sender has shown that it
//! receives where it says it is (as in RFC 9147 §5.1 and RFC 9000 §8.1). Only the secret is kept, and it changes. A cookie
//! says when it was made, by the receiver's own clock, so that of two that come back the receiver knows the older one: where its
//! clock stands still between two of them, the later one says a nanosecond more.

use std::net::{IpAddr, SocketAddr};

use ring::hmac;
use tailback_core::{Span, Time};

use super::envelope::{CODE, COOKIE};
use super::random::Random;

/// For how long one secret serves. A cookie is taken for as long again.
const LIFE: Span = Span::from_secs(60);
/// Bytes of a secret: as many as HMAC's output (RFC 2104 §3).
const SECRET: usize = 32;

/// Makes and checks cookies.
#[derive(Debug)]
pub struct Cookies {
    current: hmac::Key,
    previous: hmac::Key,
    since: Time,
    /// What the newest cookie says.
    last: Option<Time>,
    random: Random,
}

impl Cookies {
    /// With a fresh secret.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn new(mut random: Random, now: Time) -> Result<Self, ring::error::Unspecified> {
        let (current, previous) = (fresh(&mut random)?, fresh(&mut random)?);
        Ok(Self { current, previous, since: now, last: None, random })
    }

    /// The cookie of a sender at this address, with this nonce.
    pub fn make(&mut self, now: Time, from: SocketAddr, nonce: u64) -> [u8; COOKIE] {
        self.renew(now);
        let now = self.last.map_or(now, |last| now.max(last + Span::from_nanos(1)));
        self.last = Some(now);
        let mut cookie = [0; COOKIE];
        let (made, code) = cookie.split_at_mut(COOKIE - CODE);
        made.copy_from_slice(&now.as_nanos().to_be_bytes());
        code.copy_from_slice(hmac::sign(&self.current, &named(from, nonce, now)).as_ref());
        cookie
    }

    /// When the cookie that a sender shows was made, if it was given this one.
    pub fn made_at(&mut self, now: Time, from: SocketAddr, nonce: u64, shown: &[u8; COOKIE]) -> Option<Time> {
        self.renew(now);
        let (made, code) = shown.split_first_chunk()?;
        let made = Time::from_nanos(u64::from_be_bytes(*made));
        let named = named(from, nonce, made);
        let is_ours = |key| hmac::verify(key, &named, code).is_ok();
        (is_ours(&self.current) || is_ours(&self.previous)).then_some(made)
    }

    fn renew(&mut self, now: Time) {
        let age = now.since(self.since);
        if age < LIFE {
            return;
        }
        // Without random numbers the old secret goes on, which is no worse than a longer life.
        let Ok(next) = fresh(&mut self.random) else { return };
        let last = std::mem::replace(&mut self.current, next);
        if age < LIFE * 2 {
            self.previous = last;
        } else if let Ok(unknown) = fresh(&mut self.random) {
            self.previous = unknown;
        }
        self.since = now;
    }
}

fn fresh(random: &mut Random) -> Result<hmac::Key, ring::error::Unspecified> {
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &random.bytes::<SECRET>()?))
}

/// What a cookie is the code of.
fn named(from: SocketAddr, nonce: u64, made: Time) -> [u8; 34] {
    let address = match from.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let mut bytes = [0; 34];
    bytes[..16].copy_from_slice(&address.octets());
    bytes[16..18].copy_from_slice(&from.port().to_be_bytes());
    bytes[18..26].copy_from_slice(&nonce.to_be_bytes());
    bytes[26..].copy_from_slice(&made.as_nanos().to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_for_one_address_and_nonce_and_grows_old() {
        let mut cookies = Cookies::new(Random::system(), Time::ZERO).unwrap();
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let here: SocketAddr = "192.0.2.1:9".parse().unwrap();
        let given = cookies.make(Time::ZERO, here, 7);
        for elsewhere in ["192.0.2.2:9", "192.0.2.1:10", "[2001:db8::1]:9"] {
            assert!(
                cookies.made_at(Time::ZERO, elsewhere.parse().unwrap(), 7, &given).is_none(),
                "{elsewhere}"
            );
        }
        assert!(cookies.made_at(Time::ZERO, here, 8, &given).is_none());
        let mut younger = given;
        younger[7] ^= 1;
        assert!(cookies.made_at(Time::ZERO, here, 7, &younger).is_none(), "its time is under the code");
        assert_eq!(cookies.made_at(at(59), here, 7, &given), Some(Time::ZERO));
        assert!(cookies.made_at(at(61), here, 7, &given).is_some(), "the secret before is still taken");
        assert!(cookies.made_at(at(122), here, 7, &given).is_none());
        let again = cookies.make(at(122), here, 7);
        assert!(cookies.made_at(at(400), here, 7, &again).is_none(), "both secrets are too old");
    }
}
