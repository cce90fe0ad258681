//! `etui media play` and `etui media history`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etui::CollectionKind;
use etui_program::output::{Table, object};
use etui_program::{App, Failure, Result};
use etui_when::{LocalNow, format_minute, iso_instant, parse_when_on, to_instant};

use super::open_store;
use super::record::AnyRecord;

/// Plays that are listed without `--limit`.
const DEFAULT_LIMIT: usize = 50;

#[derive(Debug, clap::Args)]
pub struct PlayArgs {
    /// Number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: i64,
    /// When it was played: "yesterday 20:15", 2026-11-23T20:15 [default: now]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    at: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// Only the plays of this track: its number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: Option<i64>,
    /// Maximum number of plays
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
}

pub fn count_play(app: &mut App, args: &PlayArgs) -> Result<()> {
    let here = LocalNow::in_zone(app.out.time_zone());
    let now = SystemTime::now();
    let at = match &args.at {
        None => now,
        Some(text) => {
            let parsed = parse_when_on(text, here.now.date(), here.now);
            let parsed = parsed.map_err(|e| Failure::usage(format!("--at {text}: {e}")))?;
            let seconds = to_instant(parsed, &here.zone).seconds();
            let after = u64::try_from(seconds).map(Duration::from_secs).ok();
            let time = after.and_then(|after| UNIX_EPOCH.checked_add(after));
            time.filter(|time| *time <= now).ok_or_else(|| {
                Failure::usage(format!("--at {text}: a play was between 1970 and now"))
            })?
        }
    };
    let store = open_store(app)?;
    let media = store.media()?;
    let record = AnyRecord::find(&media, args.number)?;
    if record.kind != CollectionKind::Music {
        return Err(Failure::usage(format!(
            "number {} is no track; only tracks are played",
            record.id
        )));
    }
    media.record_play(&record.uid, at)?;
    drop(media);
    store.close()?;
    app.out.status("Counted.")
}

pub fn list_history(app: &mut App, args: &HistoryArgs) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    let zone = app.out.time_zone();
    let Some(number) = args.number else {
        let plays = media.plays(args.limit)?;
        if plays.is_empty() && !app.out.json {
            return app.out.status("No play was counted yet.");
        }
        let headings = ["#", "Title", "Artist", "Album", "Played"];
        let mut table = Table::new(&headings);
        for play in &plays {
            table.add_row([
                play.id.to_string().as_str(),
                &play.title,
                &play.artist,
                &play.album,
                &format_minute(play.at, &zone),
            ]);
        }
        return app.out.write_table(&table, &plays, |out, play| {
            out.write_json(&object! {
                at: iso_instant(play.at.into(), &zone),
                id: play.id.0,
                uid: &play.uid,
                title: &play.title,
                artist: &play.artist,
                album: &play.album,
            })
        });
    };
    let record = AnyRecord::find(&media, number)?;
    let mut times = media.plays_of(record.id)?;
    times.truncate(args.limit);
    if times.is_empty() && !app.out.json {
        return app.out.status("No play of it was counted yet.");
    }
    let mut table = Table::with_number_column(&["Played"], None);
    for at in &times {
        table.add_row([format_minute(*at, &zone)]);
    }
    app.out.write_table(&table, &times, |out, at| {
        out.write_json(&object! { at: iso_instant((*at).into(), &zone) })
    })
}
