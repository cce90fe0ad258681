//! Tables of figures on the page.

use super::super::text_table::{TextCell, TextTable};
use super::{LOSS, ReportSection, begin_scrolling, end_table, put, write_badge, write_headings};
use crate::{ArmRole, Table};

/// Tables of an experiment that are open; the others are opened by the reader.
const OPEN: usize = 1;
/// A table with more rows is never open.
const MAX_OPEN_ROWS: usize = 8;
/// A table with more rows scrolls in its box, under its headings.
const TALL: usize = 30;
/// In a table with more columns the range is below the ratio.
const WIDE: usize = 5;

/// A table; `at` is its place among those of its experiment.
pub(super) fn write_table(out: &mut String, section: &ReportSection, table: &Table, at: usize) {
    if table.columns.is_empty() && table.rows.is_empty() && table.title.is_empty() {
        return;
    }
    let folded = at >= OPEN || table.rows.len() > MAX_OPEN_ROWS;
    if folded {
        put!(
            out,
            "<details class=\"table\">\n<summary>{}</summary>\n",
            table.title
        );
    }
    if !folded || table.rows.is_empty() {
        put!(out, "<h4>{}</h4>\n", table.title);
    }
    if table.rows.is_empty() {
        out.push_str("<p class=\"small\">Nothing of this was run.</p>\n");
    } else {
        write_figures(out, section, table);
    }
    if folded {
        out.push_str("</details>\n");
    }
}

fn write_figures(out: &mut String, section: &ReportSection, table: &Table) {
    if !table.caption.is_empty() {
        put!(out, "<p class=\"caption\">{}</p>\n", table.caption);
    }
    let text = TextTable::new(table);
    let tall = if text.rows.len() > TALL { " tall" } else { "" };
    begin_scrolling(out, &table.title, tall);
    let many = if text.columns.len() > WIDE {
        " many"
    } else {
        ""
    };
    put!(out, "<table class=\"figures{many}\">\n");
    let mut headings = vec![("Setting or program", false)];
    headings.extend(text.columns.iter().map(|title| (*title, true)));
    write_headings(out, &headings);
    for row in &text.rows {
        if let Some(group) = row.heading {
            let columns = text.columns.len() + 1;
            put!(
                out,
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{columns}\">{}</th></tr>\n",
                group
            );
        }
        let ours = match row.role {
            ArmRole::Etui => " class=\"ours\"",
            _ => "",
        };
        put!(out, "<tr{ours}><th scope=\"row\">");
        write_badge(out, row.role);
        match section.about.arm_meaning(row.name) {
            "" => put!(out, "<span class=\"arm\">{}</span></th>", row.name),
            meaning => put!(
                out,
                "<span class=\"arm\" title=\"{}\">{}</span></th>",
                meaning,
                row.name
            ),
        }
        for cell in &row.cells {
            write_cell(out, cell);
        }
        out.push_str("</tr>\n");
    }
    end_table(out);
}

fn write_cell(out: &mut String, cell: &TextCell<'_>) {
    let lost = if cell.lost.is_some() { " lost" } else { "" };
    put!(out, "<td class=\"figure{lost}\">");
    if let Some((number, unit)) = &cell.figure {
        put!(out, "<span class=\"value\">{}", number);
        match *unit {
            "" => {}
            "x" | "/s" => put!(out, "<small>{unit}</small>"),
            _ => put!(out, " <small>{unit}</small>"),
        }
        out.push_str("</span>");
    } else if cell.note.is_empty() {
        out.push_str("<span class=\"none\" title=\"no figure\">\u{2013}</span>");
    }
    if !cell.ratio.is_empty() || cell.range.is_some() {
        out.push_str("<span class=\"beside\">");
        if !cell.ratio.is_empty() {
            let class = if cell.base { "base" } else { "ratio" };
            put!(out, "<span class=\"{class}\">{}</span>", cell.ratio);
        }
        if let Some(range) = &cell.range {
            put!(out, " <span class=\"range\">{}</span>", range);
        }
        out.push_str("</span>");
    }
    if !cell.note.is_empty() {
        put!(out, "<span class=\"note\">{}</span>", cell.note);
    }
    if let Some(lost) = &cell.lost {
        put!(
            out,
            "<span class=\"loss\" title=\"{}\">{LOSS} {}</span>",
            lost,
            cell.lost_by
        );
    }
    out.push_str("</td>");
}
