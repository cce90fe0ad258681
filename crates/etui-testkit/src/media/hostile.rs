//! [`write_hostile`]: files that harm programs that trust them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{AudioFormat, TrackSpec, audio_file, cover};
use crate::images::{chunk, tiny_png};
use crate::rng::SplitMix64;

/// Bytes of the sparse files.
const SPARSE: u64 = 5 << 30;
/// Bytes that the deflated frame has after inflation.
const INFLATED: u64 = 400 << 20;
/// Directories in the deepest path.
const LEVELS: usize = 120;

/// A hostile file, link or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostileEntry {
    /// Its defect.
    pub about: String,
    /// A folder of its own, which has nothing else in it.
    pub folder: PathBuf,
}

/// Writes hostile files, each into a folder of its own below `dir`: damaged and truncated files of
/// each format, wrong extensions, lengths that lie, decompression bombs, deep nesting, odd names,
/// links, and sparse files.
pub fn write_hostile(dir: &Path) -> io::Result<Vec<HostileEntry>> {
    let mut writer = HostileWriter {
        dir: dir.to_owned(),
        entries: Vec::new(),
    };
    writer.write_damaged()?;
    writer.write_wrong_extensions()?;
    writer.write_lying_lengths()?;
    writer.write_bombs()?;
    writer.write_nested()?;
    writer.write_odd_names_and_links()?;
    Ok(writer.entries)
}

struct HostileWriter {
    dir: PathBuf,
    entries: Vec<HostileEntry>,
}

impl HostileWriter {
    fn folder(&mut self, about: &str) -> io::Result<PathBuf> {
        let folder = self.dir.join(format!("{:03}", self.entries.len()));
        fs::create_dir_all(&folder)?;
        self.entries.push(HostileEntry {
            about: about.to_owned(),
            folder: folder.clone(),
        });
        Ok(folder)
    }

    fn file(&mut self, about: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder(about)?;
        fs::write(folder.join(name), bytes)
    }

    /// Each format: empty, truncated, damaged, random, and of one byte only.
    fn write_damaged(&mut self) -> io::Result<()> {
        let mut samples: Vec<(&str, Vec<u8>)> = AudioFormat::ALL
            .iter()
            .map(|&format| (format.extension(), sample(format)))
            .collect();
        samples.push(("jpg", cover(1, 400)));
        samples.push(("png", tiny_png(1)));
        let mut rng = SplitMix64::new(1);
        for (extension, whole) in samples {
            let mut damaged = whole.clone();
            for byte in damaged.iter_mut().skip(8).step_by(97) {
                *byte ^= rng.next_u64() as u8;
            }
            let mut random = Vec::new();
            while random.len() < 64 << 10 {
                random.extend_from_slice(&rng.next_u64().to_le_bytes());
            }
            for (about, bytes) in [
                ("empty", Vec::new()),
                ("a third", whole[..whole.len() / 3].to_vec()),
                ("without its end", whole[..whole.len() - 20].to_vec()),
                ("damaged", damaged),
                ("random", random),
                ("3 MB of ones", vec![0xff; 3_000_000]),
            ] {
                let name = format!("file.{extension}");
                self.file(&format!("{extension}: {about}"), &name, &bytes)?;
            }
        }
        Ok(())
    }

    fn write_wrong_extensions(&mut self) -> io::Result<()> {
        for (about, name, bytes) in [
            ("mp3 as flac", "file.flac", sample(AudioFormat::Mp3)),
            ("flac as mp3", "file.mp3", sample(AudioFormat::Flac)),
            ("wav as m4a", "file.m4a", sample(AudioFormat::Wav)),
            ("opus as wav", "file.wav", sample(AudioFormat::Opus)),
            ("jpeg as mp3", "file.mp3", cover(1, 100)),
            ("mp3 as jpeg", "file.jpg", sample(AudioFormat::Mp3)),
            ("png as jpeg", "file.jpg", tiny_png(2)),
            ("text as ogg", "file.ogg", b"#!/bin/sh\n".repeat(1_000)),
        ] {
            self.file(about, name, &bytes)?;
        }
        Ok(())
    }

