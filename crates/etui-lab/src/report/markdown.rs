//! The report as Markdown, for a repository or an issue: the page's words and figures, with
//! the charts as tables.

use super::curves::chart_grid;
use super::text::escape_markdown as md;
use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, base_cells, by_study, column_scales, glance,
    machine_facts, missing_studies, numbers, section_name, sign_of, status_words, verdict_sentence,
};
use crate::{Chart, Study, Table, TableCell};
use numbers::Scale;

/// The report as Markdown.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::from("# The five studies on this machine\n\n");
    write_summary(&mut out, report);
    for (study, sections) in by_study(report) {
        match study {
            Some(study) => write_paragraphs(
                &mut out,
                &[
                    format!("## {}", md(study.title())),
                    format!("*{}*", md(study.source())),
                ],
            ),
            None => write_paragraphs(&mut out, &["## Further experiments".to_owned()]),
        }
        for section in sections {
            write_experiment(&mut out, section);
        }
    }
    write_foot(&mut out, report);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn write_paragraphs(out: &mut String, words: &[String]) {
    for words in words.iter().filter(|words| !words.is_empty()) {
        out.push_str(words);
        out.push_str("\n\n");
    }
}

/// Writes a line of a table; the cells are Markdown already.
fn write_row(out: &mut String, cells: &[String]) {
    out.push_str("| ");
    out.push_str(&cells.join(" | "));
    out.push_str(" |\n");
}

fn write_head(out: &mut String, titles: &[String], words: usize) {
    write_row(out, titles);
    let rules: Vec<String> = (0..titles.len())
        .map(|at| if at < words { "---" } else { "---:" }.to_owned())
        .collect();
    write_row(out, &rules);
}

fn write_summary(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        write_paragraphs(out, &["There are no results yet.".to_owned()]);
        return;
    }
    let mut titles = vec![
        "Study".to_owned(),
        "Question".to_owned(),
        "Result here".to_owned(),
    ];
    titles.extend(glance::ROLES.iter().map(|(_, title)| (*title).to_owned()));
    write_head(out, &titles, 3);
    for (study, sections) in by_study(report) {
        for section in &sections {
            let mut cells = vec![
                md(&section_name(study, &sections, section)),
                md(section.about.question),
                match sign_of(section) {
                    Some(of) => {
                        format!("**{}** {}", status_words(of), md(verdict_sentence(section)))
                    }
                    None => md(verdict_sentence(section)),
                },
            ];
            let glance = glance::select_glance(&section.presentation);
            for at in 0..glance::ROLES.len() {
                let of = glance.as_ref().and_then(|g| g.of.get(at)?.as_ref());
                cells.push(of.map_or_else(String::new, |(figure, _, lost)| {
                    let mark = if *lost {
                        format!(" {LOSS}")
                    } else {
                        String::new()
                    };
                    format!("{}{mark}", md(figure))
                }));
            }
            write_row(out, &cells);
        }
    }
    out.push('\n');
    let missing: Vec<&str> = missing_studies(report)
        .into_iter()
        .map(Study::title)
        .collect();
    if !missing.is_empty() {
        write_paragraphs(
            out,
            &[format!("Not among these results: {}.", missing.join("; "))],
        );
    }
    write_paragraphs(
        out,
        &[format!(
            "{LOSS}: {LOSS_MEANS}. *base*: what the ratios of its column are taken against. In brackets: the lowest and the highest repetition."
        )],
    );
}

