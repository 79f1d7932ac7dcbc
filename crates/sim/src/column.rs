//! What a recorded column is: name, unit, kind and label, said once, where the column is recorded. Series are declared in
//! `series.rs` and `accumulation.rs`, tables of counters by whoever makes them; all else derives from there.

use std::fmt;

/// How a column's values come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Known before the run: names, rates, delays.
    Given,
    /// Counted: what happened in the bin, or between two instants.
    Counted,
    /// The mean over the bin, or between two instants.
    Mean,
    /// The state at the end.
    Level,
}

impl ColumnKind {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Counted => "counted",
            Self::Mean => "mean",
            Self::Level => "level",
        }
    }
}

/// A unit of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// None: names, truths, plain counts.
    None,
}

impl Unit {
    /// The unit that a column's key ends in: `_packets`, `_bytes`, `_bits` (per second), `_seconds`.
    pub fn of(key: &str) -> Self {
        match key.rsplit('_').next() {
            Some("packets") => Self::Packets,
            Some("bytes") => Self::Bytes,
            Some("bits") => Self::BitsPerSecond,
            Some("seconds") => Self::Seconds,
            _ => Self::None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packets => "packets",
            Self::Bytes => "B",
            Self::BitsPerSecond => "bit/s",
            Self::Seconds => "s",
            Self::None => "",
        })
    }
}

/// A column, as all who show, store or convert it know it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnInfo {
    /// Its name in the core's tables, which ends in the unit, and is part of a result's digest.
    pub key: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What stands at an axis; the name with blanks where empty.
    pub label: &'static str,
    /// How its values come about.
    pub kind: ColumnKind,
    /// What it says, in a sentence.
    pub about: &'static str,
    /// What its values are called, where they are numbers of these; empty where they stand for themselves.
    pub values: &'static [&'static str],
    /// What qlog calls it in `recovery:metrics_updated`; empty where it has no such name.
    pub qlog: &'static str,
    /// Whether a result's digest covers it. What came later than digests that are published is left out of them: it says
    /// of the same packets what other columns do not.
    pub digested: bool,
    unit: Option<Unit>,
}

impl ColumnInfo {
    /// A column of this key and kind, whose name is the key.
    pub const fn new(key: &'static str, kind: ColumnKind, about: &'static str) -> Self {
        Self { key, name: key, label: "", kind, about, values: &[], qlog: "", digested: true, unit: None }
    }

    /// Under a shorter name: for a quantity that there is in one unit only. Where a thing is counted in packets and in
    /// bytes, the names keep the difference.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// With other words at an axis than its name.
    #[must_use]
    pub const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// With a unit that its key does not end in.
    #[must_use]
    pub const fn unit_of(self, unit: Unit) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// Left out of a result's digest.
    #[must_use]
    pub const fn undigested(self) -> Self {
        Self { digested: false, ..self }
    }

    /// Of values that are numbers of these names.
    #[must_use]
    pub const fn one_of(self, values: &'static [&'static str]) -> Self {
        Self { values, ..self }
    }

    /// With a name in qlog.
    #[must_use]
    pub const fn qlog(self, qlog: &'static str) -> Self {
        Self { qlog, ..self }
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        self.unit.unwrap_or_else(|| Unit::of(self.key))
    }
}

/// The values of a series' column in the bins of a run; what that is in memory is the recorder's business.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesColumn {
    /// Counts.
    Counts(Vec<u64>),
    /// Quantities; not a number where there is none.
    Quantities(Vec<f64>),
}

impl From<Vec<u64>> for SeriesColumn {
    fn from(values: Vec<u64>) -> Self {
        Self::Counts(values)
    }
}

impl From<Vec<f64>> for SeriesColumn {
    fn from(values: Vec<f64>) -> Self {
        Self::Quantities(values)
    }
}