    fn write_lying_lengths(&mut self) -> io::Result<()> {
        let sound = sample(AudioFormat::Mp3);
        let mut tag = b"ID3\x04\0\0\x7f\x7f\x7f\x7f".to_vec();
        tag.extend_from_slice(&sound);
        self.file("ID3 tag of 256 MB", "file.mp3", &tag)?;
        let mut frame = b"ID3\x03\0\0\0\0\x10\0APIC\x7f\xff\xff\xff\0\0".to_vec();
        frame.extend_from_slice(&sound);
        self.file("APIC frame of 2 GB", "file.mp3", &frame)?;

        let flac = sample(AudioFormat::Flac);
        let mut picture = flac.clone();
        // The second metadata block becomes a picture of 16 MB.
        picture[42..46].copy_from_slice(&[6, 0xff, 0xff, 0xff]);
        self.file("FLAC picture of 16 MB", "file.flac", &picture)?;
        let mut comments = flac;
        let start = comments
            .windows(4)
            .position(|w| w == b"lofy" || w == b"loft");
        let after = start.unwrap_or(46).saturating_sub(4);
        comments[after..after + 4].copy_from_slice(&[0xff; 4]);
        self.file("FLAC vendor of 4 GB", "file.flac", &comments)?;

        let mut m4a = sample(AudioFormat::M4a);
        for name in [b"moov", b"covr", b"mdat"] {
            let mut lying = m4a.clone();
            let about = format!("atom {} of 2 GB", String::from_utf8_lossy(name));
            if let Some(at) = lying.windows(4).position(|w| w == name) {
                lying[at - 4..at].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
            }
            self.file(&about, "file.m4a", &lying)?;
        }
        m4a[..4].copy_from_slice(&[0, 0, 0, 0]);
        self.file("atom ftyp without a length", "file.m4a", &m4a)?;

        let mut opus = sample(AudioFormat::Opus);
        if let Some(at) = opus.windows(8).position(|w| w == b"OpusTags") {
            let vendor =
                u32::from_le_bytes([opus[at + 8], opus[at + 9], opus[at + 10], 0]) as usize;
            let count = at + 12 + vendor;
            opus[count..count + 4].copy_from_slice(&[0xff; 4]);
        }
        self.file("four billion comments", "file.opus", &opus)?;

        let mut wav = sample(AudioFormat::Wav);
        wav[4..8].copy_from_slice(&[0xff; 4]);
        wav[16..20].copy_from_slice(&[0xff; 4]);
        self.file("WAVE chunk of 4 GB", "file.wav", &wav)
    }

