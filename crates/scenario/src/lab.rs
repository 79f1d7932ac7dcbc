//! Scenarios for real packets between real hosts: which flows the kernel's TCP carries, what of a scenario cannot be had in real
//! time, and the headers that packets really have. Hosts and clocks are the driver's; what it measured becomes tables in
//! `emulation`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use tailback_control::laws::{Counting, Halve};
use tailback_control::schemes::{Bbr1Config, CubicConfig, RenoConfig};
use tailback_control::{Reliability, SCHEMES};
use tailback_core::{Bytes, Checker, Choice, Span};
use tailback_transport::config::{EcnMode, RttSampling, SpuriousDetection};
use tailback_transport::wire::DATA_OVERHEAD;

use crate::custom_names::KERNEL;
use crate::flow::FlowConfig;
use crate::group_names;
use crate::load::read;
use crate::parts::{ReceiverConfig, SchemeConfig, SourceConfig, StreamConfig};
use crate::problems::Problems;
use crate::scenario::Scenario;
use tailback_transport::{LossDetection, RackConfig, SackCompression};

/// The scheme that stands in a scenario for one of the kernel's that has no counterpart.
const STAND_IN: &str = "cubic";
/// Header bytes of IPv4 and UDP, and of our frame around its payload.
const FRAMED: u64 = 28 + DATA_OVERHEAD as u64;
/// What a stamp adds in most packets: its fields, the echo of a report and the round trip time.
const STAMPED: u64 = 73;
/// Header bytes of IPv4 and TCP with timestamps.
const TCP: u64 = 52;
/// The kernel acknowledges every second segment, a single one after its shortest such delay.
const ACK_EVERY: u32 = 2;
const ACK_DELAY: Span = Span::from_millis(40);
/// The header that scenarios have where they say nothing of it.
const USUAL: Bytes = Bytes::new(40);
/// So many hosts make for as many namespaces.
const MOST_FLOWS: usize = 64;
/// The longest packet that a device takes, with room for what an annex says beyond the usual.
const LONGEST: u64 = 65_000;

/// By group of flows, the kernel's name of the congestion control that carries it.
pub type Kernel = BTreeMap<String, String>;

/// The scheme of ours that does what one of the kernel's does, if there is one.
pub fn counterpart(congestion: &str) -> Option<&'static str> {
    let name = match congestion {
        // The kernel's Reno repairs by selective acknowledgements.
        "reno" => "sack",
        // Linux has version 1.
        "bbr" => "bbr1",
        other => other,
    };
    SCHEMES.iter().find(|info| info.name == name).map(|info| info.name)
}

/// The same with the settings that make it do what the kernel's does: windows grow by the bytes that are acknowledged,
/// shrink from what they are, and CUBIC and BBR count in whole segments.
fn settings(congestion: &str) -> Option<SchemeConfig> {
    let (counting, halve) = (Counting::Bytes, Halve::Window);
    Some(match congestion {
        "reno" => SchemeConfig::Sack(RenoConfig { counting, halve, ..RenoConfig::default() }),
        "cubic" => SchemeConfig::Cubic(CubicConfig {
            counting,
            halve,
            hystart: true,
            whole_segments: true,
            ..CubicConfig::default()
        }),
        "bbr" => SchemeConfig::Bbr1(Bbr1Config { whole_packets: true, ..Bbr1Config::default() }),
        other => (SCHEMES.iter().find(|info| Some(info.name) == counterpart(other))?.default)(),
    })
}

/// The fields by which a flow of ours does as one that the kernel carries, in `scheme`, `receiver` and `transport`, where they
/// are not the defaults; nothing where the kernel's scheme has no counterpart.
pub fn counterpart_fields(congestion: &str) -> Option<Value> {
    let flow = json!({"name": "", "scheme": counterpart(congestion)?});
    let plain: FlowConfig = serde_json::from_value(flow).ok()?;
    let mut made = plain.clone();
    be_like_the_kernel(&mut made, congestion);
    made.transport.header = Bytes::new(TCP);
    let (plain, made) = (serde_json::to_value(plain).ok()?, serde_json::to_value(made).ok()?);
    let tables = ["scheme", "receiver", "transport"];
    Some(tables.into_iter().map(|table| (table, beyond(&made[table], &plain[table]))).collect())
}

