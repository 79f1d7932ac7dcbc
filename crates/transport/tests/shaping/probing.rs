//! Packets beside the rate: pairs, control pairs, clusters, and padding of what data leaves of it.

use super::{MBIT, ONE_WAY, clockwork, datagrams, file, free, seconds, stream};
use crate::pipe;

use pipe::{FLOW, Pipe, Scripted};
use tailback_core::{
    Annex, AppInput, BitRate, Bytes, Directive, Endpoint, EndpointCx, Gate, Input, Kind, Lane, Output,
    PairPosition, ProbePlan, Span, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{DatagramConfig, DatagramReceiver, DatagramSender, Sender, StreamConfig};

#[test]
fn pairs_leave_back_to_back_for_two_tokens() {
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(100) });
    let pairs = Directive { probe, ..Directive::rate(MBIT) };
    let of_stream = stream(Scripted::new(pairs)).start().run(Span::from_millis(100)).path.departures;
    let of_datagrams = datagrams(Scripted::new(pairs), DatagramConfig::default()).start();
    let of_datagrams = of_datagrams.run(Span::from_millis(100)).path.departures;
    for departures in [of_stream, of_datagrams] {
        assert_eq!(departures.len(), 14);
        for (index, pair) in departures.chunks(2).enumerate() {
            assert_eq!(pair[0].at.as_nanos(), index as u64 * 16_000_000);
            assert_eq!(pair[0].at, pair[1].at);
            assert_eq!(pair[0].packet.pair(), PairPosition::First);
            assert_eq!(pair[1].packet.pair(), PairPosition::Second);
        }
    }
}

#[test]
fn a_lone_packet_leaves_as_a_singleton() {
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(4) });
    let pairs = Directive { probe, ..free() };
    let test = clockwork(Scripted::new(pairs)).start().run(Span::from_millis(25));
    assert_eq!(test.sent(), [(4, 0), (14, 1), (24, 2)]);
    assert!(test.departures.iter().all(|d| d.packet.pair() == PairPosition::Single));
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(100) });
    let test = clockwork(Scripted::new(Directive { probe, ..free() })).start().run(Span::from_millis(35));
    assert_eq!(test.sent(), [(10, 0), (10, 1), (30, 2), (30, 3)], "a partner comes first");
    assert_eq!(test.departures[2].packet.pair(), PairPosition::First);
}

#[test]
fn the_last_packet_of_a_file_waits_from_when_the_file_was_written() {
    // 50 kbit/s: pairs at 0, 320, 640 ms; the fifth packet has waited for its 100 ms long before its tokens come.
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(100) });
    let slow = Directive { probe, ..Directive::rate(BitRate::from_bits_per_sec(50_000)) };
    let test = file(Scripted::new(slow), 5).start().run(Span::from_secs(2));
    assert_eq!(test.sent(), [(0, 0), (0, 1), (320, 2), (320, 3), (480, 4)]);
    assert_eq!(test.departures[4].packet.pair(), PairPosition::Single);
    // Without a rate it waits for them.
    let test = file(Scripted::new(Directive { probe, ..free() }), 3).start().run(Span::from_secs(2));
    assert_eq!(test.sent(), [(0, 0), (0, 1), (100, 2)]);
}

#[test]
fn a_windows_last_packet_is_no_pair() {
    // A window of three: a pair and no third, since a lone packet waits for its partner.
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(30) });
    let pairs = Directive { probe, ..Directive::window(Bytes::new(3000)) };
    let test = stream(Scripted::new(pairs)).start().run(Span::from_millis(99));
    assert_eq!(test.sent(), [(0, 0), (0, 1), (30, 2)]);
    assert_eq!(test.departures[2].packet.pair(), PairPosition::Single);
}

/// The first of ten is lost, and the last three. Recovery sends 0 again, and then 9 as its rescue (RFC 6675 §4 rule 4), of which
/// there is one in an episode: behind either nothing follows.
#[test]
fn a_lone_rescue_is_no_first_of_a_pair() {
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(30) });
    let pairs = Directive { probe, ..Directive::window(Bytes::new(10_000)) };
    let test = file(Scripted::new(pairs), 10).dropping(&[(0, 1), (7, 1), (8, 1), (9, 1)]).start();
    let test = test.run(Span::from_millis(299));
    assert_eq!(test.sent()[10..], [(100, 0), (200, 9)]);
    assert_eq!(test.departures[10].packet.pair(), PairPosition::Single);
    assert_eq!(test.departures[11].packet.pair(), PairPosition::Single);
}

