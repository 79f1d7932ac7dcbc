//! The byte form of what a scheme's receiver reports. What every report tells beside it is in `wire/annex.rs`.

use tailback_core::{ArrivalWord, Report};

use super::WireError;
use super::reader::Reader;

/// A byte that says which, and its fields in their order.
pub(super) fn encode(report: &Report, out: &mut Vec<u8>) {
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

pub(super) fn decode(from: &mut Reader<'_>) -> Result<Report, WireError> {
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
