//! The pages that a batch of a media library writes to SQLite's WAL, by table: the batches of
//! `media-sync`, with given thumbnails or, with `decoded`, with those that the scan makes.
//!
//! ```text
//! cargo run -p etui-lab --example batch_pages [TRACKS [BATCHES [decoded]]]
//! ```

#[path = "../src/experiments/media_sync/library.rs"]
mod library;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use etui::media::{CoverId, CoverThumbnails, Media, ScanOptions};
use etui::{Options, Store, Vfs};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, cover};
use library::{BATCH, Track};
use rusqlite::Connection;

type Failure = Box<dyn std::error::Error>;

/// Width and height of an original in pixels.
const ORIGINAL: u16 = 400;
const PAGE: usize = 4096;
/// Bytes of the header of a WAL, and of a frame before its page.
const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A page in a WAL.
struct Frame {
    number: u32,
    /// Pages of the database after the commit that the frame ends; 0: it ends none.
    database_pages: u32,
    page: Vec<u8>,
}

fn big_endian(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk);
    four.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Reads the frames of a WAL since its last restart.
fn read_wal(path: &Path) -> Result<Vec<Frame>, Failure> {
    let bytes = fs::read(path)?;
    let salts = bytes.get(16..24);
    let frames = bytes.get(WAL_HEADER..).unwrap_or_default();
    let frames = frames.chunks_exact(FRAME_HEADER + PAGE);
    let of_now = frames.take_while(|frame| frame.get(8..16) == salts);
    let frame = |frame: &[u8]| Frame {
        number: big_endian(frame, 0),
        database_pages: big_endian(frame, 4),
        page: frame.get(FRAME_HEADER..).unwrap_or_default().to_vec(),
    };
    Ok(of_now.map(frame).collect())
}

/// The table, or the table of the index, and the kind of each page.
fn page_owners(path: &Path) -> Result<HashMap<u32, String>, Failure> {
    let db = Connection::open(path)?;
    let mut owners = db.prepare("SELECT pageno, name FROM dbstat")?;
    let owners = owners.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(owners.collect::<Result<_, _>>()?)
}

#[derive(Default)]
struct Written {
    new: u64,
    rewritten: u64,
    /// Bytes of rewritten pages that differ.
    changed: u64,
}

impl Written {
    fn add(&mut self, other: &Self) {
        self.new += other.new;
        self.rewritten += other.rewritten;
        self.changed += other.changed;
    }

    fn print(&self, name: &str, batches: u64, payload: u64) {
        let mean = |count: u64| count as f64 / batches as f64;
        let logged = (self.new + self.rewritten) * (FRAME_HEADER + PAGE) as u64;
        println!(
            "{name:<20} {:>7.1} {:>9.1} {:>13.0} {:>14.3}",
            mean(self.new),
            mean(self.rewritten),
            mean(self.changed),
            logged as f64 / payload as f64
        );
    }
}

/// A library of tracks without covers, and the folder that it scans.
struct Library {
    store: Store,
    path: PathBuf,
    music: PathBuf,
}

impl Library {
    fn create(dir: &Path, tracks: u64) -> Result<Self, Failure> {
        let mut options = Options::default();
        options.vfs = Vfs::System;
        let path = dir.join("library.etui");
        let open = || Store::open_with(&path, &options);
        let mut library = Self {
            store: open()?,
            path: path.clone(),
            music: dir.join("Music"),
        };
        for id in 0..tracks {
            library.write_file(&Track::number(id), None)?;
        }
        library.scan(&library.store.media()?, Vec::new())?;
        // The batches begin with an empty log.
        library.store.close()?;
        library.store = open()?;
        Ok(library)
    }

    fn write_file(&self, track: &Track, original: Option<Vec<u8>>) -> Result<(), Failure> {
        let spec = TrackSpec {
            title: track.title.clone(),
            artists: vec![track.artist.clone()],
            album: track.album.clone(),
            album_artist: track.artist.clone(),
            cover: original.map(Into::into),
            ..TrackSpec::new(track.id, 1_000)
        };
        let folder = self.music.join((track.id / BATCH).to_string());
        fs::create_dir_all(&folder)?;
        let name = Path::new(&track.path).file_name().unwrap_or_default();
        fs::write(folder.join(name), audio_file(AudioFormat::Mp3, &spec))?;
        Ok(())
    }

