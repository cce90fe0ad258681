//! Steps: who changed the store, when and by what, as ranges of the change log, so that the last thing
//! that was done can be undone whole.
//!
//! ```text
//! step             id -> at, first, last, who, what, grouping, is_undo, undone_by
//! step_collection  step -> collection, change, before, after
//! ```
//!
//! Each write transaction appends one row, with the numbers of its first and last change. What the
//! changes replaced is in the change log already. The rows of one `grouping` are one step: transactions
//! of one command or request ([`label_step`]). Rows are deleted with the changes that they refer to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Row, ffi};

use crate::db::random::random_i64;
use crate::error::Result;
use crate::types::now_ms;

const SCHEMA: &str = "
CREATE TABLE step (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  first INTEGER,
  last INTEGER,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  grouping INTEGER,
  is_undo INTEGER NOT NULL DEFAULT 0,
  undone_by INTEGER
) STRICT;
CREATE TABLE step_collection (
  step INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  change INTEGER NOT NULL,
  before TEXT,
  after TEXT
) STRICT;
";

/// Who writes, and by what, on this thread.
#[derive(Debug, Clone)]
struct Label {
    who: String,
    what: String,
    grouping: i64,
    /// A row may have this grouping.
    is_used: bool,
}

thread_local! {
    static LABEL: RefCell<Option<Label>> = const { RefCell::new(None) };
}

/// Who writes where no label says it.
static DEFAULT_WHO: OnceLock<String> = OnceLock::new();

/// Sets who the steps of this process are ascribed to where no [`label_step`] says it; once, at the start
/// of the process. Without it that is the name of the program.
pub fn set_default_actor(who: &str) {
    // A later call is ignored: the steps before it have the first name.
    let _ = DEFAULT_WHO.set(who.to_owned());
}

fn default_actor() -> &'static str {
    // A program may be started without any argument, its name included.
    DEFAULT_WHO.get_or_init(|| {
        let program = std::env::args_os().next().unwrap_or_default();
        let name = std::path::Path::new(&program).file_name();
        name.unwrap_or_default().to_string_lossy().into_owned()
    })
}

/// While it exists, the changes that this thread makes are one step. See [`label_step`].
#[derive(Debug)]
#[must_use = "the label ends when it is dropped"]
pub struct StepLabel {
    before: Option<Label>,
    /// It belongs to the thread.
    not_send: PhantomData<*const ()>,
}

impl Drop for StepLabel {
    fn drop(&mut self) {
        LABEL.set(self.before.take());
    }
}

/// Labels the changes that this thread makes until the result is dropped as one step: `who` made them, by
/// `what`. A label within another one is a step of its own.
///
/// ```
/// # use etui::{Store, contacts::Card};
/// # let dir = tempfile::tempdir()?;
/// # let store = Store::open(dir.path().join("personal.etui"))?;
/// let contacts = store.contacts()?;
/// {
///     let _step = etui::label_step("Phone", "sync");
///     contacts.save(&Card::new("Ada Lovelace")?)?;
///     contacts.save(&Card::new("Bob Example")?)?;
/// }
/// let steps = store.steps()?;
/// assert_eq!((steps[0].who.as_str(), steps[0].changes), ("Phone", 2));
/// store.undo_steps(&[steps[0].id])?;
/// assert_eq!(contacts.count()?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn label_step(who: &str, what: &str) -> StepLabel {
    // Without random numbers, the rows of the step are steps of their own.
    let grouping = random_i64().unwrap_or(0);
    let label = Label {
        who: who.to_owned(),
        what: what.to_owned(),
        grouping,
        is_used: false,
    };
    StepLabel {
        before: LABEL.replace((grouping != 0).then_some(label)),
        not_send: PhantomData,
    }
}

/// Returns who writes on this thread.
pub(crate) fn current_actor() -> String {
    let labelled = LABEL.with_borrow(|label| label.as_ref().map(|label| label.who.clone()));
    labelled.unwrap_or_else(|| default_actor().to_owned())
}

/// Makes the changes until the result is dropped one step, if no label does already.
pub(crate) fn group_step() -> Option<StepLabel> {
    let is_labelled = LABEL.with_borrow(Option::is_some);
    (!is_labelled).then(|| label_step(default_actor(), ""))
}

/// A change of a collection itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectionChange {
    Created = 1,
    Renamed = 2,
    Removed = 3,
    Restored = 4,
    Colored = 5,
}

impl CollectionChange {
    const ALL: [Self; 5] = [
        Self::Created,
        Self::Renamed,
        Self::Removed,
        Self::Restored,
        Self::Colored,
    ];
}

