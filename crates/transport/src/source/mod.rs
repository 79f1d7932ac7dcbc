//! Applications as sources of data: when they offer how much, and when they are done. What is sent of it, and when,
//! is decided elsewhere (reliability, controller, shaper).
//!
//! The contract: the sender calls [`Source::start`] once; then [`Source::take_offer`] while
//! [`Source::next_offer`] is not later than now; [`Source::on_message_done`] once for every offer with
//! [`Offer::ends_message`], when all data up to its end was acknowledged (reliable endpoints) or sent (datagrams).
//! Any call may change [`Source::next_offer`]. Spurious calls of `take_offer` return `None`.

mod any;
mod bulk;
mod config;
mod datagrams;
mod drawn;
mod files;
mod game;
mod on_off;
mod parts;
mod pushed;
mod replay;
mod surge;
mod synthetic_video;
mod video;
mod voice;

pub use any::AnySource;
pub use bulk::{Bulk, BulkConfig};
pub use config::SourceConfig;
pub use datagrams::{Arrivals, Datagrams, DatagramsConfig};
pub use drawn::Drawn;
pub use files::{Connection, Files, FilesConfig};
pub use game::{Direction as GameDirection, Game, GameConfig};
pub use on_off::{OnOff, OnOffConfig};
pub use parts::{BoxedSource, Offer, Source, SourceKind};
pub use pushed::Pushed;
pub use replay::{Replay, ReplayConfig, ReplayEntry, ReplayError, parse as parse_trace};
pub use surge::{Surge, SurgeConfig, SurgeConnection, SurgeSizes};
pub use synthetic_video::{SyntheticVideo, SyntheticVideoConfig};
pub use tailback_core::{Distribution, Quantity};
pub use video::{Video, VideoConfig, VideoControl, VideoPause};
pub use voice::{Voice, VoiceConfig};
