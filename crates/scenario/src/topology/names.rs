//! Names of very many nodes, one behind another in one text: a text of its own for each takes five times as much memory.

use std::fmt::{Display, Write};
use std::ops::Index;

/// Names by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    /// Where each name ends.
    ends: Vec<u32>,
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All names, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| &self[number])
    }

    /// Makes room for so many short names.
    pub(super) fn reserve(&mut self, names: usize) {
        self.ends.reserve_exact(names);
    }

    /// Adds a name; its number.
    pub(super) fn push(&mut self, name: impl Display) -> usize {
        write!(self.text, "{name}").expect("a text takes whatever is written");
        self.ends
            .push(u32::try_from(self.text.len()).expect("the names of all nodes are shorter than 4 GiB"));
        self.ends.len() - 1
    }
}

impl Index<usize> for Names {
    type Output = str;

    fn index(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[number] as usize]
    }
}
