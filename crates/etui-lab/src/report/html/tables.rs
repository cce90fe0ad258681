//! Tables of figures on the page.

use super::super::numbers::{self, Scale};
use super::super::text::HtmlText;
use super::super::{base_cells, column_scales, group_rows};
use super::{loss_mark, put, write_badge};
use crate::{ArmRole, Table, TableCell, TableRow};

/// This many tables of an experiment are open; the others are opened by the reader.
const OPEN: usize = 2;
/// A table with more rows scrolls in its box, under its headings.
const TALL: usize = 30;
/// In a table with more columns the range is below the ratio.
const WIDE: usize = 5;

/// A table; `at` is its place among those of its experiment.
pub(super) fn write_table(out: &mut String, table: &Table, at: usize) {
    if table.columns.is_empty() && table.rows.is_empty() && table.title.is_empty() {
        return;
    }
    let folded = at >= OPEN;
    if folded {
        put!(
            out,
            "<details class=\"table\">\n<summary>{}</summary>\n",
            HtmlText(&table.title)
        );
    }
    if table.rows.is_empty() {
        put!(
            out,
            "<h4>{}</h4>\n<p class=\"small\">Nothing of this was run.</p>\n",
            HtmlText(&table.title)
        );
    } else {
        write_figures(out, table, folded);
    }
    if folded {
        out.push_str("</details>\n");
    }
}

fn write_figures(out: &mut String, table: &Table, folded: bool) {
    if !folded {
        put!(out, "<h4>{}</h4>\n", HtmlText(&table.title));
    }
    if !table.caption.is_empty() {
        put!(
            out,
            "<p class=\"caption\">{}</p>\n",
            HtmlText(&table.caption)
        );
    }
    put!(
        out,
        "<div class=\"scroll{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n\
         <table class=\"figures{}\">\n<thead><tr><th scope=\"col\">Arm</th>",
        if table.rows.len() > TALL { " tall" } else { "" },
        HtmlText(&table.title),
        if table.columns.len() > WIDE {
            " many"
        } else {
            ""
        }
    );
    for column in &table.columns {
        put!(
            out,
            "<th scope=\"col\" class=\"figure\">{}</th>",
            HtmlText(&column.title)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let (scales, bases) = (column_scales(table), base_cells(table));
    let groups = group_rows(table);
    let mut heading = None;
    for (place, (row, bases)) in table.rows.iter().zip(&bases).enumerate() {
        let mut label = row.label.as_str();
        if let Some((group, name)) = groups.as_ref().and_then(|g| g.get(place).copied()) {
            if heading != Some(group) {
                put!(
                    out,
                    "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                    table.columns.len() + 1,
                    HtmlText(group)
                );
                heading = Some(group);
            }
            label = name;
        }
        put!(
            out,
            "<tr{}><th scope=\"row\">",
            if row.role == ArmRole::Etui {
                " class=\"ours\""
            } else {
                ""
            }
        );
        write_badge(out, row.role);
        put!(out, "<span class=\"arm\">{}</span></th>", HtmlText(label));
        for (at, (scale, base)) in scales.iter().zip(bases).enumerate() {
            write_cell(out, row, at, scale, *base);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn write_cell(out: &mut String, row: &TableRow, at: usize, scale: &Scale, base: bool) {
    let empty = TableCell::default();
    let cell = row.cells.get(at).unwrap_or(&empty);
    put!(
        out,
        "<td class=\"figure{}\">",
        if cell.lost { " lost" } else { "" }
    );
    match cell.value {
        Some(value) => {
            let (number, unit) = scale.split(value);
            put!(out, "<span class=\"value\">{}", HtmlText(&number));
            match unit {
                "" => {}
                "x" | "/s" => put!(out, "<small>{unit}</small>"),
                _ => put!(out, " <small>{unit}</small>"),
            }
            if cell.lost {
                loss_mark(out);
            }
            out.push_str("</span>");
        }
        None if cell.note.is_empty() => {
            out.push_str("<span class=\"none\" title=\"no figure\">\u{2013}</span>");
        }
        None => {}
    }
    let ratio = match cell.ratio.filter(|ratio| ratio.is_finite()) {
        Some(ratio) => numbers::format_ratio(ratio),
        None if base => "base".to_owned(),
        None => String::new(),
    };
    let range = cell
        .range
        .filter(|(low, high)| low.is_finite() && high.is_finite() && low != high)
        .map(|(low, high)| format!("({})", scale.range(low, high)));
    if !ratio.is_empty() || range.is_some() {
        out.push_str("<span class=\"beside\">");
        if !ratio.is_empty() {
            put!(
                out,
                "<span class=\"{}\">{}</span>",
                if base { "base" } else { "ratio" },
                HtmlText(&ratio)
            );
        }
        if let Some(range) = range {
            put!(out, " <span class=\"range\">{}</span>", HtmlText(&range));
        }
        out.push_str("</span>");
    }
    if !cell.note.is_empty() {
        put!(out, "<span class=\"note\">{}</span>", HtmlText(&cell.note));
        if cell.lost && cell.value.is_none() {
            loss_mark(out);
        }
    }
    out.push_str("</td>");
}
