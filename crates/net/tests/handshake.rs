//! The handshake under attack: whoever has no invitation gets nothing but a cookie, nothing is kept of floods, and nobody
//! gets more bytes than three times what he sent.

use std::net::SocketAddr;

use crate::common::knocks;
use proptest::prelude::*;
use tailback_core::{Span, Time};
use tailback_net::secure::envelope::{COOKIE, Envelope, SHORTEST_HELLO, VERSION};
use tailback_net::secure::handshake::{Answer, Knock, LONGEST_OFFER};
use tailback_net::secure::{Greeter, Initiator, Invitation, KeyPair, Responder};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_an_attacker_does(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        knocks::exercise(&bytes);
    }
}

/// What a fuzz target has failed on fails again.
#[test]
fn the_same_bytes_are_the_same_datagrams() {
    let steps = [[0, 0, 0, 0], [3, 0, 0, 0], [1, 2, 0, 0], [4, 3, 200, 1], [3, 3, 0, 0]].concat();
    let wire = knocks::exercise(&steps);
    assert!(wire.len() > 4, "a handshake was made: {}", wire.len());
    assert_eq!(wire, knocks::exercise(&steps));
}

/// The property above is about this, too, which its random bytes hardly ever come to: a second later the sender has another
/// cookie, and then the initiation with the first one comes.
#[test]
fn an_initiation_that_is_held_back_is_among_what_an_attacker_does() {
    let steps =
        [[0, 0, 0, 0], [3, 0, 0, 0], [7, 1, 0, 0], [0, 0, 0, 0], [3, 3, 0, 0], [1, 5, 0, 0], [1, 2, 0, 0]];
    let wire = knocks::exercise(&steps.concat());
    assert!(matches!(Envelope::read(&wire[2]), Some(Envelope::Initiation { .. })));
    assert!(matches!(Envelope::read(&wire[5]), Some(Envelope::Initiation { .. })));
    assert!(matches!(Envelope::read(&wire[6]), Some(Envelope::Response { .. })), "the second is let in");
    assert!(matches!(Envelope::read(&wire[7]), Some(Envelope::Cookie { .. })), "and then the first is not");
}

/// Somebody on the way answers first, wrongly: the right answer is taken all the same.
#[test]
fn a_forged_response_does_not_spoil_the_right_one() {
    let (mut responder, mut initiator, knock) = let_in();
    let (_, response) = responder.answer(*knock, b"answer").expect("short enough");
    for at in 12..response.len() {
        let mut forged = response.clone();
        forged[at] ^= 1;
        assert!(initiator.finish(&forged).is_none(), "byte {at}");
        assert!(initiator.finish(&response[..at]).is_none(), "{at} bytes");
    }
    assert!(initiator.finish(&response).is_some());
}

/// Whoever has a cookie and no invitation costs a receiver a code, and nothing that the invited have to share: no place among
/// the handshakes of a second.
#[test]
fn those_without_the_invitation_take_nothing_from_those_with_it() {
    let receiver = pair();
    let mut responder = Responder::new(Some(receiver.clone()), Time::ZERO).expect("random numbers");
    let wrong = Invitation { secret: [0; 16], ..Invitation::of(&receiver) };
    let uninvited = initiation(&mut responder, wrong.clone(), b"offer");
    for _ in 0..1000 {
        assert!(matches!(responder.read(Time::ZERO, here(), &uninvited), Answer::Nothing));
    }
    let stranger = Initiator::new(Some((pair(), wrong))).expect("random numbers");
    for _ in 0..30_000 {
        let answer = responder.read(Time::ZERO, here(), &stranger.hello(0));
        assert!(matches!(answer, Answer::Nothing), "{answer:?}");
    }
    let invited = initiation(&mut responder, Invitation::of(&receiver), b"offer");
    assert!(matches!(responder.read(Time::ZERO, here(), &invited), Answer::Knock(_)));
}

fn here() -> SocketAddr {
    ([192, 0, 2, 1], 1000).into()
}

fn pair() -> KeyPair {
    KeyPair::generate().expect("random numbers")
}

/// An initiation of a sender that has this invitation, with a cookie of this receiver, if it gives one.
fn initiation(responder: &mut Responder, invitation: Invitation, offer: &[u8]) -> Vec<u8> {
    initiation_of(&pair(), responder, Time::ZERO, invitation, offer)
}

fn initiation_of(
    sender: &KeyPair,
    responder: &mut Responder,
    now: Time,
    invitation: Invitation,
    offer: &[u8],
) -> Vec<u8> {
    let mut initiator = Initiator::new(Some((sender.clone(), invitation))).expect("random numbers");
    let Answer::Reply(reply) = responder.read(now, here(), &initiator.hello(1232)) else {
        return initiator.initiation(&[0; COOKIE], offer).expect("made");
    };
    let (cookie, length) = initiator.cookie(&reply).expect("a cookie");
    assert_eq!(length, 1232);
    initiator.initiation(&cookie, offer).expect("made")
}

