//! [`Orientation`]: how a picture must be turned to be shown (EXIF 2.32, tag 0x0112).

use crate::embedded::Embedded;

/// How a picture must be turned and mirrored to be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Orientation {
    /// Rows and columns are exchanged, first.
    transposed: bool,
    /// Left and right are exchanged.
    mirrored: bool,
    /// Top and bottom are exchanged.
    flipped: bool,
}

impl Orientation {
    /// Returns the orientation of an EXIF value, 1 to 8; any other means upright.
    pub fn from_exif(value: u32) -> Self {
        let (transposed, mirrored, flipped) = match value {
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, true, false),
            7 => (true, true, true),
            8 => (true, false, true),
            _ => (false, false, false),
        };
        Self {
            transposed,
            mirrored,
            flipped,
        }
    }

    /// Returns the orientation that the EXIF of a JPEG, PNG or WebP says.
    pub(crate) fn of(embedded: &Embedded) -> Self {
        embedded
            .orientation()
            .map_or_else(Self::default, Self::from_exif)
    }

    /// Returns the width and height as they are shown.
    pub fn size(self, width: u32, height: u32) -> (u32, u32) {
        match self.transposed {
            true => (height, width),
            false => (width, height),
        }
    }

    /// Turns rows of pixels of three bytes. The buffer must hold `width * height` of them.
    pub(crate) fn turn(self, pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
        let (out_width, out_height) = self.size(width, height);
        let mut out = Vec::with_capacity(pixels.len());
        for y in 0..out_height {
            for x in 0..out_width {
                let x = if self.mirrored { out_width - 1 - x } else { x };
                let y = if self.flipped { out_height - 1 - y } else { y };
                let (from_x, from_y) = if self.transposed { (y, x) } else { (x, y) };
                let at = (from_y as usize * width as usize + from_x as usize) * 3;
                out.extend_from_slice(pixels.get(at..at + 3).unwrap_or(&[0; 3]));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns two pixels in a row, red and blue.
    fn turned(value: u32) -> (Vec<u8>, (u32, u32)) {
        let orientation = Orientation::from_exif(value);
        let pixels = [*b"RRR", *b"BBB"].concat();
        let out = orientation.turn(&pixels, 2, 1);
        (
            out.chunks(3).map(|p| p[0]).collect(),
            orientation.size(2, 1),
        )
    }

    #[test]
    fn pictures_are_turned_as_exif_says() {
        assert_eq!(turned(1), (b"RB".to_vec(), (2, 1)));
        assert_eq!(turned(2), (b"BR".to_vec(), (2, 1)));
        assert_eq!(turned(3), (b"BR".to_vec(), (2, 1)));
        assert_eq!(turned(4), (b"RB".to_vec(), (2, 1)));
        assert_eq!(turned(5), (b"RB".to_vec(), (1, 2)));
        // The camera was held with its right side down: the left becomes the top.
        assert_eq!(turned(6), (b"RB".to_vec(), (1, 2)));
        assert_eq!(turned(7), (b"BR".to_vec(), (1, 2)));
        assert_eq!(turned(8), (b"BR".to_vec(), (1, 2)));
        assert_eq!(turned(99), (b"RB".to_vec(), (2, 1)));
    }

    #[test]
    fn a_column_is_turned_to_a_row() {
        let pixels = [*b"RRR", *b"BBB"].concat();
        let turn = |value| Orientation::from_exif(value).turn(&pixels, 1, 2)[0];
        // Six: turned clockwise, so that the bottom is at the left.
        assert_eq!(
            (turn(6), turn(8), turn(5), turn(7)),
            (b'B', b'R', b'R', b'B')
        );
    }
}
