//! One experiment at the prompt: verdict, tables, losses, parts not run. Tables that are
//! too wide are set in several parts, each with the names of the rows.

use comfy_table::{
    Cell as Field, CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, TableStyle,
    Width,
};

use super::text::{text_columns, to_plain, wrap_text};
use super::{
    LOSS, LOSS_MEANS, ReportSection, base_cells, column_scales, group_rows, numbers, sign_of,
    status_words, verdict_sentence,
};
use crate::{ArmRole, Table, TableCell};
use numbers::Scale;

/// Widths between which the form is readable.
const NARROWEST: usize = 40;
/// Lines of words are no longer than this, however wide the terminal.
const MEASURE: usize = 100;

/// The terminal's colours; they repeat what words and signs already express.
struct TerminalColors(bool);

impl TerminalColors {
    fn with(&self, code: &str, words: &str) -> String {
        if self.0 {
            format!("\u{1b}[{code}m{words}\u{1b}[0m")
        } else {
            words.to_owned()
        }
    }

    fn bold(&self, words: &str) -> String {
        self.with("1", words)
    }

    fn faint(&self, words: &str) -> String {
        self.with("2", words)
    }

    /// Colours the role and the loss signs of a finished line.
    fn line(&self, line: &str) -> String {
        if !self.0 {
            return line.to_owned();
        }
        let mut line = line.replace(LOSS, &self.with("31", LOSS));
        for (role, code) in [
            (ArmRole::AsFound, "37"),
            (ArmRole::Cure, "33"),
            (ArmRole::AllCures, "34"),
            (ArmRole::Unsafe, "31"),
            (ArmRole::Peer, "35"),
            (ArmRole::Etui, "1;32"),
        ] {
            let start = format!("{} ", role.label());
            if let Some(rest) = line.strip_prefix(&start) {
                line = format!("{} {rest}", self.with(code, role.label()));
                break;
            }
        }
        line
    }
}

/// Formats an experiment's section for a terminal of this width.
pub fn to_terminal(section: &ReportSection, width: usize, color: bool) -> String {
    let width = width.max(NARROWEST);
    let paint = TerminalColors(color);
    let mut out = String::new();
    let title = format!(
        "{} ({})",
        to_plain(section.about.title),
        to_plain(section.about.name)
    );
    write_wrapped(&mut out, &title, "", width, |line| paint.bold(line));
    write_wrapped(&mut out, section.about.question, "", width, str::to_owned);
    out.push('\n');
    let sign = match sign_of(section) {
        Some(of) => format!("Verdict, {}:", status_words(of)),
        None => "Verdict:".to_owned(),
    };
    let words = format!("{sign} {}", verdict_sentence(section));
    write_wrapped(&mut out, &words, "", width, |line| {
        line.strip_prefix(&sign)
            .map_or_else(|| line.to_owned(), |rest| paint.bold(&sign) + rest)
    });
    let mut any = (false, false);
    for of in &section.presentation.tables {
        write_table(&mut out, of, width, &paint);
        any.0 |= of
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .any(|cell| cell.lost);
        any.1 |= base_cells(of).iter().flatten().any(|base| *base);
    }
    let mut legend = Vec::new();
    if any.0 {
        legend.push(format!("{LOSS} {LOSS_MEANS}"));
    }
    if any.1 {
        legend.push("base: what the ratios in its column are taken against".to_owned());
    }
    if !legend.is_empty() {
        out.push('\n');
        write_wrapped(&mut out, &legend.join("; "), "", width, |line| {
            paint.faint(line)
        });
    }
    write_lists(&mut out, section, width, &paint);
    out
}

/// Writes wrapped lines with a prefix.
fn write_wrapped(
    out: &mut String,
    words: &str,
    indent: &str,
    width: usize,
    paint: impl Fn(&str) -> String,
) {
    for line in wrap_text(words, width.min(MEASURE) - text_columns(indent)) {
        out.push_str(indent);
        out.push_str(&paint(&line));
        out.push('\n');
    }
}

fn write_lists(out: &mut String, section: &ReportSection, width: usize, paint: &TerminalColors) {
    let list = |out: &mut String, title: &str, items: &[(String, String)]| {
        if items.is_empty() {
            return;
        }
        out.push('\n');
        out.push_str(&paint.bold(title));
        out.push('\n');
        for (what, why) in items {
            write_wrapped(out, what, "  ", width, str::to_owned);
            write_wrapped(out, why, "    ", width, |line| paint.faint(line));
        }
    };
    let notes: Vec<_> = section
        .presentation
        .verdict
        .notes
        .iter()
        .map(|note| (note.clone(), String::new()))
        .collect();
    list(out, "Notes", &notes);
    let not_run: Vec<_> = section
        .not_run_by_reason()
        .into_iter()
        .map(|(reason, parts)| (parts.join(", "), reason.to_owned()))
        .collect();
    list(out, "Not run here", &not_run);
    let failed: Vec<_> = section
        .failed
        .iter()
        .map(|(work, arm, message)| (format!("{work}: {arm}"), message.clone()))
        .collect();
    list(out, "Failed", &failed);
}