/// A receiver, a sender that it has let in, and what the sender offers.
fn let_in() -> (Responder, Initiator, Box<Knock>) {
    let receiver = pair();
    let mut responder = Responder::new(Some(receiver.clone()), Time::ZERO).expect("random numbers");
    let mut initiator = Initiator::new(Some((pair(), Invitation::of(&receiver)))).expect("random numbers");
    let Answer::Reply(reply) = responder.read(Time::ZERO, here(), &initiator.hello(1232)) else {
        panic!("a cookie")
    };
    let (cookie, _) = initiator.cookie(&reply).expect("a cookie");
    let made = initiator.initiation(&cookie, b"offer").expect("made");
    let Answer::Knock(knock) = responder.read(Time::ZERO, here(), &made) else { panic!("let in") };
    (responder, initiator, knock)
}

#[test]
fn who_has_no_invitation_is_not_answered() {
    let receiver = pair();
    let mut responder = Responder::new(Some(receiver.clone()), Time::ZERO).expect("random numbers");
    let right = Invitation::of(&receiver);
    let wrong_secret = Invitation { secret: [0; 16], ..right.clone() };
    let wrong_key = Invitation { public: pair().public, ..right.clone() };
    for (invitation, is_let_in) in [(right, true), (wrong_secret, false), (wrong_key, false)] {
        let made = initiation(&mut responder, invitation, b"offer");
        let answer = responder.read(Time::ZERO, here(), &made);
        assert_eq!(matches!(answer, Answer::Knock(_)), is_let_in, "{answer:?}");
    }
}

#[test]
fn a_repeated_initiation_is_answered_with_the_same_bytes_and_an_old_one_not_at_all() {
    let receiver = pair();
    let mut responder = Responder::new(Some(receiver.clone()), Time::ZERO).expect("random numbers");
    let made = initiation(&mut responder, Invitation::of(&receiver), b"offer");
    let Answer::Knock(knock) = responder.read(Time::ZERO, here(), &made) else { panic!("a knock") };
    let (_, first) = responder.answer(*knock, b"answer").expect("answers");
    let Answer::Reply(again) = responder.read(Time::ZERO, here(), &made) else { panic!("a reply") };
    assert_eq!(again, first);
    let elsewhere: SocketAddr = ([192, 0, 2, 9], 1000).into();
    assert!(matches!(responder.read(Time::ZERO, elsewhere, &made), Answer::Nothing));
    let later = Time::ZERO + Span::from_secs(200);
    assert!(matches!(responder.read(later, here(), &made), Answer::Nothing));
}

#[test]
fn a_flood_gets_so_many_answers_a_second_and_those_with_the_invitation_are_let_in_afterwards() {
    let receiver = pair();
    let mut responder = Responder::new(Some(receiver.clone()), Time::ZERO).expect("random numbers");
    let mut answered = 0;
    let flooding = Initiator::new(Some((pair(), Invitation::of(&receiver)))).expect("random numbers");
    let hello = flooding.hello(0);
    assert_eq!(hello.len(), SHORTEST_HELLO);
    for sender in 0..50_000_u32 {
        let from = SocketAddr::from((sender.to_be_bytes(), 7));
        if let Answer::Reply(reply) = responder.read(Time::ZERO, from, &hello) {
            assert!(reply.len() < hello.len());
            answered += 1;
        }
    }
    assert_eq!(answered, 20_000);
    let later = Time::ZERO + Span::from_secs(1);
    let mut initiator = Initiator::new(Some((pair(), Invitation::of(&receiver)))).expect("random numbers");
    let Answer::Reply(reply) = responder.read(later, here(), &initiator.hello(0)) else { panic!("a cookie") };
    let (cookie, _) = initiator.cookie(&reply).expect("a cookie");
    let made = initiator.initiation(&cookie, b"offer").expect("made");
    assert!(matches!(responder.read(later, here(), &made), Answer::Knock(_)));
}

#[test]
fn an_offer_that_is_too_long_is_an_error_that_says_so() {
    let mut initiator = Initiator::new(Some((pair(), Invitation::of(&pair())))).expect("random numbers");
    let error = initiator.initiation(&[0; COOKIE], &vec![7; LONGEST_OFFER + 1]).expect_err("too long");
    assert!(error.to_string().starts_with("the offer of "), "{error}");
    assert_eq!(initiator.initiation(&[0; COOKIE], &vec![7; LONGEST_OFFER]).expect("fits").len(), 1232);
}

