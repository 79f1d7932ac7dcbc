//! What happens in a comparison, in words: written where somebody asks for them, since they take longer than what is compared. Every
//! comparison goes the same way again. Nothing is compared here.

use std::sync::OnceLock;

/// The environment's variable that asks for words.
const ASKS: &str = "TELL";

/// Whether somebody wants to read what goes before a difference.
pub(crate) fn is_told() -> bool {
    static TOLD: OnceLock<bool> = OnceLock::new();
    *TOLD.get_or_init(|| std::env::var_os(ASKS).is_some())
}

/// `format!`, where it is read.
macro_rules! words {
    ($($said:tt)*) => {
        if $crate::second::trace::is_told() { format!($($said)*) } else { String::new() }
    };
}
pub(crate) use words;

/// The last lines of what went before.
pub(crate) fn last<'a>(lines: impl IntoIterator<Item = &'a String>) -> String {
    if !is_told() {
        return format!("with {ASKS}=1 in the environment, the test says what went before");
    }
    lines.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n")
}
