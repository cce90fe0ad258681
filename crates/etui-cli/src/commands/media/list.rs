//! The lists of `etui media`: one kind, or a search of several.

use etui::CollectionKind;
use etui::media::Media;
use etui::record::Collection;
use etui::search::filter::Filter;
use etui::search::query::{ColumnSet, Columns, Query, Row, SearchableRecord, SortOrder};
use etui_program::output::{Table, pluralize};
use etui_program::{App, Failure, Result};
use serde_json::{Map, Value};

use super::{format_length, open_store};

/// Default number of rows on a terminal.
const TERMINAL_LIMIT: u64 = 50;
/// Rows of each kind in a search.
const FIND_LIMIT: u64 = 10;

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Filter; several words must all match [default: all]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Order: by `added`, `none` (the fastest), or list order: `artist` of tracks, `taken` of pictures,
    /// `name` of others; -: descending
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Maximum number of rows [default: 50 on a terminal, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Start at position N, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    at: u64,
    /// Print only the number of matches
    #[arg(long)]
    count: bool,
}

#[derive(Debug, clap::Args)]
pub struct FindArgs {
    /// Words; all must match
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
    /// Maximum number of rows of each kind
    #[arg(long, value_name = "N", default_value_t = FIND_LIMIT)]
    limit: u64,
}

/// Columns of a table: the heading and the name of the column.
type Shown = &'static [(&'static str, &'static str)];

const TRACKS: Shown = &[
    ("Title", "title"),
    ("Artist", "artist"),
    ("Album", "album"),
    ("Track", "track"),
    ("Length", "length"),
    ("Year", "year"),
];
const ALBUMS: Shown = &[
    ("Album", "name"),
    ("Artist", "artist"),
    ("Year", "year"),
    ("Tracks", "members"),
    ("Length", "length"),
];
const ARTISTS: Shown = &[
    ("Artist", "name"),
    ("Albums", "albums"),
    ("Tracks", "members"),
];
const GENRES: Shown = &[
    ("Genre", "name"),
    ("Tracks", "members"),
    ("Length", "length"),
];
const PICTURES: Shown = &[
    ("Name", "name"),
    ("Taken", "taken"),
    ("From", "takenfrom"),
    ("Width", "width"),
    ("Height", "height"),
    ("Camera", "camera"),
];
const DAYS: Shown = &[("Day", "name"), ("Pictures", "members")];

/// Fields of JSON that no table shows.
const HIDDEN: &[&str] = &["cover", "uid"];

pub fn list_kind(app: &mut App, kind: CollectionKind, args: &ListArgs) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    match kind {
        CollectionKind::Music => list(app, &media.tracks(), args, TRACKS),
        CollectionKind::Albums => list(app, &media.albums(), args, ALBUMS),
        CollectionKind::Artists => list(app, &media.artists(), args, ARTISTS),
        CollectionKind::Genres => list(app, &media.genres(), args, GENRES),
        CollectionKind::Days => list(app, &media.days(), args, DAYS),
        _ => list(app, &media.pictures(), args, PICTURES),
    }
}

pub fn find_all(app: &mut App, args: &FindArgs) -> Result<()> {
    let store = open_store(app)?;
    let media: Media = store.media()?;
    let found = find(app, &media.artists(), args, ("artists", ARTISTS))?
        + find(app, &media.albums(), args, ("albums", ALBUMS))?
        + find(app, &media.tracks(), args, ("tracks", TRACKS))?
        + find(app, &media.pictures(), args, ("pictures", PICTURES))?;
    match found {
        0 => Err(no_match(&args.words)),
        _ => Ok(()),
    }
}

/// Lists the tracks of an album.
pub fn list_album(app: &mut App, media: &Media, uid: &str) -> Result<()> {
    let filter = parse::<etui::media::Track>(&[format!("albumuid:{uid}")])?;
    let tracks = media.tracks();
    let query = Query::new(filter).columns(columns::<etui::media::Track>(TRACKS));
    let rows = tracks.query(&query)?;
    app.out.write_line("")?;
    write_rows(app, rows.iter(), TRACKS, None)
}

fn no_match(words: &[String]) -> Failure {
    Failure::NotFound(format!("nothing matches: {}", words.join(" ")))
}

fn parse<R: SearchableRecord>(words: &[String]) -> Result<Filter<R::Field>> {
    let parsed = words.join(" ").parse();
    parsed.map_err(|error| Failure::usage(format!("{error}")))
}