    fn write_bombs(&mut self) -> io::Result<()> {
        let mut data = zlib_zeros(INFLATED);
        let inflated = (INFLATED as u32).to_be_bytes();
        // ID3v2.3: compressed, the inflated length before the data.
        let mut frame = b"TIT2".to_vec();
        frame.extend_from_slice(&(data.len() as u32 + 4).to_be_bytes());
        frame.extend_from_slice(&[0, 0x80]);
        frame.extend_from_slice(&inflated);
        frame.append(&mut data);
        let mut tag = b"ID3\x03\0\0".to_vec();
        tag.extend_from_slice(&synchsafe(frame.len() as u32));
        tag.append(&mut frame);
        tag.extend_from_slice(&sample(AudioFormat::Mp3));
        self.file("ID3 frame that inflates to 400 MB", "file.mp3", &tag)?;

        self.file(
            "PNG of 20,000 squared",
            "file.png",
            &png_of_zeros(20_000, 20_000),
        )?;
        self.file("PNG of 65,000 by 1", "file.png", &png_of_zeros(65_000, 1))?;
        self.file(
            "PNG of 4 billion by 1",
            "file.png",
            &png_of_zeros(u32::MAX, 1),
        )?;
        let mut jpeg = cover(3, 64);
        if let Some(at) = jpeg
            .windows(2)
            .position(|w| w == [0xff, 0xc0] || w == [0xff, 0xc2])
        {
            jpeg[at + 5..at + 9].copy_from_slice(&[0xff, 0xdc, 0xff, 0xdc]);
        }
        self.file("JPEG of 65,500 squared", "file.jpg", &jpeg)?;
        // The last scan of a progressive picture, again and again.
        let scans = (0..64).map(|seed| cover(seed, 2_000)).find_map(|jpeg| {
            let is_progressive = jpeg.windows(2).any(|w| w == [0xff, 0xc2]);
            let last = jpeg.windows(2).rposition(|w| w == [0xff, 0xda])?;
            is_progressive.then(|| {
                let (before, scan) = jpeg[..jpeg.len() - 2].split_at(last);
                [before, &scan.repeat(300), &[0xff, 0xd9]].concat()
            })
        });
        self.file(
            "300 scans of 2,000 squared",
            "file.jpg",
            &scans.unwrap_or_default(),
        )?;
        let mut gif = b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff".to_vec();
        gif.extend_from_slice(b",\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0;");
        self.file("GIF of 65,535 squared", "file.gif", &gif)?;
        let bits: u32 = 0x3fff | 0x3fff << 14;
        let mut webp = b"RIFF\x20\0\0\0WEBPVP8L\x14\0\0\0\x2f".to_vec();
        webp.extend_from_slice(&bits.to_le_bytes());
        webp.extend_from_slice(&[0; 16]);
        self.file("WebP of 16,384 squared", "file.webp", &webp)
    }

    fn write_nested(&mut self) -> io::Result<()> {
        let mut frames = Vec::new();
        for _ in 0..1_000_000 {
            frames.extend_from_slice(b"TXXX\0\0\0\x04\0\0\0a\0b");
        }
        let mut tag = b"ID3\x03\0\0".to_vec();
        tag.extend_from_slice(&synchsafe(frames.len() as u32));
        tag.append(&mut frames);
        tag.extend_from_slice(&sample(AudioFormat::Mp3));
        self.file("a million frames", "file.mp3", &tag)?;

        let mut atoms = b"\0\0\0\x10ftypM4A \0\0\x02\0".to_vec();
        const DEEP: u32 = 100_000;
        for level in 0..DEEP {
            atoms.extend_from_slice(&((DEEP - level) * 8).to_be_bytes());
            atoms.extend_from_slice(b"moov");
        }
        self.file("100,000 nested atoms", "file.m4a", &atoms)?;

        // The first directory continues with itself.
        let mut looped =
            b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\x08".to_vec();
        self.file("Exif directory loop", "file.jpg", &jpeg_with_exif(&looped))?;
        // An Exif directory that is the first one.
        looped.truncate(8);
        looped.extend_from_slice(b"\0\x01\x87\x69\0\x04\0\0\0\x01\0\0\0\x08\0\0\0\0");
        self.file(
            "Exif directory in itself",
            "file.jpg",
            &jpeg_with_exif(&looped),
        )?;
        let lying = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x0f\0\x02\xff\xff\xff\xff\0\0\0\x10\0\0\0\0";
        self.file("Exif value of 4 GB", "file.jpg", &jpeg_with_exif(lying))?;
        let many = [b"MM\0\x2a\0\0\0\x08\xff\xff".as_slice(), &[0; 60_000]].concat();
        self.file("Exif of 65,535 entries", "file.jpg", &jpeg_with_exif(&many))
    }

