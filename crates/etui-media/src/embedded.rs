//! [`Embedded`]: the blocks of metadata in a picture's file: EXIF, XMP, IPTC.

use std::io;

/// Bytes of one block.
const MAX_BLOCK: u64 = 1 << 20;
/// Segments or chunks that are looked at; more are no picture.
const MAX_PARTS: usize = 4096;

/// The blocks of metadata in a picture's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Embedded {
    /// A TIFF structure (EXIF 2.32, section 4.5.2).
    pub(crate) exif: Option<Vec<u8>>,
    /// An XMP packet (ISO 16684-1).
    pub(crate) xmp: Option<Vec<u8>>,
    /// The records of IPTC (IIM 4.2).
    pub(crate) iptc: Option<Vec<u8>>,
    /// A JPEG by Adobe, whose CMYK is inverted.
    pub(crate) is_adobe: bool,
}

/// Reads up to `buf.len()` bytes at an offset.
pub(crate) type ReadAt<'r> = &'r mut dyn FnMut(u64, &mut [u8]) -> io::Result<usize>;

impl Embedded {
    /// Reads the blocks of a JPEG, PNG, WebP or TIFF; any other file has none that are found here.
    pub(crate) fn read(read_at: ReadAt<'_>) -> io::Result<Self> {
        let mut start = [0; 12];
        let n = read_at(0, &mut start)?;
        let start = start.get(..n).unwrap_or_default();
        let mut found = Self::default();
        if start.starts_with(&[0xff, 0xd8]) {
            found.read_jpeg(read_at)?;
        } else if start.starts_with(b"\x89PNG\r\n\x1a\n") {
            found.read_png(read_at)?;
        } else if start.starts_with(b"RIFF") && start.ends_with(b"WEBP") {
            found.read_webp(read_at)?;
        } else if start.starts_with(b"II*\0") || start.starts_with(b"MM\0*") {
            found.exif = tiff_directory(start, read_at)?;
        }
        Ok(found)
    }

    /// Reads the blocks of a file in memory.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let read = Self::read(&mut |at, buf| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let rest = bytes.get(at..).unwrap_or_default();
            let n = rest.len().min(buf.len());
            if let (Some(to), Some(from)) = (buf.get_mut(..n), rest.get(..n)) {
                to.copy_from_slice(from);
            }
            Ok(n)
        });
        read.unwrap_or_default()
    }

    /// Reads the segments before the first scan (ITU T.81, annex B).
    fn read_jpeg(&mut self, read_at: ReadAt<'_>) -> io::Result<()> {
        let mut at = 2;
        for _ in 0..MAX_PARTS {
            let mut header = [0; 4];
            if read_at(at, &mut header)? < 4 {
                return Ok(());
            }
            let [0xff, marker, high, low] = header else {
                return Ok(());
            };
            match marker {
                // A fill byte.
                0xff => {
                    at += 1;
                    continue;
                }
                0xda | 0xd9 => return Ok(()),
                _ => {}
            }
            let len = u64::from(u16::from_be_bytes([high, low])).saturating_sub(2);
            if matches!(marker, 0xe1 | 0xed | 0xee) {
                let content = block(read_at, at + 4, len)?;
                self.add_segment(marker, &content);
            }
            at += 4 + len;
        }
        Ok(())
    }

    fn add_segment(&mut self, marker: u8, content: &[u8]) {
        const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";
        match marker {
            0xe1 => {
                if let Some(exif) = content.strip_prefix(b"Exif\0") {
                    // After a byte of padding.
                    self.exif
                        .get_or_insert_with(|| exif.get(1..).unwrap_or_default().to_vec());
                } else if let Some(xmp) = content.strip_prefix(XMP) {
                    self.xmp.get_or_insert_with(|| xmp.to_vec());
                }
            }
            0xed => {
                if let Some(resources) = content.strip_prefix(b"Photoshop 3.0\0")
                    && let Some(iptc) = photoshop_iptc(resources)
                {
                    self.iptc.get_or_insert_with(|| iptc.to_vec());
                }
            }
            _ => self.is_adobe |= content.starts_with(b"Adobe"),
        }
    }

    /// Reads the chunks of a PNG (PNG 1.5, `eXIf`; XMP part 3, section 1.1.5).
    fn read_png(&mut self, read_at: ReadAt<'_>) -> io::Result<()> {
        const XMP: &[u8] = b"XML:com.adobe.xmp\0\0\0";
        let mut at = 8;
        for _ in 0..MAX_PARTS {
            let mut header = [0; 8];
            if read_at(at, &mut header)? < 8 {
                break;
            }
            let [a, b, c, d, kind @ ..] = header;
            let len = u64::from(u32::from_be_bytes([a, b, c, d]));
            match &kind {
                b"eXIf" => self.exif = Some(block(read_at, at + 8, len)?),
                b"iTXt" => {
                    let text = block(read_at, at + 8, len)?;
                    if let Some(rest) = text.strip_prefix(XMP) {
                        // After a language and a keyword in it, each with its NUL.
                        let xmp = rest.splitn(3, |&byte| byte == 0).nth(2);
                        self.xmp = xmp.map(<[u8]>::to_vec);
                    }
                }
                b"IEND" => break,
                _ => {}
            }
            at += 12 + len;
        }
        Ok(())
    }

    fn read_webp(&mut self, read_at: ReadAt<'_>) -> io::Result<()> {
        let mut at = 12;
        for _ in 0..MAX_PARTS {
            let mut header = [0; 8];
            if read_at(at, &mut header)? < 8 {
                break;
            }
            let [kind @ .., a, b, c, d] = header;
            let len = u64::from(u32::from_le_bytes([a, b, c, d]));
            match &kind {
                b"EXIF" => {
                    let exif = block(read_at, at + 8, len)?;
                    // Some writers put the name of the JPEG segment before it.
                    let plain = exif.strip_prefix(b"Exif\0\0").map(<[u8]>::to_vec);
                    self.exif = Some(plain.unwrap_or(exif));
                }
                b"XMP " => self.xmp = Some(block(read_at, at + 8, len)?),
                _ => {}
            }
            at += 8 + len + (len & 1);
        }
        Ok(())
    }

    /// Returns the orientation in EXIF, 1 to 8: of the first directory of the TIFF structure.
    pub(crate) fn orientation(&self) -> Option<u32> {
        let tiff = self.exif.as_deref()?;
        let is_big = match tiff.get(..4)? {
            b"II*\0" => false,
            b"MM\0*" => true,
            _ => return None,
        };
        let short = |at: usize| -> Option<u16> {
            let bytes = *tiff.get(at..)?.first_chunk()?;
            Some(match is_big {
                true => u16::from_be_bytes(bytes),
                false => u16::from_le_bytes(bytes),
            })
        };
        let (low, high) = (short(4)?, short(6)?);
        let first = match is_big {
            true => usize::from(low) << 16 | usize::from(high),
            false => usize::from(high) << 16 | usize::from(low),
        };
        let count = usize::from(short(first)?);
        let entries = (0..count).map(|number| first + 2 + 12 * number);
        let mut found = entries.filter(|at| short(*at) == Some(0x0112));
        short(found.next()? + 8).map(u32::from)
    }
}