/// A row of `step_collection`.
#[derive(Debug, Clone)]
pub(crate) struct ChangedCollection {
    pub(crate) id: i64,
    pub(crate) change: CollectionChange,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Records the changes `first` to `last` of the present transaction.
pub(crate) fn record_changes(conn: &Connection, first: i64, last: i64) -> Result<()> {
    let is_extended = LABEL.with_borrow(|label| -> Result<bool> {
        let Some(label) = label.as_ref().filter(|label| label.is_used) else {
            return Ok(false);
        };
        // The latest row only, and only if no other writer has made a change since.
        let extended = conn
            .prepare_cached(
                "UPDATE step SET last = ?3 WHERE id = (SELECT max(id) FROM step) \
                 AND grouping = ?1 AND last = ?2 - 1",
            )?
            .execute((label.grouping, first, last))?;
        Ok(extended > 0)
    })?;
    match is_extended {
        true => Ok(()),
        false => insert_row(conn, Some(first), Some(last)),
    }
}

/// Records the change of a collection itself.
pub(crate) fn record_collection(
    conn: &Connection,
    id: i64,
    change: CollectionChange,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<()> {
    insert_row(conn, None, None)?;
    conn.prepare_cached(
        "INSERT INTO step_collection (step, collection, change, before, after) \
         SELECT max(id), ?1, ?2, ?3, ?4 FROM step",
    )?
    .execute((id, change as i64, before, after))?;
    Ok(())
}

fn insert_row(conn: &Connection, first: Option<i64>, last: Option<i64>) -> Result<()> {
    const INSERT: &str =
        "INSERT INTO step (at, first, last, who, what, grouping) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = match conn.prepare_cached(INSERT) {
        // Made with the first step.
        Err(error) if is_missing_table(&error) => {
            conn.execute_batch(SCHEMA)?;
            conn.prepare_cached(INSERT)?
        }
        prepared => prepared?,
    };
    LABEL.with_borrow_mut(|label| {
        let (who, what, grouping) = match label {
            Some(label) => {
                label.is_used = true;
                (
                    label.who.as_str(),
                    label.what.as_str(),
                    Some(label.grouping),
                )
            }
            None => (default_actor(), "", None),
        };
        statement.execute((now_ms(), first, last, who, what, grouping))
    })?;
    Ok(())
}

fn is_missing_table(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    // SQLite has no code of its own for a missing table: only the message distinguishes it.
    code == Some(ffi::SQLITE_ERROR) && error.to_string().contains("no such table")
}

pub(crate) fn has_table(conn: &Connection) -> Result<bool> {
    let mut found = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'step'")?;
    Ok(found.exists([])?)
}

/// A step: changes that were made together. [`Store::undo_steps`](crate::Store::undo_steps) undoes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Its number in the store.
    pub id: i64,
    /// When it began.
    pub at: SystemTime,
    /// Who made it: a program, or a device.
    pub who: String,
    /// The command or request; may be empty.
    pub what: String,
    /// The number of changed records and collections, each as often as it was changed.
    pub changes: u64,
    /// It undid other steps.
    pub is_undo: bool,
    /// The step that undid it, unless that was undone.
    pub undone_by: Option<i64>,
    /// The ranges of its changes, the latest first.
    pub(crate) ranges: Vec<(i64, i64)>,
    /// Its rows.
    pub(crate) rows: Vec<i64>,
}

/// A row of the table `step`.
struct StepRow {
    step: Step,
    grouping: Option<i64>,
}

impl StepRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let id: i64 = row.get(0)?;
        let at: i64 = row.get(1)?;
        let range = row.get::<_, Option<i64>>(2)?.zip(row.get(3)?);
        // A row without a range is the change of a collection.
        let changes: i64 = range.map_or(1, |(first, last)| last - first + 1);
        Ok(Self {
            step: Step {
                id,
                // A clock before 1970 stores a negative time, which a Duration cannot have.
                at: SystemTime::UNIX_EPOCH + Duration::from_millis(at.max(0).unsigned_abs()),
                who: row.get(4)?,
                what: row.get(5)?,
                // A damaged range may end before it begins.
                changes: changes.max(0).unsigned_abs(),
                is_undo: row.get(7)?,
                undone_by: row.get(8)?,
                ranges: range.into_iter().collect(),
                rows: vec![id],
            },
            grouping: row.get(6)?,
        })
    }
}

/// Returns the steps that are kept, the latest first.
pub(crate) fn list_steps(conn: &Connection) -> Result<Vec<Step>> {
    if !has_table(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT id, at, first, last, who, what, grouping, is_undo, undone_by FROM step \
         ORDER BY id DESC",
    )?;
    let mut steps: Vec<Step> = Vec::new();
    let mut by_grouping: HashMap<i64, usize> = HashMap::new();
    for row in statement.query_map([], StepRow::read)? {
        let StepRow { step, grouping } = row?;
        let known = grouping.and_then(|grouping| by_grouping.get(&grouping));
        if let Some(whole) = known.and_then(|at| steps.get_mut(*at)) {
            // The rows come latest first: a step has the id and the time of its first row.
            whole.id = step.id;
            whole.at = step.at;
            whole.changes += step.changes;
            whole.ranges.extend(step.ranges);
            whole.rows.extend(step.rows);
            continue;
        }
        if let Some(grouping) = grouping {
            by_grouping.insert(grouping, steps.len());
        }
        steps.push(step);
    }
    Ok(steps)
}

