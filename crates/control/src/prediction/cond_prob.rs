//! The table `CondProb`: how often traffic of one level followed traffic of another, and what to expect next
//! (Tuan and Park 1999, §3.2.1). How amounts become levels lives in `levels.rs`.

use tailback_core::Stream;

/// Counts of pairs of levels, one row for each L1, and what they say of L2. Every call takes constant time.
#[derive(Clone, Debug, PartialEq)]
pub struct CondProb {
    levels: usize,
    /// `h_ℓ'` of row ℓ, row by row.
    counts: Vec<f64>,
    /// `h_ℓ`: how many pairs each row holds (the table's column m + 1), and the sum of their second levels.
    rows: Vec<Row>,
    all: Row,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Row {
    pairs: f64,
    sum: f64,
}

impl Row {
    fn add(&mut self, level: usize, times: f64) {
        self.pairs += times;
        self.sum += level as f64 * times;
    }

    fn expected(&self) -> Option<f64> {
        (self.pairs > 0.0).then(|| self.sum / self.pairs)
    }
}

impl CondProb {
    /// An empty table of `levels` by `levels`.
    pub fn new(levels: usize) -> Self {
        let rows = vec![Row::default(); levels];
        Self { levels, counts: vec![0.0; levels * levels], rows, all: Row::default() }
    }

    /// A table of given counts or relative frequencies, one list per L1. Anything that is not a positive number counts as
    /// zero.
    pub fn given(table: &[Vec<f64>]) -> Self {
        let mut cond_prob = Self::new(table.len());
        for (first, row) in table.iter().enumerate() {
            for (second, times) in row.iter().take(table.len()).enumerate().filter(|(_, times)| **times > 0.0)
            {
                cond_prob.count(first + 1, second + 1, *times);
            }
        }
        cond_prob
    }

    /// A table of random densities, each row drawn uniformly and independently (the random table of §4.3.4).
    pub fn random(levels: usize, stream: &mut Stream) -> Self {
        let draw = |_| (0..levels).map(|_| stream.exponential()).collect();
        Self::given(&(0..levels).map(draw).collect::<Vec<_>>())
    }

    /// How many levels there are.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Level `second` followed level `first`.
    pub fn add(&mut self, first: usize, second: usize) {
        self.count(first, second, 1.0);
    }

    fn count(&mut self, first: usize, second: usize, times: f64) {
        self.counts[(first - 1) * self.levels + second - 1] += times;
        self.rows[first - 1].add(second, times);
        self.all.add(second, times);
    }

    /// `Pr{L2 = second | L1 = first}`; `None` where `first` was never seen.
    pub fn probability(&self, first: usize, second: usize) -> Option<f64> {
        let pairs = self.rows[first - 1].pairs;
        (pairs > 0.0).then(|| self.counts[(first - 1) * self.levels + second - 1] / pairs)
    }

    /// `E(L2 | L1 = first)`. Where `first` was never seen: the mean of L2 whatever L1 was, and the middle level where
    /// nothing was seen at all, so that ignorance is neither bold nor shy.
    pub fn expected(&self, first: usize) -> f64 {
        let middle = 0.5 * (self.levels + 1) as f64;
        self.rows[first - 1].expected().or_else(|| self.all.expected()).unwrap_or(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the paper's Table 1 (α = 1.05) and the expectations printed beside them.
    #[test]
    fn expectations_of_table_1() {
        let mut rows = vec![vec![0.0; 8]; 8];
        rows[0] = vec![0.667, 0.333, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        rows[2] = vec![0.0, 0.126, 0.468, 0.262, 0.116, 0.023, 0.003, 0.0];
        rows[4] = vec![0.0, 0.003, 0.078, 0.296, 0.356, 0.205, 0.060, 0.002];
        rows[5] = vec![0.0, 0.0, 0.012, 0.099, 0.285, 0.418, 0.182, 0.003];
        let table = CondProb::given(&rows);
        for (first, printed) in [(1, 1.3), (3, 3.4), (5, 4.9), (6, 5.7)] {
            let expected = table.expected(first);
            assert!(
                (expected - printed).abs() <= 0.06,
                "E(L2 | L1 = {first}): {expected}, printed {printed}"
            );
        }
    }

    #[test]
    fn counts_become_probabilities() {
        let mut table = CondProb::new(4);
        assert_eq!((table.expected(2), table.probability(2, 1)), (2.5, None));
        for second in [1, 2, 2, 3] {
            table.add(2, second);
        }
        assert_eq!([1, 2, 3, 4].map(|second| table.probability(2, second)), [0.25, 0.5, 0.25, 0.0].map(Some));
        assert_eq!(table.expected(2), 2.0);
        table.add(4, 4);
        assert_eq!(table.expected(1), 2.4, "never seen: the mean of all");
    }

    #[test]
    fn random_tables_are_densities_that_depend_on_the_stream() {
        let table = |seed| CondProb::random(8, &mut Stream::new(seed, "table"));
        let of_row: f64 = (1..=8).filter_map(|second| table(1).probability(3, second)).sum();
        assert!((of_row - 1.0).abs() < 1e-12);
        assert_eq!(table(1), table(1));
        assert_ne!(table(1), table(2));
    }
}
