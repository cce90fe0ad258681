//! Tables of figures on the page.

use maud::{Markup, html};

use super::super::text_table::{TextCell, TextTable};
use super::{LOSS, ReportSection, badge, scrolling_table, text};
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
pub(super) fn table(section: &ReportSection, table: &Table, at: usize) -> Markup {
    if table.columns.is_empty() && table.rows.is_empty() && table.title.is_empty() {
        return Markup::default();
    }
    let folded = at >= OPEN || table.rows.len() > MAX_OPEN_ROWS;
    let content = html! {
        @if !folded || table.rows.is_empty() { h4 { (text(&table.title)) } }
        @if table.rows.is_empty() {
            p.small { "Nothing of this was run." }
        } @else {
            (figures(section, table))
        }
    };
    html! {
        @if folded {
            details.table { summary { (text(&table.title)) } (content) }
        } @else {
            (content)
        }
    }
}

fn figures(section: &ReportSection, table: &Table) -> Markup {
    let of_table = TextTable::new(table);
    let (columns, rows) = (&of_table.columns, &of_table.rows);
    let class = match columns.len() > WIDE {
        true => "figures many",
        false => "figures",
    };
    let mut headings = vec![("Setting or program", false)];
    headings.extend(columns.iter().map(|title| (*title, true)));
    let written = html! {
        @for row in rows {
            @if let Some(group) = row.heading {
                tr.group { th scope="rowgroup" colspan=(columns.len() + 1) { (text(group)) } }
            }
            @let meaning = section.about.arm_meaning(row.name);
            tr class=[(row.role == ArmRole::Etui).then_some("ours")] {
                th scope="row" {
                    (badge(row.role))
                    span.arm title=[(!meaning.is_empty()).then(|| text(meaning))] { (text(row.name)) }
                }
                @for of in &row.cells { (cell(of)) }
            }
        }
    };
    html! {
        @if !table.caption.is_empty() { p.caption { (text(&table.caption)) } }
        (scrolling_table((&table.title, class, rows.len() > TALL), &headings, &written))
    }
}

fn cell(cell: &TextCell<'_>) -> Markup {
    html! {
        td class={"figure" @if cell.lost.is_some() { " lost" }} {
            @if let Some((number, unit)) = &cell.figure {
                span.value {
                    (text(number))
                    @if !unit.is_empty() {
                        @if !matches!(*unit, "x" | "/s") { " " }
                        small { (unit) }
                    }
                }
            } @else if cell.note.is_empty() {
                span.none title="no figure" { "\u{2013}" }
            }
            @if !cell.ratio.is_empty() || cell.range.is_some() {
                span.beside {
                    @if !cell.ratio.is_empty() {
                        span class=(if cell.base { "base" } else { "ratio" }) { (text(&cell.ratio)) }
                    }
                    @if let Some(range) = &cell.range { " " span.range { (text(range)) } }
                }
            }
            @if !cell.note.is_empty() { span.note { (text(cell.note)) } }
            @if let Some(lost) = &cell.lost {
                span.loss title=(text(lost)) { (LOSS) " " (text(&cell.lost_by)) }
            }
        }
    }
}
