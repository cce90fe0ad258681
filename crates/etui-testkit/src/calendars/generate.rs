//! [`entry`]: generates one entry from a seed and an index.

use super::words::WORDS;
use super::write::{ContentLines, EntryTime, LocalDateTime, date};
use super::{Clock, Entry, Shape, Span};
use crate::rng::SplitMix64;

/// Generates entry number `index` of the calendar `seed`. [`super`] has the frequencies.
pub fn entry(seed: u64, span: Span, index: u64) -> Entry {
    let mut rng = SplitMix64::stream(seed, index);
    let uid = format!("{:016x}-{index:x}@example.org", rng.next_u64());
    let drawn = rng.below(1000);
    let shape = match span.endless {
        Some(endless) if drawn < endless => Shape::Recurring,
        Some(_) if drawn.is_multiple_of(8) => Shape::AllDay,
        Some(_) => Shape::Timed,
        None => match drawn {
            0..700 => Shape::Timed,
            700..800 => Shape::AllDay,
            800..950 => Shape::Recurring,
            950..990 => Shape::Todo,
            _ => Shape::Journal,
        },
    };
    let clock = match rng.below(100) {
        0..45 => Clock::Berlin,
        45..60 => Clock::NewYork,
        60..85 => Clock::Utc,
        _ => Clock::Floating,
    };
    let mut day = span.first_day + i64::from(rng.below(span.days));
    // People meet on weekdays; 1970-01-01 was a Thursday.
    if (day + 3).rem_euclid(7) >= 5 && rng.chance(700) {
        day = (day - 2).max(span.first_day);
    }
    let minute = i64::from(8 * 60 + rng.below(11 * 4) * 15);
    let mut made = GeneratedParts {
        entry: Entry {
            index,
            uid,
            shape,
            clock,
            day,
            alarms: 0,
            overrides: 0,
            text: String::new(),
        },
        start: EntryTime::At(LocalDateTime { day, minute }, clock),
        lines: ContentLines::default(),
        rng,
        endless: span.endless.is_some(),
    };
    match shape {
        Shape::Timed => made.timed(),
        Shape::AllDay => made.all_day(),
        Shape::Recurring => made.recurring(),
        Shape::Todo => made.todo(),
        Shape::Journal => made.journal(),
    }
    made.entry.text = made.lines.out;
    made.entry
}

struct GeneratedParts {
    entry: Entry,
    start: EntryTime,
    lines: ContentLines,
    rng: SplitMix64,
    endless: bool,
}

impl GeneratedParts {
    fn begin(&mut self, kind: &str) {
        let stamp = date(self.entry.day - i64::from(self.rng.below(60)));
        self.lines.line(&format!("BEGIN:{kind}"));
        self.lines.line(&format!("UID:{}", self.entry.uid));
        self.lines.line(&format!("DTSTAMP:{stamp}T120000Z"));
        if self.rng.chance(600) {
            self.lines.line(&format!("CREATED:{stamp}T115900Z"));
            self.lines.line(&format!("LAST-MODIFIED:{stamp}T120000Z"));
        }
        if self.rng.chance(500) {
            let sequence = self.rng.below(4);
            self.lines.line(&format!("SEQUENCE:{sequence}"));
        }
    }

    fn times(&mut self, start: EntryTime, minutes: i64) {
        self.lines.line(&format!("DTSTART{}", start.written()));
        if self.rng.chance(150) {
            self.lines.line(&format!("DURATION:PT{minutes}M"));
        } else {
            let end = start.plus(0, minutes);
            self.lines.line(&format!("DTEND{}", end.written()));
        }
    }

    /// Writes a summary and returns it.
    fn summary(&mut self) -> String {
        let mut summary = self.rng.pick(&WORDS.activities).to_owned();
        let with = self.rng.pick(&WORDS.objects);
        if !with.is_empty() {
            summary.push_str(if self.rng.chance(800) { " with " } else { ": " });
            summary.push_str(with);
        }
        self.lines.text("SUMMARY", &summary);
        summary
    }

    fn details(&mut self) {
        if self.rng.chance(450) {
            self.lines.text("LOCATION", self.rng.pick(&WORDS.places));
        }
        if self.rng.chance(250) {
            self.lines.text("DESCRIPTION", self.rng.pick(&WORDS.notes));
        }
        if self.rng.chance(200) {
            let category = self.rng.pick(&WORDS.categories);
            self.lines.line(&format!("CATEGORIES:{category}"));
        }
        match self.rng.below(20) {
            0 => self.lines.line("STATUS:TENTATIVE"),
            1 => self.lines.line("STATUS:CANCELLED"),
            2..10 => self.lines.line("STATUS:CONFIRMED"),
            _ => {}
        }
        if self.rng.chance(50) {
            self.lines.line("CLASS:PRIVATE");
        }
    }

    fn alarms(&mut self) {
        if self.rng.chance(333) {
            let count = 1 + usize::from(self.rng.chance(150));
            for _ in 0..count {
                let before = ["-PT5M", "-PT15M", "-PT30M", "-PT1H", "-P1D"];
                self.lines.alarm(self.rng.pick(&before));
            }
            self.entry.alarms = count;
        }
    }