#[test]
fn a_session_number_that_was_changed_on_the_way_leads_nobody_astray() {
    let (mut responder, mut initiator, knock) = let_in();
    let (there, mut response) = responder.answer(*knock, b"answer").expect("short enough");
    // The receiver's number stands in the clear after the head and the sender's own.
    response[8] ^= 1;
    let (here, answer) = initiator.finish(&response).expect("the receiver's answer");
    assert_eq!((here.there, answer.as_slice()), (there.here, b"answer".as_slice()));
}

/// Somebody keeps an initiation back and lets it through when the sender has begun anew: it is late for ever.
#[test]
fn an_initiation_of_an_earlier_attempt_is_not_heard() {
    let (receiver, sender, other) = (pair(), pair(), pair());
    let invitation = Invitation::of(&receiver);
    let mut responder = Responder::new(Some(receiver), Time::ZERO).expect("random numbers");
    let at = |seconds| Time::ZERO + Span::from_secs(seconds);
    let made = |sender: &KeyPair, responder: &mut Responder, now| {
        initiation_of(sender, responder, now, invitation.clone(), b"offer")
    };
    let held = made(&sender, &mut responder, at(1));
    let others = made(&other, &mut responder, at(1));
    let newer = made(&sender, &mut responder, at(2));
    let newest = made(&sender, &mut responder, at(3));
    let mut is_heard =
        |initiation: &[u8]| matches!(responder.read(at(4), here(), initiation), Answer::Knock(_));
    assert!(is_heard(&newer));
    assert!(!is_heard(&held), "an earlier attempt");
    assert!(is_heard(&others), "of another sender");
    assert!(is_heard(&newest), "a later attempt");
    assert!(!is_heard(&newer), "an earlier attempt by now");
}

/// The list of answers is short. Somebody waits until an initiation has fallen out of it, and repeats it: its cookie is still good.
#[test]
fn an_initiation_that_was_answered_begins_no_other_session() {
    let (receiver, sender) = (pair(), pair());
    let invitation = Invitation::of(&receiver);
    let mut responder = Responder::new(Some(receiver.clone()), Time::ZERO).expect("random numbers");
    let mut made =
        |sender: &KeyPair, now| initiation_of(sender, &mut responder, now, invitation.clone(), b"offer");
    let first = made(&sender, Time::ZERO);
    let others: Vec<_> = (0..8).map(|_| made(&pair(), Time::ZERO)).collect();
    // Of the same sender: begun at the same moment, as far as the receiver's clock can tell, and later.
    let (twin, later) = (made(&sender, Time::ZERO), made(&sender, Time::ZERO + Span::from_secs(1)));
    let mut is_heard = |initiation: &[u8]| match responder.read(Time::ZERO, here(), initiation) {
        Answer::Knock(knock) => responder.answer(*knock, b"answer").is_ok(),
        _ => false,
    };
    assert!(is_heard(&first));
    assert!(others.iter().all(|other| is_heard(other)));
    assert!(!is_heard(&first), "what was answered");
    assert!(is_heard(&twin), "another attempt");
    assert!(!is_heard(&first), "what was answered before the other");
    assert!(is_heard(&later), "a later attempt");
    assert!(!is_heard(&twin), "an earlier attempt by now");
    // A receiver that is started again has other cookies.
    let mut again = Responder::new(Some(receiver), Time::ZERO).expect("random numbers");
    assert!(matches!(again.read(Time::ZERO, here(), &later), Answer::Nothing));
}

/// A stranger sees the hellos and the cookies on the way, and can change and make up what he likes: no length that was not asked
/// for or did not arrive is answered or believed.
#[test]
fn lengths_are_those_of_who_has_the_invitation() {
    let receiver = pair();
    let invitation = Invitation::of(&receiver);
    let mut responder = Responder::new(Some(receiver), Time::ZERO).expect("random numbers");
    let initiator = Initiator::new(Some((pair(), invitation))).expect("random numbers");
    let hello = initiator.hello(1232);
    let longer = [hello.clone(), vec![0; 240]].concat();
    for changed in [&longer, &hello[..1000].to_vec()] {
        assert!(Envelope::read(changed).is_some(), "no other fault");
        let answer = responder.read(Time::ZERO, here(), changed);
        assert!(matches!(answer, Answer::Nothing), "{answer:?}");
    }
    let Answer::Reply(cookie) = responder.read(Time::ZERO, here(), &hello) else { panic!("a cookie") };
    assert!(cookie.len() < SHORTEST_HELLO);
    for at in 0..cookie.len() {
        let mut changed = cookie.clone();
        changed[at] ^= 1;
        assert!(initiator.cookie(&changed).is_none(), "byte {at}");
    }
    assert_eq!(initiator.cookie(&cookie).map(|(_, length)| length), Some(1232));
}

