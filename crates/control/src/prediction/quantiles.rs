//! The boundaries that split what was seen into equally likely parts, in constant memory: the P² algorithm for several
//! quantiles at once (Jain and Chlamtac 1985; Raatikainen 1987). Means live in `moments.rs`.

/// Running estimates of the quantiles `1/parts, 2/parts, …`: one more marker halfway between each two, as the algorithm
/// wants it, and the smallest and largest value seen.
#[derive(Clone, Debug)]
pub struct Quantiles {
    parts: usize,
    count: u64,
    /// Heights of the markers, in ascending order: the first values themselves until there are enough of them.
    heights: Vec<f64>,
    /// How many values are at or below each marker.
    positions: Vec<f64>,
}

impl Quantiles {
    /// Estimates of the `parts - 1` inner boundaries.
    pub fn new(parts: usize) -> Self {
        let markers = 2 * parts.max(1) + 1;
        Self { parts: parts.max(1), count: 0, heights: Vec::with_capacity(markers), positions: Vec::new() }
    }

    fn markers(&self) -> usize {
        2 * self.parts + 1
    }

    /// Takes a value in.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        if self.heights.len() < self.markers() {
            let place = self.heights.partition_point(|height| *height <= value);
            self.heights.insert(place, value);
            if self.heights.len() == self.markers() {
                self.positions = (1..=self.markers()).map(|position| position as f64).collect();
            }
            return;
        }
        self.count_in(value);
        for marker in 1..self.markers() - 1 {
            self.settle(marker);
        }
    }

    /// Counts the value to the markers above it, and widens the ends.
    fn count_in(&mut self, value: f64) {
        let last = self.markers() - 1;
        self.heights[0] = self.heights[0].min(value);
        self.heights[last] = self.heights[last].max(value);
        let above = self.heights.partition_point(|height| *height <= value).clamp(1, last);
        for position in &mut self.positions[above..] {
            *position += 1.0;
        }
    }

    /// Moves a marker by one position towards where it should be, and its height along the parabola through its
    /// neighbours, or along the line where the parabola would leave their order (Jain and Chlamtac 1985, box 1).
    fn settle(&mut self, marker: usize) {
        let n = &self.positions;
        let wanted = 1.0 + (self.count - 1) as f64 * marker as f64 / (self.markers() - 1) as f64;
        let off = wanted - n[marker];
        let (below, above) = (n[marker] - n[marker - 1], n[marker + 1] - n[marker]);
        if !((off >= 1.0 && above > 1.0) || (off <= -1.0 && below > 1.0)) {
            return;
        }
        let step = off.signum();
        let q = &self.heights;
        let rise_above = (q[marker + 1] - q[marker]) / above;
        let rise_below = (q[marker] - q[marker - 1]) / below;
        let parabola =
            q[marker] + step / (above + below) * ((below + step) * rise_above + (above - step) * rise_below);
        let height = if q[marker - 1] < parabola && parabola < q[marker + 1] {
            parabola
        } else {
            q[marker] + step * if step > 0.0 { rise_above } else { rise_below }
        };
        self.heights[marker] = height;
        self.positions[marker] += step;
    }

    /// Which of the parts the value falls into, from 0.
    pub fn part(&self, value: f64) -> usize {
        let filled = self.heights.len() == self.markers();
        (1..self.parts)
            .filter(|part| self.boundary(*part, filled).is_some_and(|bound| value >= bound))
            .count()
    }

    /// The lower boundary of part number `part`, from 1; before all markers are there, that of the values themselves.
    fn boundary(&self, part: usize, filled: bool) -> Option<f64> {
        if filled {
            return Some(self.heights[2 * part]);
        }
        self.heights.get(part * self.heights.len() / self.parts).copied()
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    /// Shares of the parts into which later values of the same kind fall.
    fn shares(draw: impl Fn(&mut Stream) -> f64) -> Vec<f64> {
        let mut stream = Stream::new(3, "quantiles");
        let mut quantiles = Quantiles::new(8);
        (0..20_000).for_each(|_| quantiles.add(draw(&mut stream)));
        let mut counts = vec![0.0; 8];
        (0..20_000).for_each(|_| counts[quantiles.part(draw(&mut stream))] += 1.0 / 20_000.0);
        counts
    }

    #[test]
    fn parts_are_equally_likely_whatever_the_distribution() {
        for shares in [shares(Stream::uniform), shares(Stream::exponential), shares(|s| s.pareto(1.5))] {
            assert!(shares.iter().all(|share| (share - 0.125).abs() < 0.012), "{shares:?}");
        }
    }

    #[test]
    fn few_values_and_equal_values_have_parts_too() {
        let mut quantiles = Quantiles::new(4);
        assert_eq!(quantiles.part(1.0), 0);
        quantiles.add(1.0);
        assert_eq!((quantiles.part(0.0), quantiles.part(2.0)), (0, 3));
        (0..1000).for_each(|_| quantiles.add(1.0));
        assert_eq!((quantiles.part(0.5), quantiles.part(1.5)), (0, 3));
    }
}
