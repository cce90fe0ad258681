//! [`make_thumbnails`]: pictures of at most 128 and 256 pixels, as JPEG.
//!
//! ```text
//! bytes ── decode at 1/8 .. 1/1 (JPEG: by the DCT) ── scale to 256 ── turn ──┬── encode ── large
//!                                                                            └── scale to 128 ── encode ── small
//! ```
//!
//! A JPEG is decoded at a scale at which both sides have at least twice the thumbnail's: below
//! that, the loss is visible.

use std::io::Cursor;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::{ImageFormat, ImageReader, Limits};
use jpeg_decoder::PixelFormat;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use crate::embedded::Embedded;
use crate::error::Unreadable;
use crate::limits::{MAX_DECODED, MAX_PIXELS, MAX_SCANS, MAX_SIDE};
use crate::orientation::Orientation;

/// The longer side of a large thumbnail, in pixels.
const LARGE: u32 = 256;
/// The longer side of a small thumbnail, in pixels.
const SMALL: u32 = 128;
/// JPEG quality.
const QUALITY: u8 = 80;

/// The thumbnails of a picture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thumbnails {
    /// Width of the original in pixels, as it is shown.
    pub width: u32,
    /// Height of the original in pixels, as it is shown.
    pub height: u32,
    /// The average color, `0xrrggbb`.
    pub color: u32,
    /// A JPEG of at most 128 pixels.
    pub small: Vec<u8>,
    /// A JPEG of at most 256 pixels; equal to `small` for a picture of at most 128.
    pub large: Vec<u8>,
}

/// Pixels of three bytes.
pub(crate) struct Rgb {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Vec<u8>,
}

/// Makes the thumbnails of a picture, a file in memory, turned as its EXIF says. They are not larger
/// than it.
///
/// # Errors
/// [`Unreadable`]: no picture, a format without a decoder, damaged, or too large.
pub fn make_thumbnails(bytes: &[u8]) -> Result<Thumbnails, Unreadable> {
    let kind = image::guess_format(bytes).map_err(|_| match imagesize::image_type(bytes) {
        Ok(imagesize::ImageType::Heif(_)) => Unreadable::NoDecoder("HEIC and AVIF"),
        _ => Unreadable::UnknownFormat,
    })?;
    let size = imagesize::blob_size(bytes).map_err(Unreadable::damaged)?;
    let (width, height) = (size.width as u64, size.height as u64);
    if width == 0 || height == 0 {
        return Err(Unreadable::damaged("a picture of no pixels"));
    }
    if width.saturating_mul(height) > MAX_PIXELS || width.max(height) > MAX_SIDE {
        return Err(Unreadable::TooManyPixels { width, height });
    }
    let embedded = Embedded::of_bytes(bytes);
    let orientation = Orientation::of(&embedded);
    let decoded = match kind {
        ImageFormat::Jpeg => decode_jpeg(bytes, embedded.is_adobe)?,
        ImageFormat::Png
        | ImageFormat::WebP
        | ImageFormat::Gif
        | ImageFormat::Bmp
        | ImageFormat::Tiff => decode_other(bytes, kind)?,
        _ => return Err(Unreadable::UnknownFormat),
    };
    let to_u32 = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    thumbnails_of(decoded, orientation, (to_u32(width), to_u32(height)))
}

/// Scales, turns and encodes a decoded picture. `original`: its width and height before it was
/// decoded and turned.
pub(crate) fn thumbnails_of(
    decoded: Rgb,
    orientation: Orientation,
    original: (u32, u32),
) -> Result<Thumbnails, Unreadable> {
    let mut resizer = Resizer::new();
    let mut large = scale(&mut resizer, decoded, LARGE)?;
    let (turned_width, turned_height) = orientation.size(large.width, large.height);
    if orientation != Orientation::default() {
        large.pixels = orientation.turn(&large.pixels, large.width, large.height);
        (large.width, large.height) = (turned_width, turned_height);
    }
    let color = average_color(&large.pixels);
    let large_jpeg = encode(&large)?;
    let small_jpeg = match large.width.max(large.height) > SMALL {
        true => encode(&scale(&mut resizer, large, SMALL)?)?,
        false => large_jpeg.clone(),
    };
    let (width, height) = orientation.size(original.0, original.1);
    Ok(Thumbnails {
        width,
        height,
        color,
        small: small_jpeg,
        large: large_jpeg,
    })
}

