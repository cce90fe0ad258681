//! Support of the benchmarks: people, filled stores, and the same schema driven by plain rusqlite.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use etui::contacts::Card;
use etui::{Durability, ETag, Options, Store};
use etui_testkit::people::People;
use rusqlite::Connection;

/// Contacts of the standard size (the study's largest).
pub const SIZE: usize = 12_800;

/// Cards as text.
pub fn texts(seed: u64, count: usize) -> Vec<String> {
    People::new(seed).take(count).collect()
}

/// Cards, parsed.
pub fn cards(seed: u64, count: usize) -> Vec<Card> {
    texts(seed, count)
        .into_iter()
        .map(|t| Card::parse(t.into_bytes()).expect("a generated card"))
        .collect()
}

/// A directory on the file system of the working directory: the disk that is measured.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(".").expect("a scratch directory")
}

/// Options that do not depend on the environment.
pub fn options() -> Options {
    let mut options = Options::default();
    options.locale = Some("de".into());
    options.region = Some("DE".into());
    options
}

/// A new store in `dir`.
pub fn store(dir: &Path, name: &str, options: &Options) -> (PathBuf, Store) {
    let path = dir.join(name);
    let store = Store::open_with(&path, options).expect("a new store");
    (path, store)
}

/// A closed store of `count` people.
pub fn filled(dir: &Path, name: &str, count: usize) -> PathBuf {
    let (path, store) = store(dir, name, &options());
    let contacts = store.contacts().expect("the default book");
    for some in texts(1, count).chunks(4_096) {
        let some: Vec<Card> = some
            .iter()
            .map(|t| Card::parse(t.as_bytes()).expect("a generated card"))
            .collect();
        contacts.save_many(&some).expect("saving");
    }
    store.maintenance().merge_index().expect("merging");
    store.close().expect("closing");
    path
}

/// A closed store of `count` people with varied names, made once and kept for later runs: in the
/// directory `ETUI_BENCH_DIR`, or else among the target's temporary files. It is only to be read;
/// writers take a copy of it.
///
/// Its name contains the schema and a digest of the people. Values derived from
/// cards can change without either; the directory is to be emptied then.
pub fn kept(count: usize) -> PathBuf {
    let dir = std::env::var_os("ETUI_BENCH_DIR")
        .map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
    std::fs::create_dir_all(&dir).expect("the directory of kept stores");
    let sample: String = People::varied(1).take(200).collect();
    let people = &ETag::of(sample.as_bytes()).to_string()[..8];
    let schema = etui::SCHEMA_VERSION;
    let path = dir.join(format!("people-{count}-{people}-schema-{schema}.etui"));
    if path.exists() {
        return path;
    }
    // A run that is cut off leaves nothing that would be taken for a whole store.
    let unfinished = tempfile::tempdir_in(&dir).expect("a scratch directory");
    let mut options = options();
    options.durability = Durability::Deferred;
    let (new, store) = store(unfinished.path(), "s.etui", &options);
    let contacts = store.contacts().expect("the default book");
    let start = std::time::Instant::now();
    let people: String = People::varied(1).take(count).collect();
    let report = contacts
        .import(people.as_bytes(), &mut |_| ControlFlow::Continue(()))
        .expect("importing");
    assert_eq!(report.added, count as u64, "{:?}", report.refusals.first());
    store.maintenance().merge_index().expect("merging");
    store.close().expect("closing");
    std::fs::rename(&new, &path).expect("keeping the store");
    eprintln!("made {} in {:.0?}", path.display(), start.elapsed());
    path
}

/// The file opened by plain rusqlite with the settings that a store has.
pub fn plain(path: &Path) -> Connection {
    let conn = Connection::open(path).expect("opening");
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA cache_size = -4096; PRAGMA mmap_size = 1073741824; \
         PRAGMA journal_size_limit = 8388608",
    )
    .expect("pragmas");
    conn
}

