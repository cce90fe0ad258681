//! Random calls to a calendar: series of all kinds and every change of them.

use std::collections::BTreeMap;

use etui_testkit::rng::SplitMix64;

use super::calendar_session::{ALL, CalendarCall};

/// The fields of `contains?`.
const FIELDS: &[&str] = &[
    "any",
    "summary",
    "description",
    "location",
    "comment",
    "attendee",
    "organizer",
    "classification",
    "status",
    "priority",
    "nonsense",
];
/// Texts beside the words.
const VALUES: &[&str] = &[
    "",
    " ",
    "a",
    "example.org",
    "mailto:",
    "Byron",
    "BOB",
    "Public",
    "public",
    "Private",
    "Confidential",
    "NOT STARTED",
    "COMPLETED",
    "IN PROGRESS",
    "NEEDS ACTION",
    "CANCELLED",
    "TENTATIVE",
    "CONFIRMED",
    "HIGH",
    "NORMAL",
    "LOW",
    "UNDEFINED",
    "STRASSE",
    "lodz",
    "mu",
];
/// Terms without a text.
const TERMS: &[&str] = &[
    "(has-start?)",
    "(has-end?)",
    "(has-due?)",
    "(has-duration?)",
    "(has-alarms?)",
    "(has-recurrences?)",
    "(has-attachments?)",
    "(is-completed?)",
    "(has-categories? \"Work\")",
    "(has-categories? \"Work\" \"Ada\")",
    "(has-categories? \"work\")",
    "(has-categories? #f)",
    "(= (percent-complete?) 50)",
    "(< (percent-complete?) 60)",
    "(> (percent-complete?) 0)",
    "(= (occurrences-count?) 1)",
    "(completed-before? (make-time \"20261204T000000Z\"))",
    "(completed-before? (make-time \"20261203T120000Z\"))",
    "(starts-before? (make-time \"20261204T000000Z\"))",
    "(starts-before? (make-time \"20261201T080000Z\"))",
    "(starts-before? (time-add-day (make-time \"20261204T000000Z\") -2))",
    "(< (time-day-begin (make-time \"20261204T100000Z\")) (time-day-end (make-time \"20261204T090000Z\")))",
    "(= \"a\" \"a\")",
    "(< (make-time \"20201204T000000Z\") (time-now))",
];
const WORDS: &[&str] = &[
    "Standup",
    "Zahnarzt",
    "Müller & Söhne",
    "STRASSE",
    "straße",
    "Review, weekly",
    "Łódź",
    "a;b",
    "Ada",
    "lunch",
];
/// A zone of the client's own.
const ZONE: &str = "BEGIN:VTIMEZONE\r\nTZID:Test/Zone\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
    TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nTZNAME:TST\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";

/// How a series' times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TimeForm {
    #[default]
    Utc,
    Berlin,
    Own,
    Floating,
    Date,
}

/// A component that was made, and what its instances are.
#[derive(Debug, Clone)]
struct Series {
    form: TimeForm,
    /// Days between two instances; 0: it does not recur.
    step: u32,
    rule: String,
    hour: u32,
}

impl Series {
    /// A time on a day of December 2026, with the parameters of a property.
    fn property(&self, name: &str, day: u32, hour: u32) -> String {
        let value = self.value(day, hour);
        match self.form {
            TimeForm::Date => format!("{name};VALUE=DATE:{value}"),
            TimeForm::Berlin => format!("{name};TZID=Europe/Berlin:{value}"),
            TimeForm::Own => format!("{name};TZID=Test/Zone:{value}"),
            TimeForm::Utc | TimeForm::Floating => format!("{name}:{value}"),
        }
    }

    fn value(&self, day: u32, hour: u32) -> String {
        match self.form {
            TimeForm::Date => format!("202612{day:02}"),
            TimeForm::Utc => format!("202612{day:02}T{hour:02}0000Z"),
            _ => format!("202612{day:02}T{hour:02}0000"),
        }
    }

    fn day_of(&self, instance: u32) -> u32 {
        1 + instance * self.step
    }
}

/// Makes calls and remembers which components they made.
pub struct CalendarCalls {
    rng: SplitMix64,
    series: BTreeMap<String, Series>,
    next: usize,
    messages: usize,
    kind: &'static str,
    has_views: bool,
}

impl CalendarCalls {
    pub fn new(seed: u64, round: u64, kind: &'static str) -> Self {
        Self {
            rng: SplitMix64::stream(seed ^ 0xca1, round),
            series: BTreeMap::new(),
            next: 0,
            messages: 0,
            kind,
            has_views: round % 2 == 1,
        }
    }

