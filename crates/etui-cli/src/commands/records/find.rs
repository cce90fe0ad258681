//! Search: lists or counts the matches of a filter, or explains the query plan.

use etui::RecordId;
use etui::record::{Collection, Reader, StoredRecord};
use etui::search::filter::Filter;
use etui::search::query::{CollectionRows, Columns, Query, QueryPlan};
use etui::search::spelling::correct_filter;
use etui_program::output::{NamedField, OutputWriter, escape_text, format_count, object, one_line};
use etui_program::{App, Failure, Result};
use serde::Serialize;

use super::query::{NamedReaders, QueryArgs, query_readers};
use super::{
    RecordCommands, add_row, lookup_record, parse_filter, parse_number, record_table,
    resolve_record,
};

#[derive(Debug, clap::Args)]
pub struct FindArgs<R: RecordCommands> {
    /// Filter; several words are joined by spaces
    #[arg(required = true, value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    query: QueryArgs<R>,
    /// No corrections, and in the order of the list; contacts: plain words are not looked for in notes,
    /// titles, postal addresses, labels and domains
    #[arg(long)]
    exact: bool,
    /// Print only the number of matches
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after", "explain"]
    )]
    count: bool,
    /// Print the query plan and its costs instead of the matches
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    options: R::FindOptions,
}

/// Runs a search.
pub fn find_records<R: RecordCommands>(app: &mut App, args: &FindArgs<R>) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<R>(&snapshot)?;
    let filter = parse_filter::<R>(&args.filter)?;
    let query = args.query_for(filter.clone(), app.out.terminal)?;
    if args.count {
        let count = count_all(&readers, query.filter())?;
        return match app.out.json {
            true => app.out.write_json(&object! { count: count }),
            false => app.out.write_line(count.to_string()),
        };
    }
    if args.explain {
        return args.explain_query(app, &readers, query);
    }
    let mut search = Search {
        filter,
        query,
        corrected: None,
    };
    if R::finds_otherwise(&args.options) {
        let found = R::find_otherwise(app, &readers, &search.filter)?
            || (args.correct(app, &readers, &mut search)?
                && R::find_otherwise(app, &readers, &search.filter)?);
        return match found {
            true => Ok(()),
            false => Err(no_match::<R>(&args.filter)),
        };
    }
    let mut answer = query_readers(&readers, &search.query)?;
    // An empty page can also be a page after the last match.
    if answer.rows.is_empty() && count_all(&readers, search.query.filter())? == 0 {
        if !args.correct(app, &readers, &mut search)? {
            return Err(no_match::<R>(&args.filter));
        }
        answer = query_readers(&readers, &search.query)?;
    }
    let corrected = search.corrected.as_deref();
    args.query
        .write_answer(&mut app.out, &readers, &answer, corrected)?;
    if app.out.terminal && !app.out.json {
        let count = count_all(&readers, search.query.filter())?;
        args.query.write_position(app, &answer.rows, count)?;
    }
    Ok(())
}

/// A search.
struct Search<R: RecordCommands> {
    filter: Filter<R::Field>,
    query: Query<R::Column>,
    /// The words that were searched in place of others.
    corrected: Option<String>,
}

impl<R: RecordCommands> FindArgs<R> {
    fn query_for(&self, filter: Filter<R::Field>, terminal: bool) -> Result<Query<R::Column>> {
        let query = match self.exact {
            true => Query::new(filter),
            false => Query::ranked(filter),
        };
        self.query.complete_query(query, terminal)
    }

    /// Corrects typing mistakes of a search without a match, and says so. Returns false if there still
    /// is none.
    fn correct(
        &self,
        app: &mut App,
        readers: &NamedReaders<'_, R>,
        search: &mut Search<R>,
    ) -> Result<bool> {
        // `not` is no typing mistake.
        if self.exact || excluded_word(&self.filter.join(" ")).is_some() {
            return Ok(false);
        }
        let each = readers.iter().map(|(_, reader)| reader);
        let Some(corrected) = correct_filter(each, &search.filter)? else {
            return Ok(false);
        };
        let words = corrected.to_string();
        let query = self.query_for(corrected.filter.clone(), app.out.terminal)?;
        if count_all(readers, query.filter())? == 0 {
            return Ok(false);
        }
        let typed = corrected
            .corrections
            .iter()
            .map(|correction| correction.typed.as_str());
        let typed = typed.collect::<Vec<_>>().join(" ");
        app.out.write_note(&format!(
            "nothing for \"{}\"; showing results for \"{words}\"",
            one_line(&typed)
        ));
        *search = Search {
            filter: corrected.filter,
            query,
            corrected: Some(words),
        };
        Ok(true)
    }