/// Returns the width and height in pixels of a JPEG file, from its header; `None` if it is none.
pub fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    if !matches!(image::guess_format(bytes), Ok(ImageFormat::Jpeg)) {
        return None;
    }
    let size = imagesize::blob_size(bytes).ok()?;
    let sides = (
        u32::try_from(size.width).ok()?,
        u32::try_from(size.height).ok()?,
    );
    (sides.0 > 0 && sides.1 > 0).then_some(sides)
}

pub(crate) fn decode_jpeg(bytes: &[u8], is_adobe: bool) -> Result<Rgb, Unreadable> {
    let scans = bytes.windows(2).filter(|two| two == &[0xff, 0xda]).count();
    if scans > MAX_SCANS {
        return Err(Unreadable::TooManyScans(scans));
    }
    let mut decoder = jpeg_decoder::Decoder::new(bytes);
    let max = usize::try_from(MAX_DECODED).unwrap_or(usize::MAX);
    decoder.set_max_decoding_buffer_size(max);
    decoder.read_info().map_err(Unreadable::damaged)?;
    let info = decoder.info().ok_or(Unreadable::UnknownFormat)?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    // A progressive JPEG is decoded from all its coefficients, two bytes each.
    let is_progressive = info.coding_process == jpeg_decoder::CodingProcess::DctProgressive;
    let components = info.pixel_format.pixel_bytes() as u64;
    if is_progressive && u64::from(width) * u64::from(height) * components * 2 > MAX_DECODED {
        return Err(Unreadable::TooManyPixels {
            width: width.into(),
            height: height.into(),
        });
    }
    // The side that is the longer one of the thumbnail must have twice its pixels.
    let (longer, shorter) = (width.max(height), width.min(height));
    let wanted_short = (2 * LARGE * shorter).div_ceil(longer);
    let (wanted_width, wanted_height) = match width >= height {
        true => (2 * LARGE, wanted_short),
        false => (wanted_short, 2 * LARGE),
    };
    let clamp = |n: u32| u16::try_from(n.max(1)).unwrap_or(u16::MAX);
    let (width, height) = decoder
        .scale(clamp(wanted_width), clamp(wanted_height))
        .map_err(Unreadable::damaged)?;
    let decoded = decoder.decode().map_err(Unreadable::damaged)?;
    let pixels = match info.pixel_format {
        PixelFormat::RGB24 => decoded,
        PixelFormat::L8 => decoded.iter().flat_map(|&l| [l; 3]).collect(),
        PixelFormat::L16 => decoded.chunks_exact(2).flat_map(|l| [l[1]; 3]).collect(),
        // The decoder inverts CMYK: of Adobe, whose files are inverted, into ink, else into light.
        PixelFormat::CMYK32 => decoded
            .chunks_exact(4)
            .flat_map(|p| {
                let light = |ink: u8| if is_adobe { 255 - ink } else { ink };
                [0, 1, 2].map(|i| light_through(light(p[i]), light(p[3])))
            })
            .collect(),
    };
    Ok(Rgb {
        width: width.into(),
        height: height.into(),
        pixels,
    })
}

/// The light of a color that is left behind black ink.
fn light_through(color: u8, black: u8) -> u8 {
    let light = u16::from(color) * u16::from(black) / 255;
    u8::try_from(light).unwrap_or(u8::MAX)
}

pub(crate) fn decode_other(bytes: &[u8], kind: ImageFormat) -> Result<Rgb, Unreadable> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let decoded = reader.decode().map_err(Unreadable::damaged)?;
    let (width, height) = (decoded.width(), decoded.height());
    let pixels = match decoded.color().has_alpha() {
        // On white, as pages are.
        true => decoded
            .into_rgba8()
            .pixels()
            .flat_map(|p| {
                let [r, g, b, alpha] = p.0;
                [r, g, b].map(|c| over_white(c, alpha))
            })
            .collect(),
        false => decoded.into_rgb8().into_raw(),
    };
    Ok(Rgb {
        width,
        height,
        pixels,
    })
}

