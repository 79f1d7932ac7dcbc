//! The byte form of annexes, a packet's rare part. Which annex a frame has, and how long it is, stands in the frame's head
//! (`wire.rs`).

use std::num::NonZeroU16;

use tailback_core::{
    AckBlocks, AckFrequency, AckRequest, Annex, BitRate, ControlInfo, Echoes, Envelope, SeqRange, Span, Time,
};

use super::reader::Reader;
use super::{WireError, report};

pub(super) const fn kind_of(annex: &Annex) -> u8 {
    match annex {
        Annex::Blocks(_) => 1,
        Annex::Control(_) => 2,
        Annex::Report(_) => 3,
        Annex::Custom(_) => 4,
        Annex::Request(_) => 5,
    }
}

/// Appends an annex to `out`.
pub(super) fn encode(annex: &Annex, out: &mut Vec<u8>) {
    match annex {
        Annex::Blocks(blocks) => encode_blocks(blocks, out),
        Annex::Control(info) => encode_control(info, out),
        Annex::Report(envelope) => encode_envelope(envelope, out),
        Annex::Custom(bytes) => out.extend(bytes),
        Annex::Request(request) => encode_request(*request, out),
    }
}

/// Reads an annex of the given kind; none has kind 0.
pub(super) fn decode(kind: u8, from: &mut Reader<'_>) -> Result<Option<Annex>, WireError> {
    Ok(Some(match kind {
        0 => return Ok(None),
        1 => Annex::Blocks(decode_blocks(from)?),
        2 => Annex::Control(decode_control(from)?),
        3 => Annex::Report(Box::new(decode_envelope(from)?)),
        4 => Annex::Custom(std::mem::take(&mut from.bytes).into()),
        5 => Annex::Request(decode_request(from)?),
        _ => return Err(WireError::Malformed("kind of annex")),
    }))
}

/// Count of ranges, trigger, echo, time of arrival, counts of marks, ranges.
fn encode_blocks(blocks: &AckBlocks, out: &mut Vec<u8>) {
    out.push(blocks.count);
    out.extend(blocks.trigger.to_be_bytes());
    encode_echo(blocks.echo, out);
    encode_option(blocks.arrived.map(Time::as_nanos), out);
    for count in [blocks.marks.ce, blocks.marks.rho, blocks.marks.eta] {
        out.extend(count.to_be_bytes());
    }
    for range in blocks.as_slice() {
        out.extend(range.start.to_be_bytes());
        out.extend(range.end.to_be_bytes());
    }
}

fn decode_blocks(from: &mut Reader<'_>) -> Result<AckBlocks, WireError> {
    let mut found = AckBlocks { count: from.u8()?, ..AckBlocks::default() };
    if usize::from(found.count) > found.blocks.len() {
        return Err(WireError::Malformed("count of ranges"));
    }
    found.trigger = from.u64()?;
    found.echo = decode_echo(from)?;
    found.arrived = from.option("time of arrival")?.map(Time::from_nanos);
    found.marks = Echoes { ce: from.u32()?, rho: from.u32()?, eta: from.u32()? };
    for range in &mut found.blocks[..usize::from(found.count)] {
        *range = SeqRange { start: from.u64()?, end: from.u64()? };
        if range.start >= range.end {
            return Err(WireError::Malformed("range"));
        }
    }
    Ok(found)
}

fn encode_control(info: &ControlInfo, out: &mut Vec<u8>) {
    out.extend(info.pair.to_be_bytes());
    out.extend(info.packets_sent.to_be_bytes());
    out.extend(info.bytes_sent.get().to_be_bytes());
    out.extend(info.in_flight.get().to_be_bytes());
    out.extend(info.virtual_delay.as_nanos().to_be_bytes());
    out.extend(info.sent_at.as_nanos().to_be_bytes());
    encode_echo(info.echo, out);
    out.extend(info.held.as_nanos().to_be_bytes());
    encode_option(info.rtt.map(Span::as_nanos), out);
    encode_option(info.app_rate.map(BitRate::bits_per_sec), out);
    if let Some(request) = info.request {
        encode_request(request, out);
    }
}

/// Number, threshold, longest delay in microseconds; a threshold of 0 for as the receiver is configured.
fn encode_request(request: AckRequest, out: &mut Vec<u8>) {
    // A request was made of these widths.
    let (threshold, micros) = request
        .frequency()
        .map_or((0, 0), |asked| (asked.threshold as u16, (asked.max_delay.as_nanos() / 1000) as u32));
    out.extend(request.sequence().get().to_be_bytes());
    out.extend(threshold.to_be_bytes());
    out.extend(micros.to_be_bytes());
}

/// Bounds are the receiver's: here any threshold and delay is well-formed.
fn decode_request(from: &mut Reader<'_>) -> Result<AckRequest, WireError> {
    let sequence = NonZeroU16::new(from.u16()?).ok_or(WireError::Malformed("number of a request"))?;
    let (threshold, micros) = (from.u16()?, from.u32()?);
    if threshold == 0 && micros > 0 {
        return Err(WireError::Malformed("delay of a request"));
    }
    let frequency = AckFrequency { threshold: threshold.into(), max_delay: Span::from_micros(micros.into()) };
    Ok(AckRequest::new(sequence, (threshold > 0).then_some(frequency)))
}

fn decode_control(from: &mut Reader<'_>) -> Result<ControlInfo, WireError> {
    Ok(ControlInfo {
        pair: from.u64()?,
        packets_sent: from.u64()?,
        bytes_sent: from.amount()?,
        in_flight: from.amount()?,
        virtual_delay: from.span()?,
        sent_at: from.time()?,
        echo: decode_echo(from)?,
        held: from.span()?,
        rtt: from.option("round trip time")?.map(Span::from_nanos),
        app_rate: from.option("application's rate")?.map(BitRate::from_bits_per_sec),
        // The annex ends here unless there is one.
        request: if from.bytes.is_empty() { None } else { Some(decode_request(from)?) },
    })
}

/// A byte that says whether a time follows, and the time.
fn encode_echo(echo: Option<Time>, out: &mut Vec<u8>) {
    encode_option(echo.map(Time::as_nanos), out);
}

/// A byte that says whether a number follows, and the number.
fn encode_option(value: Option<u64>, out: &mut Vec<u8>) {
    out.push(value.is_some().into());
    if let Some(value) = value {
        out.extend(value.to_be_bytes());
    }
}

fn decode_echo(from: &mut Reader<'_>) -> Result<Option<Time>, WireError> {
    Ok(from.option("echo")?.map(Time::from_nanos))
}

/// What every report tells, and the scheme's report.
fn encode_envelope(envelope: &Envelope, out: &mut Vec<u8>) {
    encode_echo(envelope.echo, out);
    out.extend(envelope.held.as_nanos().to_be_bytes());
    out.extend(envelope.arrived_bytes.get().to_be_bytes());
    out.extend(envelope.arrived_packets.to_be_bytes());
    report::encode(&envelope.report, out);
}

fn decode_envelope(from: &mut Reader<'_>) -> Result<Envelope, WireError> {
    Ok(Envelope {
        echo: decode_echo(from)?,
        held: from.span()?,
        arrived_bytes: from.amount()?,
        arrived_packets: from.u64()?,
        report: report::decode(from)?,
    })
}