/// Returns the collections that a step changed, the latest change first.
pub(crate) fn changed_collections(
    conn: &Connection,
    step: &Step,
) -> Result<Vec<ChangedCollection>> {
    let mut statement = conn.prepare_cached(
        "SELECT collection, change, before, after FROM step_collection WHERE step = ?1",
    )?;
    let mut all = Vec::new();
    for row in &step.rows {
        let found = statement.query_map([row], |r| {
            Ok((r.get(0)?, r.get::<_, i64>(1)?, r.get(2)?, r.get(3)?))
        })?;
        for one in found {
            let (id, change, before, after) = one?;
            let mut known = CollectionChange::ALL.into_iter();
            all.extend(known.find(|known| *known as i64 == change).map(|change| {
                ChangedCollection {
                    id,
                    change,
                    before,
                    after,
                }
            }));
        }
    }
    Ok(all)
}

/// Marks the rows of the present label as an undo of `undone`. Does nothing if it has no row.
pub(crate) fn mark_undo(conn: &Connection, undone: &[&Step]) -> Result<Option<i64>> {
    // Without a label no row matches: NULL equals nothing.
    let grouping = LABEL.with_borrow(|label| label.as_ref().map(|label| label.grouping));
    if !has_table(conn)? {
        return Ok(None);
    }
    conn.prepare_cached("UPDATE step SET is_undo = 1 WHERE grouping = ?1")?
        .execute([grouping])?;
    let id: Option<i64> = conn
        .prepare_cached("SELECT min(id) FROM step WHERE grouping = ?1")?
        .query_row([grouping], |r| r.get(0))
        .optional()?
        .flatten();
    let Some(id) = id else { return Ok(None) };
    for step in undone {
        for row in &step.rows {
            conn.prepare_cached("UPDATE step SET undone_by = ?2 WHERE id = ?1")?
                .execute((row, id))?;
        }
        // An undone undo leaves its steps done. Only then, for it reads all steps.
        if step.is_undo {
            conn.prepare_cached("UPDATE step SET undone_by = NULL WHERE undone_by = ?1")?
                .execute([step.id])?;
        }
    }
    Ok(Some(id))
}

/// Returns the problems of the steps: ranges that are not in the change log or are in two steps, and rows that
/// refer to none.
pub(crate) fn check_steps(conn: &Connection) -> Result<Vec<String>> {
    if !has_table(conn)? {
        return Ok(Vec::new());
    }
    let latest = super::changes::latest_seq(conn)?;
    let mut problems = Vec::new();
    let mut ranges = conn.prepare(
        "SELECT id, first, last FROM step WHERE first IS NOT NULL OR last IS NOT NULL ORDER BY first, last",
    )?;
    let mut rows = ranges.query([])?;
    let mut end = 0;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let (first, last): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
        // A range with NULL fails the check below.
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
        if first < 1 || last < first || last > latest {
            problems.push(format!(
                "step {id}: its changes {first} to {last} are not in the change log"
            ));
        } else if first <= end {
            problems.push(format!(
                "step {id}: its changes from {first} on are in two steps"
            ));
        }
        // A damaged range may end before the range before it.
        end = end.max(last);
    }
    for (sql, what) in [
        (
            "SELECT step FROM step_collection WHERE step NOT IN (SELECT id FROM step)",
            "it has a changed collection and no row",
        ),
        (
            "SELECT step FROM step_collection WHERE change NOT BETWEEN 1 AND 5",
            "what it changed of a collection is not known",
        ),
        (
            "SELECT s.id FROM step s JOIN step u ON u.id = s.undone_by WHERE NOT u.is_undo",
            "the step that undid it is none that undoes",
        ),
    ] {
        let mut found = conn.prepare(sql)?;
        let found = found.query_map([], |row| row.get::<_, i64>(0))?;
        for id in found {
            problems.push(format!("step {}: {what}", id?));
        }
    }
    Ok(problems)
}

/// Deletes the steps whose changes are no longer in the change log, which begins after `floor`.
pub(crate) fn trim_steps(conn: &Connection, floor: i64, before: i64) -> Result<()> {
    if !has_table(conn)? {
        return Ok(());
    }
    // Changes of collections have no range; their rows are deleted by time.
    conn.prepare_cached("DELETE FROM step WHERE coalesce(last, 0) <= ?1 AND at < ?2")?
        .execute((floor, before))?;
    conn.prepare_cached("DELETE FROM step_collection WHERE step NOT IN (SELECT id FROM step)")?
        .execute([])?;
    Ok(())
}
