//! The wire format: golden bytes, round trips, and bytes that nobody ever sent.

use std::num::NonZeroU16;

use proptest::prelude::*;
use tailback_core::{
    AckBlocks, AckFrequency, AckRequest, Annex, AnnexId, ArrivalWord, BitRate, Bytes, ControlInfo, Echoes,
    Ecn, Envelope, FlowId, Kind, Lane, Packet, Report, SeqRange, Span, Time,
};
use tailback_transport::wire::{DATA_OVERHEAD, HEAD, REQUEST, VERSION, WireError, decode, encode};

fn encoded(packet: &Packet, annex: Option<&Annex>, offset: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(packet, annex, offset, payload, &mut out).expect("short enough");
    out
}

#[test]
fn golden_data() {
    let mut packet = Packet::new(Kind::Data, FlowId(7), 42, Bytes::new(1040));
    packet.set_ecn(Ecn::Ect0);
    packet.set_last(true);
    let expected = [
        5, 0, // version, no annex
        0x80, 0x44, // last, ECT(0), lane 1, data
        0, 0, 0, 7, // flow
        0, 0, 0, 0, 0, 0, 0, 42, // number
        4, 16, // size 1040
        0, 0, // no annex
        0, 0, 0, 0, 0, 0, 0xa4, 0x10, // offset 42 000
        0, 3, b'a', b'b', b'c',
    ];
    assert_eq!(encoded(&packet, None, 42_000, b"abc"), expected);
    assert_eq!(expected.len(), DATA_OVERHEAD + 3);
}

#[test]
fn golden_acknowledgement() {
    let mut packet = Packet::new(Kind::Ack, FlowId(1), 5, Bytes::new(48));
    packet.set_lane(Lane::OUT_OF_BAND);
    let mut blocks =
        AckBlocks { count: 1, trigger: 7, echo: Some(Time::from_nanos(258)), ..Default::default() };
    blocks.marks = Echoes { ce: 3, rho: 0, eta: 1 };
    blocks.arrived = Some(Time::from_nanos(515));
    blocks.blocks[0] = SeqRange { start: 7, end: 8 };
    let expected = [
        5, 1, // version, acknowledgement
        0, 1, // lane 0, ack
        0, 0, 0, 1, // flow
        0, 0, 0, 0, 0, 0, 0, 5, // number
        0, 48, // size
        0, 55, // annex
        1,  // count
        0, 0, 0, 0, 0, 0, 0, 7, // trigger
        1, 0, 0, 0, 0, 0, 0, 1, 2, // echo
        1, 0, 0, 0, 0, 0, 0, 2, 3, // time of arrival
        0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, // marks
        0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8, // range
    ];
    assert_eq!(encoded(&packet, Some(&Annex::Blocks(blocks)), 0, &[]), expected);
}

#[test]
fn golden_report() {
    let packet = Packet::new(Kind::Report, FlowId(1), 0, Bytes::new(40));
    let report = Envelope {
        echo: Some(Time::from_nanos(258)),
        held: Span::from_nanos(5),
        arrived_bytes: Bytes::new(3000),
        arrived_packets: 3,
        report: Report::Gate { on: true, off_for: Span::from_nanos(3) },
    };
    let bytes = encoded(&packet, Some(&Annex::Report(Box::new(report))), 0, &[]);
    let expected = [
        0, 43, // annex
        1, 0, 0, 0, 0, 0, 0, 1, 2, // echo
        0, 0, 0, 0, 0, 0, 0, 5, // held
        0, 0, 0, 0, 0, 0, 11, 184, // bytes that arrived
        0, 0, 0, 0, 0, 0, 0, 3, // packets that arrived
        4, 1, // a gate, open
        0, 0, 0, 0, 0, 0, 0, 3, // for how long it is closed
    ];
    assert_eq!(bytes[HEAD - 2..], expected);
    assert_eq!(bytes[1], 3);
}