fn over_white(color: u8, alpha: u8) -> u8 {
    let mixed = u16::from(color) * u16::from(alpha) + 255 * (255 - u16::from(alpha));
    u8::try_from(mixed / 255).unwrap_or(u8::MAX)
}

/// Scales a picture so that its longer side is at most `max`.
fn scale(resizer: &mut Resizer, from: Rgb, max: u32) -> Result<Rgb, Unreadable> {
    let longer = from.width.max(from.height);
    if longer <= max {
        return Ok(from);
    }
    let side = |n: u32| {
        let scaled = (u64::from(n) * u64::from(max) + u64::from(longer) / 2) / u64::from(longer);
        u32::try_from(scaled).unwrap_or(max).max(1)
    };
    let (width, height) = (side(from.width), side(from.height));
    let source = TypedImageRef::<U8x3>::from_buffer(from.width, from.height, &from.pixels)
        .map_err(Unreadable::damaged)?;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let mut scaled =
        TypedImage::<U8x3>::from_buffer(width, height, &mut pixels).map_err(Unreadable::damaged)?;
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3));
    // `resize` would be compiled for every type of pixel: most of this crate's code.
    resizer
        .resize_typed(&source, &mut scaled, &options)
        .map_err(Unreadable::damaged)?;
    Ok(Rgb {
        width,
        height,
        pixels,
    })
}

fn encode(picture: &Rgb) -> Result<Vec<u8>, Unreadable> {
    let side = |n: u32| u16::try_from(n).map_err(Unreadable::damaged);
    let mut jpeg = Vec::with_capacity(16 << 10);
    let mut encoder = Encoder::new(&mut jpeg, QUALITY);
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    encoder
        .encode(
            &picture.pixels,
            side(picture.width)?,
            side(picture.height)?,
            ColorType::Rgb,
        )
        .map_err(Unreadable::damaged)?;
    Ok(jpeg)
}

