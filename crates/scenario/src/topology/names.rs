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

    /// How many bytes long a name is.
    pub(super) fn length(&self, number: usize) -> usize {
        (self.ends[number] - number.checked_sub(1).map_or(0, |before| self.ends[before])) as usize
    }

    /// Makes room for so many short names.
    pub(super) fn reserve(&mut self, names: usize) {
        self.ends.reserve_exact(names);
    }

    /// Adds a name; its number.
    pub(super) fn push(&mut self, name: impl Display) -> usize {
        write!(self.text, "{name}").expect("a text takes whatever is written");
        self.end()
    }

    /// Adds a letter and a number; its number among names. Millions of hosts are named so.
    pub(super) fn push_numbered(&mut self, letter: char, number: usize) -> usize {
        self.text.push(letter);
        // As many digits as a number may have.
        let (mut digits, mut from, mut left) = ([b'0'; 20], 20, number);
        loop {
            from -= 1;
            digits[from] = b'0' + u8::try_from(left % 10).expect("a digit");
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.text.push_str(std::str::from_utf8(&digits[from..]).expect("digits are a text"));
        self.end()
    }

    /// Ends the name that was written last.
    fn end(&mut self) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_called_by_their_letter_and_number() {
        let mut names = Names::default();
        let numbers = [0, 7, 10, 999, 1_000_000, usize::MAX];
        for (index, number) in numbers.into_iter().enumerate() {
            assert_eq!(names.push_numbered('s', number), index);
        }
        assert!(names.iter().map(str::to_owned).eq(numbers.map(|number| format!("s{number}"))));
    }
}