fn frequency(threshold: u16, micros: u32) -> Option<AckFrequency> {
    let max_delay = Span::from_micros(micros.into());
    (threshold > 0).then_some(AckFrequency { threshold: threshold.into(), max_delay })
}

fn requests() -> impl Strategy<Value = AckRequest> {
    (1..=u16::MAX, any::<u16>(), any::<u32>()).prop_map(|(number, threshold, micros)| {
        AckRequest::new(NonZeroU16::new(number).expect("from 1 on"), frequency(threshold, micros))
    })
}

#[test]
fn golden_request() {
    let packet = Packet::new(Kind::Data, FlowId(7), 1, Bytes::new(100));
    let request = AckRequest::new(NonZeroU16::new(258).expect("not 0"), frequency(12, 66_051));
    let expected = [
        1, 2, // number 258
        0, 12, // after 12 packets
        0, 1, 2, 3, // or 66.051 ms
    ];
    let alone = encoded(&packet, Some(&Annex::Request(request)), 0, &[]);
    assert_eq!((alone[1], &alone[HEAD - 2..HEAD]), (5, &[0, 8][..]));
    assert_eq!(alone[HEAD..HEAD + REQUEST], expected);
    // A stamped packet has it behind its stamp.
    let info = ControlInfo { request: Some(request), ..ControlInfo::default() };
    let stamped = encoded(&packet, Some(&Annex::Control(info)), 0, &[]);
    let bare = encoded(&packet, Some(&Annex::Control(ControlInfo::default())), 0, &[]);
    let annex = usize::from(bare[HEAD - 1]);
    assert_eq!(usize::from(stamped[HEAD - 1]), annex + REQUEST);
    assert_eq!(stamped[HEAD + annex..HEAD + annex + REQUEST], expected);
    assert_eq!(stamped[HEAD..HEAD + annex], bare[HEAD..HEAD + annex]);
}

#[test]
fn a_range_of_nothing_is_refused() {
    let packet = Packet::new(Kind::Ack, FlowId(7), 1, Bytes::new(40));
    let mut blocks = AckBlocks { count: 1, ..AckBlocks::default() };
    blocks.blocks[0] = SeqRange { start: 5, end: 6 };
    let good = encoded(&packet, Some(&Annex::Blocks(blocks)), 0, &[]);
    assert_eq!(decode(&good).expect("good").annex, Some(Annex::Blocks(blocks)));
    for end in [5, 4] {
        let mut bytes = good.clone();
        assert_eq!(bytes.pop(), Some(6));
        bytes.push(end);
        assert_eq!(decode(&bytes).map(|frame| frame.annex), Err(WireError::Malformed("range")));
    }
}

#[test]
fn a_request_without_a_number_or_with_a_delay_for_nothing_is_refused() {
    let packet = Packet::new(Kind::Data, FlowId(7), 1, Bytes::new(100));
    let request = AckRequest::new(NonZeroU16::MIN, None);
    let good = encoded(&packet, Some(&Annex::Request(request)), 0, &[]);
    assert_eq!(decode(&good).expect("good").annex, Some(Annex::Request(request)));
    let with = |at: usize| {
        let mut bytes = good.clone();
        bytes[HEAD + at] ^= 1;
        decode(&bytes).map(|frame| frame.annex)
    };
    assert_eq!(with(1), Err(WireError::Malformed("number of a request")));
    for at in 4..REQUEST {
        assert_eq!(with(at), Err(WireError::Malformed("delay of a request")));
    }
    let mut short = good;
    short[HEAD - 1] = 7;
    assert_eq!(decode(&short), Err(WireError::Truncated("annex")));
}

