//! Tables of columns of equal length: the form in which results leave, without a row ever being made.

use tailback_core::Texts;

use crate::hash::Digester;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Names.
    Text(Texts),
    /// Truths.
    Bool(Vec<bool>),
    /// Small numbers.
    U8(Vec<u8>),
    /// Small numbers.
    U16(Vec<u16>),
    /// Rows of other tables.
    U32(Vec<u32>),
    /// Counts.
    U64(Vec<u64>),
    /// Quantities; not a number where there is none.
    F64(Vec<f64>),
}

macro_rules! column {
    ($($variant:ident: $kind:ty),*) => {
        $(impl From<Vec<$kind>> for Column {
            fn from(values: Vec<$kind>) -> Self {
                Self::$variant(values)
            }
        })*
    };
}
column!(Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, F64: f64);

impl From<Texts> for Column {
    fn from(values: Texts) -> Self {
        Self::Text(values)
    }
}

impl From<Vec<String>> for Column {
    fn from(values: Vec<String>) -> Self {
        Self::Text(values.into_iter().collect())
    }
}

/// Columns by name, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(&'static str, Column)>);

impl Table {
    /// Appends a column.
    pub fn push(&mut self, name: &'static str, column: impl Into<Column>) {
        self.0.push((name, column.into()));
    }

    /// The table with one more column.
    #[must_use]
    pub fn with(mut self, name: &'static str, column: impl Into<Column>) -> Self {
        self.push(name, column);
        self
    }

    /// The column of this name.
    pub fn get(&self, name: &str) -> Option<&Column> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, column)| column)
    }

    /// The column of counts of this name; empty where there is none.
    pub fn counts(&self, name: &str) -> &[u64] {
        match self.get(name) {
            Some(Column::U64(values)) => values,
            _ => &[],
        }
    }

    /// The column of quantities of this name; empty where there is none.
    pub fn quantities(&self, name: &str) -> &[f64] {
        match self.get(name) {
            Some(Column::F64(values)) => values,
            _ => &[],
        }
    }

    /// The column of this name, which leaves the table; `place` is where it is in most tables.
    fn take(&mut self, name: &str, place: usize) -> Option<Column> {
        let is_there = |(known, _): &(&'static str, Column)| *known == name;
        let here = self.0.get(place).is_some_and(is_there);
        let place = if here { Some(place) } else { self.0.iter().position(is_there) };
        place.map(|place| std::mem::replace(&mut self.0[place].1, Column::U8(Vec::new())))
    }

    /// Makes of every quantity of those columns of which `whole` says so the number nearest to its whole nanoseconds.
    pub(crate) fn round_times(&mut self, whole: impl Fn(&str) -> bool) {
        for (_, column) in self.0.iter_mut().filter(|(name, _)| whole(name)) {
            if let Column::F64(values) = column {
                for seconds in values.iter_mut() {
                    *seconds = (*seconds * 1e9).round() / 1e9;
                }
            }
        }
    }

    /// Adds names and values of those columns to a digest of which `wanted` says so.
    pub fn digest(&self, digester: &mut Digester, wanted: impl Fn(&str) -> bool) {
        for (name, column) in self.0.iter().filter(|(name, _)| wanted(name)) {
            digester.add(name.as_bytes());
            match column {
                Column::Text(values) => values.iter().for_each(|value| digester.add(value.as_bytes())),
                Column::Bool(values) => values.iter().for_each(|value| digester.add(&[u8::from(*value)])),
                Column::U8(values) => digester.add(values),
                Column::U16(values) => values.iter().for_each(|value| digester.add(&value.to_le_bytes())),
                Column::U32(values) => values.iter().for_each(|value| digester.add(&value.to_le_bytes())),
                Column::U64(values) => values.iter().for_each(|value| digester.add_number(*value)),
                Column::F64(values) => values.iter().for_each(|value| digester.add_number(value.to_bits())),
            }
        }
    }
}

