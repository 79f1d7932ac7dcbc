//! The byte form of packets: what endpoints exchange over real sockets, and what a test mode sends every simulated
//! packet through. The struct that the simulator moves lives in `core::packet`; sockets live in `net`.
//!
//! All numbers are big-endian. A frame is a head, the packet's rare part (annex), and, on data packets only, the
//! place of the payload in the stream and the payload itself, to the end of the datagram:
//!
//! | at | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | version, [`VERSION`] |
//! | 1 | 1 | kind of annex: 0 none, 1 acknowledgement, 2 control, 3 report, 4 custom, 5 request |
//! | 2 | 2 | kind, lane, ECN field, place in a probe and flags, as in [`Packet::bits`] |
//! | 4 | 4 | flow |
//! | 8 | 8 | number |
//! | 16 | 2 | size that the endpoints count, headers included |
//! | 18 | 2 | length of the annex |
//! | 20 | … | annex |
//! | … | 8 | data packets: the payload's offset in the stream |
//! | … | 2 | data packets: the payload's length |
//! | … | … | payload |
//!
//! Decoding trusts nothing: lengths must fit exactly, choices must be known ones, and real numbers finite. What the
//! numbers mean is for the endpoints to judge.

use std::num::NonZeroU16;

use tailback_core::{
    AckBlocks, AckFrequency, AckRequest, Annex, ArrivalWord, BitRate, Bytes, ControlInfo, Echoes, Envelope,
    FlowId, Kind, Packet, Report, SeqRange, Span, Time,
};

/// The version of the format that this code speaks.
pub const VERSION: u8 = 5;
/// Bytes of the head, which every frame begins with.
pub const HEAD: usize = 20;
/// Bytes of a data frame around its payload when it carries no annex.
pub const DATA_OVERHEAD: usize = HEAD + 10;
/// Bytes of the longest control annex without a request, which stamped data packets carry.
pub const LONGEST_CONTROL: usize = 7 * 8 + 3 * 9;
/// Bytes of a request, within a control annex or as one of its own.
pub const REQUEST: usize = 2 + 2 + 4;

/// What is wrong with a frame, or with what should become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another version, or no frame of ours at all.
    #[error("version {0} of the wire format; this is version {VERSION}")]
    Version(u8),
    /// The frame ends in the middle.
    #[error("the frame ends within its {0}")]
    Truncated(&'static str),
    /// A field has a value that means nothing.
    #[error("{0} has a value that means nothing")]
    Malformed(&'static str),
    /// There is more than the frame announces.
    #[error("{0} bytes after the frame's end")]
    Trailing(usize),
    /// An annex or payload too long for its length field.
    #[error("{0} is longer than 65535 bytes")]
    TooLong(&'static str),
}

/// A decoded frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame<'a> {
    /// The packet, without its annex's handle and at the start of its route: whoever injects it sets both.
    pub packet: Packet,
    /// Its rare part.
    pub annex: Option<Annex>,
    /// Data packets: the payload's offset in the stream.
    pub offset: u64,
    /// Data packets: the payload; may be empty.
    pub payload: &'a [u8],
}

/// Appends a packet's frame to `out`. `offset` and `payload` matter on data packets only.
///
/// # Errors
/// [`WireError::TooLong`], with `out` as it was.
pub fn encode(
    packet: &Packet,
    annex: Option<&Annex>,
    offset: u64,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = out.len();
    let payload_length = u16::try_from(payload.len()).map_err(|_| WireError::TooLong("payload"))?;
    out.extend([VERSION, annex.map_or(0, annex_kind)]);
    out.extend(packet.bits().to_be_bytes());
    out.extend(packet.flow.0.to_be_bytes());
    out.extend(packet.number.to_be_bytes());
    // A packet's size never exceeds `Packet::MAX_SIZE`, which is `u16::MAX`.
    out.extend((packet.size().get() as u16).to_be_bytes());
    out.extend([0, 0]);
    if let Some(annex) = annex {
        encode_annex(annex, out);
        let Ok(length) = u16::try_from(out.len() - start - HEAD) else {
            out.truncate(start);
            return Err(WireError::TooLong("annex"));
        };
        out[start + HEAD - 2..start + HEAD].copy_from_slice(&length.to_be_bytes());
    }
    if packet.kind() == Kind::Data {
        out.extend(offset.to_be_bytes());
        out.extend(payload_length.to_be_bytes());
        out.extend(payload);
    }
    Ok(())
}

/// Reads a frame that fills `bytes` exactly.
///
/// # Errors
/// What was wrong first.
pub fn decode(bytes: &[u8]) -> Result<Frame<'_>, WireError> {
    let mut head = Reader { bytes, part: "head" };
    let version = head.u8()?;
    if version != VERSION {
        return Err(WireError::Version(version));
    }
    let annex_kind = head.u8()?;
    let bits = head.u16()?;
    // Bits 7 and 8 are the place in a probe: 0 single, 1 first, 2 second.
    if bits >> 7 & 3 == 3 {
        return Err(WireError::Malformed("place in a probe"));
    }
    let (flow, number, size) = (FlowId(head.u32()?), head.u64()?, head.u16()?);
    let length = head.u16()?;
    let packet = Packet::new(Kind::Data, flow, number, Bytes::new(size.into())).with_bits(bits);

    let mut rest = Reader { bytes: head.bytes, part: "annex" };
    let mut annex = Reader { bytes: rest.take(length.into())?, part: "annex" };
    let parsed = decode_annex(annex_kind, &mut annex)?;
    annex.finish()?;

    let mut body = Reader { bytes: rest.bytes, part: "payload" };
    let (mut offset, mut payload) = (0, &[][..]);
    if packet.kind() == Kind::Data {
        offset = body.u64()?;
        let length = body.u16()?;
        payload = body.take(length.into())?;
    }
    body.finish()?;
    Ok(Frame { packet, annex: parsed, offset, payload })
}

