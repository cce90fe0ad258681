//! One record of the library: show it; rate it.

use etui::media::{Media, Rating};
use etui::record::{Collection, RecordKind};
use etui::{CollectionKind, RecordId};
use etui_program::output::{escape_text, format_count};
use etui_program::{App, Failure, Result};
use serde_json::{Map, Value};

use super::list::list_album;
use super::{format_length, open_store};

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: i64,
}

#[derive(Debug, clap::Args)]
pub struct RateArgs {
    /// Number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: i64,
    /// Stars, 1 to 5; 0: none
    #[arg(value_name = "STARS", value_parser = clap::value_parser!(u8).range(0..=5))]
    stars: u8,
}

#[derive(Debug, clap::Args)]
pub struct FavouriteArgs {
    /// Number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: i64,
    /// It is no favourite any more
    #[arg(long)]
    off: bool,
}

#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// Number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: i64,
}

/// A record of any kind.
pub struct AnyRecord {
    pub kind: CollectionKind,
    pub id: RecordId,
    pub uid: String,
    /// Names and values, in order.
    pub values: Vec<(String, String)>,
}

impl AnyRecord {
    /// Finds the record of a number.
    pub fn find(media: &Media, number: i64) -> Result<Self> {
        fn of<R: RecordKind>(all: &Collection<R>, id: RecordId) -> Result<Option<AnyRecord>> {
            let found = all.get(id)?;
            Ok(found.map(|found| AnyRecord {
                kind: R::KIND,
                id,
                uid: found.uid,
                values: etui::media::text_values(&found.text),
            }))
        }
        let id = RecordId(number);
        let mut found = of(&media.tracks(), id)?;
        for next in [
            of(&media.albums(), id),
            of(&media.artists(), id),
            of(&media.genres(), id),
            of(&media.pictures(), id),
            of(&media.days(), id),
        ] {
            found = found.or(next?);
        }
        found.ok_or_else(|| {
            Failure::NotFound(format!(
                "no record has the number {}",
                format_count(number.unsigned_abs())
            ))
        })
    }

    /// The values of a group, each without the number of members that have it.
    fn group_values(&self) -> Vec<(&str, String)> {
        let values = self.values.iter().map(|(name, value)| {
            let value = match value.split_once(' ') {
                Some((count, rest)) if count.bytes().all(|b| b.is_ascii_digit()) => rest,
                _ => value,
            };
            (name.as_str(), shown_value(name, value))
        });
        // Those for lists and links are not for people.
        let values = values.filter(|(name, _)| !matches!(*name, "sort" | "album" | "by"));
        values.collect()
    }

    fn expect_file(&self) -> Result<()> {
        match self.kind {
            CollectionKind::Music | CollectionKind::Pictures => Ok(()),
            kind => Err(Failure::usage(format!(
                "number {} is in {kind}; only tracks and pictures are rated",
                self.id
            ))),
        }
    }
}

pub fn show_record(app: &mut App, args: &ShowArgs) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    let record = AnyRecord::find(&media, args.number)?;
    let paths = media.paths(record.id)?;
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if app.out.json {
        let mut object = Map::new();
        object.insert("id".to_owned(), record.id.0.into());
        object.insert("uid".to_owned(), record.uid.as_str().into());
        object.insert("path".to_owned(), paths.first().cloned().into());
        object.insert("files".to_owned(), paths.into());
        for (name, value) in &record.values {
            let values = object
                .entry(name.clone())
                .or_insert(Value::Array(Vec::new()));
            if let Value::Array(values) = values {
                values.push(value.as_str().into());
            }
        }
        return app.out.write_json(&object);
    }
    for path in paths {
        app.out.write_line(escape_text(&path))?;
    }
    let values: Vec<(&str, String)> = match record.kind {
        CollectionKind::Music | CollectionKind::Pictures => record
            .values
            .iter()
            .map(|(name, value)| (name.as_str(), shown_value(name, value)))
            .collect(),
        _ => record.group_values(),
    };
    let width = values.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or(0);
    for (name, value) in values {
        app.out
            .write_line(format!("{name:width$}  {}", escape_text(&value)))?;
    }
    match record.kind {
        CollectionKind::Albums => list_album(app, &media, &record.uid),
        _ => Ok(()),
    }
}

fn shown_value(name: &str, value: &str) -> String {
    match name {
        "file.length" | "length" => format_length(value.parse().unwrap_or(0) / 1000),
        _ => value.to_owned(),
    }
}

pub fn rate(app: &mut App, args: &RateArgs) -> Result<()> {
    change(app, args.number, |media, record| {
        media.set_rating(record.kind, &record.uid, Rating::new(args.stars))
    })?;
    app.out.status(match args.stars {
        0 => "No rating any more.".to_owned(),
        stars => format!("Rated {stars}."),
    })
}

pub fn set_favourite(app: &mut App, args: &FavouriteArgs) -> Result<()> {
    change(app, args.number, |media, record| {
        media.set_favourite(record.kind, &record.uid, !args.off)
    })?;
    app.out.status(match args.off {
        true => "No favourite any more.",
        false => "A favourite now.",
    })
}

pub fn undo(app: &mut App, args: &UndoArgs) -> Result<()> {
    let mut undone = false;
    change(app, args.number, |media, record| {
        undone = media.undo_user_data(record.kind, &record.uid)?;
        Ok(())
    })?;
    match undone {
        true => app.out.status("Undone."),
        false => Err(Failure::NotFound("there is nothing to undo".to_owned())),
    }
}

fn change(
    app: &App,
    number: i64,
    change: impl FnOnce(&Media, &AnyRecord) -> etui::Result<()>,
) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    let record = AnyRecord::find(&media, number)?;
    record.expect_file()?;
    change(&media, &record)?;
    store.close()?;
    Ok(())
}
