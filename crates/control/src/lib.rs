//! Senders' controllers and receivers' feedback policies, one file per algorithm, and the registry of schemes that
//! are composed of them. Loss recovery, shaping and packets live in `transport`.

pub mod accumulation;
pub mod any;
pub mod breaker;
mod by_parts;
mod clock;
pub mod custom;
pub mod estimators;
pub mod laws;
pub mod needs;
mod over_stream;
pub mod parts;
pub mod prediction;
mod reals;
pub mod scheme;
pub mod schemes;

pub use any::AnyController;
pub use clock::Drift;
pub use custom::{CUSTOM_SCHEMES, CustomScheme, CustomSchemeConfig};
pub use needs::{Acks, EcnEcho, EcnMode, MarkResponse, Needs, Reliability};
pub use over_stream::over_stream;
pub use parts::{BoxedController, BoxedPolicy, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
pub use scheme::{Registered, SCHEMES, Scheme};