    pub fn round(&mut self, count: usize) -> Vec<CalendarCall> {
        let mut calls = vec![CalendarCall::AddTimezone(ZONE.to_owned())];
        calls.extend((0..3).map(|_| self.create()));
        calls.extend((4..count).map(|_| self.call()));
        calls
    }

    /// Every query function with every field and value.
    pub fn every_query(&mut self) -> Vec<CalendarCall> {
        let mut calls = self.round(12);
        calls.retain(|call| matches!(call, CalendarCall::AddTimezone(_) | CalendarCall::Create(_)));
        calls.extend((0..8).map(|_| self.create()));
        let mut queries: Vec<String> = TERMS.iter().map(|term| (*term).to_owned()).collect();
        for field in FIELDS {
            let texts = WORDS.iter().chain(VALUES);
            queries.extend(texts.map(|text| format!("(contains? \"{field}\" \"{text}\")")));
        }
        let uids = (0..=self.next).map(|number| format!("(uid? \"EV-{number}\")"));
        queries.extend(uids);
        for function in [
            "occur-in-time-range?",
            "due-in-time-range?",
            "has-alarms-in-range?",
        ] {
            queries.extend((0..25).map(|_| format!("({function} {})", self.range())));
        }
        let zoned =
            (0..15).map(|_| format!("(occur-in-time-range? {} \"Europe/Berlin\")", self.range()));
        queries.extend(zoned);
        let counted = (0..15).map(|_| format!("(> (occurrences-count? {}) 1)", self.range()));
        queries.extend(counted);
        calls.extend(queries.into_iter().map(CalendarCall::List));
        calls
    }

    fn call(&mut self) -> CalendarCall {
        match self.rng.below(100) {
            0..12 => self.create(),
            12..26 => self.modify(),
            26..34 => self.remove(),
            34..38 => self.receive(),
            38..58 => self.get(),
            58..60 => CalendarCall::GetTimezone(
                self.rng
                    .pick(&[
                        "Europe/Berlin",
                        "/freeassociation.sourceforge.net/Europe/Berlin",
                        "Test/Zone",
                        "Nowhere/Zone",
                        "",
                        "UTC",
                        "America/New_York",
                    ])
                    .to_owned(),
            ),
            60..64 if self.has_views => CalendarCall::OpenView {
                slot: self.rng.below(2) as usize,
                query: match self.query() {
                    // The stock server takes other views for empty ones.
                    query if query.contains(" -2)") || self.rng.chance(500) => "#t".to_owned(),
                    query => query,
                },
            },
            _ => CalendarCall::List(self.query()),
        }
    }

    fn word(&mut self) -> String {
        let word = self.rng.pick(WORDS);
        word.replace([';', ','], "\\,")
    }

    fn details(&mut self, lines: &mut Vec<String>) {
        let word = self.word();
        lines.push(format!("SUMMARY:{word}"));
        if self.rng.chance(15) {
            lines.push("CONTACT:".to_owned());
        }
        for (name, chance) in [("LOCATION", 250), ("DESCRIPTION", 250), ("COMMENT", 80)] {
            if self.rng.chance(chance) {
                let word = self.word();
                lines.push(format!("{name}:{word}"));
            }
        }
        if self.rng.chance(200) {
            lines.push(format!(
                "CATEGORIES:{}",
                self.rng.pick(&["Work", "Home", "Work,Ada"])
            ));
        }
        if self.rng.chance(150) {
            lines.push(format!(
                "CLASS:{}",
                self.rng.pick(&["PUBLIC", "PRIVATE", "CONFIDENTIAL"])
            ));
        }
        if self.rng.chance(150) {
            lines.push(format!("PRIORITY:{}", self.rng.pick(&["0", "1", "5", "9"])));
        }
        if self.rng.chance(100) {
            lines.push("ATTENDEE;CN=Ada Byron:mailto:ada@example.org".to_owned());
            lines.push("ORGANIZER;CN=Bob:mailto:bob@example.org".to_owned());
        }
        if self.rng.chance(120) {
            lines.push("ATTACH:http://example.org/a.pdf".to_owned());
        }
        if self.kind == "VTODO" {
            if self.rng.chance(300) {
                let percent = self.rng.pick(&["0", "50", "100"]);
                lines.push(format!("PERCENT-COMPLETE:{percent}"));
            }
            if self.rng.chance(250) {
                lines.push("STATUS:COMPLETED".to_owned());
                lines.push("COMPLETED:20261203T120000Z".to_owned());
            }
        } else if self.rng.chance(150) {
            lines.push(format!(
                "STATUS:{}",
                self.rng.pick(&["TENTATIVE", "CONFIRMED"])
            ));
        }
        if self.rng.chance(150) {
            lines.extend(
                [
                    "BEGIN:VALARM",
                    "ACTION:DISPLAY",
                    "DESCRIPTION:x",
                    "TRIGGER:-PT15M",
                    "END:VALARM",
                ]
                .map(str::to_owned),
            );
        }
    }

