//! The choice of a source in a scenario: every source in one row, and what is asked of any of them. What a source is
//! stands in its own file, as [`SourceKind`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Checker;

use super::any::AnySource;
use super::bulk::BulkConfig;
use super::datagrams::DatagramsConfig;
use super::files::FilesConfig;
use super::game::GameConfig;
use super::on_off::OnOffConfig;
use super::parts::SourceKind;
use super::replay::ReplayConfig;
use super::surge::SurgeConfig;
use super::synthetic_video::SyntheticVideoConfig;
use super::video::VideoConfig;
use super::voice::VoiceConfig;

/// Makes the enum of sources, the list of their names, and the one match over them, of rows `Variant(Config)` whose
/// `Config` is a [`SourceKind`].
macro_rules! sources {
    ($( $(#[$meta:meta])* $variant:ident($config:ty), )*) => {
        /// An application that sends.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum SourceConfig {
            $( $(#[$meta])* $variant($config), )*
        }

        impl SourceConfig {
            /// The names of all sources.
            pub const NAMES: &[&str] = &[$( <$config as SourceKind>::NAME, )*];

            /// The source in hand.
            fn described(&self) -> &dyn Described {
                match self {
                    $( Self::$variant(config) => config, )*
                }
            }
        }
    };
}

sources! {
    /// One transfer, finite or without end.
    Bulk(BulkConfig),
    /// Bursts and pauses.
    OnOff(OnOffConfig),
    /// Files one after another, with pauses between them.
    Files(FilesConfig),
    /// Datagrams at even or Poisson intervals.
    Datagrams(DatagramsConfig),
    /// Small packets of a networked game, from a server or a player.
    Game(GameConfig),
    /// A recorded trace.
    Replay(ReplayConfig),
    /// A user of the web: pages of files with heavy-tailed sizes, short pauses within pages and long ones between them
    /// (SURGE; Barford and Crovella 1998).
    Surge(SurgeConfig),
    /// The synthetic video coder of RFC 8593 §5, which follows the directed rate: frames fluctuate, and an abrupt change begins
    /// with a burst.
    SyntheticVideo(SyntheticVideoConfig),
    /// A video coder, whose quantiser may follow the directed rate.
    Video(VideoConfig),
    /// A voice call of fixed quality.
    Voice(VoiceConfig),
}

tailback_core::choosable!(SourceConfig);

impl Default for SourceConfig {
    fn default() -> Self {
        Self::Bulk(BulkConfig::default())
    }
}

/// A [`SourceKind`] whose type is forgotten.
trait Described {
    fn name(&self) -> &'static str;
    fn check(&self, checker: &mut Checker);
    fn build(&self) -> AnySource;
    fn is_endless(&self) -> bool;
    fn has_messages(&self) -> bool;
}

impl<K: SourceKind> Described for K
where
    AnySource: From<K::Source>,
{
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn check(&self, checker: &mut Checker) {
        SourceKind::check(self, checker);
    }

    fn build(&self) -> AnySource {
        SourceKind::build(self).into()
    }

    fn is_endless(&self) -> bool {
        SourceKind::is_endless(self)
    }

    fn has_messages(&self) -> bool {
        SourceKind::has_messages(self)
    }
}

impl SourceConfig {
    /// The source's name.
    pub fn name(&self) -> &'static str {
        self.described().name()
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        self.described().check(checker);
    }

    /// The source, not yet started. A replay's file must have been loaded before.
    pub fn build(&self) -> AnySource {
        self.described().build()
    }

    /// Whether there is always something to send.
    pub fn is_endless(&self) -> bool {
        self.described().is_endless()
    }

    /// Whether what is sent comes in messages, each with an end.
    pub fn has_messages(&self) -> bool {
        self.described().has_messages()
    }
}