fn write_experiment(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    write_paragraphs(
        out,
        &[
            format!(
                "### {} (`{}`)",
                md(about.title),
                about.name.replace('`', "")
            ),
            md(about.question),
        ],
    );
    if !about.found.is_empty() {
        let titles = ["Found then", "Cure", "The study's figure"].map(str::to_owned);
        write_head(out, &titles, 3);
        for found in about.found {
            write_row(out, &[md(found.finding), md(found.cure), md(found.figure)]);
        }
        out.push('\n');
    }
    write_paragraphs(out, &[md(about.method)]);
    if !about.same_answer.is_empty() {
        write_paragraphs(out, &[format!("Same answer: {}", md(about.same_answer))]);
    }
    if !section.parameters.is_empty() {
        write_paragraphs(out, &[format!("Run with: {}.", md(&section.settings()))]);
    }
    write_paragraphs(
        out,
        &[match sign_of(section) {
            Some(of) => format!(
                "**Verdict: {}.** {}",
                status_words(of),
                md(verdict_sentence(section))
            ),
            None => format!("**Verdict.** {}", md(verdict_sentence(section))),
        }],
    );
    for of in &section.presentation.tables {
        write_table(out, of);
    }
    for of in &section.presentation.charts {
        write_chart(out, of);
    }
    let losses: Vec<String> = section
        .losses()
        .iter()
        .map(|loss| format!("{}: {}", loss.table, loss.words()))
        .collect();
    write_list(out, "Losses", &losses);
    write_list(out, "Notes", &section.presentation.verdict.notes);
    let not_run: Vec<String> = section
        .not_run_by_reason()
        .iter()
        .map(|(reason, parts)| format!("{}: {reason}", parts.join(", ")))
        .collect();
    write_list(out, "Not run here", &not_run);
    let failed: Vec<String> = section
        .failed
        .iter()
        .map(|(work, arm, message)| format!("{work}, {arm}: {message}"))
        .collect();
    write_list(out, "Failed", &failed);
    let stacks: Vec<String> = section
        .stacks
        .iter()
        .filter(|(_, details)| !details.is_empty())
        .map(|(name, details)| {
            let each: Vec<String> = details.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            format!("{name}: {}", each.join("; "))
        })
        .collect();
    write_list(out, "Storage stacks", &stacks);
}

fn write_list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    write_paragraphs(out, &[format!("#### {title}")]);
    for item in items {
        out.push_str(&format!("- {}\n", md(item)));
    }
    out.push('\n');
}

fn write_table(out: &mut String, table: &Table) {
    if table.title.is_empty() && table.rows.is_empty() {
        return;
    }
    write_paragraphs(
        out,
        &[format!("#### {}", md(&table.title)), md(&table.caption)],
    );
    if table.rows.is_empty() {
        write_paragraphs(out, &["Nothing of this was run.".to_owned()]);
        return;
    }
    let mut titles = vec!["Arm".to_owned(), "Role".to_owned()];
    titles.extend(table.columns.iter().map(|column| md(&column.title)));
    write_head(out, &titles, 2);
    let (scales, bases) = (column_scales(table), base_cells(table));
    for (row, bases) in table.rows.iter().zip(&bases) {
        let mut cells = vec![md(&row.label), row.role.label().to_owned()];
        for (at, (scale, base)) in scales.iter().zip(bases).enumerate() {
            let empty = TableCell::default();
            let of = row.cells.get(at).unwrap_or(&empty);
            cells.push(format_cell(of, scale, *base));
        }
        write_row(out, &cells);
    }
    out.push('\n');
}

fn format_cell(cell: &TableCell, scale: &Scale, base: bool) -> String {
    let mut words = Vec::new();
    if let Some(value) = cell.value {
        words.push(scale.write(value));
    }
    if cell.lost {
        words.push(LOSS.to_owned());
    }
    match cell.ratio.filter(|ratio| ratio.is_finite()) {
        Some(ratio) => words.push(numbers::format_ratio(ratio)),
        None if base => words.push("*base*".to_owned()),
        None => {}
    }
    let spread = cell
        .range
        .filter(|(a, b)| a.is_finite() && b.is_finite() && a != b);
    if let Some((low, high)) = spread {
        words.push(format!("({})", scale.range(low, high)));
    }
    if !cell.note.is_empty() {
        words.push(md(&cell.note));
    }
    words.join(" ")
}

fn write_chart(out: &mut String, chart: &Chart) {
    let grid = chart_grid(chart);
    if grid.places.is_empty() {
        return;
    }
    let words = match chart.x.is_empty() {
        true => md(&chart.y),
        false => format!("{} over {}", md(&chart.y), md(&chart.x)),
    };
    write_paragraphs(out, &[format!("#### {}", md(&chart.title)), words]);
    let mut titles = vec![String::new()];
    titles.extend(grid.places.iter().map(|place| md(place)));
    write_head(out, &titles, 1);
    for (name, figures) in &grid.rows {
        let mut cells = vec![md(name)];
        cells.extend(figures.iter().cloned());
        write_row(out, &cells);
    }
    out.push('\n');
}

fn write_foot(out: &mut String, report: &Report) {
    write_paragraphs(out, &["## Machine and method".to_owned()]);
    for sentence in METHOD {
        out.push_str(&format!("- {sentence}\n"));
    }
    out.push('\n');
    write_head(out, &["Machine".to_owned(), String::new()], 2);
    for (name, value) in machine_facts(&report.header) {
        write_row(out, &[name.to_owned(), md(&value)]);
    }
    for (name, version) in &report.header.tools {
        write_row(out, &[md(name), md(version)]);
    }
}