    /// Writes a component; `instance`: a changed one of a series.
    fn component(
        &mut self,
        uid: &str,
        series: &Series,
        instance: Option<u32>,
        with_rule: bool,
    ) -> String {
        let mut lines = vec![format!("BEGIN:{}", self.kind), format!("UID:{uid}")];
        lines.push("DTSTAMP:20260101T000000Z".to_owned());
        let day = series.day_of(instance.unwrap_or(0));
        let later = u32::from(instance.is_some() && self.rng.chance(600)) * 2;
        lines.push(series.property("DTSTART", day, series.hour + later));
        let end = if self.kind == "VTODO" { "DUE" } else { "DTEND" };
        match series.form {
            TimeForm::Date => lines.push(series.property(end, day + 1, 0)),
            _ => lines.push(series.property(end, day, series.hour + later + 1)),
        }
        if let Some(instance) = instance {
            lines.push(series.property("RECURRENCE-ID", series.day_of(instance), series.hour));
        }
        if with_rule && series.step > 0 {
            lines.push(format!("RRULE:{}", series.rule));
            if instance.is_none() && self.rng.chance(200) {
                lines.push(series.property("EXDATE", series.day_of(2), series.hour));
            }
        }
        self.details(&mut lines);
        lines.push(format!("END:{}", self.kind));
        lines.join("\r\n") + "\r\n"
    }

    fn create(&mut self) -> CalendarCall {
        let mut objects = Vec::new();
        for _ in 0..=self.rng.below(2) {
            if self.rng.chance(50) {
                let uid = self.any_uid();
                let series = self.series_of(&uid);
                objects.push(self.component(&uid, &series, None, true));
                continue;
            }
            self.next += 1;
            let uid = format!("ev-{}", self.next);
            let form = self.rng.pick(&[
                TimeForm::Utc,
                TimeForm::Berlin,
                TimeForm::Berlin,
                TimeForm::Own,
                TimeForm::Floating,
                TimeForm::Date,
            ]);
            let (step, rule) = self.rng.pick(&[
                (0, ""),
                (0, ""),
                (1, "FREQ=DAILY;COUNT=10"),
                (1, "FREQ=DAILY"),
                (2, "FREQ=DAILY;INTERVAL=2;COUNT=8"),
                (7, "FREQ=WEEKLY;COUNT=4"),
                (7, "UNTIL"),
            ]);
            let rule = match (rule, form) {
                ("UNTIL", TimeForm::Date) => "FREQ=WEEKLY;UNTIL=20261231",
                ("UNTIL", TimeForm::Floating) => "FREQ=WEEKLY;UNTIL=20261231T000000",
                ("UNTIL", _) => "FREQ=WEEKLY;UNTIL=20261231T000000Z",
                (rule, _) => rule,
            };
            let series = Series {
                form,
                step,
                rule: rule.to_owned(),
                hour: self.rng.pick(&[0, 8, 14]),
            };
            objects.push(self.component(&uid, &series, None, true));
            self.series.insert(uid, series);
        }
        if self.rng.chance(30) {
            let wrong = self.rng.pick(&[
                "BEGIN:VJOURNAL\r\nUID:ev-wrong\r\nSUMMARY:x\r\nEND:VJOURNAL\r\n", "nonsense",
                "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:ev-wrong\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            ]);
            objects = vec![wrong.to_owned()];
        }
        CalendarCall::Create(objects)
    }

    fn any_uid(&mut self) -> String {
        let latest = self.next as u32;
        if latest == 0 || self.rng.chance(50) {
            return "ev-nobody".to_owned();
        }
        format!("ev-{}", latest - self.rng.below(latest.min(10)))
    }

    fn series_of(&self, uid: &str) -> Series {
        self.series.get(uid).cloned().unwrap_or(Series {
            form: TimeForm::Utc,
            step: 0,
            rule: String::new(),
            hour: 8,
        })
    }

    /// A place in a series.
    fn instance(&mut self, series: &Series) -> u32 {
        match series.step {
            0 => 0,
            1 => self.rng.below(10),
            2 => self.rng.below(8),
            _ => self.rng.below(4),
        }
    }

    fn mod_type(&mut self) -> &'static str {
        self.rng.pick(&[
            "this",
            "this",
            ALL,
            ALL,
            "this-and-future",
            "this-and-future",
            "only-this",
            "this-and-prior",
        ])
    }

    fn modify(&mut self) -> CalendarCall {
        let uid = self.any_uid();
        let series = self.series_of(&uid);
        let mod_type = self.mod_type();
        let instance = (series.step > 0 && !self.rng.chance(250)).then(|| self.instance(&series));
        let with_rule = instance.is_none() || [ALL, "this-and-future"].contains(&mod_type);
        CalendarCall::Modify(
            vec![self.component(&uid, &series, instance, with_rule)],
            mod_type,
        )
    }

    fn remove(&mut self) -> CalendarCall {
        let uid = self.any_uid();
        let series = self.series_of(&uid);
        let mod_type = self.mod_type();
        let rid = match series.step > 0 && !self.rng.chance(200) {
            true => {
                let instance = self.instance(&series);
                series.value(series.day_of(instance), series.hour)
            }
            false => String::new(),
        };
        CalendarCall::Remove(vec![(uid, rid)], mod_type)
    }

    fn receive(&mut self) -> CalendarCall {
        let uid = self.any_uid();
        let series = self.series_of(&uid);
        let object = self.component(&uid, &series, None, true);
        // Each is newer than what is there: an older one would change nothing here.
        self.messages += 1;
        let stamp = format!(
            "DTSTAMP:2099{:02}{:02}T",
            1 + self.messages / 28 % 12,
            1 + self.messages % 28
        );
        let object = object.replace("DTSTAMP:20260101T", &stamp);
        let method = self
            .rng
            .pick(&["PUBLISH", "REQUEST", "CANCEL", "COUNTER", "PUBLISH"]);
        CalendarCall::Receive(format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//\r\nMETHOD:{method}\r\n{ZONE}{object}END:VCALENDAR\r\n"
        ))
    }