#[test]
fn the_place_in_a_pair_comes_back_with_the_acknowledgement() {
    let probe = Some(ProbePlan::DataPairs { singleton_timeout: Span::from_millis(30) });
    let pairs = Directive { probe, ..Directive::window(Bytes::new(4000)) };
    let test = stream(Scripted::new(pairs)).start().run(Span::from_millis(150));
    assert_eq!(test.sender.controller().log.feedback.len(), 4);
    assert_eq!(test.sender.controller().log.pairs, [1, 2, 1, 2]);
}

#[test]
fn control_pairs_leave_when_the_identity_changes() {
    let plan =
        |id| Directive { probe: Some(ProbePlan::ControlPair { id }), ..Directive::window(Bytes::new(4000)) };
    let controller = Scripted::new(plan(1)).at(seconds(0.15), plan(1)).at(seconds(0.25), plan(2));
    let test = stream(controller).start().run(Span::from_millis(270));
    let control: Vec<_> = test.departures.iter().filter(|d| d.packet.kind() == Kind::Control).collect();
    let at: Vec<u64> = control.iter().map(|d| d.at.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [0, 0, 250, 250]);
    let lanes: Vec<Lane> = control.iter().map(|d| d.packet.lane()).collect();
    assert_eq!(lanes, [Lane::OUT_OF_BAND, Lane::IN_BAND, Lane::OUT_OF_BAND, Lane::IN_BAND]);
    assert_eq!(test.sender.observe().sent_packets, test.departures.len() as u64);
}

#[test]
fn control_packets_say_what_was_sent_so_far() {
    let plan =
        |id| Directive { probe: Some(ProbePlan::ControlPair { id }), ..Directive::window(Bytes::new(4000)) };
    let controller = Scripted::new(plan(1)).at(seconds(0.25), plan(2));
    let config = StreamConfig::default();
    let mut sender = Sender::new(FLOW, config, controller, AnySource::infinite());
    let mut annexes = tailback_core::Annexes::new();
    let mut rng = tailback_core::Stream::new(1, "test");
    let mut infos = Vec::new();
    for (now, input) in [(Time::ZERO, Input::App(AppInput::Start)), (seconds(0.25), Input::Timeout)] {
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut annexes, notes: None };
        sender.handle(now, input, &mut cx);
        while let Output::Transmit(packet) = sender.poll(now, &mut cx) {
            if let Some(Annex::Control(info)) = cx.take_annex(&packet) {
                infos.push((info.pair, info.bytes_sent.get(), info.sent_at));
            }
        }
    }
    let second = seconds(0.25);
    assert_eq!(infos, [(1, 0, Time::ZERO), (1, 0, Time::ZERO), (2, 4000, second), (2, 4000, second)]);
}

/// A cluster of five packets at 8 Mbit/s leaves a millisecond apart, whatever the rate; with the next identity another. Of the
/// same identity nothing leaves again.
#[test]
fn a_cluster_leaves_at_its_own_rate_when_its_identity_changes() {
    let plan = |id| {
        let (rate, bytes) = (BitRate::from_bits_per_sec(8_000_000), Bytes::new(5000));
        Directive { probe: Some(ProbePlan::Cluster { id, rate, bytes }), ..Directive::rate(MBIT) }
    };
    let controller = || Scripted::new(plan(1)).at(seconds(0.02), plan(1)).at(seconds(0.04), plan(2));
    let of_stream = stream(controller()).start().run(Span::from_millis(54));
    let of_datagrams = datagrams(controller(), DatagramConfig::default()).start().run(Span::from_millis(54));
    for sent in [of_stream.sent(), of_datagrams.sent()] {
        let times: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
        // Five, then one in 8 ms; at 40 ms half a packet's tokens are there, and the rest takes half a millisecond.
        assert_eq!(times, [0, 1, 2, 3, 4, 12, 20, 28, 36, 40, 41, 42, 43, 44, 52]);
    }
}