/// Returns a TIFF structure of the first directory alone, which may be anywhere in the file (TIFF 6.0, section 2).
fn tiff_directory(start: &[u8], read_at: ReadAt<'_>) -> io::Result<Option<Vec<u8>>> {
    let (Some(order), Some(first)) = (start.first_chunk::<4>(), start.get(4..8)) else {
        return Ok(None);
    };
    let is_big = order.starts_with(b"M");
    let number = |bytes: &[u8]| {
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        match is_big {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        }
    };
    let at = number(first);
    let count = block(read_at, at, 2)?;
    let entries = block(read_at, at.saturating_add(2), 12 * number(&count))?;
    let offset = match is_big {
        true => 8_u32.to_be_bytes(),
        false => 8_u32.to_le_bytes(),
    };
    Ok(Some([&order[..], &offset, &count, &entries].concat()))
}

/// Bytes at the start and at the end of a file in which a packet of XMP is looked for: programs write it before the
/// pixels, or append it. All of a raw picture would be tens of megabytes.
const MAX_START: u64 = 1 << 20;
const MAX_END: u64 = 256 << 10;

/// Finds a packet of XMP by its text, in a format whose structure is not read: HEIC, AVIF, TIFF and raw pictures
/// (XMP specification, part 3: packet scanning).
pub(crate) fn find_packet(len: u64, read_at: ReadAt<'_>) -> io::Result<Option<Vec<u8>>> {
    const BEGIN: &[u8] = b"<x:xmpmeta";
    const END: &[u8] = b"</x:xmpmeta>";
    let end = len.saturating_sub(MAX_END).max(MAX_START.min(len));
    for (at, len) in [(0, len.min(MAX_START)), (end, len - end)] {
        let bytes = block(read_at, at, len)?;
        let begin = memchr::memmem::find(&bytes, BEGIN).and_then(|at| bytes.get(at..));
        if let Some(packet) = begin
            && let Some(end) = memchr::memmem::find(packet, END)
        {
            return Ok(packet.get(..end + END.len()).map(<[u8]>::to_vec));
        }
    }
    Ok(None)
}

fn block(read_at: ReadAt<'_>, at: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(len.min(MAX_BLOCK)).unwrap_or(0)];
    let n = read_at(at, &mut content)?;
    content.truncate(n);
    Ok(content)
}

/// Returns the IPTC records in the resources of Photoshop: `8BIM`, an id, a name, a size, the content.
fn photoshop_iptc(mut resources: &[u8]) -> Option<&[u8]> {
    loop {
        let rest = resources.strip_prefix(b"8BIM")?;
        let (id, rest) = rest.split_first_chunk::<2>()?;
        // The name with its length, both together of an even size.
        let name = 1 + usize::from(*rest.first()?);
        let rest = rest.get(name + name % 2..)?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let size = u32::from_be_bytes(*size) as usize;
        if *id == [0x04, 0x04] {
            return rest.get(..size.min(rest.len()));
        }
        resources = rest.get(size + size % 2..)?;
    }
}