    fn get(&mut self) -> CalendarCall {
        let uid = self.any_uid();
        let series = self.series_of(&uid);
        let rid = match self.rng.below(10) {
            0..4 => String::new(),
            4 => "20270101T080000Z".to_owned(),
            _ => {
                let instance = self.instance(&series);
                series.value(series.day_of(instance), series.hour)
            }
        };
        CalendarCall::Get(uid, rid)
    }

    fn range(&mut self) -> String {
        let from = 1 + self.rng.below(25);
        let to = from + self.rng.below(5);
        let hour = self.rng.pick(&[0, 8, 9, 15]);
        format!(
            "(make-time \"202612{from:02}T{hour:02}0000Z\") (make-time \"202612{to:02}T100000Z\")"
        )
    }

    fn query(&mut self) -> String {
        match self.rng.below(20) {
            0..4 => "#t".to_owned(),
            4 => format!("(and {} {})", self.term(), self.term()),
            5 => format!("(or {} {})", self.term(), self.term()),
            6 => format!("(not {})", self.term()),
            7 => self
                .rng
                .pick(&[
                    "",
                    "#f",
                    "(and)",
                    "(or)",
                    "nonsense",
                    "(",
                    "(nonsense? 1)",
                    "(contains? \"any\")",
                    "(and #t #t)",
                    "(has-start?) (has-end?)",
                    "(has-start?)\"",
                ])
                .to_owned(),
            _ => self.term(),
        }
    }

    fn term(&mut self) -> String {
        match self.rng.below(16) {
            0..4 => format!("(occur-in-time-range? {})", self.range()),
            4 => format!("(occur-in-time-range? {} \"Europe/Berlin\")", self.range()),
            5..10 => {
                let field = self.rng.pick(FIELDS);
                let text: String = match self.rng.chance(500) {
                    true => self.rng.pick(VALUES).to_owned(),
                    false => {
                        let word = self.rng.pick(WORDS).chars();
                        word.take(self.rng.below(9) as usize).collect()
                    }
                };
                format!("(contains? \"{field}\" \"{text}\")")
            }
            10 => format!("(uid? \"{}\")", self.any_uid()),
            11 => format!("(due-in-time-range? {})", self.range()),
            _ => self.rng.pick(TERMS).to_owned(),
        }
    }
}
