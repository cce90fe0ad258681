//! Pictures with content: [`cover`], and [`Painting`], from which photos are made too.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use crate::rng::{SplitMix64, mix64};

/// Returns a JPEG of `side` by `side` pixels, at least 8: gradients, noise and shapes from `seed`.
///
/// A quarter of the seeds gives progressive JPEGs; 70 % have 4:2:0 chroma, the others 4:4:4.
pub fn cover(seed: u64, side: u16) -> Vec<u8> {
    let mut rng = SplitMix64::new(mix64(seed));
    let quality = 75 + rng.below(16) as u8;
    let (progressive, subsampled) = (rng.chance(250), rng.chance(700));
    let painting = Painting::new(seed, side, side);
    let mut jpeg = Vec::new();
    let mut encoder = Encoder::new(&mut jpeg, quality);
    encoder.set_progressive(progressive);
    if !subsampled {
        encoder.set_sampling_factor(SamplingFactor::R_4_4_4);
    } else {
        encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    }
    painting.encode(encoder);
    jpeg
}

/// Side of a cell of the noise, in pixels.
const CELL: i32 = 16;

/// A picture that can be drawn at any of its points.
pub(super) struct Painting {
    seed: u64,
    width: u16,
    height: u16,
    corners: [[i32; 3]; 3],
    shapes: Vec<Shape>,
}

struct Shape {
    round: bool,
    centre: [i32; 2],
    radius: i32,
    colour: [i32; 3],
}

impl Painting {
    pub(super) fn new(seed: u64, width: u16, height: u16) -> Self {
        let (width, height) = (width.max(8), height.max(8));
        let mut rng = SplitMix64::new(seed);
        let mut colour = || {
            let bytes = rng.next_u64().to_le_bytes();
            [bytes[0], bytes[1], bytes[2]].map(i32::from)
        };
        let corners = [colour(), colour(), colour()];
        let colours: [_; 8] = std::array::from_fn(|_| colour());
        let shorter = u32::from(width.min(height));
        let shapes = colours.map(|colour| Shape {
            round: rng.chance(600),
            centre: [width, height].map(|side| rng.below(u32::from(side)) as i32),
            radius: (shorter / 16 + rng.below(shorter / 4)) as i32,
            colour,
        });
        Self {
            seed,
            width,
            height,
            corners,
            shapes: shapes.into(),
        }
    }

    /// Writes the picture by `encoder`. Writing to memory does not fail.
    pub(super) fn encode(&self, encoder: Encoder<&mut Vec<u8>>) {
        let pixels = self.pixels();
        let result = encoder.encode(&pixels, self.width, self.height, ColorType::Rgb);
        debug_assert!(result.is_ok());
    }

    fn pixels(&self) -> Vec<u8> {
        let (width, height) = (i32::from(self.width), i32::from(self.height));
        let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
        for y in 0..height {
            for x in 0..width {
                let colour = self.colour(x, y);
                let noise = self.noise(x, y);
                pixels.extend(colour.map(|value| (value + noise).clamp(0, 255) as u8));
            }
        }
        pixels
    }

    /// Returns the gradient at a point, with the shapes that cover it blended over it.
    fn colour(&self, x: i32, y: i32) -> [i32; 3] {
        let right = x * 256 / i32::from(self.width);
        let down = y * 256 / i32::from(self.height);
        let [origin, across, along] = self.corners;
        let mut colour: [i32; 3] = std::array::from_fn(|n| {
            let sum = (across[n] - origin[n]) * right + (along[n] - origin[n]) * down;
            origin[n] + sum / 256
        });
        for shape in &self.shapes {
            if shape.contains(x, y) {
                for (value, over) in colour.iter_mut().zip(shape.colour) {
                    *value = (*value + 3 * over) / 4;
                }
            }
        }
        colour
    }

    /// Returns noise in -32 to 32, interpolated between the corners of a cell.
    fn noise(&self, x: i32, y: i32) -> i32 {
        let corner = |column: i32, row: i32| {
            let index = (column as u64) << 32 | row as u64;
            (mix64(self.seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)) % 65) as i32 - 32
        };
        let (column, row) = (x / CELL, y / CELL);
        let (right, down) = (x % CELL, y % CELL);
        let mix = |a: i32, b: i32, at: i32| a * (CELL - at) + b * at;
        let above = mix(corner(column, row), corner(column + 1, row), right);
        let below = mix(corner(column, row + 1), corner(column + 1, row + 1), right);
        mix(above, below, down) / (CELL * CELL)
    }
}

impl Shape {
    fn contains(&self, x: i32, y: i32) -> bool {
        let (across, along) = (x - self.centre[0], y - self.centre[1]);
        if self.round {
            across * across + along * along <= self.radius * self.radius
        } else {
            across.abs() <= self.radius && along.abs() <= self.radius / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_differ_by_seed_and_are_not_flat() {
        for seed in 0..30 {
            let jpeg = cover(seed, 200);
            assert!(jpeg.starts_with(&[0xFF, 0xD8]) && jpeg.ends_with(&[0xFF, 0xD9]));
            assert!(jpeg.len() > 4_000, "seed {seed}: {}", jpeg.len());
            assert_eq!(jpeg, cover(seed, 200));
            assert_ne!(jpeg, cover(seed + 1, 200));
        }
        assert!(!cover(1, 0).is_empty());
    }

    #[test]
    fn about_a_quarter_of_the_covers_is_progressive() {
        let covers = (0..200).map(|seed| cover(seed, 16));
        // The marker of a progressive frame, with its length.
        let frame = [0xFF, 0xC2, 0, 17];
        let progressive = covers.filter(|jpeg| jpeg.windows(4).any(|bytes| bytes == frame));
        assert!((30..70).contains(&progressive.count()));
    }
}
