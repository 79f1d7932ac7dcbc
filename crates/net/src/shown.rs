//! Text from a peer, as a terminal may show it. What peers say is read in `transfer::offer` and `channel::message`.

/// Whether a character does nothing but show itself: terminals obey control characters, and marks of direction make a text look
/// like another one.
pub(crate) fn is_plain(character: char) -> bool {
    let moves = matches!(
        character,
        '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    );
    !moves && !character.is_control()
}

/// The text with all else written out.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_plain(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal_that_it_would_obey() {
        assert_eq!(shown("a\u{1b}]0;owned\u{7}b\r\nc\u{9b}2J"), r"a\u{1b}]0;owned\u{7}b\r\nc\u{9b}2J");
        assert_eq!(shown("\u{202e}gpj.exe"), r"\u{202e}gpj.exe");
        for text in ["film.mkv", "ä — \"é\" 'ß' \\ 日本", "e\u{301}"] {
            assert_eq!(shown(text), text);
        }
    }
}