    fn write_odd_names_and_links(&mut self) -> io::Result<()> {
        let good = sample(AudioFormat::Mp3);
        let long = [vec![b'a'; 251], b".mp3".to_vec()].concat();
        for (about, name) in [
            ("a name that is not UTF-8", b"\xff\xfe.mp3".to_vec()),
            ("a name with a line feed", b"a\nb\x1b[2J.mp3".to_vec()),
            ("a name of 255 bytes", long),
        ] {
            let folder = self.folder(about)?;
            fs::write(folder.join(OsString::from_vec(name)), &good)?;
        }
        for (about, name, to) in [
            ("link to /dev/zero", "zero.mp3", "/dev/zero"),
            ("link to nothing", "nothing.mp3", "gone"),
            ("link to its own folder", "loop", "."),
            ("link to itself", "self.mp3", "self.mp3"),
        ] {
            let folder = self.folder(about)?;
            symlink(to, folder.join(name))?;
        }
        let folder = self.folder("120 levels of folders")?;
        let deepest = folder.join(vec!["d"; LEVELS].join("/"));
        fs::create_dir_all(&deepest)?;
        fs::write(deepest.join("file.mp3"), &good)?;
        for extension in ["mp3", "wav", "flac", "jpg", "mp4"] {
            let folder = self.folder(&format!("sparse {extension} of 5 GB"))?;
            let file = fs::File::create(folder.join(format!("file.{extension}")))?;
            file.set_len(SPARSE)?;
        }
        self.file("playlist of itself", "file.m3u8", b"#EXTM3U\nfile.m3u8\n")
    }
}

fn sample(format: AudioFormat) -> Vec<u8> {
    let spec = TrackSpec {
        title: "Title".to_owned(),
        artists: vec!["Artist".to_owned()],
        cover: Some(cover(9, 64).into()),
        ..TrackSpec::new(5, 1_500)
    };
    audio_file(format, &spec)
}

/// Returns an ID3v2 length: four bytes of seven bits.
fn synchsafe(length: u32) -> [u8; 4] {
    [21, 14, 7, 0].map(|shift| (length >> shift & 0x7f) as u8)
}

/// Returns a zlib stream (RFC 1950, 1951) of `length` zeros, about a 159th of it.
///
/// ```text
/// header | block of fixed codes: literal 0, (length 258, distance 1)*, literal 0*, end | Adler-32
/// ```
fn zlib_zeros(length: u64) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let (mut bits, mut count) = (0u32, 0);
    let mut put = |out: &mut Vec<u8>, value: u32, width: u32| {
        bits |= value << count;
        count += width;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    };
    // The last block, of fixed Huffman codes. Codes are written from their most significant bit.
    put(&mut out, 0b011, 3);
    let literal_zero = 0b0011_0000_u8.reverse_bits();
    put(&mut out, literal_zero.into(), 8);
    for _ in 0..(length - 1) / 258 {
        // Length code 285, and distance code 0 in five bits.
        put(&mut out, 0b1100_0101_u8.reverse_bits().into(), 8);
        put(&mut out, 0, 5);
    }
    for _ in 0..(length - 1) % 258 {
        put(&mut out, literal_zero.into(), 8);
    }
    // The end of the block, and zeros to the next byte.
    put(&mut out, 0, 7);
    put(&mut out, 0, 7);
    let adler = (length % 65_521) << 16 | 1;
    out.extend_from_slice(&(adler as u32).to_be_bytes());
    out
}

/// Returns a PNG of one grey, whose rows deflate well; of those of more than 400 MB only the first.
fn png_of_zeros(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    header.extend_from_slice(&[8, 0, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);
    let rows = (u64::from(width) + 1) * u64::from(height);
    chunk(&mut png, b"IDAT", &zlib_zeros(rows.min(INFLATED)));
    chunk(&mut png, b"IEND", &[]);
    png
}

/// Returns a JPEG with an Exif segment.
fn jpeg_with_exif(tiff: &[u8]) -> Vec<u8> {
    let picture = cover(4, 64);
    let length = (tiff.len() + 8) as u16;
    let mut jpeg = b"\xff\xd8\xff\xe1".to_vec();
    jpeg.extend_from_slice(&length.to_be_bytes());
    jpeg.extend_from_slice(b"Exif\0\0");
    jpeg.extend_from_slice(tiff);
    jpeg.extend_from_slice(&picture[2..]);
    jpeg
}