/// In the clear the codes are checksums, and nobody is remembered: there is no key to tell senders by.
#[test]
fn without_keys_anybody_is_let_in() {
    let mut responder = Responder::new(None, Time::ZERO).expect("random numbers");
    let initiators = [(); 2].map(|()| Initiator::new(None).expect("random numbers"));
    let initiations: Vec<_> = initiators
        .into_iter()
        .zip(1..)
        .map(|(mut initiator, seconds)| {
            let now = Time::ZERO + Span::from_secs(seconds);
            let Answer::Reply(reply) = responder.read(now, here(), &initiator.hello(1232)) else {
                panic!("a cookie")
            };
            let (cookie, _) = initiator.cookie(&reply).expect("a cookie");
            initiator.initiation(&cookie, &[7; 200]).expect("made")
        })
        .collect();
    for initiation in initiations.iter().rev() {
        let answer = responder.read(Time::ZERO + Span::from_secs(3), here(), initiation);
        assert!(matches!(answer, Answer::Knock(_)), "{answer:?}");
    }
}

/// Whoever has the invitation and speaks another version is told so, in fewer bytes than he sent; a stranger gets no answer, and
/// can turn nobody away.
#[test]
fn versions_are_those_of_who_has_the_invitation() {
    let receiver = pair();
    let invitation = Invitation::of(&receiver);
    let mut responder = Responder::new(Some(receiver), Time::ZERO).expect("random numbers");
    let (ours, theirs) = (Greeter::new(&invitation), Greeter::new(&Invitation::of(&pair())));
    assert_eq!(ours.read_other(7, &ours.other(VERSION, 7)), None, "nobody turns away who speaks his own");
    for version in [0, VERSION - 1, VERSION + 1, u8::MAX] {
        for length in [0, 1232] {
            let hello = ours.hello(version, 7, length);
            let Answer::Other { version: told, reply } = responder.read(Time::ZERO, here(), &hello) else {
                panic!("no answer to version {version}")
            };
            assert_eq!((told, &reply), (version, &ours.other(VERSION, 7)));
            assert!(reply.len() < SHORTEST_HELLO);
            let stranger = theirs.hello(version, 7, length);
            assert!(matches!(responder.read(Time::ZERO, here(), &stranger), Answer::Nothing));
            let relabelled = [&[version], &ours.hello(VERSION, 7, length)[1..]].concat();
            assert!(matches!(responder.read(Time::ZERO, here(), &relabelled), Answer::Nothing));
        }
        let answer = ours.other(version, 7);
        assert_eq!((ours.read_other(7, &answer), ours.read_other(8, &answer)), (Some(version), None));
        assert_eq!(theirs.read_other(7, &answer), None);
        for at in 0..answer.len() {
            let mut changed = answer.clone();
            changed[at] ^= 1;
            assert_eq!(ours.read_other(7, &changed), None, "byte {at}");
        }
    }
}

/// Hosts of all versions agree on these, byte by byte: made once by the page of the wire format, in another language. A test that
/// asks this crate about its own words would not see that they have changed.
#[test]
fn what_no_version_changes_stays_as_it_is() {
    let greeter = Greeter::new(&Invitation { public: [1; 32], secret: [2; 16] });
    let nonce = [0, 0, 0, 0, 0, 0, 0, 7];
    let hello_code: [u8; 32] = [
        183, 79, 94, 3, 126, 159, 37, 196, 88, 32, 208, 58, 157, 20, 188, 61, 196, 98, 173, 46, 180, 38, 6,
        185, 104, 0, 224, 95, 42, 20, 53, 133,
    ];
    let hello = [&[5, 1, 0, 0][..], &nonce, &hello_code, &[0; 56]].concat();
    assert_eq!(greeter.hello(5, 7, 100), hello);
    let other_code: [u8; 32] = [
        163, 203, 228, 199, 181, 80, 199, 46, 40, 105, 10, 185, 251, 240, 121, 136, 141, 232, 13, 119, 35,
        73, 229, 178, 218, 49, 49, 112, 201, 225, 246, 147,
    ];
    assert_eq!(greeter.other(9, 7), [&[9, 7, 0, 0][..], &nonce, &other_code].concat());
}

/// Else those who are told of another version would take the answers of those who speak ours, or have more than there are.
#[test]
fn answers_to_other_versions_are_limited_like_cookies() {
    let receiver = pair();
    let greeter = Greeter::new(&Invitation::of(&receiver));
    let mut responder = Responder::new(Some(receiver), Time::ZERO).expect("random numbers");
    let hello = greeter.hello(VERSION + 1, 7, 0);
    let answers = (0..30_000)
        .filter(|_| !matches!(responder.read(Time::ZERO, here(), &hello), Answer::Nothing))
        .count();
    assert_eq!(answers, 20_000);
}
