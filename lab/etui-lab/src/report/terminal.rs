//! One experiment at the prompt: verdict, tables, losses, parts not run. Tables that are
//! too wide are set in several parts, each with the names of the rows.

use comfy_table::{
    Cell as Field, CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, TableStyle,
    Width,
};

use super::text::{text_columns, to_plain, wrap_text};
use super::text_table::{TextCell, TextTable};
use super::{
    LOSS, LOSS_MEANS, ReportSection, advice_figures, sign_of, status_words, verdict_sentence,
};
use crate::{ArmRole, Table};

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
            (ArmRole::Variant, "32"),
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
    write_advice(&mut out, section, width, &paint);
    let evidence = &section.presentation.verdict.evidence;
    let words = format!("{sign} {} {evidence}", verdict_sentence(section));
    write_wrapped(&mut out, &words, "", width, |line| {
        line.strip_prefix(&sign)
            .map_or_else(|| line.to_owned(), |rest| paint.bold(&sign) + rest)
    });
    for of in &section.presentation.tables {
        write_table(&mut out, of, width, &paint);
    }
    let tables = section.presentation.tables.iter();
    let cells: Vec<_> = tables
        .flat_map(|t| &t.rows)
        .flat_map(|row| &row.cells)
        .collect();
    let mut legend = Vec::new();
    if cells.iter().any(|cell| cell.lost.is_some()) {
        legend.push(format!("{LOSS} {LOSS_MEANS}"));
    }
    if cells.iter().any(|cell| cell.base) {
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

/// Writes the advice: what to change, how, and the figures.
fn write_advice(out: &mut String, section: &ReportSection, width: usize, paint: &TerminalColors) {
    for advice in &section.presentation.verdict.advice {
        write_wrapped(out, &advice.sentence(), "", width, |line| paint.bold(line));
        if !advice.how.is_empty() {
            let how = format!("How: {}.", advice.how);
            write_wrapped(out, &how, "  ", width, str::to_owned);
        }
        let figures = format!("{}: {}.", advice.measured, advice_figures(advice));
        write_wrapped(out, &figures, "  ", width, |line| paint.faint(line));
        out.push('\n');
    }
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
        write_wrapped(out, title, "", width, |line| paint.bold(line));
        for (what, why) in items {
            write_wrapped(out, what, "  ", width, str::to_owned);
            write_wrapped(out, why, "    ", width, |line| paint.faint(line));
        }
    };
    let notes = section.presentation.verdict.notes.iter();
    let notes: Vec<_> = notes.map(|note| (note.clone(), String::new())).collect();
    let losses = section.losses().into_iter();
    let losses = losses.map(|(table, words)| (words, table.to_owned()));
    let losses = (
        "Where another product is better than etui",
        losses.collect(),
    );
    let [not_run, failed, _] = section.lists();
    for (title, items) in [losses, ("Notes", notes), not_run, failed] {
        list(out, title, &items);
    }
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
    let text = TextTable::new(table);
    let names = text.rows.iter().map(|row| {
        let heading = row
            .heading
            .map_or(0, |group| text_columns(&to_plain(group)));
        text_columns(&to_plain(row.name)).max(heading)
    });
    let names = names.max().unwrap_or(0).clamp(6, width * 2 / 5);
    let room = width.saturating_sub(roles + names + 2 * GAP);
    let cells = format_cells(&text);
    let mut part: Vec<usize> = Vec::new();
    let mut parts = Vec::new();
    let mut used = 0;
    let mut widths = Vec::new();
    for (at, title) in text.columns.iter().enumerate() {
        let heading = to_plain(title);
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
        let titles = part.iter().filter_map(|at| text.columns.get(*at));
        let mut header = vec![Field::new(""), Field::new("")];
        header.extend(titles.map(|title| Field::new(to_plain(title))));
        grid.set_header(header);
        for (row, cells) in text.rows.iter().zip(&cells) {
            if let Some(group) = row.heading {
                grid.add_row(vec![Field::new(""), Field::new(to_plain(group))]);
            }
            let mut fields = vec![Field::new(row.role.label()), Field::new(to_plain(row.name))];
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
fn format_cells(table: &TextTable<'_>) -> Vec<Vec<String>> {
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|at| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
            cells
                .map(|cell| text_columns(&cell.ratio))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let rows = table.rows.iter().map(|row| {
        let cells = row.cells.iter().zip(&widths);
        cells
            .map(|(cell, width)| format_cell(cell, *width))
            .collect()
    });
    rows.collect()
}

/// Formats a figure with its ratio, padded.
fn format_cell(cell: &TextCell<'_>, width: usize) -> String {
    // Before the figures, which keep their line so.
    let lost = if cell.lost.is_some() {
        format!("{LOSS} ")
    } else {
        String::new()
    };
    let figure = match cell.figure() {
        Some(figure) => figure,
        None if cell.note.is_empty() => "-".to_owned(),
        None => return lost + &to_plain(cell.note),
    };
    if width == 0 {
        return lost + &figure;
    }
    let room = HOLD.repeat(1 + width.saturating_sub(text_columns(&cell.ratio)));
    lost + &figure + &room + &cell.ratio
}
