//! What the results of `journal-matrix` come to.

use std::collections::BTreeMap;

use super::contact::{ETUI, PLAIN_DELETE, PLAIN_EXTRA, PLAIN_REDO, PLAIN_WAL};
use super::reference::KERNEL;
use super::{CONTACT, CURED, DELETE, FOUND, INSERT, SLOW, STACKS, THUMBNAILS, UPDATE};
use crate::measure::layout::Purpose;
use crate::{
    Better, Cell, Chart, ChartKind, Column, GroupKey, Presentation, Results, Role, Row, Series,
    Shown, Table, Unit, Verdict, stacks,
};

pub(super) const WALL: &str = "work/wall_ns";
pub(super) const WRITES: &str = "work/block_real_writes";
pub(super) const BYTES: &str = "work/block_real_write_bytes";
pub(super) const FLUSHES: &str = "work/block_empty_flushes";
pub(super) const KIB: f64 = 1024.0;

/// The file system of the study, without and with its journal on another device.
pub(super) const EXT4: &str = "ext4";
const EXTERNAL: &str = "ext4-journal";

pub fn present(results: &Results) -> Presentation {
    let matrix = Matrix { results };
    let mut tables = vec![
        matrix.counts(INSERT, BYTES),
        matrix.counts(INSERT, FLUSHES),
        matrix.counts(INSERT, WRITES),
        matrix.speed(INSERT),
    ];
    tables.extend(matrix.purposes(EXT4));
    for work in [UPDATE, DELETE, THUMBNAILS, CONTACT] {
        tables.extend([
            matrix.counts(work, BYTES),
            matrix.counts(work, FLUSHES),
            matrix.speed(work),
        ]);
    }
    tables.extend([matrix.counted(), matrix.slow(), matrix.calls()]);
    let (against, notes) = matrix.against_reference();
    tables.push(against);
    tables.retain(|table| !table.rows.is_empty() && !table.columns.is_empty());
    let mut verdict = matrix.verdict();
    verdict.notes.extend(notes);
    Presentation {
        tables,
        charts: STACKS
            .iter()
            .filter_map(|stack| matrix.chart(stack))
            .collect(),
        verdict,
        not_run: Vec::new(),
    }
}

pub(super) struct Matrix<'r> {
    pub(super) results: &'r Results,
}

