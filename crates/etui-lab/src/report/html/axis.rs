//! Logarithmic axes: span, position of a value, ticks.

/// One logarithmic axis.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Around these values: from and to 1, 2 or 5 times a power of ten.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (least, most) = values.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), v| {
            (a.min(v), b.max(v))
        });
        if !(least.is_finite() && most > 0.0) {
            return None;
        }
        let (mut low, mut high) = (round_step(least, false), round_step(most, true));
        if high / low < 4.0 {
            (low, high) = (round_step(low * 0.6, false), round_step(high * 1.7, true));
        }
        Some(Self { low, high })
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    pub(super) fn place(self, value: f64) -> f64 {
        let span = self.high.log10() - self.low.log10();
        ((value.log10() - self.low.log10()) / span).clamp(0.0, 1.0)
    }

    /// Returns the decades, or every nth, and, if there are few, 2 and 5 times each.
    pub(super) fn ticks(self) -> Vec<f64> {
        let (from, to) = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        let every = ((to - from) / 8).max(1);
        let few = to - from <= 2;
        let mut ticks = Vec::new();
        for decade in (from..=to).filter(|d| d % every == 0) {
            let one = 10f64.powi(decade);
            ticks.push(one);
            if few {
                ticks.extend([2.0 * one, 5.0 * one]);
            }
        }
        ticks.retain(|t| *t >= self.low * 0.999 && *t <= self.high * 1.001);
        ticks
    }
}

/// The nearest 1, 2 or 5 times a power of ten that is not above (or not below) a value.
fn round_step(value: f64, up: bool) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * decade);
    let found = if up {
        steps.iter().find(|s| **s >= value * 0.999_999)
    } else {
        steps.iter().rev().find(|s| **s <= value * 1.000_001)
    };
    // Below the smallest number there are no steps.
    found
        .copied()
        .filter(|s| *s > 0.0 && s.is_finite())
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        Axis::around(values.iter().copied()).unwrap()
    }

    #[test]
    fn axes_span_their_values() {
        assert!(Axis::around(std::iter::empty()).is_none());
        let wide = axis(&[70.0, 12_800.0]);
        assert_eq!((wide.low, wide.high), (50.0, 20_000.0));
        assert_eq!(wide.ticks(), [100.0, 1_000.0, 10_000.0]);
        assert_eq!((wide.place(50.0), wide.place(20_000.0)), (0.0, 1.0));
        let one = axis(&[100.0]);
        assert!(one.low < 100.0 && one.high > 100.0);
        assert_eq!(one.ticks(), [50.0, 100.0, 200.0]);
        let steep = axis(&[1e-3, 1e15]);
        assert!(steep.ticks().len() <= 10);
    }
}