// ── annexes ──

const fn annex_kind(annex: &Annex) -> u8 {
    match annex {
        Annex::Blocks(_) => 1,
        Annex::Control(_) => 2,
        Annex::Report(_) => 3,
        Annex::Custom(_) => 4,
        Annex::Request(_) => 5,
    }
}

fn encode_annex(annex: &Annex, out: &mut Vec<u8>) {
    match annex {
        Annex::Blocks(blocks) => encode_blocks(blocks, out),
        Annex::Control(info) => encode_control(info, out),
        Annex::Report(envelope) => encode_envelope(envelope, out),
        Annex::Custom(bytes) => out.extend(bytes),
        Annex::Request(request) => encode_request(*request, out),
    }
}

fn decode_annex(kind: u8, from: &mut Reader<'_>) -> Result<Option<Annex>, WireError> {
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
    encode_report(&envelope.report, out);
}

fn decode_envelope(from: &mut Reader<'_>) -> Result<Envelope, WireError> {
    Ok(Envelope {
        echo: decode_echo(from)?,
        held: from.span()?,
        arrived_bytes: from.amount()?,
        arrived_packets: from.u64()?,
        report: decode_report(from)?,
    })
}

/// A byte that says which, and its fields in their order.
fn encode_report(report: &Report, out: &mut Vec<u8>) {
    match report {
        Report::Interval { span, received, packets, lost } => {
            out.push(1);
            out.extend(span.as_nanos().to_be_bytes());
            out.extend(received.get().to_be_bytes());
            out.extend(packets.to_be_bytes());
            out.extend(lost.to_be_bytes());
        }
        Report::Loss { event_rate, receive_rate } => {
            out.push(2);
            out.extend(event_rate.to_be_bytes());
            out.extend(receive_rate.bits_per_sec().to_be_bytes());
        }
        Report::Accumulation { pair, backlog, lost, egress_rate, virtual_delay } => {
            out.push(3);
            out.extend(pair.to_be_bytes());
            out.extend(backlog.to_be_bytes());
            out.extend(lost.get().to_be_bytes());
            out.extend(egress_rate.bits_per_sec().to_be_bytes());
            out.extend(virtual_delay.as_nanos().to_be_bytes());
        }
        Report::Gate { on, off_for } => {
            out.extend([4, (*on).into()]);
            out.extend(off_for.as_nanos().to_be_bytes());
        }
        Report::Rate { rate, setpoint } => {
            out.push(6);
            out.extend(rate.bits_per_sec().to_be_bytes());
            out.extend(setpoint.get().to_be_bytes());
        }
        Report::Arrivals { first, left, words } => {
            out.push(7);
            out.extend(first.to_be_bytes());
            out.extend(left.as_nanos().to_be_bytes());
            for word in words {
                out.extend(word.bits().to_be_bytes());
            }
        }
        Report::Custom(numbers) => {
            out.push(5);
            out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        }
    }
}