impl Matrix<'_> {
    pub(super) fn group(&self, work: &str, stack: &str) -> Option<GroupKey> {
        self.results
            .groups()
            .into_iter()
            .find(|group| group.work == work && group.stack == stack)
    }

    fn groups(&self, work: &str) -> Vec<GroupKey> {
        STACKS
            .iter()
            .filter_map(|stack| self.group(work, stack))
            .collect()
    }

    /// A measure for each transaction.
    pub(super) fn each(&self, group: &GroupKey, arm: &str, measure: &str) -> Option<f64> {
        let size = group.size.max(1) as f64;
        Some(self.results.median(group, arm, measure)? / size)
    }

    fn arms(&self, groups: &[GroupKey]) -> Vec<(String, Role)> {
        let mut arms: Vec<(String, Role)> = Vec::new();
        for group in groups {
            for arm in self.results.arms(group) {
                if !arms.contains(&arm) {
                    arms.push(arm);
                }
            }
        }
        arms
    }

    /// Arms down, stacks across.
    fn table(
        &self,
        groups: &[GroupKey],
        column: impl Fn(&GroupKey) -> Column,
        cell: impl Fn(&GroupKey, &str) -> Cell,
    ) -> Table {
        Table {
            columns: groups.iter().map(column).collect(),
            rows: self
                .arms(groups)
                .into_iter()
                .map(|(label, role)| Row {
                    cells: groups.iter().map(|group| cell(group, &label)).collect(),
                    label,
                    role,
                })
                .collect(),
            ..Table::default()
        }
    }

    /// A count of what reaches the laboratory's own devices, for each transaction.
    fn counts(&self, work: &str, measure: &str) -> Table {
        let groups: Vec<GroupKey> = self
            .groups(work)
            .into_iter()
            .filter(|group| {
                self.results
                    .arms(group)
                    .iter()
                    .any(|(arm, _)| self.each(group, arm, measure).is_some())
            })
            .collect();
        let (words, unit) = match measure {
            BYTES => ("bytes that reach the device", Unit::Bytes),
            FLUSHES => ("flushes", Unit::Count),
            _ => ("writes that carry data", Unit::Count),
        };
        let found = found(work);
        let table = self.table(
            &groups,
            |group| Column::new(group.stack.as_str(), unit, Better::Less),
            |group, arm| Cell {
                ratio: (arm != found && measure == BYTES)
                    .then(|| self.results.ratio(group, arm, found, measure))
                    .flatten()
                    .map(|ratio| ratio.median),
                lost: self.loses(group, arm, measure),
                ..Cell::of(self.each(group, arm, measure))
            },
        );
        Table {
            title: format!("{}: {words}, each", title(work)),
            ..table
        }
    }

    fn speed(&self, work: &str) -> Table {
        let groups = self.groups(work);
        let found = found(work);
        let table = self.table(
            &groups,
            |group| Column::new(group.stack.as_str(), Unit::PerSecond, Better::More),
            |group, arm| Cell {
                ratio: (arm != found)
                    .then(|| self.results.ratio(group, found, arm, WALL))
                    .flatten()
                    .map(|ratio| ratio.median),
                lost: self.loses(group, arm, WALL),
                ..self.per_second(group, arm)
            },
        );
        Table {
            title: format!("{}: how many a second", title(work)),
            caption: format!(
                "Durable when done, one after the other; the ratio is to `{found}`. {}",
                if work == CONTACT {
                    "Each writes its log back as it is set."
                } else {
                    "Writing a log back is left out."
                }
            ),
            ..table
        }
    }

    /// How many transactions a second.
    pub(super) fn per_second(&self, group: &GroupKey, arm: &str) -> Cell {
        let per_second = |ns: f64| group.size as f64 / (ns / 1e9);
        let Some(figure) = self.results.figure(group, arm, WALL) else {
            return Cell::default();
        };
        Cell {
            range: (figure.count > 1).then(|| (per_second(figure.high), per_second(figure.low))),
            ..Cell::of(Some(per_second(figure.median)))
        }
    }

    /// Whether an arm of plain SQLite takes less of a measure than etui.
    fn loses(&self, group: &GroupKey, arm: &str, measure: &str) -> bool {
        matches!(arm, PLAIN_DELETE | PLAIN_EXTRA | PLAIN_WAL | PLAIN_REDO)
            && self
                .results
                .ratio(group, arm, ETUI, measure)
                .is_some_and(|ratio| ratio.median < 1.0)
    }

    /// What the bytes of an insert are for.
    fn purposes(&self, stack: &str) -> Option<Table> {
        let group = self.group(INSERT, stack)?;
        let rows: Vec<Row> = self
            .results
            .arms(&group)
            .into_iter()
            .filter(|(arm, _)| self.each(&group, arm, BYTES).is_some())
            .map(|(label, role)| Row {
                cells: Purpose::ALL
                    .iter()
                    .filter(|purpose| **purpose != Purpose::Data)
                    .map(|purpose| Cell::of(self.each(&group, &label, &bytes_of(*purpose))))
                    .collect(),
                label,
                role,
            })
            .collect();
        Some(Table {
            title: format!("What the bytes of an insert are for, {stack}"),
            caption: String::new(),
            columns: Purpose::ALL
                .iter()
                .filter(|purpose| **purpose != Purpose::Data)
                .map(|purpose| Column::bytes(purpose.label()))
                .collect(),
            rows,
        })
    }

    fn chart(&self, stack: &str) -> Option<Chart> {
        let group = self.group(INSERT, stack)?;
        let labels: Vec<String> = self
            .results
            .arms(&group)
            .into_iter()
            .map(|(arm, _)| arm)
            .filter(|arm| self.each(&group, arm, BYTES).is_some())
            .collect();
        let series: Vec<Series> = Purpose::ALL
            .iter()
            .map(|purpose| Series {
                name: purpose.label().to_owned(),
                role: Role::AsFound,
                points: labels
                    .iter()
                    .enumerate()
                    .filter_map(|(at, arm)| {
                        let bytes = self.each(&group, arm, &bytes_of(*purpose))?;
                        Some((at as f64, bytes))
                    })
                    .collect(),
            })
            .filter(|series| series.points.iter().any(|(_, bytes)| *bytes > 0.0))
            .collect();
        (!series.is_empty()).then(|| Chart {
            title: format!("What one insert of 100 bytes writes, {stack}"),
            kind: ChartKind::Stacked,
            x: String::new(),
            y: "bytes that reach the device".to_owned(),
            unit: Unit::Bytes,
            labels,
            series,
        })
    }

    /// System calls for each insert, from where they were traced.
    fn calls(&self) -> Table {
        const SHOWN: [(&str, &str); 8] = [
            ("database writes", "work/database_write_calls"),
            ("journal writes", "work/journal_write_calls"),
            ("log writes", "work/wal_write_calls"),
            ("redo log writes", "work/redo_write_calls"),
            ("fdatasync", "fdatasync"),
            ("fsync", "fsync"),
            ("unlink", "work/journal_unlink_calls"),
            ("all calls", "work/calls"),
        ];
        let Some(group) = self.group(INSERT, stacks::RAM) else {
            return Table::default();
        };
        let count = |arm: &str, measure: &str| match measure {
            "fdatasync" | "fsync" => ["database", "journal", "wal", "redo", "directory"]
                .iter()
                .filter_map(|file| self.each(&group, arm, &format!("work/{file}_{measure}_calls")))
                .fold(0.0, |sum, calls| sum + calls),
            _ => self.each(&group, arm, measure).unwrap_or(0.0),
        };
        Table {
            title: "System calls of an insert".to_owned(),
            caption: "Counted under strace; they are the same on all file systems.".to_owned(),
            columns: SHOWN.iter().map(|(name, _)| Column::count(*name)).collect(),
            rows: self
                .results
                .arms(&group)
                .into_iter()
                .filter(|(arm, _)| self.each(&group, arm, "work/calls").is_some())
                .map(|(label, role)| Row {
                    cells: SHOWN
                        .iter()
                        .map(|(_, measure)| Cell::of(Some(count(&label, measure))))
                        .collect(),
                    label,
                    role,
                })
                .collect(),
        }
    }

    fn verdict(&self) -> Verdict {
        let Some(ext4) = self.group(INSERT, EXT4) else {
            return self.verdict_by_time();
        };
        let part = |arm: &str, measure: &str| self.each(&ext4, arm, measure);
        let (Some(found), Some(cured)) = (part(FOUND, BYTES), part(CURED, BYTES)) else {
            return self.verdict_by_time();
        };
        let journal = part(FOUND, &bytes_of(Purpose::FileSystemJournal)).unwrap_or(0.0)
            + part(FOUND, &bytes_of(Purpose::Metadata)).unwrap_or(0.0);
        let share = journal / found.max(1.0);
        let flushes = |arm: &str| part(arm, FLUSHES).unwrap_or(0.0);
        let faster = self.results.ratio(&ext4, FOUND, CURED, WALL);
        let mut sentence = format!(
            "On ext4 an insert of 100 bytes with a rollback journal and fsync writes {:.1} KiB with {:.1} flushes, {:.0} % of it the file system's own journal and metadata; with a recycled log and fdatasync {:.1} KiB and {:.1} flushes",
            found / KIB,
            flushes(FOUND),
            share * 100.0,
            cured / KIB,
            flushes(CURED),
        );
        if let Some(faster) = faster {
            sentence.push_str(&format!(
                ", {:.1} times as many a second ({:.1} to {:.1})",
                faster.median, faster.low, faster.high
            ));
        }
        sentence.push('.');
        let less = cured < found / 2.0;
        let shown = match (share > 1.0 / 3.0 && less, faster) {
            (true, Some(faster)) if faster.median > 1.5 => Shown::Yes,
            (true, None) => Shown::Yes,
            (false, _) if !less => Shown::No,
            _ => Shown::Partly,
        };
        Verdict {
            shown,
            sentence,
            notes: [
                self.each_cure(&ext4),
                self.external(),
                self.checkpoints(),
                self.redo(),
                self.etui(),
            ]
            .into_iter()
            .flatten()
            .collect(),
        }
    }

    /// Without devices of its own the laboratory has the clock only.
    fn verdict_by_time(&self) -> Verdict {
        let Some(here) = self.group(INSERT, stacks::HERE) else {
            return Verdict::default();
        };
        let Some(faster) = self.results.ratio(&here, FOUND, CURED, WALL) else {
            return Verdict::default();
        };
        Verdict {
            shown: if faster.low > 1.2 {
                Shown::Partly
            } else {
                Shown::Open
            },
            sentence: format!(
                "On the current directory's file system a recycled log with fdatasync makes {:.1} times as many inserts a second as a rollback journal with fsync ({:.1} to {:.1}); what reaches the device can be counted on loop images only, which need root.",
                faster.median, faster.low, faster.high
            ),
            notes: [self.redo(), self.etui()].into_iter().flatten().collect(),
        }
    }

    /// What each cure alone takes away.
    fn each_cure(&self, ext4: &GroupKey) -> Option<String> {
        let kib = |arm| Some(self.each(ext4, arm, BYTES)? / KIB);
        Some(format!(
            "Alone, in KiB of the {:.1} as found on ext4: fdatasync leaves {:.1}, fdatasync and a journal that persists {:.1}, a log that grows {:.1}, a recycled one {:.1}, which with fsync takes {:.1}.",
            kib(FOUND)?,
            kib("DELETE")?,
            kib("PERSIST")?,
            kib("WAL fresh")?,
            kib(CURED)?,
            kib("WAL recycled, fsync")?,
        ))
    }

    /// What a journal on a device of its own changes.
    fn external(&self) -> Option<String> {
        let external = self.group(INSERT, EXTERNAL)?;
        let main = |arm| self.each(&external, arm, "work/block_main_flushes");
        let all = |arm| self.each(&external, arm, FLUSHES);
        Some(format!(
            "With ext4's journal on a second device the first one gets {:.1} of {:.1} flushes as found, and {:.1} of {:.1} with the recycled log. With kernel {KERNEL} the data device was seen to get none at all with a log, which is no gain: what was written may then still be in its cache. {} {}.",
            main(FOUND)?,
            all(FOUND)?,
            main(CURED)?,
            all(CURED)?,
            self.results.header.kernel,
            if main(CURED)? >= 0.9 {
                "sends them"
            } else {
                "sends none either"
            }
        ))
    }

    /// What the checkpoint adds, that the log puts off.
    fn checkpoints(&self) -> Option<String> {
        let parts: BTreeMap<&str, f64> = [EXT4, "xfs", "btrfs"]
            .into_iter()
            .filter_map(|stack| {
                let group = self.group(INSERT, stack)?;
                let bytes = self
                    .results
                    .median(&group, CURED, "checkpoint/block_write_bytes")?;
                Some((stack, bytes / KIB))
            })
            .collect();
        let size = self.group(INSERT, EXT4)?.size;
        (!parts.is_empty()).then(|| {
            let parts: Vec<String> = parts
                .iter()
                .map(|(stack, kib)| format!("{kib:.0} KiB on {stack}"))
                .collect();
            format!(
                "Writing a log of {size} inserts back takes {} more, once.",
                parts.join(", ")
            )
        })
    }

    /// etui beside plain SQLite with the same rows.
    fn etui(&self) -> Option<String> {
        let group = self
            .group(CONTACT, EXT4)
            .or_else(|| self.group(CONTACT, stacks::HERE))?;
        let ratio = self.results.ratio(&group, PLAIN_WAL, ETUI, WALL)?;
        let mut words = format!(
            "A contact with its indexes on {}: etui saves {:.2} times as many a second as plain SQLite with the same rows ({:.2} to {:.2} in {} repetitions{})",
            group.stack,
            ratio.median,
            ratio.low,
            ratio.high,
            ratio.count,
            if ratio.low < 1.0 && ratio.high > 1.0 {
                ", so neither is faster for sure"
            } else {
                ""
            }
        );
        let bytes = |arm| self.each(&group, arm, BYTES);
        if let (Some(etui), Some(plain)) = (bytes(ETUI), bytes(PLAIN_WAL)) {
            words.push_str(&format!(
                ", and writes {:.1} KiB for each against {:.1}",
                etui / KIB,
                plain / KIB
            ));
        }
        words.push_str("; both append to a log that still grows. Plain SQLite is given its rows ready made, etui derives keys and terms in its time.");
        if let Some(faster) = self.results.ratio(&group, PLAIN_WAL, PLAIN_REDO, WALL) {
            words.push_str(&format!(
                " Through etui's VFS plain SQLite saves {:.2} times as many as without it ({:.2} to {:.2})",
                faster.median, faster.low, faster.high
            ));
            if let Some(redo) = bytes(PLAIN_REDO) {
                words.push_str(&format!(", {:.1} KiB for each", redo / KIB));
            }
            words.push('.');
        }
        Some(words)
    }
}

/// The arm that the others are compared with.
fn found(work: &str) -> &'static str {
    if work == CONTACT { PLAIN_DELETE } else { FOUND }
}

pub(super) fn bytes_of(purpose: Purpose) -> String {
    format!("work/block_{}_bytes", purpose.name())
}

pub(super) fn title(work: &str) -> &str {
    match work {
        INSERT => "Inserts of 100 bytes",
        UPDATE => "Updates of 100 bytes",
        DELETE => "Deletions of 100 bytes",
        THUMBNAILS => "Batches of 60 thumbnails",
        CONTACT => "Contacts",
        SLOW => "Inserts of 100 bytes with slow flushes",
        other => other,
    }
}