/// The fields of a table that are not as in another one, and its name.
fn beyond(made: &Value, plain: &Value) -> Value {
    let fields = made.as_object().into_iter().flatten();
    let kept = fields.filter(|(name, value)| *name == "name" || plain.get(name) != Some(*value));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}

/// Loads a scenario in which flows may have schemes of the kernel, such as `kernel-cubic`; in their places stand the
/// counterparts of ours.
///
/// # Errors
/// Everything that is wrong with it, by field.
pub fn load(path: &Path) -> Result<(Scenario, Kernel), Problems> {
    read(path, of_value)
}

/// The same, of a parsed value; traces are looked for relative to `base`.
///
/// # Errors
/// Those of [`load`].
pub fn of_value(value: &Value, base: &Path) -> Result<(Scenario, Kernel), Problems> {
    let mut kernel = Kernel::new();
    let mut value = group_names::filled(value).unwrap_or_else(|| value.clone());
    for group in value.get_mut("flows").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = group.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let congestion =
            group.get("scheme").and_then(Value::as_str).and_then(|name| name.strip_prefix(KERNEL));
        if let Some(congestion) = congestion.map(str::to_owned) {
            group["scheme"] = counterpart(&congestion).unwrap_or(STAND_IN).into();
            kernel.insert(name, congestion);
        }
    }
    Ok((Scenario::from_value(&value, base)?, kernel))
}

impl Scenario {
    /// The scenario as it is with real packets: their headers are those of real ones, and flows that the kernel carries
    /// have a counterpart that does as the kernel's TCP does.
    ///
    /// # Errors
    /// Everything in it that cannot be had in real time; `known` are the congestion controls that the kernel has.
    pub fn for_lab(mut self, kernel: &Kernel, known: &[String]) -> Result<Self, Problems> {
        let mut checker = Checker::new();
        let no = |checker: &mut Checker, ok: bool, field: &str, value: &str, allowed: &str| {
            checker.require(ok, field, value, format_args!("{allowed} with real packets"));
        };
        no(&mut checker, self.aggregates.is_empty(), "aggregates", "a list", "none");
        no(&mut checker, !self.record.state, "record.state", "true", "false");
        no(&mut checker, !self.record.accumulation, "record.accumulation", "true", "false");
        let count = self.flow_count();
        checker.require(
            count <= MOST_FLOWS,
            "flows",
            format_args!("{count} flows"),
            format_args!("at most {MOST_FLOWS} flows with real packets"),
        );
        for (index, flow) in self.flows.iter_mut().enumerate() {
            checker.within(format!("flows.[{index}]"), |checker| {
                no(checker, flow.receivers.is_none(), "receivers", "a list", "none");
                no(checker, !flow.cells, "cells", "true", "false");
                let congestion = kernel.get(&flow.name);
                let header = if let Some(congestion) = congestion {
                    check_kernel(flow, congestion, known, checker);
                    be_like_the_kernel(flow, congestion);
                    TCP
                } else {
                    FRAMED + if flow.is_stamped() { STAMPED } else { 0 }
                };
                flow.set_header(Bytes::new(header), checker);
            });
        }
        checker.finish().map_err(|errors| Problems::new("scenario", errors))?;
        Ok(self)
    }
}

