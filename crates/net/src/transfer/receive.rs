//! The receiving end of a transfer: waits for an offer that is wanted, and begins a session of it. A sender that comes again, after
//! it was stopped, is taken up where it was. What happens in a session is in `receiving.rs`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use tailback_core::{Endpoint, Span};

use super::error::{TransferError, differs};
use super::listen::{bound, listen};
use super::offer::{Offer, write_answer};
use super::partial::Partial;
use super::receiving::{Ended, Received, Session};
use super::{Prepared, Watch};
use crate::channel::SecuredChannel;
use crate::clock::Clock;
use crate::secure::KeyPair;
use crate::secure::handshake::Responder;
use crate::secure::keys::KEY;
use crate::socket::MarkedSocket;

/// Where to receive, from whom and into what.
#[derive(Clone, Debug)]
pub struct ReceiveConfig {
    /// Where the file goes.
    pub folder: PathBuf,
    /// The address to hear on; all of the host's without.
    pub address: Option<IpAddr>,
    /// The interface of an address of a link alone, by its number; 0 for other addresses.
    pub link: u32,
    /// The port; one that is free where 0.
    pub port: u16,
    /// This host's keys; in the clear without.
    pub keys: Option<KeyPair>,
    /// The one sender that may come; anybody with the invitation without.
    pub only: Option<[u8; KEY]>,
    /// How long the sender may say nothing.
    pub patience: Span,
    /// Whether a file of the same name is replaced.
    pub overwrite: bool,
}

/// What becomes of a receiver that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word<'a> {
    /// It hears on this address.
    Listening(SocketAddr),
    /// A sender offers a file, and begins.
    Accepted,
    /// A sender offers a file that is not wanted.
    Refused {
        /// Its name, where the offer has one.
        name: &'a str,
        /// Why it is not wanted.
        why: &'a str,
    },
    /// A sender speaks another version. Of each version it is told once.
    Differs {
        /// Where it is.
        peer: SocketAddr,
        /// Both versions, and what to do.
        why: &'a str,
    },
}

/// Receives one file. `tell` hears the address, once there is one, and what becomes of offers. `prepare` makes the receiving
/// endpoint from what the sender says of the flow, for each session that begins.
///
/// # Errors
/// Whatever keeps the file from arriving, once a sender has come.
pub fn receive<R: Endpoint>(
    config: &ReceiveConfig,
    mut tell: impl FnMut(Word<'_>),
    mut prepare: impl FnMut(&Offer) -> Result<Prepared<R>, String>,
    mut watch: Watch<'_>,
) -> Result<Received, TransferError> {
    let clock = Clock::start();
    let mut socket = MarkedSocket::hearing_all(bound(config.address, config.link, config.port)?)?;
    let mut responder = Responder::new(config.keys.clone(), clock.now())?;
    tell(Word::Listening(socket.local()?));
    crate::margin::measured();
    let (mut next, mut others) = (None, Vec::new());
    loop {
        let (knock, way) = match next.take() {
            Some(knocked) => knocked,
            None => listen(&socket, &mut responder, clock, &mut watch, |peer, version| {
                if !others.contains(&version) {
                    others.push(version);
                    tell(Word::Differs { peer, why: &format!("it {}", differs(version)) });
                }
            })?,
        };
        let begun = (knock.sender, knock.nonce, knock.made);
        let offer = Offer::read(&knock.offer);
        let name = offer.as_ref().map(|offer| offer.name.clone()).unwrap_or_default();
        let opened = open(config, knock.sender, offer, &mut prepare);
        match &opened {
            // Whether anything of it comes is not known yet.
            Ok((_, partial, _)) if partial.is_kept() => {}
            Ok(_) => tell(Word::Accepted),
            Err(why) => tell(Word::Refused { name: &name, why }),
        }
        let answer =
            write_answer(&opened.as_ref().map(|(_, partial, _)| partial.have()).map_err(Clone::clone));
        let (accepted, bytes) = responder.answer(knock, &answer)?;
        socket.reply(way, &bytes);
        let Ok(opened) = opened else { continue };
        let channel = SecuredChannel::called(socket, way, accepted.into(), responder, clock.now());
        let mut session = Session::begin(channel, clock, opened, begun)?;
        match session.run(config.patience, clock, &mut watch) {
            Ok(Ended::Whole) => return session.finish(config.patience, clock, &mut watch),
            Ok(Ended::Again(knocked)) => {
                next = Some(*knocked);
                (socket, responder) = session.into_parts()?;
            }
            Ok(Ended::InTheWay) => {
                // Told first: the sender may end as soon as it has heard.
                let why = session.in_the_way();
                tell(Word::Refused { name: &name, why: &why });
                session.refuse(clock, why);
                (socket, responder) = session.into_parts()?;
            }
            Err(error) => return Err(session.fail(clock, error)),
        }
    }
}

/// What becomes of an offer: all that a session needs, or why there is none, in words for the sender.
fn open<R>(
    config: &ReceiveConfig,
    sender: Option<[u8; KEY]>,
    offer: Option<Offer>,
    prepare: &mut impl FnMut(&Offer) -> Result<Prepared<R>, String>,
) -> Result<(Offer, Partial, Prepared<R>), String> {
    if config.only.is_some() && sender != config.only {
        return Err("this sender's key is not the one that may send".to_owned());
    }
    let offer = offer.ok_or("the offer makes no sense")?;
    let prepared = prepare(&offer)?;
    let partial = Partial::open(&config.folder, &offer, sender, config.overwrite)?;
    Ok((offer, partial, prepared))
}