    fn explain_query(
        &self,
        app: &mut App,
        readers: &NamedReaders<'_, R>,
        query: Query<R::Column>,
    ) -> Result<()> {
        let (collections, terminal) = (readers.len(), app.out.terminal);
        let query = self.query.limited_for_each(query, collections, terminal);
        readers.iter().try_for_each(|(name, reader)| {
            let plan = reader.explain(&query)?;
            if app.out.json {
                let collection = NamedField(R::COLLECTION_FIELD, name.as_str());
                return app.out.write_json(&plan_json::<R>(&plan, collection));
            }
            if readers.len() > 1 {
                app.out.write_line(format!("{}:", one_line(name)))?;
            }
            app.out.write_line(plan.to_string())
        })
    }
}

/// The output of `find --explain`.
fn plan_json<R: RecordCommands>(plan: &QueryPlan, collection: NamedField<&str>) -> impl Serialize {
    object! {
        // The normalized filter.
        filter: &plan.filter,
        // `list_scan`, `index_lookup` or `bitmap_scan`.
        access_path: plan.access_path.to_string().replace(' ', "_"),
        #[serde(flatten)] records: NamedField(R::MANY, plan.records),
        // Candidates from the index, and whether each of them is a match.
        candidates: plan.candidates,
        exact: plan.exact,
        // Records outside the index, compared one by one.
        pending: plan.pending,
        // Records compared with the filter.
        rechecked: plan.rechecked,
        // List positions visited.
        scanned: plan.scanned,
        rows: plan.rows,
        #[serde(flatten)] collection: collection,
    }
}

/// Counts the records of all collections that match `filter`.
fn count_all<R: RecordCommands>(
    readers: &NamedReaders<'_, R>,
    filter: &Filter<R::Field>,
) -> Result<u64> {
    readers
        .iter()
        .map(|(_, all)| count_matches(all, filter))
        .sum()
}

/// Returns the error for a filter without matches.
pub fn no_match<R: RecordCommands>(words: &[String]) -> Failure {
    let words = words.join(" ");
    let text = format!("no {} matches: {}", R::ONE, words.trim());
    let has_bar = words
        .split_whitespace()
        .any(|word| matches!(word, "|" | "||"));
    Failure::NotFound(match excluded_word(&words) {
        Some(word) => format!(
            "{text}; to leave out those with \"{word}\", put a minus before it: etui {} find -- -{word}",
            R::COMMAND
        ),
        None if has_bar => format!("{text}; the word between two choices is `or`"),
        None => text,
    })
}

/// Returns the word after `not`, of a search for records without it.
fn excluded_word(words: &str) -> Option<String> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut pairs = words.windows(2);
    let pair = pairs.find(|pair| pair[0].eq_ignore_ascii_case("not") || pair[0] == "!");
    pair.map(|pair| escape_text(pair[1]).into_owned())
}

/// Counts the records that match `filter`.
pub fn count_matches<R: RecordCommands>(all: &Reader<R>, filter: &Filter<R::Field>) -> Result<u64> {
    Ok(match filter {
        Filter::All => all.count()?,
        filter => {
            let query = Query::new(filter.clone()).columns(Columns::NONE);
            all.query(&query)?.len() as u64
        }
    })
}

/// Returns the records with these numbers or UIDs, or `None` if the words are a filter.
pub fn lookup_all<R: RecordCommands>(
    all: &Collection<R>,
    which: &[String],
) -> Result<Option<Vec<StoredRecord<R>>>> {
    if which.iter().all(|w| parse_number(w).is_some()) {
        let found: Result<_> = which.iter().map(|w| resolve_record(all, w)).collect();
        return found.map(Some);
    }
    which.iter().map(|w| lookup_record(all, w)).collect()
}

/// Returns the only match of a filter and the index of its collection. Several matches are listed and
/// are an error.
pub fn find_single<R: RecordCommands>(
    out: &mut OutputWriter,
    readers: &NamedReaders<'_, R>,
    words: &[String],
) -> Result<(usize, RecordId)> {
    const MAX_LISTED: usize = 20;
    let query = Query::new(parse_filter::<R>(words)?);
    let CollectionRows { rows, collections } = query_readers(readers, &query)?;
    match (rows.ids(), collections.as_slice()) {
        ([], _) => Err(no_match::<R>(words)),
        ([one], [of]) => Ok((*of, *one)),
        (several, _) => {
            if !out.json {
                let mut table = record_table::<R>(readers.len());
                for (row, &of) in rows.iter().zip(&collections).take(MAX_LISTED) {
                    let collection = readers.get(of).filter(|_| readers.len() > 1);
                    let collection = collection.map(|(name, _)| name.as_str());
                    add_row::<R>(&mut table, row.id(), &R::row_summary(&row), collection, out);
                }
                table.write_to(out)?;
            }
            let listed = match several.len() > MAX_LISTED {
                true => " (the first are listed)",
                false => "",
            };
            let typed = match out.command.as_str() {
                "" => format!("{} show", R::COMMAND),
                command => command.to_owned(),
            };
            let operand = if typed.ends_with(" move") {
                " WHEN"
            } else {
                ""
            };
            Err(Failure::usage(format!(
                "{} {} match{listed}; select one: etui {typed} NUMBER{operand}",
                format_count(several.len() as u64),
                R::MANY,
            )))
        }
    }
}