    fn scan(&self, media: &Media, covers: Vec<CoverThumbnails>) -> Result<(), Failure> {
        let options = ScanOptions {
            covers,
            ..ScanOptions::default()
        };
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        media.scan(std::slice::from_ref(&self.music), &options, go_on)?;
        Ok(())
    }

    /// Bytes of thumbnails and texts of tracks.
    fn stored_bytes(&self, media: &Media) -> Result<u64, Failure> {
        let mut bytes = media.stats()?.thumbnail_bytes;
        media.tracks().for_each(|_, text| {
            bytes += text.len() as u64;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Scans the files of a batch. Returns the bytes of thumbnails and metadata.
    fn scan_batch(&self, first: u64, decodes: bool) -> Result<u64, Failure> {
        let media = self.store.media()?;
        let before = self.stored_bytes(&media)?;
        let (mut covers, mut given) = (Vec::new(), 0);
        for track in (first..first + BATCH).map(Track::number) {
            let original = cover(track.id, ORIGINAL);
            let (id, side) = (CoverId::of(&original), u32::from(ORIGINAL));
            self.write_file(&track, Some(original))?;
            let picture = track.picture();
            given += picture.len();
            let texts = [&track.title, &track.artist, &track.album, &track.path];
            given += texts.iter().map(|text| text.len()).sum::<usize>();
            if !decodes {
                let (small, large) = (picture.clone(), picture);
                covers.push(CoverThumbnails::new(id, (side, side), 0, small, large)?);
            }
        }
        self.scan(&media, covers)?;
        Ok(match decodes {
            true => self.stored_bytes(&media)? - before,
            false => given as u64,
        })
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (tracks, batches): (u64, u64) = (number(1_200)?, number(12)?);
    let decodes = arguments.next().is_some_and(|text| text == "decoded");
    let dir = tempfile::tempdir()?;
    let library = Library::create(dir.path(), tracks)?;
    let wal = library.path.with_extension("etui-wal");

    let database = fs::read(&library.path)?;
    let mut images: HashMap<u32, Vec<u8>> = (1..)
        .zip(database.chunks(PAGE).map(<[u8]>::to_vec))
        .collect();
    let mut end = images.len() as u32;
    let mut tables: BTreeMap<String, Written> = BTreeMap::new();
    let (mut payload, mut read) = (0, 0);
    for batch in 0..batches {
        // A snapshot keeps the WAL from being restarted before its frames are read.
        let snapshot = Connection::open(&library.path)?;
        snapshot.execute_batch("BEGIN; SELECT count(*) FROM meta")?;
        payload += library.scan_batch(tracks + batch * BATCH, decodes)?;
        let (frames, owners) = (read_wal(&wal)?, page_owners(&library.path)?);
        if frames.len() < read {
            // Restarted between two batches.
            read = 0;
        }
        let before = end;
        for frame in frames.iter().skip(read) {
            let owner = owners.get(&frame.number).map_or("free pages", |name| name);
            let table = tables.entry(owner.to_owned()).or_default();
            match images.get(&frame.number).filter(|_| frame.number <= before) {
                Some(old) => {
                    table.rewritten += 1;
                    let pairs = old.iter().zip(&frame.page);
                    table.changed += pairs.filter(|(old, new)| old != new).count() as u64;
                }
                None => table.new += 1,
            }
            images.insert(frame.number, frame.page.clone());
            end = end.max(frame.database_pages);
        }
        read = frames.len();
    }

    println!("a batch: {} bytes of payload", payload / batches);
    println!(
        "{:<20} {:>7} {:>9} {:>13} {:>14}",
        "", "new", "rewritten", "changed bytes", "of the payload"
    );
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(_, written)| std::cmp::Reverse(written.new + written.rewritten));
    let mut all = Written::default();
    for (name, written) in &tables {
        written.print(name, batches, payload);
        all.add(written);
    }
    all.print("all", batches, payload);
    Ok(())
}