impl From<Vec<i64>> for SeriesColumn {
    fn from(values: Vec<i64>) -> Self {
        Self::Quantities(values.into_iter().map(|value| value as f64).collect())
    }
}

/// Declares a series: per line its field, which is the column's key unless `as` says another, its type, its kind, and
/// what else there is to say of it by methods of [`ColumnInfo`]. With `from`, also how a field is read, and how a row of
/// what was read becomes a row of columns: `counted`, the difference from the row before; `level`, what was read;
/// `mean`, the difference over the bin's nanoseconds.
macro_rules! series {
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@kind counted) => { $crate::column::ColumnKind::Counted };
    (@kind mean) => { $crate::column::ColumnKind::Mean };
    (@kind level) => { $crate::column::ColumnKind::Level };
    (@value counted $before:expr, $now:expr, $bin:expr) => { $now - $before };
    (@value level $before:expr, $now:expr, $bin:expr) => { $now };
    (@value mean $before:expr, $now:expr, $bin:expr) => {
        $now.wrapping_sub($before) as f64 / $bin.as_nanos() as f64
    };
    (
        $(#[doc = $text:literal])*
        $series:ident {
            $($(#[doc = $about:literal])* $field:ident $(as $key:literal)?: $type:ty, $kind:ident
                $(, .$method:ident($($said:expr)?))*;)*
        }
    ) => {
        $(#[doc = $text])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $series {
            $($(#[doc = $about])* pub $field: Vec<$type>,)*
        }

        impl $series {
            /// What its columns are, in their order.
            pub const COLUMNS: &[$crate::column::ColumnInfo] = &[
                $($crate::column::ColumnInfo::new(
                    $crate::column::series!(@key $field $($key)?),
                    $crate::column::series!(@kind $kind),
                    concat!($($about),*).trim_ascii_start(),
                )$(.$method($($said)?))*,)*
            ];

            /// The columns themselves, in that order.
            pub fn into_columns(self) -> impl Iterator<Item = $crate::column::SeriesColumn> {
                [$($crate::column::SeriesColumn::from(self.$field),)*].into_iter()
            }
        }
    };
    (
        $(#[doc = $text:literal])*
        $series:ident from $row:ident of $source:ty {
            $($(#[doc = $about:literal])* $field:ident: $read:ty => $type:ty, $kind:ident
                $(, .$method:ident($($said:expr)?))*, $of:expr;)*
        }
    ) => {
        $crate::column::series! {
            $(#[doc = $text])*
            $series { $($(#[doc = $about])* $field: $type, $kind $(, .$method($($said)?))*;)* }
        }

        /// What a row of columns is made of, as it was read at the end of a bin.
        #[derive(Clone, Copy, Debug, Default)]
        struct $row {
            $($field: $read,)*
        }

        impl $row {
            #[inline]
            fn read(source: &$source) -> Self {
                $(let $field: fn(&$source) -> $read = $of;)*
                Self { $($field: $field(source),)* }
            }
        }

        impl $series {
            /// Asks for room for so many rows, without growing later; where there is no such room, columns grow.
            fn reserve(&mut self, rows: usize) {
                $(let _ = self.$field.try_reserve_exact(rows);)*
            }

            /// Appends a row.
            #[inline]
            fn push(&mut self, before: &$row, now: &$row, _bin: tailback_core::Span) {
                $(self.$field.push($crate::column::series!(@value $kind before.$field, now.$field, _bin));)*
            }
        }
    };
}
pub(crate) use series;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ends_in_its_unit() {
        assert_eq!(Unit::of("sent_bytes"), Unit::Bytes);
        assert_eq!(Unit::of("rate_bits"), Unit::BitsPerSecond);
        assert_eq!(Unit::of("timeouts"), Unit::None);
        let marks = ColumnInfo::new("marks", ColumnKind::Counted, "Marks.").unit_of(Unit::Packets);
        assert_eq!(marks.unit().to_string(), "packets");
    }
}
