//! The library beside the same schema driven by plain rusqlite, so that its own cost shows.
//!
//! `cargo bench -p etui --bench contacts`. The figures that count are the ratios of neighbouring
//! rows; absolute times are of the machine. `docs/src/benchmarks.md` says how to read them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use etui::Store;
use etui::contacts::{Card, Filter, Paging};
use etui::record::RecordKind;
use support::{Rows, SIZE, cards, filled, insert, kept, options, plain, scratch, store, texts};

/// Saving all in one batch, durable; per contact. Parsing is part of ours, not of plain's.
fn save_batch(c: &mut Criterion) {
    let dir = scratch();
    let source = filled(dir.path(), "source.etui", SIZE);
    let rows = Rows::read(&source);
    let texts = texts(1, SIZE);
    let mut group = c.benchmark_group("save one batch of 12,800");
    group
        .throughput(Throughput::Elements(SIZE as u64))
        .sample_size(10);
    for (name, grams) in [("etui, all but substrings", false), ("etui, all", true)] {
        group.bench_function(name, |b| {
            b.iter_custom(|rounds| {
                (0..rounds)
                    .map(|_| {
                        let dir = scratch();
                        let mut options = options();
                        options.merge_substrings = false;
                        let (_, store) = store(dir.path(), "s.etui", &options);
                        let contacts = store.contacts().expect("the book");
                        let start = Instant::now();
                        let cards: Vec<Card> = texts
                            .iter()
                            .map(|t| Card::parse(t.as_bytes()).expect("a card"))
                            .collect();
                        contacts.save_many(&cards).expect("saving");
                        if grams {
                            store.maintenance().merge_index().expect("merging");
                        }
                        start.elapsed()
                    })
                    .sum()
            });
        });
    }
    for (name, parts) in [
        ("plain rusqlite, all but substrings", false),
        ("plain rusqlite, all", true),
    ] {
        group.bench_function(name, |b| {
            b.iter_custom(|rounds| {
                (0..rounds)
                    .map(|_| {
                        let dir = scratch();
                        let (path, store) = store(dir.path(), "s.etui", &options());
                        store.close().expect("closing");
                        let conn = plain(&path);
                        let start = Instant::now();
                        insert(&conn, &rows, parts);
                        start.elapsed()
                    })
                    .sum()
            });
        });
    }
    group.finish();
}

/// One durable save into 12,800, a new contact each time.
fn save_one(c: &mut Criterion) {
    let dir = scratch();
    let path = filled(dir.path(), "s.etui", SIZE);
    let fresh = cards(2, 4_000);
    let mut group = c.benchmark_group("save one, durable");
    group.sample_size(20);
    {
        let store = Store::open(&path).expect("opening");
        let contacts = store.contacts().expect("the book");
        let mut next = fresh.iter().cycle();
        group.bench_function("etui", |b| {
            b.iter(|| {
                let Some(card) = next.next() else { return };
                contacts.save(card).expect("saving");
                let mut other = card.clone();
                other.set("X-N", "1").expect("an edit");
                contacts.save(&other).expect("saving");
            });
        });
        store.close().expect("closing");
    }
    let rows = Rows::read(&path);
    let conn = plain(&path);
    let mut at = 0;
    group.bench_function("plain rusqlite, the same tables", |b| {
        b.iter(|| {
            for _ in 0..2 {
                let r = &rows.records[at % SIZE];
                let block = &rows.blocks[at % rows.blocks.len()];
                let span = &rows.spans[at % rows.spans.len()];
                at += 1;
                let id = 10_000_000 + at as i64;
                conn.execute_batch("BEGIN IMMEDIATE").expect("begin");
                conn.prepare_cached(
                    "INSERT INTO record (id, collection, changed, removed_at, uid, etag, sort_key, \
                     summary, keys, text) VALUES (?1, 1, ?1, NULL, ?2, ?3, ?4, ?5, ?6, ?7)",
                )
                .and_then(|mut s| {
                    s.execute((id, format!("{}{id}", r.1), &r.2, &r.3, &r.4, &r.5, &r.6))
                })
                .expect("record");
                // An entry more or less in a block: other bytes of about the same length.
                let entries =
                    [&block.1[..], &[0; 80][..(at / rows.blocks.len()) % 2 * 80]].concat();
                conn.prepare_cached(
                    "UPDATE list_block SET entries = ?2 WHERE collection = 1 AND first = ?1",
                )
                .and_then(|mut s| s.execute((&block.0, &entries)))
                .expect("block");
                conn.prepare_cached(
                    "UPDATE list_span SET count = count + 1 WHERE collection = 1 AND first = ?1",
                )
                .and_then(|mut s| s.execute([&span.0]))
                .expect("span");
                conn.execute_batch("COMMIT").expect("commit");
            }
        });
    });
    group.finish();
}