/// Without data, a sender of datagrams pads the cluster with control packets, which have the next numbers; a stream does not.
#[test]
fn a_cluster_without_data_is_padded() {
    let probe =
        ProbePlan::Cluster { id: 1, rate: BitRate::from_bits_per_sec(8_000_000), bytes: Bytes::new(4500) };
    let test = clockwork(Scripted::new(Directive { probe: Some(probe), ..free() })).start();
    let test = test.run(Span::from_millis(25));
    let found: Vec<(u64, Kind, u64)> = test
        .departures
        .iter()
        .map(|d| (d.at.as_nanos() / 1_000_000, d.packet.kind(), d.packet.number))
        .collect();
    // A datagram was there at the start, and tokens come after a millisecond.
    let padding = (1..5).map(|number| (number + 1, Kind::Control, number));
    let data = [(10, Kind::Data, 5), (20, Kind::Data, 6)];
    let expected: Vec<_> = [(1, Kind::Data, 0)].into_iter().chain(padding).chain(data).collect();
    assert_eq!(found, expected);
    let observed = test.sender.observe();
    assert_eq!(observed.sent_packets, test.departures.len() as u64);
    assert_eq!(observed.sent_bytes, test.departures.iter().map(|d| d.packet.size()).sum::<Bytes>());
    let empty =
        file(Scripted::new(Directive { probe: Some(probe), ..free() }), 2).start().run(Span::from_millis(25));
    assert!(empty.departures.iter().all(|d| d.packet.kind() == Kind::Data));
}

/// Data that comes every 10 ms leaves half of the rate: padding takes the rest, in numbers as data's, and no data waits for more
/// than one packet of it. With the plan it ends.
#[test]
fn what_data_leaves_of_the_rate_is_padded() {
    let rate = Directive::rate(BitRate::from_bits_per_sec(2_000_000));
    let padded = Directive { probe: Some(ProbePlan::Padding), ..rate };
    let test = clockwork(Scripted::new(padded).at(seconds(0.05), rate)).start().run(Span::from_millis(75));
    let found: Vec<(u64, Kind)> =
        test.departures.iter().map(|d| (d.at.as_nanos() / 1_000_000, d.packet.kind())).collect();
    let padding = [4, 8, 16, 24, 28, 36, 44, 48].map(|at| (at, Kind::Control));
    let data = [0, 12, 20, 32, 40, 52, 60, 70].map(|at| (at, Kind::Data));
    let mut expected = [padding, data].concat();
    expected.sort_unstable_by_key(|(at, _)| *at);
    assert_eq!(found, expected);
    assert!(test.departures.iter().enumerate().all(|(at, d)| d.packet.number == at as u64));
    let observed = test.sender.observe();
    assert_eq!(observed.sent_packets, test.departures.len() as u64);
    assert_eq!(observed.sent_bytes, test.departures.iter().map(|d| d.packet.size()).sum::<Bytes>());
}

/// Where nothing meters it, behind a gate, of a stream, and after the last of the data, nothing is padded.
#[test]
fn padding_needs_a_rate_and_a_sender_of_datagrams_that_runs() {
    let padded =
        |directive: Directive| Scripted::new(Directive { probe: Some(ProbePlan::Padding), ..directive });
    let paced = Directive::rate(MBIT);
    let data = |kinds: &[pipe::Departure]| kinds.iter().all(|d| d.packet.kind() == Kind::Data);
    let free_of_rate = clockwork(padded(free())).start().run(Span::from_millis(55));
    assert!(data(&free_of_rate.departures) && free_of_rate.departures.len() == 6);
    let closed = Directive { gate: Gate::Closed { until: None }, ..paced };
    assert!(clockwork(padded(closed)).start().run(Span::from_millis(55)).departures.is_empty());
    let of_stream = file(padded(paced), 2).start().run(Span::from_secs(1));
    assert!(data(&of_stream.departures) && of_stream.departures.len() == 2);
    let config = DatagramConfig::default();
    let source = AnySource::finite((config.segment_size - config.header) * 3);
    let sender = DatagramSender::new(FLOW, config.clone(), padded(paced), source);
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_secs(1));
    assert!(data(&test.departures) && test.departures.len() == 3);
}
