//! The byte form of packets: what endpoints exchange over real sockets, and what a test mode sends every simulated
//! packet through. Frames are here, annexes in `wire/annex.rs`, schemes' reports in `wire/report.rs`. The struct that the simulator
//! moves lives in `core::packet`; sockets live in `net`.
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

mod annex;
mod reader;
mod report;

use tailback_core::{Annex, Bytes, FlowId, Kind, Packet};

use reader::Reader;

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
    out.extend([VERSION, annex.map_or(0, annex::kind_of)]);
    out.extend(packet.bits().to_be_bytes());
    out.extend(packet.flow.0.to_be_bytes());
    out.extend(packet.number.to_be_bytes());
    // A packet's size never exceeds `Packet::MAX_SIZE`, which is `u16::MAX`.
    out.extend((packet.size().get() as u16).to_be_bytes());
    out.extend([0, 0]);
    if let Some(annex) = annex {
        annex::encode(annex, out);
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
    let parsed = annex::decode(annex_kind, &mut annex)?;
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