/// A row of `record`: id, uid, etag, sort, summary, keys, text.
pub type Record = (i64, String, Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>);

/// The rows of a filled store, table by table, to be inserted again.
pub struct Rows {
    /// `record`.
    pub records: Vec<Record>,
    /// `list_block`: first, entries.
    pub blocks: Vec<(Vec<u8>, Vec<u8>)>,
    /// `list_span`: first, count, blocks.
    pub spans: Vec<(Vec<u8>, i64, Vec<u8>)>,
    /// `term_posting`: term, first, ids.
    pub terms: Vec<(Vec<u8>, i64, Vec<u8>)>,
    /// `trigram_posting`: trigram, first, ids.
    pub grams: Vec<(i64, i64, Vec<u8>)>,
}

impl Rows {
    /// Reads them, each table in its own order.
    pub fn read(path: &Path) -> Self {
        let conn = plain(path);
        let read = || -> rusqlite::Result<Self> {
            Ok(Self {
                records: conn
                    .prepare(
                        "SELECT id, uid, etag, sort_key, summary, keys, text FROM record ORDER BY id",
                    )?
                    .query_map([], |r| r.try_into())?
                    .collect::<rusqlite::Result<_>>()?,
                blocks: conn
                    .prepare("SELECT first, entries FROM list_block ORDER BY first")?
                    .query_map([], |r| r.try_into())?
                    .collect::<rusqlite::Result<_>>()?,
                spans: conn
                    .prepare("SELECT first, count, blocks FROM list_span ORDER BY first")?
                    .query_map([], |r| r.try_into())?
                    .collect::<rusqlite::Result<_>>()?,
                terms: conn
                    .prepare(
                        "SELECT term, first, ids FROM term_posting ORDER BY term, first",
                    )?
                    .query_map([], |r| r.try_into())?
                    .collect::<rusqlite::Result<_>>()?,
                grams: conn
                    .prepare(
                        "SELECT trigram, first, ids FROM trigram_posting ORDER BY trigram, first",
                    )?
                    .query_map([], |r| r.try_into())?
                    .collect::<rusqlite::Result<_>>()?,
            })
        };
        read().expect("reading the rows")
    }
}

/// Inserts rows into the empty store at `path` with plain rusqlite, one transaction; the grams
/// only if asked for.
pub fn insert(conn: &Connection, rows: &Rows, grams: bool) {
    let run = || -> rusqlite::Result<()> {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let mut record = conn.prepare_cached(
            "INSERT INTO record \
             (id, collection, changed, removed_at, uid, etag, sort_key, summary, keys, text) \
             VALUES (?1, 1, ?1, NULL, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for r in &rows.records {
            record.execute((r.0, &r.1, &r.2, &r.3, &r.4, &r.5, &r.6))?;
        }
        let mut block = conn.prepare_cached(
            "INSERT INTO list_block (collection, first, entries) VALUES (1, ?1, ?2)",
        )?;
        for b in &rows.blocks {
            block.execute((&b.0, &b.1))?;
        }
        let mut span = conn.prepare_cached(
            "INSERT INTO list_span (collection, first, count, blocks) VALUES (1, ?1, ?2, ?3)",
        )?;
        for s in &rows.spans {
            span.execute((&s.0, s.1, &s.2))?;
        }
        let mut trigram = conn.prepare_cached(
            "INSERT INTO trigram_posting (trigram, first, ids) VALUES (?1, ?2, ?3)",
        )?;
        let mut term =
            conn.prepare_cached("INSERT INTO term_posting (term, first, ids) VALUES (?1, ?2, ?3)")?;
        if grams {
            for g in &rows.grams {
                trigram.execute((g.0, g.1, &g.2))?;
            }
        }
        for t in &rows.terms {
            term.execute((&t.0, t.1, &t.2))?;
        }
        conn.execute_batch("COMMIT")
    };
    run().expect("inserting");
}
