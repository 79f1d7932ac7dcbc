//! Pieces that several schemes share: how a window grows on acknowledgements and what it shrinks from. A law that
//! belongs to one scheme lives in that scheme's file.

pub mod window;

pub use window::{Counting, Halve, WindowLaw};