fn annexes() -> impl Strategy<Value = Option<Annex>> {
    let time = any::<u64>().prop_map(Time::from_nanos);
    let span = any::<u64>().prop_map(Span::from_nanos);
    let amount = any::<u64>().prop_map(Bytes::new);
    let rate = any::<u64>().prop_map(BitRate::from_bits_per_sec);
    let real = -1e300..1e300_f64;
    let range = (any::<u32>(), 1..1000_u64)
        .prop_map(|(start, length)| SeqRange { start: start.into(), end: u64::from(start) + length });
    let echo = prop::option::of(time.clone());
    let marks = any::<[u32; 3]>().prop_map(|[ce, rho, eta]| Echoes { ce, rho, eta });
    let times = (echo.clone(), echo.clone());
    let blocks = (prop::collection::vec(range, 0..=4), any::<u64>(), times, marks).prop_map(
        |(ranges, trigger, (echo, arrived), marks)| {
            let count = ranges.len() as u8;
            let mut found = AckBlocks { count, trigger, echo, arrived, marks, ..AckBlocks::default() };
            found.blocks[..ranges.len()].copy_from_slice(&ranges);
            Annex::Blocks(found)
        },
    );
    let sums = (amount.clone(), amount.clone());
    let numbers = (any::<u64>(), any::<u64>());
    let said = (prop::option::of(span.clone()), prop::option::of(rate.clone()), prop::option::of(requests()));
    let control = (numbers, sums, span.clone(), time, echo.clone(), span.clone(), said).prop_map(
        |(
            (pair, packets_sent),
            (bytes_sent, in_flight),
            virtual_delay,
            sent_at,
            echo,
            held,
            (rtt, app_rate, request),
        )| {
            let info = ControlInfo {
                pair,
                packets_sent,
                bytes_sent,
                in_flight,
                virtual_delay,
                sent_at,
                echo,
                held,
                rtt,
                app_rate,
                request,
            };
            Annex::Control(info)
        },
    );
    let report = prop_oneof![
        (span.clone(), amount.clone(), any::<u32>(), any::<u32>())
            .prop_map(|(span, received, packets, lost)| Report::Interval { span, received, packets, lost }),
        (real.clone(), rate.clone())
            .prop_map(|(event_rate, receive_rate)| Report::Loss { event_rate, receive_rate }),
        (any::<u64>(), real.clone(), amount.clone(), rate, span.clone()).prop_map(
            |(pair, backlog, lost, egress_rate, virtual_delay)| {
                Report::Accumulation { pair, backlog, lost, egress_rate, virtual_delay }
            }
        ),
        (any::<bool>(), span.clone()).prop_map(|(on, off_for)| Report::Gate { on, off_for }),
        (any::<u64>(), any::<u64>()).prop_map(|(rate, setpoint)| Report::Rate {
            rate: BitRate::from_bits_per_sec(rate),
            setpoint: Bytes::new(setpoint),
        }),
        (any::<u64>(), any::<u64>(), prop::collection::vec(any::<u16>(), 0..50)).prop_map(
            |(first, left, words)| Report::Arrivals {
                first,
                left: Time::from_nanos(left),
                words: words.into_iter().map(ArrivalWord::from_bits).collect(),
            }
        ),
        prop::collection::vec(real, 0..50).prop_map(|numbers| Report::Custom(numbers.into())),
    ];
    let report = (echo, span, amount, any::<u64>(), report).prop_map(
        |(echo, held, arrived_bytes, arrived_packets, report)| Envelope {
            echo,
            held,
            arrived_bytes,
            arrived_packets,
            report,
        },
    );
    prop_oneof![
        Just(None),
        blocks.prop_map(Some),
        control.prop_map(Some),
        report.prop_map(|report| Some(Annex::Report(Box::new(report)))),
        requests().prop_map(|request| Some(Annex::Request(request))),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| Some(Annex::Custom(bytes.into()))),
    ]
}

