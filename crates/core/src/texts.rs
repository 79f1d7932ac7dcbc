//! Very many short texts, such as the names of a large network's nodes, one behind another in one piece of memory: a text of its
//! own for each takes several times as much, and a call of the allocator. Whose texts they are is the caller's business.

use std::fmt;
use std::ops::Index;

/// Texts by number, in the order in which they were added.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Texts {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Texts {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| &self[number])
    }

    /// Makes room for so many more, of whatever length, and for no others.
    pub fn reserve(&mut self, texts: usize) {
        self.ends.reserve_exact(texts);
    }

    /// Adds a text; its number.
    pub fn push(&mut self, text: &str) -> usize {
        self.push_joined([text])
    }

    /// Adds one text that is made of several; its number.
    pub fn push_joined<const PARTS: usize>(&mut self, parts: [&str; PARTS]) -> usize {
        for part in parts {
            self.text.push_str(part);
        }
        self.ends.push(self.text.len());
        self.ends.len() - 1
    }
}

/// # Panics
/// Where there is no text of that number.
impl Index<usize> for Texts {
    type Output = str;

    fn index(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let texts = texts.into_iter();
        let mut made = Self::default();
        made.reserve(texts.size_hint().0);
        for text in texts {
            made.push(text.as_ref());
        }
        made.text.shrink_to_fit();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_found_by_its_number() {
        let some = ["s0", "", "é", "s0", ""];
        let collected: Texts = some.iter().collect();
        let mut pushed = Texts::default();
        for (number, text) in some.into_iter().enumerate() {
            assert_eq!(pushed.push(text), number);
        }
        assert_eq!(pushed, collected);
        assert_eq!(pushed.iter().collect::<Vec<_>>(), some);
        assert_eq!((pushed.len(), pushed.iter().len(), pushed.is_empty()), (5, 5, false));
        assert_eq!([&pushed[0], &pushed[1], &pushed[2], &pushed[4]], ["s0", "", "é", ""]);
    }

    #[test]
    fn none_are_none() {
        let none = Texts::default();
        assert_eq!((none.len(), none.is_empty(), none.iter().next()), (0, true, None));
        assert_eq!(none, std::iter::empty::<&str>().collect());
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_number_beyond_the_last_is_refused() {
        let _ = &["a"].iter().collect::<Texts>()[1];
    }

    #[test]
    fn parts_are_one_text() {
        let mut texts = Texts::default();
        assert_eq!(texts.push_joined(["s", "17"]), 0);
        assert_eq!(texts.push_joined([]), 1);
        assert_eq!(texts.push_joined(["a", "->", "b"]), 2);
        assert!(texts.iter().eq(["s17", "", "a->b"]));
    }

    #[test]
    fn where_texts_end_tells_them_apart() {
        let of = |texts: [&str; 2]| texts.iter().collect::<Texts>();
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]), of(["ab", "c"]).clone());
    }

    #[test]
    fn room_is_made_for_as_many_as_were_asked_for() {
        let mut texts = Texts::default();
        texts.push("first");
        texts.reserve(100);
        assert_eq!((texts.ends.capacity(), texts.len()), (101, 1));
    }

    #[test]
    fn they_print_as_a_list() {
        assert_eq!(format!("{:?}", ["a", "\"b\""].iter().collect::<Texts>()), r#"["a", "\"b\""]"#);
        assert_eq!(format!("{:?}", Texts::default()), "[]");
    }
}