/// Complains about what the kernel's TCP does not do for us.
fn check_kernel(flow: &FlowConfig, congestion: &str, known: &[String], checker: &mut Checker) {
    let has = known.iter().any(|name| name == congestion);
    let names: Vec<String> = known.iter().map(|name| format!("{KERNEL}{name}")).collect();
    let allowed = format_args!("one of those that this kernel has: {}", names.join(", "));
    checker.require(has, "scheme", format_args!("{KERNEL}{congestion}"), allowed);
    let source = matches!(flow.source.0, SourceConfig::Bulk(_) | SourceConfig::Files(_));
    checker.require(source, "source", flow.source.0.name(), "bulk or files over the kernel's TCP");
    let StreamConfig { segment_size, ecn, header, handshake, segmentation_offload, .. } = flow.transport;
    let proportional_rate_reduction = flow.transport.proportional_rate_reduction;
    let loss_detection = flow.transport.loss_detection.clone();
    let like_the_kernel = StreamConfig {
        segment_size,
        ecn,
        header,
        handshake,
        segmentation_offload,
        proportional_rate_reduction,
        loss_detection,
        ..StreamConfig::default()
    };
    let allowed = "nothing but segment_size and ecn over the kernel's TCP, which has settings of its own";
    checker.require(flow.transport == like_the_kernel, "transport", "a table", allowed);
    let is_free = [ReceiverConfig::default(), delayed()].contains(&flow.receiver);
    checker.require(is_free, "receiver", "a table", allowed);
    let codepoint = ecn != EcnMode::Ect1;
    checker.require(codepoint, "transport.ecn", "ect1", "off or ect0 over the kernel's TCP");
}

/// How the kernel acknowledges.
fn delayed() -> ReceiverConfig {
    let sack_compression = Some(SackCompression::default());
    ReceiverConfig {
        ack_every: ACK_EVERY,
        ack_delay: ACK_DELAY,
        sack_compression,
        ..ReceiverConfig::default()
    }
}

/// Gives a flow that the kernel carries a counterpart's settings.
fn be_like_the_kernel(flow: &mut FlowConfig, congestion: &str) {
    if let Some(scheme) = settings(congestion) {
        flow.scheme = Choice(scheme);
    }
    flow.receiver = delayed();
    flow.transport.handshake = true;
    flow.transport.segmentation_offload = true;
    // Whatever the congestion control, Linux finds losses by time (`tcp_recovery`), and probes for a lost tail.
    if flow.scheme.needs().reliability == Reliability::Sack {
        flow.transport.loss_detection = Choice(LossDetection::Rack(RackConfig::default()));
    }
    // BBR says itself what may leave in recovery.
    flow.transport.proportional_rate_reduction =
        congestion != "bbr" && flow.scheme.needs().reliability == Reliability::Sack;
}

impl FlowConfig {
    /// Whether packets carry their send times.
    fn is_stamped(&self) -> bool {
        let needs = self.scheme.needs();
        if self.sends_datagrams() {
            self.datagram.clone().serving(&needs).stamps
        } else {
            let transport = self.transport.clone().serving(&needs);
            transport.stamps
                || transport.rtt_sampling == RttSampling::Timestamps
                || transport.spurious == SpuriousDetection::Eifel
        }
    }

    /// Puts the real header in place of the usual one.
    fn set_header(&mut self, real: Bytes, checker: &mut Checker) {
        let is_datagrams = self.sends_datagrams();
        let (field, header, segment) = if is_datagrams {
            ("datagram", &mut self.datagram.header, self.datagram.segment_size)
        } else {
            ("transport", &mut self.transport.header, self.transport.segment_size)
        };
        checker.within(field, |checker| {
            let ok = *header == USUAL || *header == real || is_datagrams;
            let allowed = format_args!("{USUAL}, in whose place the real {real} stand with real packets");
            checker.require(ok, "header", *header, allowed);
            let ok = segment > real && segment.get() <= LONGEST;
            let allowed = format_args!("more than the {real} of real headers, at most {LONGEST} B");
            checker.require(ok, "segment_size", segment, allowed);
        });
        *header = real;
    }
}