fn average_color(pixels: &[u8]) -> u32 {
    let count = (pixels.len() / 3).max(1) as u64;
    let mut sums = [0u64; 3];
    for pixel in pixels.chunks_exact(3) {
        for (sum, &c) in sums.iter_mut().zip(pixel) {
            *sum += u64::from(c);
        }
    }
    let [r, g, b] = sums.map(|sum| u32::try_from(sum / count).unwrap_or(0));
    r << 16 | g << 8 | b
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture whose left half is red and whose right half is blue.
    fn halves(width: u16, height: u16, progressive: bool) -> Vec<u8> {
        let row = (0..width).flat_map(|x| match x < width / 2 {
            true => [255, 0, 0],
            false => [0, 0, 255],
        });
        let row: Vec<u8> = row.collect();
        let pixels = row.repeat(height.into());
        let mut jpeg = Vec::new();
        let mut encoder = Encoder::new(&mut jpeg, 90);
        encoder.set_progressive(progressive);
        encoder
            .encode(&pixels, width, height, ColorType::Rgb)
            .unwrap();
        jpeg
    }

    fn decoded(jpeg: &[u8]) -> Rgb {
        decode_other(jpeg, ImageFormat::Jpeg).unwrap_or_else(|_| {
            let mut decoder = jpeg_decoder::Decoder::new(jpeg);
            let pixels = decoder.decode().unwrap();
            let info = decoder.info().unwrap();
            Rgb {
                width: info.width.into(),
                height: info.height.into(),
                pixels,
            }
        })
    }

    fn is_red(picture: &Rgb, x: u32, y: u32) -> bool {
        let at = ((y * picture.width + x) * 3) as usize;
        picture.pixels[at] > 200 && picture.pixels[at + 2] < 60
    }

    #[test]
    fn thumbnails_have_the_sizes_of_the_desktop() {
        for progressive in [false, true] {
            let made = make_thumbnails(&halves(3000, 2000, progressive));
            let made = made.unwrap();
            assert_eq!((made.width, made.height), (3000, 2000));
            let (small, large) = (decoded(&made.small), decoded(&made.large));
            assert_eq!((large.width, large.height), (256, 171));
            assert_eq!((small.width, small.height), (128, 86));
            assert!(is_red(&large, 10, 80) && !is_red(&large, 240, 80));
        }
    }

    #[test]
    fn the_size_of_a_jpeg_is_in_its_header() {
        let jpeg = halves(300, 200, false);
        assert_eq!(jpeg_size(&jpeg), Some((300, 200)));
        assert_eq!(jpeg_size(&jpeg[..20]), None);
        assert_eq!(
            jpeg_size(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01"),
            None
        );
    }

    #[test]
    fn small_pictures_are_not_enlarged() {
        let made = make_thumbnails(&halves(100, 40, false)).unwrap();
        assert_eq!(made.small, made.large);
        assert_eq!(decoded(&made.small).width, 100);
        let panorama = make_thumbnails(&halves(6000, 4, false)).unwrap();
        assert_eq!(decoded(&panorama.small).height, 1);
    }

    #[test]
    fn thumbnails_are_turned() {
        // An APP1 segment with one entry: the orientation 6.
        let exif = b"\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let mut jpeg = halves(600, 300, false);
        jpeg.splice(2..2, exif.iter().copied());
        let made = make_thumbnails(&jpeg).unwrap();
        assert_eq!((made.width, made.height), (300, 600));
        let large = decoded(&made.large);
        assert_eq!((large.width, large.height), (128, 256));
        assert!(is_red(&large, 60, 20) && !is_red(&large, 60, 230));
    }

    #[test]
    fn cmyk_is_inverted_if_adobe_wrote_it() {
        // Red on the left, blue on the right, as ink.
        let row = (0..64).flat_map(|x| match x < 32 {
            true => [0, 255, 255, 0],
            false => [255, 255, 0, 0],
        });
        let ink: Vec<u8> = row.collect::<Vec<u8>>().repeat(32);
        let inverted: Vec<u8> = ink.iter().map(|c| 255 - c).collect();
        let adobe = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0";
        for (pixels, segment, name) in [
            (&inverted, &b""[..], "plain"),
            (&ink, &adobe[..], "Adobe's"),
        ] {
            let mut jpeg = Vec::new();
            Encoder::new(&mut jpeg, 95)
                .encode(pixels, 64, 32, ColorType::Cmyk)
                .unwrap();
            // The encoder stores the inverse, with the mark.
            let at = jpeg.windows(5).position(|five| five == b"Adobe").unwrap();
            jpeg.drain(at - 4..at + 12);
            jpeg.splice(2..2, segment.iter().copied());
            let made = decoded(&make_thumbnails(&jpeg).unwrap().large);
            let left = is_red(&made, 8, 16);
            assert!(left, "{name}");
        }
    }

    #[test]
    fn bombs_are_refused() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend_from_slice(&20_000u32.to_be_bytes().repeat(2));
        png.extend_from_slice(&[8, 2, 0, 0, 0, 0, 0, 0, 0]);
        let refused = make_thumbnails(&png);
        assert!(
            matches!(refused, Err(Unreadable::TooManyPixels { .. })),
            "{refused:?}"
        );
        let mut scans = halves(16, 16, false);
        scans.extend_from_slice(&[0xff, 0xda].repeat(40));
        let refused = make_thumbnails(&scans);
        assert!(
            matches!(refused, Err(Unreadable::TooManyScans(_))),
            "{refused:?}"
        );
    }

    proptest::proptest! {
        #[test]
        fn damaged_pictures_are_refused(at in 0usize..4000, byte: u8, cut in 0usize..4000) {
            let mut jpeg = halves(200, 100, at % 2 == 0);
            if let Some(b) = jpeg.get_mut(at) {
                *b = byte;
            }
            jpeg.truncate(cut.max(100));
            let _ = make_thumbnails(&jpeg);
        }
    }
}