fn write_table(out: &mut String, table: &Table, width: usize, paint: &TerminalColors) {
    if table.title.is_empty() && table.rows.is_empty() {
        return;
    }
    out.push('\n');
    write_wrapped(out, &table.title, "", width, |line| paint.bold(line));
    write_wrapped(out, &table.caption, "", width, |line| paint.faint(line));
    if table.rows.is_empty() {
        out.push_str("  nothing of this was run\n");
        return;
    }
    // The names get at most two fifths of the width; the roles are never broken.
    let roles = table.rows.iter().map(|row| text_columns(row.role.label()));
    let roles = roles.max().unwrap_or(0).max(4);
    let groups = group_rows(table);
    let label = |place: usize| match groups.as_ref().and_then(|g| g.get(place)) {
        Some((group, name)) => (Some(to_plain(group)), to_plain(name)),
        None => (
            None,
            table
                .rows
                .get(place)
                .map_or_else(String::new, |r| to_plain(&r.label)),
        ),
    };
    let names = (0..table.rows.len()).map(|place| {
        let (group, name) = label(place);
        text_columns(&name).max(group.map_or(0, |group| text_columns(&group)))
    });
    let names = names.max().unwrap_or(0).clamp(6, width * 2 / 5);
    let room = width.saturating_sub(roles + names + 2 * GAP);
    let cells = format_cells(table);
    let mut part: Vec<usize> = Vec::new();
    let mut parts = Vec::new();
    let mut used = 0;
    let mut widths = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let heading = to_plain(&column.title);
        let word = heading.split(' ').map(text_columns).max().unwrap_or(0);
        let figures = cells.iter().filter_map(|row| row.get(at));
        let widest = figures.map(|cell| text_columns(cell)).max().unwrap_or(0);
        // A heading of several words may take three lines.
        let wide = widest
            .max(word)
            .max(text_columns(&heading).div_ceil(3) + 2)
            .clamp(4, room);
        if !part.is_empty() && used + wide + GAP > room {
            parts.push(std::mem::take(&mut part));
            used = 0;
        }
        used += wide + GAP;
        part.push(at);
        widths.push(wide);
    }
    parts.push(part);
    for (nth, part) in parts.iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        let mut grid = Grid::new();
        grid.load_style(
            TableStyle::new().header_separator(comfy_table::LineStyle::none().fill('\u{2500}')),
        );
        grid.set_content_arrangement(ContentArrangement::Dynamic);
        grid.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        let titles = part.iter().filter_map(|at| table.columns.get(*at));
        let mut header = vec![Field::new(""), Field::new("")];
        header.extend(titles.map(|c| Field::new(to_plain(&c.title))));
        grid.set_header(header);
        let mut heading = None;
        for (place, (row, cells)) in table.rows.iter().zip(&cells).enumerate() {
            let (group, name) = label(place);
            if group.is_some() && group != heading {
                grid.add_row(vec![
                    Field::new(""),
                    Field::new(group.as_deref().unwrap_or("")),
                ]);
                heading = group;
            }
            let mut fields = vec![Field::new(row.role.label()), Field::new(name)];
            fields.extend(part.iter().map(|at| {
                Field::new(cells.get(*at).map_or("", String::as_str))
                    .set_alignment(CellAlignment::Right)
            }));
            grid.add_row(fields);
        }
        let shares = [roles, names].into_iter();
        let shares = shares.chain(part.iter().filter_map(|at| widths.get(*at).copied()));
        for (at, wide) in shares.enumerate() {
            let last = at == part.len() + 1;
            let gap = if last { 0 } else { GAP as u16 };
            if let Some(column) = grid.column_mut(at) {
                column.set_padding((0, gap));
                if at >= 2 {
                    column.set_cell_alignment(CellAlignment::Right);
                }
                let wide = u16::try_from(wide).unwrap_or(u16::MAX).saturating_add(gap);
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(wide)));
            }
        }
        for line in grid.lines() {
            out.push_str(&paint.line(line.replace(HOLD, " ").trim_end()));
            out.push('\n');
        }
    }
}

/// The columns' distance.
const GAP: usize = 2;

/// Keeps a ratio's place beside its figure; a common space would be taken for a place to break.
const HOLD: &str = "\u{a0}";

/// The table's figures in words, the ratios of a column below each other.
fn format_cells(table: &Table) -> Vec<Vec<String>> {
    let (scales, bases) = (column_scales(table), base_cells(table));
    let empty = TableCell::default();
    let cell = |row: usize, at: usize| {
        let cell = table.rows.get(row).and_then(|row| row.cells.get(at));
        let base = bases.get(row).and_then(|row| row.get(at));
        (cell.unwrap_or(&empty), base.copied().unwrap_or(false))
    };
    let beside = |row: usize, at: usize| {
        let (cell, base) = cell(row, at);
        match cell.ratio.filter(|ratio| ratio.is_finite()) {
            Some(ratio) => numbers::format_ratio(ratio),
            None if base => "base".to_owned(),
            None => String::new(),
        }
    };
    let rows = 0..table.rows.len();
    let widths: Vec<usize> = (0..scales.len())
        .map(|at| {
            rows.clone()
                .map(|row| text_columns(&beside(row, at)))
                .max()
                .unwrap_or(0)
        })
        .collect();
    rows.map(|row| {
        let columns = scales.iter().zip(&widths).enumerate();
        columns
            .map(|(at, (scale, width))| {
                format_cell(cell(row, at).0, scale, &beside(row, at), *width)
            })
            .collect()
    })
    .collect()
}

/// Formats a figure with its ratio, padded.
fn format_cell(cell: &TableCell, scale: &Scale, ratio: &str, width: usize) -> String {
    // Before the figures, which keep their line so.
    let lost = if cell.lost {
        format!("{LOSS} ")
    } else {
        String::new()
    };
    let figure = match cell.value {
        Some(value) => scale.write(value),
        None if cell.note.is_empty() => "-".to_owned(),
        None => return lost + &to_plain(&cell.note),
    };
    if width == 0 {
        return lost + &figure;
    }
    let room = HOLD.repeat(1 + width.saturating_sub(text_columns(ratio)));
    lost + &figure + &room + ratio
}