/// Reading by UID and all at once.
fn read(c: &mut Criterion) {
    let dir = scratch();
    let path = filled(dir.path(), "s.etui", SIZE);
    let uids: Vec<String> = cards(1, SIZE)
        .iter()
        .map(|c| c.identity().into_owned())
        .collect();
    let store = Store::open(&path).expect("opening");
    let contacts = store.contacts().expect("the book");
    let snapshot = store.snapshot().expect("a snapshot");
    let reader = snapshot.contacts().expect("the book");
    let conn = plain(&path);
    const GET: &str = "SELECT id, uid, etag, text FROM record \
                       WHERE collection = 1 AND uid = ?1 AND removed_at IS NULL";
    let one = |uid: &str| -> (i64, String, [u8; 16], Vec<u8>) {
        conn.prepare_cached(GET)
            .and_then(|mut s| {
                s.query_row([uid], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))
            })
            .expect("found")
    };
    let mut at = 0;
    let mut uid = move || {
        at = (at + 7_919) % SIZE;
        at
    };

    let mut group = c.benchmark_group("get one by UID");
    group.bench_function("etui, in a snapshot", |b| {
        b.iter(|| reader.get(&uids[uid()]))
    });
    group.bench_function("etui, alone", |b| b.iter(|| contacts.get(&uids[uid()])));
    group.bench_function("plain rusqlite, in a transaction", |b| {
        conn.execute_batch("BEGIN").expect("begin");
        b.iter(|| one(&uids[uid()]));
        conn.execute_batch("ROLLBACK").expect("rollback");
    });
    group.bench_function("plain rusqlite, alone", |b| b.iter(|| one(&uids[uid()])));
    group.finish();

    let mut group = c.benchmark_group("get 50 by UID");
    group.bench_function("etui", |b| {
        b.iter_batched(
            || (0..50).map(|_| uids[uid()].as_str()).collect::<Vec<_>>(),
            |some| contacts.get_many(&some),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("plain rusqlite", |b| {
        b.iter_batched(
            || (0..50).map(|_| uids[uid()].as_str()).collect::<Vec<_>>(),
            |some| {
                conn.execute_batch("BEGIN").expect("begin");
                let all: Vec<_> = some.iter().map(|u| one(u)).collect();
                conn.execute_batch("ROLLBACK").expect("rollback");
                all
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();

    let mut group = c.benchmark_group("all 12,800 vCards");
    group.sample_size(50);
    group.bench_function("etui, one arena", |b| b.iter(|| contacts.all()));
    group.bench_function("plain rusqlite, one arena", |b| {
        b.iter(|| {
            let mut arena: Vec<u8> = Vec::new();
            let mut statement = conn
                .prepare_cached("SELECT id, text FROM record WHERE removed_at IS NULL")
                .expect("preparing");
            let mut rows = statement.query([]).expect("a query");
            while let Some(row) = rows.next().expect("a row") {
                black_box(row.get::<_, i64>(0).expect("id"));
                arena.extend_from_slice(
                    row.get_ref(1).and_then(|v| Ok(v.as_blob()?)).expect("text"),
                );
            }
            arena
        });
    });
    group.finish();

    let mut group = c.benchmark_group("lists and searches at 12,800");
    group.bench_function("first page of 50", |b| {
        b.iter(|| contacts.list(Paging::first(50)))
    });
    group.bench_function("whole list", |b| b.iter(|| contacts.list(Paging::ALL)));
    for text in [
        "name:mul*",
        "name:*ler",
        "email:*@example.org",
        "phone:*5012",
        "phone.national:3023125012",
        "*ull*",
    ] {
        let filter: Filter = text.parse().expect("a filter");
        group.bench_function(format!("find {text}"), |b| {
            b.iter(|| contacts.find(&filter))
        });
    }
    group.finish();
}

/// Opening and closing cleanly; equal at any size.
fn open_close(c: &mut Criterion) {
    let dir = scratch();
    let mut group = c.benchmark_group("open and clean close");
    for size in [100, 102_400] {
        let path = dir.path().join(format!("{size}.etui"));
        std::fs::copy(kept(size), &path).expect("copying");
        group.bench_function(format!("etui, {size}"), |b| {
            b.iter(|| Store::open(&path).and_then(Store::close));
        });
        group.bench_function(format!("plain rusqlite, {size}"), |b| {
            b.iter(|| {
                let conn = plain(&path);
                conn.query_row("SELECT value FROM meta WHERE key = 'store_id'", [], |r| {
                    r.get::<_, i64>(0)
                })
                .expect("an id");
                conn.close().expect("closing");
            });
        });
    }
    group.finish();
}

fn settings() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
}

criterion_group! {
    name = benches;
    config = settings();
    targets = save_batch, save_one, read, open_close
}
criterion_main!(benches);
