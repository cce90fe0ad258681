//! Search: lists or counts the matches of a filter, or explains the query plan.

use etui::RecordId;
use etui::record::{Collection, Reader, StoredRecord};
use etui::search::filter::Filter;
use etui::search::query::{CollectionRows, Columns, Query};

use super::query::{NamedReaders, QueryArgs, query_readers};
use super::{
    RecordCommands, add_row, lookup_record, parse_filter, parse_number, record_table,
    resolve_record,
};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{NamedField, object, plan_json};
use crate::output::{OutputWriter, format_count, one_line};

#[derive(Debug, clap::Args)]
pub struct FindArgs<R: RecordCommands> {
    /// Filter; several words are joined by spaces
    #[arg(required = true, value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    query: QueryArgs<R>,
    /// Print only the number of matches
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after", "explain"]
    )]
    count: bool,
    /// Print the query plan and its costs instead of the matches
    #[arg(long)]
    explain: bool,
}

/// Runs a search.
pub fn find_records<R: RecordCommands>(app: &mut App, args: &FindArgs<R>) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<R>(&snapshot)?;
    let filter = parse_filter::<R>(&args.filter)?;
    let query = args.query.build_query(filter.clone(), app.out.terminal)?;
    let count_all = || -> Result<u64> {
        let readers = readers.iter();
        readers.map(|(_, all)| count_matches(all, &filter)).sum()
    };
    if args.count {
        let count = count_all()?;
        return match app.out.json {
            true => app.out.write_json(&object! { count: count }),
            false => app.out.write_line(count.to_string()),
        };
    }
    if args.explain {
        let (collections, terminal) = (readers.len(), app.out.terminal);
        let query = args.query.limited_for_each(query, collections, terminal);
        return readers.iter().try_for_each(|(name, reader)| {
            let plan = reader.explain(&query)?;
            if app.out.json {
                let collection = NamedField(R::COLLECTION_FIELD, name.as_str());
                return app.out.write_json(&plan_json::<R>(&plan, collection));
            }
            if readers.len() > 1 {
                app.out.write_line(format!("{}:", one_line(name)))?;
            }
            app.out.write_line(plan.to_string())
        });
    }
    let answer = query_readers(&readers, &query)?;
    // An empty page can also be a page after the last match.
    if answer.rows.is_empty() && count_all()? == 0 {
        return Err(no_match::<R>(&args.filter));
    }
    args.query.write_answer(&mut app.out, &readers, &answer)?;
    if app.out.terminal && !app.out.json {
        args.query.write_position(app, &answer.rows, count_all()?)?;
    }
    Ok(())
}

/// Returns the error for a filter without matches.
pub fn no_match<R: RecordCommands>(words: &[String]) -> Failure {
    Failure::NotFound(format!("no {} matches: {}", R::ONE, words.join(" ").trim()))
}

/// Counts the records that match `filter`.
pub fn count_matches<R: RecordCommands>(
    all: &Reader<'_, R>,
    filter: &Filter<R::Field>,
) -> Result<u64> {
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
    all: &Collection<'_, R>,
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
            Err(Failure::usage(format!(
                "{} {} match{listed}; select one: etui {} show NUMBER",
                format_count(several.len() as u64),
                R::MANY,
                R::COMMAND
            )))
        }
    }
}