    fn timed(&mut self) {
        self.begin("VEVENT");
        let lengths = [15_u32, 30, 30, 45, 60, 60, 60, 90, 120, 240];
        let mut minutes = i64::from(self.rng.pick(&lengths));
        // A few last several days.
        if self.rng.chance(15) {
            minutes += 2_880;
        }
        self.times(self.start, minutes);
        self.summary();
        self.details();
        self.alarms();
        self.lines.line("END:VEVENT");
    }

    fn all_day(&mut self) {
        self.begin("VEVENT");
        let start = EntryTime::Day(self.entry.day);
        let days = i64::from(self.rng.pick(&[1_u32, 1, 1, 1, 2, 3, 7, 14]));
        self.lines.line(&format!("DTSTART{}", start.written()));
        self.lines
            .line(&format!("DTEND{}", start.plus(days, 0).written()));
        self.summary();
        self.lines.line("TRANSP:TRANSPARENT");
        self.details();
        self.alarms();
        self.lines.line("END:VEVENT");
    }

    fn recurring(&mut self) {
        let minutes = i64::from(self.rng.pick(&[30_u32, 45, 60, 90, 120]));
        let weekday = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
            [usize::try_from((self.entry.day + 3).rem_euclid(7)).unwrap_or(0)];
        // The rule, and the days between its instances if constant.
        let (mut rule, every) = match self.rng.below(10) {
            0..4 => (format!("FREQ=WEEKLY;BYDAY={weekday}"), 7),
            4 => ("FREQ=WEEKLY;INTERVAL=2".to_owned(), 14),
            5 => ("FREQ=DAILY".to_owned(), 1),
            6 => ("FREQ=MONTHLY".to_owned(), 0),
            7 => (format!("FREQ=MONTHLY;BYDAY=-1{weekday}"), 0),
            8 => ("FREQ=WEEKLY;BYDAY=MO,WE,FR".to_owned(), 0),
            _ => {
                self.start = EntryTime::Day(self.entry.day);
                ("FREQ=YEARLY".to_owned(), 0)
            }
        };
        let count = 8 + self.rng.below(60);
        match self.rng.below(10) {
            _ if self.endless => {}
            0..4 => rule.push_str(&format!(";COUNT={count}")),
            4..7 => {
                let until = self.start.plus(i64::from(count) * every.max(7), 0);
                rule.push_str(&format!(";UNTIL={}", until.until()));
            }
            _ => {}
        }
        self.begin("VEVENT");
        match self.start {
            EntryTime::Day(_) => {
                self.lines.line(&format!("DTSTART{}", self.start.written()));
                self.lines
                    .line(&format!("DTEND{}", self.start.plus(1, 0).written()));
            }
            EntryTime::At(..) => self.times(self.start, minutes),
        }
        self.lines.line(&format!("RRULE:{rule}"));
        let (mut excluded, mut changed) = (0, 0);
        if every > 0 {
            if self.rng.chance(400) {
                excluded = 1 + self.rng.below(3);
            }
            if self.rng.chance(350) {
                changed = 1 + self.rng.below(2);
            }
        }
        for n in 0..excluded {
            // Exceptions are instances 1, 3, 5; overrides are 2 and 4.
            let date = self.start.plus(i64::from(2 * n + 1) * every, 0);
            self.lines.line(&format!("EXDATE{}", date.written()));
        }
        let summary = self.summary();
        self.details();
        self.alarms();
        self.lines.line("END:VEVENT");
        for n in 0..changed {
            let at = self.start.plus(i64::from(2 * n + 2) * every, 0);
            self.begin("VEVENT");
            self.lines.line(&format!("RECURRENCE-ID{}", at.written()));
            let later = i64::from(self.rng.below(8)) * 15;
            self.times(at.plus(0, later), minutes);
            self.lines.text("SUMMARY", &format!("{summary} (moved)"));
            self.lines.line("END:VEVENT");
            self.entry.overrides += 1;
        }
    }

    fn todo(&mut self) {
        self.begin("VTODO");
        self.summary();
        let due = EntryTime::Day(self.entry.day);
        match self.rng.below(3) {
            0 => self.lines.line(&format!("DUE{}", due.written())),
            1 => self.lines.line(&format!("DUE{}", self.start.written())),
            _ => {}
        }
        if self.rng.chance(400) {
            let priority = 1 + self.rng.below(9);
            self.lines.line(&format!("PRIORITY:{priority}"));
        }
        if self.rng.chance(500) {
            let done = date(self.entry.day);
            self.lines.line("STATUS:COMPLETED");
            self.lines.line("PERCENT-COMPLETE:100");
            self.lines.line(&format!("COMPLETED:{done}T180000Z"));
        } else {
            self.lines.line("STATUS:NEEDS-ACTION");
        }
        self.lines.line("END:VTODO");
    }

    fn journal(&mut self) {
        self.begin("VJOURNAL");
        let day = EntryTime::Day(self.entry.day);
        self.lines.line(&format!("DTSTART{}", day.written()));
        self.summary();
        self.lines.text("DESCRIPTION", self.rng.pick(&WORDS.notes));
        self.lines.line("END:VJOURNAL");
    }
}
