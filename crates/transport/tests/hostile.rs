//! Endpoints face whatever arrives: forged numbers, ranges, kinds and annexes change nothing and break nothing.

use crate::pipe;

use std::num::NonZeroU16;

use pipe::{FLOW, Scripted};
use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{
    AckBlocks, AckFrequency, AckRequest, Annex, Annexes, AppInput, Bytes, ControlInfo, Echoes, Endpoint,
    EndpointCx, Envelope, Input, Kind, Output, Packet, Report, SeqRange, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    DatagramConfig, DatagramReceiver, DatagramSender, EcnMode, Receiver, ReceiverConfig, RttSampling, Sender,
    StreamConfig,
};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..40, Just(u64::MAX), Just(u64::MAX - 1), any::<u64>()]
}

/// Small numbers of requests, so that some count.
fn request(number: u16, threshold: u16, micros: u32) -> AckRequest {
    let frequency = AckFrequency { threshold: threshold.into(), max_delay: Span::from_micros(micros.into()) };
    let number = NonZeroU16::new(number >> (threshold & 15)).unwrap_or(NonZeroU16::MIN);
    AckRequest::new(number, (threshold > 99).then_some(frequency))
}

fn annex() -> impl Strategy<Value = Option<Annex>> {
    let range = (number(), number()).prop_map(|(start, end)| SeqRange { start, end });
    let blocks =
        (prop::array::uniform4(range), 0_u8..=4, number(), prop::option::of(any::<u64>()), any::<[u32; 3]>());
    let blocks = blocks.prop_map(|(blocks, count, trigger, echo, [ce, rho, eta])| {
        let (echo, marks) = (echo.map(Time::from_nanos), Echoes { ce, rho, eta });
        let arrived = echo.map(|echo| Time::from_nanos(echo.as_nanos().wrapping_mul(u64::from(ce))));
        Annex::Blocks(AckBlocks { blocks, count, trigger, echo, arrived, marks })
    });
    let control = (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(pair, bytes, time)| {
        Annex::Control(ControlInfo {
            pair,
            bytes_sent: Bytes::new(bytes),
            sent_at: Time::from_nanos(time),
            request: Some(request(bytes as u16, pair as u16, time as u32)),
            ..ControlInfo::default()
        })
    });
    let asked = any::<(u16, u16, u32)>()
        .prop_map(|(number, threshold, micros)| Annex::Request(request(number, threshold, micros)));
    let report = any::<[u64; 4]>().prop_map(|[echo, held, bytes, packets]| {
        let report = Report::Loss { event_rate: f64::NAN, receive_rate: tailback_core::BitRate::ZERO };
        Annex::Report(Box::new(Envelope {
            echo: Some(Time::from_nanos(echo)),
            held: Span::from_nanos(held),
            arrived_bytes: Bytes::new(bytes),
            arrived_packets: packets,
            report,
        }))
    });
    prop_oneof![3 => Just(None), 3 => blocks.prop_map(Some), 1 => control.prop_map(Some), 1 => asked.prop_map(Some), 1 => report.prop_map(Some)]
}

fn packet() -> impl Strategy<Value = (Packet, Option<Annex>, u64)> {
    let kind = prop_oneof![Just(Kind::Data), Just(Kind::Ack), Just(Kind::Report), Just(Kind::Control)];
    (kind, number(), any::<u16>(), any::<u16>(), annex(), 0_u64..300).prop_map(
        |(kind, number, size, bits, annex, wait)| {
            let packet = Packet::new(kind, FLOW, number, Bytes::new(u64::from(size)));
            (packet.with_bits(bits & !3 | kind as u16), annex, wait)
        },
    )
}

/// Throws everything at an endpoint and drains it after each; it must fall silent every time.
fn throw(mut endpoint: impl Endpoint, packets: &[(Packet, Option<Annex>, u64)]) -> Result<(), TestCaseError> {
    let mut annexes = Annexes::new();
    let mut rng = Stream::new(1, "hostile");
    let mut now = Time::ZERO;
    let mut drain = |endpoint: &mut dyn Endpoint, now, input, annexes: &mut Annexes| {
        let mut cx = EndpointCx { rng: &mut rng, annexes, notes: None };
        endpoint.handle(now, input, &mut cx);
        for _ in 0..10_000 {
            match endpoint.poll(now, &mut cx) {
                Output::Transmit(packet) => cx.annexes.free(packet.annex),
                Output::Event(_) => {}
                Output::Wait(_) => return true,
            }
        }
        false
    };
    prop_assert!(drain(&mut endpoint, now, Input::App(AppInput::Start), &mut annexes));
    for (packet, annex, wait) in packets {
        now += Span::from_millis(*wait);
        let mut packet = *packet;
        if let Some(annex) = annex {
            packet.annex = annexes.insert(annex.clone());
        }
        prop_assert!(drain(&mut endpoint, now, Input::Packet(packet), &mut annexes), "never silent");
        prop_assert!(drain(&mut endpoint, now, Input::Timeout, &mut annexes), "never silent");
        prop_assert!(annexes.is_empty(), "{} annexes leaked", annexes.len());
    }
    Ok(())
}

proptest! {
    #[test]
    fn nothing_breaks_an_endpoint(
        packets in prop::collection::vec(packet(), 1..60),
        reliability in prop_oneof![
            Just(Reliability::Reno),
            Just(Reliability::NewReno),
            Just(Reliability::Vegas),
            Just(Reliability::Sack),
            Just(Reliability::Offsets)
        ],
        stamps: bool,
    ) {
        let rtt_sampling = if stamps { RttSampling::Timestamps } else { RttSampling::EveryAck };
        let config = StreamConfig { reliability, rtt_sampling, ecn: EcnMode::Ect0, ..StreamConfig::default() };
        let datagrams = DatagramConfig { acks: true, ecn: EcnMode::Ect0, ..DatagramConfig::default() };
        let receiver = ReceiverConfig { ack_requests: true, ..ReceiverConfig::default() };
        throw(Receiver::new(FLOW, receiver.matching(&config)), &packets)?;
        throw(Sender::new(FLOW, config, Scripted::halving(20), AnySource::infinite()), &packets)?;
        throw(DatagramReceiver::new(FLOW, datagrams.clone()), &packets)?;
        throw(DatagramSender::new(FLOW, datagrams, Scripted::halving(20), AnySource::infinite()), &packets)?;
    }
}