fn list<R: SearchableRecord>(
    app: &mut App,
    all: &Collection<R>,
    args: &ListArgs,
    shown: Shown,
) -> Result<()> {
    let filter = parse::<R>(&args.filter)?;
    if args.count {
        let query = Query::new(filter).columns(Columns::NONE);
        let count = match args.filter.is_empty() {
            true => all.count()?,
            false => all.query(&query)?.len() as u64,
        };
        return match app.out.json {
            true => app
                .out
                .write_json(&etui_program::output::object! { count: count }),
            false => app.out.write_line(count.to_string()),
        };
    }
    let mut query = Query::new(filter)
        .columns(columns::<R>(shown))
        .offset(args.at);
    if let Some(sort) = &args.sort {
        let order = SortOrder::from_name::<R::Column>(sort);
        query = query.sort(order.map_err(|error| Failure::usage(error.to_string()))?);
    }
    let default = (app.out.terminal && !app.out.json).then_some(TERMINAL_LIMIT);
    let limit = args.limit.or(default);
    if let Some(limit) = limit {
        query = query.limit(limit);
    }
    let rows = all.query(&query)?;
    if rows.is_empty() && !args.filter.is_empty() && args.at == 0 {
        return Err(no_match(&args.filter));
    }
    write_rows(app, rows.iter(), shown, None)?;
    let is_cut = limit.is_some_and(|limit| rows.len() as u64 == limit) && args.limit.is_none();
    if is_cut {
        let shown = rows.len();
        let text = format!("the first {shown} are shown; more: --limit N");
        app.out.write_note(&text);
    }
    Ok(())
}

/// Lists the matches in one collection; returns the number of rows. A word that is no filter of
/// this kind matches nothing.
fn find<R: SearchableRecord>(
    app: &mut App,
    all: &Collection<R>,
    args: &FindArgs,
    (name, shown): (&'static str, Shown),
) -> Result<usize> {
    let Ok(filter) = args.words.join(" ").parse::<Filter<R::Field>>() else {
        return Ok(0);
    };
    let query = Query::new(filter)
        .columns(columns::<R>(shown))
        .limit(args.limit);
    let rows = all.query(&query)?;
    if rows.is_empty() {
        return Ok(0);
    }
    if !app.out.json {
        let title = pluralize(rows.len() as u64, name.trim_end_matches('s'));
        app.out.write_line(match rows.len() as u64 == args.limit {
            true => format!("The first {title}:"),
            false => format!("{title}:"),
        })?;
    }
    write_rows(app, rows.iter(), shown, Some(name))?;
    if !app.out.json {
        app.out.write_line("")?;
    }
    Ok(rows.len())
}

/// The columns of a table and those that JSON has besides.
fn columns<R: SearchableRecord>(shown: Shown) -> Columns<R::Column> {
    let names = shown
        .iter()
        .map(|(_, name)| *name)
        .chain(HIDDEN.iter().copied());
    names.filter_map(column::<R::Column>).collect()
}

fn column<C: ColumnSet>(name: &str) -> Option<C> {
    let found = C::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, column)| *column)
}

fn write_rows<'r, C: ColumnSet + 'r>(
    app: &mut App,
    rows: impl Iterator<Item = Row<'r, C>>,
    shown: Shown,
    kind: Option<&str>,
) -> Result<()> {
    if app.out.json {
        for row in rows {
            let mut object = Map::new();
            if let Some(kind) = kind {
                object.insert("kind".to_owned(), kind.trim_end_matches('s').into());
            }
            object.insert("id".to_owned(), row.id().0.into());
            let names = shown
                .iter()
                .map(|(_, name)| *name)
                .chain(HIDDEN.iter().copied());
            for name in names {
                if let Some(column) = column::<C>(name) {
                    object.insert(name.to_owned(), json_value(name, row.get(column)));
                }
            }
            app.out.write_json(&object)?;
        }
        return Ok(());
    }
    let mut headings = vec!["#"];
    headings.extend(shown.iter().map(|(heading, _)| *heading));
    let mut table = Table::new(&headings);
    for row in rows {
        let mut cells = vec![row.id().to_string()];
        for (_, name) in shown {
            let value = column::<C>(name).map_or("", |column| row.get(column));
            cells.push(cell(name, value));
        }
        table.add_row(cells);
    }
    table.write_to(&mut app.out)
}

/// Numbers are numbers, and unknown values are null.
fn json_value(name: &str, value: &str) -> Value {
    let is_number = matches!(
        name,
        "length" | "year" | "members" | "albums" | "width" | "height"
    );
    match value {
        "" => Value::Null,
        value if is_number => value.parse::<u64>().map_or(Value::Null, Value::from),
        value => value.into(),
    }
}

fn cell(name: &str, value: &str) -> String {
    match name {
        "length" => value.parse().map_or_else(|_| String::new(), format_length),
        "taken" => value.replace('T', " "),
        _ => value.to_owned(),
    }
}
