//! What a peer says beside frames, read from any bytes: the first one says as what the others are read, or what is said and then
//! changed. Shared by a property test and a fuzz target.

use tailback_core::Bytes;
use tailback_net::channel::Message;
use tailback_net::secure::handshake::{LONGEST_ANSWER, LONGEST_OFFER};
use tailback_net::shown;
use tailback_net::transfer::{LONGEST_NAME, Offer, read_answer, write_answer};

/// Reads what the bytes say; whether it was read.
pub(crate) fn exercise(bytes: &[u8]) -> bool {
    let Some(([which, how, at], rest)) = bytes.split_first_chunk() else { return false };
    let text = String::from_utf8_lossy(rest).into_owned();
    match which % 6 {
        0 => message(rest),
        1 => {
            let said = match how % 5 {
                0 => Message::Ping(rest.len() as u64),
                1 => Message::Pong(rest.len() as u64),
                2 => Message::Verdict(Ok(())),
                3 => Message::Verdict(Err(text)),
                _ => Message::Farewell,
            };
            let mut written = Vec::new();
            said.write(&mut written);
            let as_it_was = message(&written);
            assert!(as_it_was, "{said:?}");
            message(&changed(written, *how, *at))
        }
        2 => offer(rest),
        3 => {
            let (name, flow) = text.split_once('\n').unwrap_or((&text, "{}"));
            let end = name.floor_char_boundary(LONGEST_NAME);
            let name = name[..end].to_owned();
            let flow = flow.to_owned();
            let size = Bytes::new(u64::from(*at) << (how % 64));
            let written = Offer { name, size, hash: [*how; 32], flow }.write();
            offer(&changed(written, *how, *at))
        }
        4 => answer(rest),
        _ => {
            let said = if how % 2 == 0 { Ok(u64::from(*at)) } else { Err(text) };
            let written = write_answer(&said);
            let as_it_was = answer(&written);
            assert!(as_it_was, "{said:?}");
            answer(&changed(written, *how, *at))
        }
    }
}

/// One bit changed, or cut short, or as it is.
fn changed(mut bytes: Vec<u8>, how: u8, at: u8) -> Vec<u8> {
    let place = usize::from(at) * bytes.len() / 256;
    match how % 3 {
        0 => bytes.truncate(place),
        1 => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << (how / 3 % 8)),
        _ => {}
    }
    bytes
}

/// A terminal that shows it does nothing else.
fn assert_shown(text: &str) {
    assert_eq!(shown(text), text);
}

fn message(bytes: &[u8]) -> bool {
    let Some(read) = Message::read(bytes) else { return false };
    let mut again = Vec::new();
    read.write(&mut again);
    match &read {
        Message::Verdict(Err(why)) => {
            assert_shown(why);
            // What is written out is longer than what was said.
            let Some(Message::Verdict(Err(said))) = Message::read(&again) else { panic!("{again:?}") };
            assert!(why.starts_with(&said) && again.len() <= 1002, "{why:?}");
        }
        _ => assert_eq!(again, bytes),
    }
    true
}

fn offer(bytes: &[u8]) -> bool {
    let Some(read) = Offer::read(bytes) else { return false };
    assert_eq!(read.write(), bytes);
    assert_shown(&read.name);
    let is_bare = !read.name.contains(['/', '\\', '\0']) && !["", ".", ".."].contains(&&*read.name);
    assert!(is_bare && read.name.len() <= LONGEST_NAME, "{:?}", read.name);
    bytes.len() <= LONGEST_OFFER
}

fn answer(bytes: &[u8]) -> bool {
    let Some(read) = read_answer(bytes) else { return false };
    let again = write_answer(&read);
    assert!(again.len() <= LONGEST_ANSWER, "{} bytes", again.len());
    match &read {
        Ok(_) => assert_eq!(again, bytes),
        Err(why) => {
            assert_shown(why);
            let Some(Err(said)) = read_answer(&again) else { panic!("{again:?}") };
            assert!(why.starts_with(&said), "{why:?}");
        }
    }
    true
}
