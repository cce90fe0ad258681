//! Reading by SQL: a program's own questions, with the tables and views of `docs/src/schema.md`.
//!
//! `cargo run --example sql`

use std::error::Error;
use std::path::Path;

use etui::Store;
use etui::contacts::Card;
use etui::store::SqlValue;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    for line in run(&dir.path().join("personal.etui"))? {
        println!("{line}");
    }
    Ok(())
}

/// Returns the lines to print.
fn run(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let store = Store::open(path)?;
    let contacts = store.contacts()?;
    for name in ["Ada Example", "Bo Example", "Cy Other"] {
        contacts.save(&Card::new(name)?)?;
    }
    // One SELECT, in one state of the store; nothing can be changed by it. Any other program reads
    // the same tables with a SQLite of its own.
    let found = store.sql(
        "SELECT book, count(*) AS cards FROM item \
         WHERE kind = ?1 AND CAST(text AS TEXT) LIKE ?2 GROUP BY book",
        &[SqlValue::from("contacts"), SqlValue::from("%Example%")],
    )?;
    let mut lines = vec![found.columns.join(" ")];
    for row in &found.rows {
        let cells: Vec<String> = row.iter().map(show).collect();
        lines.push(cells.join(" "));
    }
    store.close()?;
    Ok(lines)
}

fn show(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => String::new(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(text) => text.clone(),
        SqlValue::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

#[test]
fn prints_what_it_promises() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        run(&dir.path().join("personal.etui")).unwrap(),
        ["book cards", "Contacts 2"]
    );
}
