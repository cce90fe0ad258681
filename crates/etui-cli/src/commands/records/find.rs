//! Which records a filter means: listed, counted, or how they are found.

use etui::RecordId;
use etui::record::{Collection, Reader, StoredRecord};
use etui::search::filter::Filter;
use etui::search::query::{CollectionRows, Columns, Query, query_collections};

use super::query::{NamedReaders, QueryArgs};
use super::{RecordCommands, filter, headings, lookup, number, resolve};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{CollectionField, CountObject, EntryObject, PlanObject};
use crate::output::{OutputWriter, Table, count, one_line};

/// Whom to find, and what to tell of them.
#[derive(Debug, clap::Args)]
pub struct FindArgs<R: RecordCommands> {
    /// What to look for; words are joined by spaces
    #[arg(required = true, value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    query: QueryArgs<R>,
    /// Tell only how many there are
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after", "explain"]
    )]
    count: bool,
    /// Tell how the answer is found, and what is read for it, instead of the answer
    #[arg(long)]
    explain: bool,
}

/// Finds them.
pub fn find<R: RecordCommands>(
    app: &mut App,
    asked: &NamedReaders<'_, R>,
    args: &FindArgs<R>,
) -> Result<()> {
    let filter = filter::<R>(&args.filter)?;
    let query = args.query.query(filter.clone(), app.out.terminal)?;
    let how_many = || {
        let each = asked.iter().map(|(_, reader)| how_many(reader, &filter));
        each.sum::<Result<u64>>()
    };
    if args.count {
        let count = how_many()?;
        return match app.out.json {
            true => app.out.object(&CountObject { count }),
            false => app.out.line(count.to_string()),
        };
    }
    if args.explain {
        let query = args.query.of_each(query, asked.len(), app.out.terminal);
        return asked.iter().try_for_each(|(name, reader)| {
            let plan = reader.explain(&query)?;
            if app.out.json {
                let holder = R::HOLDER_FIELD.map(|field| CollectionField(field, name));
                return app.out.object(&PlanObject::of(&plan, R::KIND, holder));
            }
            if asked.len() > 1 {
                app.out.line(format!("{}:", one_line(name)))?;
            }
            app.out.line(plan.to_string())
        });
    }
    let answer = args.query.ask(asked, &query)?;
    // An empty page may lie behind the last of them.
    if answer.rows.is_empty() && how_many()? == 0 {
        return Err(nothing_found::<R>(&args.filter));
    }
    args.query.write(&mut app.out, asked, &answer)?;
    if app.out.terminal && !app.out.json {
        args.query.tell_more(app, &answer.rows, how_many()?)?;
    }
    Ok(())
}

/// Nothing fits the filter that these words make.
pub fn nothing_found<R: RecordCommands>(words: &[String]) -> Failure {
    Failure::NotFound(format!(
        "{} found for: {}",
        R::NOBODY,
        words.join(" ").trim()
    ))
}

/// How many records `filter` means.
pub fn how_many<R: RecordCommands>(all: &Reader<'_, R>, filter: &Filter<R::Field>) -> Result<u64> {
    Ok(match filter {
        Filter::All => all.count()?,
        filter => {
            let query = Query::new(filter.clone()).columns(Columns::NONE);
            all.query(&query)?.len() as u64
        }
    })
}

/// The records with these numbers or UIDs; `None`: the words are a filter.
pub fn known<R: RecordCommands>(
    all: &Collection<'_, R>,
    which: &[String],
) -> Result<Option<Vec<StoredRecord<R>>>> {
    if which.iter().all(|w| number(w).is_some()) {
        let found: Result<_> = which.iter().map(|w| resolve(all, w)).collect();
        return found.map(Some);
    }
    which.iter().map(|w| lookup(all, w)).collect()
}

/// The one record that the words mean as a filter, and which of the collections has it; several
/// are listed.
pub fn the_one<R: RecordCommands>(
    out: &mut OutputWriter,
    asked: &NamedReaders<'_, R>,
    words: &[String],
) -> Result<(usize, RecordId)> {
    const SHOWN: usize = 20;
    let query = Query::new(filter::<R>(words)?);
    let CollectionRows { rows, collections } =
        query_collections(asked.iter().map(|(_, reader)| reader), &query)?;
    match (rows.ids(), collections.as_slice()) {
        ([], _) => Err(nothing_found::<R>(words)),
        ([one], [of]) => Ok((*of, *one)),
        (several, _) => {
            if !out.json {
                let mut table = Table::new(&headings::<R>());
                if asked.len() > 1 {
                    table.column(R::HOLDER_HEADINGS.last().unwrap_or(&""));
                }
                for (row, &of) in rows.iter().zip(&collections).take(SHOWN) {
                    R::row(row.id(), &R::summary_of(&row), &mut table, out);
                    if asked.len() > 1 {
                        table.cell(asked.get(of).map_or("", |(name, _)| name));
                    }
                }
                table.write(out)?;
            }
            Err(Failure::usage(format!(
                "{} {} fit{}; which one? etui {} show NUMBER",
                count(several.len() as u64),
                R::MANY,
                if several.len() > SHOWN {
                    ", here are the first"
                } else {
                    ""
                },
                R::COMMAND
            )))
        }
    }
}

/// Writes a line about a record, in a table or as JSON.
pub fn write_entry<R: RecordCommands>(
    id: etui::RecordId,
    summary: &R::Summary,
    table: &mut Table,
    out: &mut OutputWriter,
) -> Result<()> {
    if out.json {
        let object = EntryObject::new(id, R::object(summary, out));
        return out.object(&object);
    }
    R::row(id, summary, table, out);
    Ok(())
}
