//! The geometry behind centroid defuzzification: trapezia under a clipped membership function. What the fuzzy sets
//! mean is decided in `fuzzy.rs`.

/// A trapezium that stands on the axis from `base.0` to `base.1` and reaches `height` from `top.0` to `top.1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trapezium {
    /// Where it stands.
    pub base: (f64, f64),
    /// Where it reaches its height.
    pub top: (f64, f64),
    /// Its height.
    pub height: f64,
}

impl Trapezium {
    /// The set "low" on `from..to`, 1 at `from` and 0 at `to`, cut at `height`.
    pub fn falling(from: f64, to: f64, height: f64) -> Self {
        Self { base: (from, to), top: (from, to - height * (to - from)), height }
    }

    /// The set "high" on `from..to`, 0 at `from` and 1 at `to`, cut at `height`.
    pub fn rising(from: f64, to: f64, height: f64) -> Self {
        Self { base: (from, to), top: (from + height * (to - from), to), height }
    }

    /// The set "medium" on `from..to` with its peak at `middle`, cut at `height`.
    pub fn peaked(from: f64, middle: f64, to: f64, height: f64) -> Self {
        let top = (from + height * (middle - from), to - height * (to - middle));
        Self { base: (from, to), top, height }
    }

    /// What a set that falls and one that rises over `from..to` have in common, cut at `height`, at most a half.
    pub fn overlap(from: f64, to: f64, height: f64) -> Self {
        Self { base: (from, to), top: (from + height * (to - from), to - height * (to - from)), height }
    }

    /// Its area.
    pub fn area(&self) -> f64 {
        0.5 * self.height * (self.base.1 - self.base.0 + self.top.1 - self.top.0)
    }

    /// The position of its centroid on the axis; of a trapezium without height, that of its shape.
    pub fn centroid(&self) -> f64 {
        let (x1, x4) = self.base;
        let (x2, x3) = self.top;
        let spread = x3 * x3 + x3 * x4 + x4 * x4 - x1 * x1 - x1 * x2 - x2 * x2;
        spread / (3.0 * (x3 + x4 - x1 - x2))
    }

    /// The centroid of a union: all of `parts`, less what is counted twice.
    pub fn union_centroid(parts: &[Self], overlaps: &[Self]) -> f64 {
        let moment = |list: &[Self]| -> f64 { list.iter().map(Self::moment).sum() };
        let area = |list: &[Self]| -> f64 { list.iter().map(Self::area).sum() };
        (moment(parts) - moment(overlaps)) / (area(parts) - area(overlaps))
    }

    fn moment(&self) -> f64 {
        let area = self.area();
        // Without area there is no moment, whatever the shape's centroid may be.
        if area == 0.0 { 0.0 } else { area * self.centroid() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn textbook_areas_and_centroids() {
        let triangle = Trapezium::rising(0.0, 1.0, 1.0);
        assert!(close(triangle.area(), 0.5) && close(triangle.centroid(), 2.0 / 3.0));
        let triangle = Trapezium::falling(0.0, 0.5, 1.0);
        assert!(close(triangle.area(), 0.25) && close(triangle.centroid(), 1.0 / 6.0));
        // Base 0..1 and top 0.2..1 at 0.2: area 0.18; centroid (1 + 1 + 1 - 0.04) / (3 · 1.8).
        let cut = Trapezium::rising(0.0, 1.0, 0.2);
        assert!(close(cut.area(), 0.18) && close(cut.centroid(), 2.96 / 5.4));
    }

    proptest! {
        /// Against numerical integration of the membership functions themselves.
        #[test]
        fn unions_agree_with_integration(low in 0.0..=1.0_f64, middle in 0.2..0.8_f64) {
            let high = 1.0 - low;
            let parts = [Trapezium::falling(0.0, middle, low), Trapezium::peaked(0.0, middle, 1.0, high)];
            let overlap = [Trapezium::overlap(0.0, middle, low.min(high))];
            let found = Trapezium::union_centroid(&parts, &overlap);
            let (mut area, mut moment) = (0.0, 0.0);
            let steps = 200_000;
            for step in 0..steps {
                let x = (f64::from(step) + 0.5) / f64::from(steps);
                let falling = (1.0 - x / middle).max(0.0).min(low);
                let peak = if x < middle { x / middle } else { (1.0 - x) / (1.0 - middle) };
                let value = falling.max(peak.min(high));
                area += value;
                moment += value * x;
            }
            prop_assert!((found - moment / area).abs() < 1e-6, "{found} {}", moment / area);
        }
    }
}