fn decode_report(from: &mut Reader<'_>) -> Result<Report, WireError> {
    Ok(match from.u8()? {
        1 => Report::Interval {
            span: from.span()?,
            received: from.amount()?,
            packets: from.u32()?,
            lost: from.u32()?,
        },
        2 => Report::Loss { event_rate: from.real("loss event rate")?, receive_rate: from.rate()? },
        3 => Report::Accumulation {
            pair: from.u64()?,
            backlog: from.real("backlog")?,
            lost: from.amount()?,
            egress_rate: from.rate()?,
            virtual_delay: from.span()?,
        },
        4 => Report::Gate { on: from.flag("gate")?, off_for: from.span()? },
        5 => {
            let mut numbers = Vec::with_capacity(from.bytes.len() / 8);
            while !from.bytes.is_empty() {
                numbers.push(from.real("number of a custom report")?);
            }
            Report::Custom(numbers.into())
        }
        6 => Report::Rate { rate: from.rate()?, setpoint: from.amount()? },
        7 => {
            let (first, left) = (from.u64()?, from.time()?);
            let mut words = Vec::with_capacity(from.bytes.len() / 2);
            while !from.bytes.is_empty() {
                words.push(ArrivalWord::from_bits(from.u16()?));
            }
            Report::Arrivals { first, left, words: words.into() }
        }
        _ => return Err(WireError::Malformed("kind of report")),
    })
}

// ── reading ──

/// What is left of a part of a frame.
struct Reader<'a> {
    bytes: &'a [u8],
    part: &'static str,
}

macro_rules! number {
    ($($name:ident),*) => {$(
        fn $name(&mut self) -> Result<$name, WireError> {
            let (first, rest) = self.bytes.split_first_chunk().ok_or(WireError::Truncated(self.part))?;
            self.bytes = rest;
            Ok($name::from_be_bytes(*first))
        }
    )*};
}

impl<'a> Reader<'a> {
    number!(u8, u16, u32, u64, f64);

    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (first, rest) = self.bytes.split_at_checked(length).ok_or(WireError::Truncated(self.part))?;
        self.bytes = rest;
        Ok(first)
    }

    fn finish(&self) -> Result<(), WireError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(WireError::Trailing(self.bytes.len())) }
    }

    fn flag(&mut self, what: &'static str) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Malformed(what)),
        }
    }

    /// A number that may be absent.
    fn option(&mut self, what: &'static str) -> Result<Option<u64>, WireError> {
        if self.flag(what)? { self.u64().map(Some) } else { Ok(None) }
    }

    fn real(&mut self, what: &'static str) -> Result<f64, WireError> {
        Some(self.f64()?).filter(|real| real.is_finite()).ok_or(WireError::Malformed(what))
    }

    fn time(&mut self) -> Result<Time, WireError> {
        self.u64().map(Time::from_nanos)
    }

    fn span(&mut self) -> Result<Span, WireError> {
        self.u64().map(Span::from_nanos)
    }

    fn amount(&mut self) -> Result<Bytes, WireError> {
        self.u64().map(Bytes::new)
    }

    fn rate(&mut self) -> Result<BitRate, WireError> {
        self.u64().map(BitRate::from_bits_per_sec)
    }
}
