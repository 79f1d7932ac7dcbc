//! Endpoints for transfers in tests: any scheme, with short time-outs, and what the receiver must know of them.

use tailback_control::SCHEMES;
use tailback_core::{FlowId, Span, Stream};
use tailback_net::transfer::{Offer, Prepared, Sizes};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, RtoConfig, Sender, StreamConfig};

fn config(scheme: &str) -> StreamConfig {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    let rto = RtoConfig {
        min: Span::from_millis(20),
        initial: Span::from_millis(100),
        max: Span::from_secs(1),
        ..RtoConfig::default()
    };
    StreamConfig { rto, ..StreamConfig::default() }.serving(&(info.default)().needs())
}

/// The sending end of a scheme; what the receiver must know is its name, and how much of a packet is no payload.
pub(crate) fn sender(scheme: &str, sizes: Sizes) -> (Prepared<Sender>, String) {
    sender_with(scheme, sizes, |_| {})
}

/// The same, where a test sets something of it.
pub(crate) fn sender_with(
    scheme: &str,
    sizes: Sizes,
    set: impl FnOnce(&mut StreamConfig),
) -> (Prepared<Sender>, String) {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    let mut config = config(scheme);
    set(&mut config);
    let annex = config.longest_annex() as u64;
    config.segment_size = sizes.packet;
    config.header = sizes.around + tailback_core::Bytes::new(annex);
    let header = config.header;
    let parts = (info.default)().build(&config.controller_params());
    let endpoint = Sender::new(FlowId(0), config, parts.controller, AnySource::pushed());
    let prepared = Prepared { endpoint, header, rng: Stream::new(1, "sender") };
    (prepared, format!("{scheme} {}", header.get()))
}

/// The receiving end of what was offered.
pub(crate) fn receiver(offer: &Offer) -> Result<Prepared<Receiver>, String> {
    let (scheme, header) = offer.flow.split_once(' ').ok_or("no flow")?;
    let info = SCHEMES.iter().find(|info| info.name == scheme).ok_or("no such scheme")?;
    let header = tailback_core::Bytes::new(header.parse().map_err(|_| "no header")?);
    let mut sending = config(scheme);
    sending.header = header;
    let receiving = ReceiverConfig { delivery_events: true, ..ReceiverConfig::default() }
        .serving(&(info.default)().needs())
        .matching(&sending);
    let parts = (info.default)().build(&sending.controller_params());
    let endpoint = Receiver::new(FlowId(0), receiving);
    let endpoint = match parts.policy {
        Some(policy) => endpoint.with_policy(policy),
        None => endpoint,
    };
    Ok(Prepared { endpoint, header, rng: Stream::new(1, "receiver") })
}