/// The tables of several members, of as many rows each, that are to stand one below another in one table: a table of its own
/// for each of thousands would cost whoever takes it over far more than what is in it.
#[derive(Debug, Default)]
pub struct Stack {
    /// Whose rows they are.
    pub members: Texts,
    /// Their columns, by name.
    pub columns: Vec<(&'static str, Parts)>,
}

impl Stack {
    /// Of tables of so many rows.
    pub fn of(members: Vec<(String, Table)>, rows: usize) -> Self {
        let (names, mut tables): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let keys = names_of(&tables);
        let of = |(place, name)| {
            let parts = tables.iter_mut().map(|table| table.take(name, place)).collect();
            (name, Parts { rows, parts })
        };
        let columns = keys.into_iter().enumerate().map(of).collect();
        Self { members: names.into_iter().collect(), columns }
    }
}

/// The names of the columns of all tables, each once.
fn names_of(tables: &[Table]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for table in tables {
        for (place, (name, _)) in table.0.iter().enumerate() {
            if names.get(place) != Some(name) && !names.contains(name) {
                names.push(*name);
            }
        }
    }
    names
}

/// One column of several members: a part of each, and none of those that do not have it. Each part is freed as it is taken, so
/// that a long run never is in memory twice.
#[derive(Debug)]
pub struct Parts {
    rows: usize,
    parts: Vec<Option<Column>>,
}

impl Parts {
    /// How many rows there are in all.
    pub fn rows(&self) -> usize {
        self.rows * self.parts.len()
    }

    /// The part of the only member, where there is one.
    ///
    /// # Errors
    /// All parts, where they have yet to be put together.
    pub fn only(mut self) -> Result<Column, Self> {
        let only = if let [only] = self.parts.as_mut_slice() { only.take() } else { None };
        only.ok_or(self)
    }

    /// Whether all are counts, and not quantities.
    pub fn are_counts(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Some(Column::U64(_))))
    }

    /// Puts counts one below another.
    pub fn put_counts(self, mut into: &mut [u64]) {
        for part in self.parts {
            if let Some(Column::U64(part)) = part {
                let (here, rest) = std::mem::take(&mut into).split_at_mut(part.len());
                here.copy_from_slice(&part);
                into = rest;
            }
        }
    }

    /// Puts quantities one below another; those of a member that has none are not a number.
    pub fn put_quantities(self, mut into: &mut [f64]) {
        for part in self.parts {
            let (here, rest) = std::mem::take(&mut into).split_at_mut(self.rows);
            match part {
                Some(Column::F64(part)) => here.copy_from_slice(&part),
                Some(Column::U64(part)) => {
                    here.iter_mut().zip(part).for_each(|(place, count)| *place = count as f64);
                }
                _ => here.fill(f64::NAN),
            }
            into = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_below_one_another() {
        let one = Table::default().with("a", vec![1_u64, 2]).with("x", vec![0.5, 0.25]);
        let other = Table::default().with("a", vec![3_u64, 4]).with("y", vec![1.5, 2.5]);
        let Stack { members, columns } =
            Stack::of(vec![("one".to_owned(), one.clone()), ("other".to_owned(), other)], 2);
        assert_eq!(members.iter().collect::<Vec<_>>(), ["one", "other"]);
        let [(a, counts), (x, early), (y, late)] = <[_; 3]>::try_from(columns).expect("three columns");
        assert_eq!((a, x, y, counts.rows()), ("a", "x", "y", 4));
        assert!(counts.are_counts() && !early.are_counts());
        let mut put = [0; 4];
        counts.only().expect_err("two members").put_counts(&mut put);
        assert_eq!(put, [1, 2, 3, 4]);
        let [mut before, mut after] = [[0.0; 4]; 2];
        early.put_quantities(&mut before);
        late.put_quantities(&mut after);
        assert_eq!((&before[..2], &after[2..]), (&[0.5, 0.25][..], &[1.5, 2.5][..]));
        assert!(before[2..].iter().chain(&after[..2]).all(|value| value.is_nan()));
        let alone = Stack::of(vec![("one".to_owned(), one)], 2).columns.remove(0).1;
        assert_eq!(alone.only().expect("one member"), Column::U64(vec![1, 2]));
        assert!(Stack::of(Vec::new(), 2).columns.is_empty());
    }
}
