//! `etui contacts birthdays`: birthdays and anniversaries by date.

use etui::Snapshot;
use etui::calendar::time::Date;
use etui::contacts::{Card, PartialDate};
use etui_program::output::{Table, object};
use etui_program::{App, Failure, Result};
use serde::Serialize;

use crate::commands::records::name_or_placeholder;
use etui_when::{LocalNow, SpanWords, TimeSpan, format_day, iso_day};

const EXAMPLES: &str = "\
Examples:
  etui contacts birthdays                    the next 30 days
  etui contacts birthdays december           of a week, month or year: next month, 2027
  etui contacts birthdays --next 365         all of a year
  etui contacts birthdays --next 7 --json | jq -r .name
  etui calendar agenda month --birthdays     in the agenda

The dates are those of the contacts (BDAY, ANNIVERSARY and what other programs write for it). 29 February is celebrated on the 28th in
other years. Without a year there is no age.";

/// List birthdays and anniversaries
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BirthdaysArgs {
    /// today, week, month, "next month", december, 2026-12, 2027 [default: the next 30 days]
    #[arg(value_name = "WHEN", conflicts_with = "next")]
    period: Vec<String>,
    /// Number of days, from today
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    next: u32,
}

/// A birthday or an anniversary on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactDate {
    pub id: i64,
    pub address_book: String,
    pub name: String,
    pub kind: ContactDateKind,
    pub day: Date,
    /// The date in the contact.
    pub since: PartialDate,
    /// Years since the first, if its year is known.
    pub years: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactDateKind {
    Birthday,
    Anniversary,
}

impl ContactDateKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Birthday => "birthday",
            Self::Anniversary => "anniversary",
        }
    }
}

impl ContactDate {
    /// Formats `birthday (40)`.
    pub fn describe(&self) -> String {
        let kind = self.kind.name();
        match self.years {
            Some(years) => format!("{kind} ({years})"),
            None => kind.to_owned(),
        }
    }
}

pub fn list_birthdays(app: &mut App, args: &BirthdaysArgs) -> Result<()> {
    let here = LocalNow::in_zone(app.out.time_zone());
    let (first, last) = match args.period.join(" ") {
        name if name.is_empty() => {
            let today = here.now.date();
            (today, today.plus_days(i64::from(args.next.max(1)) - 1))
        }
        name => {
            let words = SpanWords {
                name: Some(&name),
                ..SpanWords::default()
            };
            // There are no such options here.
            let span = TimeSpan::parse(words, &here)
                .map_err(|e| Failure::usage(e.replace(", or use --from and --to", "")))?;
            (span.first, span.last)
        }
    };
    let store = app.open_to_read()?;
    let all = contact_dates(app, &store.snapshot()?, first, last)?;
    if all.is_empty() {
        let days = [first, last].map(format_day);
        return app
            .out
            .status(format!("No birthdays from {} to {}.", days[0], days[1]));
    }
    let mut table = Table::new(&["#", "Date", "Name", "What"]);
    for date in &all {
        let id = date.id.to_string();
        let day = format_day(date.day);
        table.add_row([id.as_str(), &day, &date.name, &date.describe()]);
    }
    app.out.write_table(&table, &all, |out, date| {
        out.write_json(&contact_date_json(date))
    })
}

/// Returns the birthdays and anniversaries of all address books, or of the one given, from one day to
/// another, in order.
pub fn contact_dates(
    app: &App,
    snapshot: &Snapshot,
    first: Date,
    last: Date,
) -> Result<Vec<ContactDate>> {
    let mut all = Vec::new();
    for (address_book, reader) in app.readers_in::<Card>(snapshot)? {
        reader.for_each(|id, text| {
            if !has_dates(text) {
                return Ok(());
            }
            // A card that cannot be parsed has no dates.
            let Ok(card) = Card::parse(text) else {
                return Ok(());
            };
            let dates = [
                (ContactDateKind::Birthday, card.birthday()),
                (ContactDateKind::Anniversary, card.anniversary()),
            ];
            for (kind, since) in dates {
                let Some(since) = since else { continue };
                all.extend(
                    days_between(since, first, last).map(|(day, years)| ContactDate {
                        id: id.0,
                        address_book: address_book.clone(),
                        name: name_or_placeholder::<Card>(&card.display_name()).to_owned(),
                        kind,
                        day,
                        since,
                        years,
                    }),
                );
            }
            Ok(())
        })?;
    }
    all.sort_by(|a, b| (a.day, &a.name).cmp(&(b.day, &b.name)));
    Ok(all)
}

/// Returns true if a card may have a date; it spares parsing the others.
fn has_dates(text: &[u8]) -> bool {
    // UTF-16 has zero bytes.
    let has = |name: &[u8]| {
        let mut texts = text.windows(name.len());
        texts.any(|found| found.eq_ignore_ascii_case(name))
    };
    has(b"BDAY") || has(b"ANNIVERSARY") || has(b"X-ANDROID-CUSTOM") || text.contains(&0)
}

/// Returns the days of a yearly date in a period, each with the years since the first. 29 February is the
/// 28th in years without it.
fn days_between(
    since: PartialDate,
    first: Date,
    last: Date,
) -> impl Iterator<Item = (Date, Option<i32>)> {
    let born = since.without_placeholder_year().year.map(i32::from);
    let years = first.ymd().0..=last.ymd().0;
    years.filter_map(move |year| {
        let (month, day) = (u32::from(since.month?), u32::from(since.day?));
        let day = match (month, day) {
            (2, 29) => Date::new(year, 2, 29).or_else(|| Date::new(year, 2, 28)),
            (month, day) => Date::new(year, month, day),
        };
        let day = day.filter(|day| (first..=last).contains(day))?;
        let years = born.map(|born| year - born);
        years.is_none_or(|years| years >= 0).then_some((day, years))
    })
}

/// A line of `contacts birthdays`.
fn contact_date_json(date: &ContactDate) -> impl Serialize {
    object! {
        addressbook: &date.address_book,
        id: date.id,
        name: &date.name,
        kind: date.kind.name(),
        date: iso_day(date.day),
        since: date.since.to_string(),
        // `null` without a year.
        years: date.years,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn days(
        since: (Option<u16>, u8, u8),
        first: (i32, u32, u32),
        last: (i32, u32, u32),
    ) -> Vec<String> {
        let since = PartialDate {
            year: since.0,
            month: Some(since.1),
            day: Some(since.2),
        };
        let date = |(y, m, d)| Date::new(y, m, d).unwrap();
        let found = days_between(since, date(first), date(last));
        found
            .map(|(day, years)| format!("{day} {years:?}"))
            .collect()
    }

    #[test]
    fn leap_days_and_unknown_years() {
        assert_eq!(
            days((Some(1992), 2, 29), (2027, 1, 1), (2028, 12, 31)),
            ["20270228 Some(35)", "20280229 Some(36)"]
        );
        assert_eq!(
            days((None, 12, 31), (2026, 12, 31), (2027, 1, 1)),
            ["20261231 None"]
        );
        assert_eq!(
            days((Some(1604), 1, 1), (2026, 12, 31), (2027, 1, 1)),
            ["20270101 None"]
        );
        // Not born yet.
        assert_eq!(
            days((Some(2027), 5, 1), (2026, 1, 1), (2026, 12, 31)),
            [""; 0]
        );
        assert_eq!(
            days((Some(2000), 2, 30), (2026, 1, 1), (2026, 12, 31)),
            [""; 0]
        );
    }
}
