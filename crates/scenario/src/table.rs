//! Tables of columns of equal length: the form in which results leave, without a row ever being made.

use crate::hash::Digester;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Names.
    Text(Vec<String>),
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
column!(Text: String, Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, F64: f64);

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
                Column::U64(values) => values.iter().for_each(|value| digester.add(&value.to_le_bytes())),
                Column::F64(values) => values.iter().for_each(|value| digester.add(&value.to_le_bytes())),
            }
        }
    }
}
