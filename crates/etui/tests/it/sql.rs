//! A program's own queries: everything can be read, and nothing changed.

use etui::contacts::Card;
use etui::store::{Options, SqlValue};
use etui::{Store, Vfs};

fn store_with_one(vfs: Vfs) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.vfs = vfs;
    let store = Store::open_with(dir.path().join("s.etui"), &options).unwrap();
    let card = Card::parse("BEGIN:VCARD\nUID:ada\nFN:Ada\nEND:VCARD\n").unwrap();
    store.contacts().unwrap().save(&card).unwrap();
    (dir, store)
}

#[test]
fn queries_see_what_was_saved() {
    for vfs in [Vfs::System, Vfs::RedoLog] {
        let (_dir, store) = store_with_one(vfs);
        let found = store
            .sql(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
                 SELECT i, upper(uid), NULL FROM n, item WHERE uid = ?1 ORDER BY i",
                &[SqlValue::from("ada")],
            )
            .unwrap();
        assert_eq!(found.columns, ["i", "upper(uid)", "NULL"]);
        let ada = SqlValue::from("ADA");
        let row = |i: i64| vec![SqlValue::from(i), ada.clone(), SqlValue::Null];
        assert_eq!(found.rows, [row(1), row(2), row(3)]);
        store.close().unwrap();
    }
}

#[test]
fn what_is_no_query_is_refused() {
    let (dir, store) = store_with_one(Vfs::System);
    let other = dir.path().join("other.db");
    for refused in [
        "DELETE FROM record",
        "INSERT INTO meta VALUES ('a', 1)",
        "UPDATE item SET text = 'x'",
        "CREATE TEMP TABLE t (a)",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA journal_mode = DELETE",
        "BEGIN IMMEDIATE",
        "VACUUM",
        &format!("ATTACH '{}' AS other", other.display()),
        &format!("VACUUM INTO '{}'", other.display()),
        "SELECT 1; DELETE FROM record",
        "SELECT load_extension('x')",
        "SELECT nothing FROM nowhere",
        "",
        "SELECT ?1",
    ] {
        let result = store.sql(refused, &[]);
        assert!(result.is_err(), "{refused}: {result:?}");
    }
    assert!(!other.exists());
    assert_eq!(store.contacts().unwrap().count().unwrap(), 1);
    assert!(store.check().unwrap().is_clean());
}
