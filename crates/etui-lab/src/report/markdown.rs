//! The report as Markdown, for a repository or an issue: the page's words and figures, with
//! the charts as tables.

use super::curves::grid;
use super::text::markdown as md;
use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, bases, by_study, called, glance, machine,
    missing, numbers, scales, sentence, shown, sign_of,
};
use crate::{Chart, Study, Table, TableCell};
use numbers::Scale;

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = String::from("# The five studies on this machine\n\n");
    summary(&mut out, report);
    for (study, sections) in by_study(report) {
        match study {
            Some(study) => paragraphs(
                &mut out,
                &[
                    format!("## {}", md(study.title())),
                    format!("*{}*", md(study.source())),
                ],
            ),
            None => paragraphs(&mut out, &["## Further experiments".to_owned()]),
        }
        for section in sections {
            experiment(&mut out, section);
        }
    }
    foot(&mut out, report);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn paragraphs(out: &mut String, words: &[String]) {
    for words in words.iter().filter(|words| !words.is_empty()) {
        out.push_str(words);
        out.push_str("\n\n");
    }
}

/// Writes a line of a table; the cells are Markdown already.
fn line(out: &mut String, cells: &[String]) {
    out.push_str("| ");
    out.push_str(&cells.join(" | "));
    out.push_str(" |\n");
}

fn head(out: &mut String, titles: &[String], words: usize) {
    line(out, titles);
    let rules: Vec<String> = (0..titles.len())
        .map(|at| if at < words { "---" } else { "---:" }.to_owned())
        .collect();
    line(out, &rules);
}

fn summary(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        paragraphs(out, &["There are no results yet.".to_owned()]);
        return;
    }
    let mut titles = vec![
        "Study".to_owned(),
        "Question".to_owned(),
        "Result here".to_owned(),
    ];
    titles.extend(glance::ROLES.iter().map(|(_, title)| (*title).to_owned()));
    head(out, &titles, 3);
    for (study, sections) in by_study(report) {
        for section in &sections {
            let mut cells = vec![
                md(&called(study, &sections, section)),
                md(section.about.question),
                match sign_of(section) {
                    Some(of) => format!("**{}** {}", shown(of), md(sentence(section))),
                    None => md(sentence(section)),
                },
            ];
            let glance = glance::glance(&section.presentation);
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
            line(out, &cells);
        }
    }
    out.push('\n');
    let missing: Vec<&str> = missing(report).into_iter().map(Study::title).collect();
    if !missing.is_empty() {
        paragraphs(
            out,
            &[format!("Not among these results: {}.", missing.join("; "))],
        );
    }
    paragraphs(
        out,
        &[format!(
            "{LOSS}: {LOSS_MEANS}. *base*: what the ratios of its column are taken against. In brackets: the lowest and the highest repetition."
        )],
    );
}

fn experiment(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    paragraphs(
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
        head(out, &titles, 3);
        for found in about.found {
            line(out, &[md(found.finding), md(found.cure), md(found.figure)]);
        }
        out.push('\n');
    }
    paragraphs(out, &[md(about.method)]);
    if !about.same_answer.is_empty() {
        paragraphs(out, &[format!("Same answer: {}", md(about.same_answer))]);
    }
    if !section.parameters.is_empty() {
        paragraphs(out, &[format!("Run with: {}.", md(&section.settings()))]);
    }
    paragraphs(
        out,
        &[match sign_of(section) {
            Some(of) => format!("**Verdict: {}.** {}", shown(of), md(sentence(section))),
            None => format!("**Verdict.** {}", md(sentence(section))),
        }],
    );
    for of in &section.presentation.tables {
        table(out, of);
    }
    for of in &section.presentation.charts {
        chart(out, of);
    }
    let losses: Vec<String> = section
        .losses()
        .iter()
        .map(|loss| format!("{}: {}", loss.table, loss.words()))
        .collect();
    list(out, "Losses", &losses);
    list(out, "Notes", &section.presentation.verdict.notes);
    let not_run: Vec<String> = section
        .not_run_by_reason()
        .iter()
        .map(|(reason, parts)| format!("{}: {reason}", parts.join(", ")))
        .collect();
    list(out, "Not run here", &not_run);
    let failed: Vec<String> = section
        .failed
        .iter()
        .map(|(work, arm, message)| format!("{work}, {arm}: {message}"))
        .collect();
    list(out, "Failed", &failed);
    let stacks: Vec<String> = section
        .stacks
        .iter()
        .filter(|(_, details)| !details.is_empty())
        .map(|(name, details)| {
            let each: Vec<String> = details.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            format!("{name}: {}", each.join("; "))
        })
        .collect();
    list(out, "Storage stacks", &stacks);
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    paragraphs(out, &[format!("#### {title}")]);
    for item in items {
        out.push_str(&format!("- {}\n", md(item)));
    }
    out.push('\n');
}

fn table(out: &mut String, table: &Table) {
    if table.title.is_empty() && table.rows.is_empty() {
        return;
    }
    paragraphs(
        out,
        &[format!("#### {}", md(&table.title)), md(&table.caption)],
    );
    if table.rows.is_empty() {
        paragraphs(out, &["Nothing of this was run.".to_owned()]);
        return;
    }
    let mut titles = vec!["Arm".to_owned(), "Role".to_owned()];
    titles.extend(table.columns.iter().map(|column| md(&column.title)));
    head(out, &titles, 2);
    let (scales, bases) = (scales(table), bases(table));
    for (row, bases) in table.rows.iter().zip(&bases) {
        let mut cells = vec![md(&row.label), row.role.label().to_owned()];
        for (at, (scale, base)) in scales.iter().zip(bases).enumerate() {
            let empty = TableCell::default();
            let of = row.cells.get(at).unwrap_or(&empty);
            cells.push(cell(of, scale, *base));
        }
        line(out, &cells);
    }
    out.push('\n');
}

fn cell(cell: &TableCell, scale: &Scale, base: bool) -> String {
    let mut words = Vec::new();
    if let Some(value) = cell.value {
        words.push(scale.write(value));
    }
    if cell.lost {
        words.push(LOSS.to_owned());
    }
    match cell.ratio.filter(|ratio| ratio.is_finite()) {
        Some(ratio) => words.push(numbers::ratio(ratio)),
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

fn chart(out: &mut String, chart: &Chart) {
    let grid = grid(chart);
    if grid.places.is_empty() {
        return;
    }
    let words = match chart.x.is_empty() {
        true => md(&chart.y),
        false => format!("{} over {}", md(&chart.y), md(&chart.x)),
    };
    paragraphs(out, &[format!("#### {}", md(&chart.title)), words]);
    let mut titles = vec![String::new()];
    titles.extend(grid.places.iter().map(|place| md(place)));
    head(out, &titles, 1);
    for (name, figures) in &grid.rows {
        let mut cells = vec![md(name)];
        cells.extend(figures.iter().cloned());
        line(out, &cells);
    }
    out.push('\n');
}

fn foot(out: &mut String, report: &Report) {
    paragraphs(out, &["## Machine and method".to_owned()]);
    for sentence in METHOD {
        out.push_str(&format!("- {sentence}\n"));
    }
    out.push('\n');
    head(out, &["Machine".to_owned(), String::new()], 2);
    for (name, value) in machine(&report.header) {
        line(out, &[name.to_owned(), md(&value)]);
    }
    for (name, version) in &report.header.tools {
        line(out, &[md(name), md(version)]);
    }
}
