//! Names of very many links and flows, one behind another in one text: they are kept in case something is wrong with one of them, and
//! a text of its own for each takes several times as much time and memory.

/// Names by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Names {
    /// Makes room for so many.
    pub(crate) fn reserve(&mut self, names: usize) {
        self.ends.reserve_exact(names);
    }

    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.get(number))
    }
}
