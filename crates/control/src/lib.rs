//! Senders' controllers and receivers' feedback policies, one file per algorithm, and the registry of schemes that
//! are composed of them. Loss recovery, shaping and packets live in `transport`.

pub mod accumulation;
pub mod any;
mod clock;
pub mod custom;
pub mod estimators;
pub mod laws;
pub mod scheme;
pub mod schemes;

pub use any::{AnyController, AnyPolicy};
pub use custom::{CustomSchemeConfig, OWN_SCHEMES, OwnScheme};
pub use scheme::{ControllerParams, Needs, Parts, Reliability, SCHEMES, Scheme, SchemeInfo};