fn packets() -> impl Strategy<Value = Packet> {
    (any::<u16>(), any::<u32>(), any::<u64>(), any::<u16>())
        .prop_filter("3 is no place in a probe", |(bits, ..)| bits >> 7 & 3 != 3)
        .prop_map(|(bits, flow, number, size)| {
            Packet::new(Kind::Data, FlowId(flow), number, Bytes::new(size.into())).with_bits(bits)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_encoded_is_decoded(
        packet in packets(),
        annex in annexes(),
        offset in any::<u64>(),
        payload in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let bytes = encoded(&packet, annex.as_ref(), offset, &payload);
        let frame = decode(&bytes).expect("a frame");
        prop_assert_eq!(frame.packet, packet);
        prop_assert_eq!(frame.packet.annex, AnnexId::NONE);
        prop_assert_eq!(&frame.annex, &annex);
        if packet.kind() == Kind::Data {
            prop_assert_eq!((frame.offset, frame.payload), (offset, &payload[..]));
        } else {
            prop_assert_eq!((frame.offset, frame.payload.len()), (0, 0));
        }
    }

    /// No byte may be missing and none may follow.
    #[test]
    fn lengths_are_exact(packet in packets(), annex in annexes(), cut in any::<prop::sample::Index>()) {
        let mut bytes = encoded(&packet, annex.as_ref(), 9, b"payload");
        let cut = cut.index(bytes.len());
        let error = decode(&bytes[..cut]).expect_err("cut");
        prop_assert!(matches!(error, WireError::Truncated(_)), "{}", error);
        bytes.push(0);
        prop_assert_eq!(decode(&bytes), Err(WireError::Trailing(1)));
    }

    /// Arbitrary bytes never panic, and what they decode to, if anything, has exactly these bytes.
    #[test]
    fn arbitrary_bytes_are_refused_or_mean_themselves(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0..7_u8,
        annex_length in 0..60_u8,
    ) {
        // Without a plausible head, hardly any input would get past it.
        for (at, value) in [(0, VERSION), (1, kind), (18, 0), (19, annex_length)] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        if let Ok(frame) = decode(&bytes) {
            prop_assert_eq!(encoded(&frame.packet, frame.annex.as_ref(), frame.offset, frame.payload), bytes);
        }
    }

    /// One wrong bit never panics either.
    #[test]
    fn damaged_frames_are_refused_or_mean_themselves(
        packet in packets(),
        annex in annexes(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let mut bytes = encoded(&packet, annex.as_ref(), 9, b"payload");
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(frame) = decode(&bytes) {
            prop_assert_eq!(encoded(&frame.packet, frame.annex.as_ref(), frame.offset, frame.payload), bytes);
        }
    }
}

#[test]
fn refusals_say_why() {
    let packet = Packet::new(Kind::Ack, FlowId(1), 5, Bytes::new(40));
    let good = encoded(&packet, None, 0, &[]);
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        decode(&bytes).expect_err("bad").to_string()
    };
    assert_eq!(with(0, 9), "version 9 of the wire format; this is version 5");
    assert_eq!(with(1, 77), "kind of annex has a value that means nothing");
    assert_eq!(with(19, 1), "the frame ends within its annex");
    assert_eq!(with(1, 1), "the frame ends within its annex");
    assert_eq!(decode(&[]), Err(WireError::Truncated("head")));

    let nan = Annex::Report(Box::new(Envelope::bare(Report::Custom([f64::NAN].into()))));
    let bytes = encoded(&packet, Some(&nan), 0, &[]);
    assert_eq!(decode(&bytes), Err(WireError::Malformed("number of a custom report")));
}

#[test]
fn what_is_too_long_is_refused_and_leaves_nothing() {
    let data = Packet::new(Kind::Data, FlowId(1), 5, Bytes::new(40));
    let mut out = vec![1, 2, 3];
    let long = vec![0; 70_000];
    assert_eq!(encode(&data, None, 0, &long, &mut out), Err(WireError::TooLong("payload")));
    let annex = Annex::Custom(long.into());
    assert_eq!(encode(&data, Some(&annex), 0, &[], &mut out), Err(WireError::TooLong("annex")));
    assert_eq!(out, [1, 2, 3]);
}
