//! A column of texts, one behind another in one piece of memory: a text of its own for each takes three times as much, and a
//! call of the allocator. Whose texts they are is `columns/`'s.

use std::fmt;
use std::ops::Index;

/// Texts by row.
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

    /// All of them, by their rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|row| &self[row])
    }
}

impl Index<usize> for Texts {
    type Output = str;

    fn index(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
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
        let mut made = Self { text: String::new(), ends: Vec::with_capacity(texts.size_hint().0) };
        for text in texts {
            made.text.push_str(text.as_ref());
            made.ends.push(made.text.len());
        }
        made.text.shrink_to_fit();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_found_by_its_row() {
        let some = ["s0", "", "é", "s0"];
        let texts: Texts = some.iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), some);
        assert_eq!((texts.len(), &texts[2]), (4, "é"));
        assert!(Texts::default().is_empty());
    }
}
