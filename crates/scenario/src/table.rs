//! Tables of columns of equal length: the form in which results leave, without a row ever being made.

use crate::hash::Digester;
use crate::texts::Texts;

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

/// The tables of several members, of as many rows each, one below another in one table: a table of its own for each of
/// thousands would cost whoever takes it over far more than what is in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    /// Whose rows they are.
    pub members: Texts,
    /// Their columns. What a member does not have of its own is not a number.
    pub columns: Table,
}

impl Stack {
    /// Puts tables of so many rows below one another: column by column, and what each is made of is freed as it is taken, so
    /// that a long run never is in memory twice.
    pub fn of(members: Vec<(String, Table)>, rows: usize) -> Self {
        let (names, mut tables): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let mut columns = Table::default();
        for (place, name) in names_of(&tables).into_iter().enumerate() {
            let parts: Vec<_> = tables.iter_mut().map(|table| table.take(name, place)).collect();
            columns.push(name, stacked(parts, rows));
        }
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

/// Columns of so many rows, one below another.
fn stacked(mut parts: Vec<Option<Column>>, rows: usize) -> Column {
    if let [only] = parts.as_mut_slice()
        && let Some(only) = only.take()
    {
        return only;
    }
    let total = parts.len() * rows;
    if parts.iter().all(|part| matches!(part, Some(Column::U64(_)))) {
        let mut values = Vec::with_capacity(total);
        for part in parts {
            if let Some(Column::U64(part)) = part {
                values.extend_from_slice(&part);
            }
        }
        return values.into();
    }
    let mut values = Vec::with_capacity(total);
    for part in parts {
        match part {
            Some(Column::F64(part)) => values.extend_from_slice(&part),
            Some(Column::U64(part)) => values.extend(part.iter().map(|count| *count as f64)),
            _ => values.resize(values.len() + rows, f64::NAN),
        }
    }
    values.into()
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
        assert_eq!(columns.0.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "x", "y"]);
        assert_eq!(columns.counts("a"), [1, 2, 3, 4]);
        assert_eq!(columns.quantities("x")[..2], [0.5, 0.25]);
        assert!(
            columns.quantities("x")[2..]
                .iter()
                .chain(&columns.quantities("y")[..2])
                .all(|value| value.is_nan())
        );
        assert_eq!(columns.quantities("y")[2..], [1.5, 2.5]);
        assert_eq!(Stack::of(vec![("one".to_owned(), one.clone())], 2).columns, one);
        assert_eq!(Stack::of(Vec::new(), 2), Stack::default());
    }
}
