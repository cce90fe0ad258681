//! The report as Markdown, for a repository or an issue: the page's words and figures, with
//! the charts as tables.

use super::curves::chart_grid;
use super::text::escape_markdown as md;
use super::text_table::{TextCell, TextTable};
use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, advice_figures, advice_lists, by_study,
    machine_facts, missing_studies, short_name, sign_of, status_words, verdict_lists,
    verdict_sentence,
};
use crate::{Advice, Chart, Table};

/// The report as Markdown.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::from("# Storage on this machine: what to change\n\n");
    write_summary(&mut out, report);
    for (study, sections) in by_study(report) {
        match study {
            Some(study) => {
                write_paragraph(&mut out, &format!("## {}", md(study.title())));
                write_paragraph(&mut out, &format!("*{}*", md(study.source())));
            }
            None => write_paragraph(&mut out, "## Further experiments"),
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

/// Writes a paragraph of Markdown, unless it is empty.
fn write_paragraph(out: &mut String, words: &str) {
    if !words.is_empty() {
        out.push_str(words);
        out.push_str("\n\n");
    }
}

/// Writes a line of a table; the cells are Markdown already.
fn write_row<S: AsRef<str>>(out: &mut String, cells: impl IntoIterator<Item = S>) {
    out.push('|');
    for cell in cells {
        out.push(' ');
        out.push_str(cell.as_ref());
        out.push_str(" |");
    }
    out.push('\n');
}

/// Writes the headings of a table, the first `words` of which are columns of words.
fn write_head<S: AsRef<str>>(out: &mut String, titles: &[S], words: usize) {
    write_row(out, titles);
    let rule = |at| if at < words { "---" } else { "---:" };
    write_row(out, (0..titles.len()).map(rule));
}

fn write_summary(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        return write_paragraph(out, "There are no results yet.");
    }
    for list in advice_lists(report) {
        if !list.title.is_empty() {
            write_paragraph(out, &format!("## {}", list.title));
        }
        for (section, advice) in list.all {
            let name = section.about.name.replace('`', "");
            out.push_str(&format!("- {} (`{name}`)\n", format_advice(advice)));
        }
        out.push('\n');
    }
    for (title, sections) in verdict_lists(report) {
        write_paragraph(out, &format!("## {title}"));
        for section in sections {
            let sign = sign_of(section).map(status_words);
            let sign = sign.map_or(String::new(), |sign| format!("**{sign}.** "));
            out.push_str(&format!(
                "- {}: {sign}{}\n",
                md(&short_name(&section.about)),
                md(verdict_sentence(section))
            ));
        }
        out.push('\n');
    }
    write_paragraph(out, &missing_studies(report));
    let legend = format!(
        "{LOSS}: {LOSS_MEANS}, and by how much. *base*: what the ratios of its column are taken \
         against. In brackets: the lowest and the highest repetition. *variant*: etui with \
         another setting, or a part of it."
    );
    write_paragraph(out, &legend);
}

fn format_advice(advice: &Advice) -> String {
    let mut words = format!("**{}:** {}.", md(&advice.change), md(&advice.gain));
    if !advice.how.is_empty() {
        words += &format!(" How: {}.", md(&advice.how));
    }
    let figures = advice_figures(advice);
    format!(
        "{words} {}",
        md(&format!("{}: {figures}.", advice.measured))
    )
}

fn write_experiment(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    let name = about.name.replace('`', "");
    write_paragraph(out, &format!("### {} (`{name}`)", md(about.title)));
    write_paragraph(out, &md(about.question));
    let sign = sign_of(section).map(status_words);
    let sign = sign.map_or(String::new(), |sign| format!(": {sign}"));
    let sentence = md(verdict_sentence(section));
    let verdict = &section.presentation.verdict;
    for advice in &verdict.advice {
        write_paragraph(out, &format_advice(advice));
    }
    let evidence = md(&verdict.evidence);
    let words = format!("**Verdict{sign}.** {sentence} {evidence}");
    write_paragraph(out, words.trim_end());
    let arms = about.arms.iter();
    write_list(
        out,
        "What the rows are",
        arms.map(|arm| format!("{}: {}.", arm.name, arm.about)),
    );
    for of in &section.presentation.tables {
        write_table(out, of);
    }
    for of in &section.presentation.charts {
        write_chart(out, of);
    }
    let losses = section.losses().into_iter();
    write_list(
        out,
        "Where another product is better than etui",
        losses.map(|(table, words)| format!("{table}: {words}")),
    );
    write_list(out, "Notes", section.presentation.verdict.notes.iter());
    write_study(out, section);
    for (title, items) in section.lists() {
        write_list(
            out,
            title,
            items.iter().map(|(of, text)| format!("{of}: {text}")),
        );
    }
}

/// Writes the study's finding and its repetition.
fn write_study(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    write_paragraph(out, "#### How it is measured");
    if !about.found.is_empty() {
        write_head(out, &["Found then", "Cure", "The study's figure"], 3);
        for found in about.found {
            write_row(out, [found.finding, found.cure, found.figure].map(md));
        }
        out.push('\n');
    }
    write_paragraph(out, &md(about.method));
    if !about.same_answer.is_empty() {
        write_paragraph(out, &format!("Same answer: {}", md(about.same_answer)));
    }
    if !section.parameters.is_empty() {
        write_paragraph(out, &format!("Run with: {}.", md(&section.settings())));
    }
}

fn write_list<S: AsRef<str>>(out: &mut String, title: &str, items: impl Iterator<Item = S>) {
    let items: Vec<String> = items
        .map(|item| format!("- {}\n", md(item.as_ref())))
        .collect();
    if !items.is_empty() {
        write_paragraph(out, &format!("#### {title}"));
        out.push_str(&items.concat());
        out.push('\n');
    }
}

fn write_table(out: &mut String, table: &Table) {
    if table.title.is_empty() && table.rows.is_empty() {
        return;
    }
    write_paragraph(out, &format!("#### {}", md(&table.title)));
    write_paragraph(out, &md(&table.caption));
    if table.rows.is_empty() {
        return write_paragraph(out, "Nothing of this was run.");
    }
    let text = TextTable::new(table);
    let mut titles = vec!["Setting or program".to_owned(), "Role".to_owned()];
    titles.extend(text.columns.iter().map(|title| md(title)));
    write_head(out, &titles, 2);
    for row in &text.rows {
        let mut cells = vec![md(row.label), row.role.label().to_owned()];
        cells.extend(row.cells.iter().map(format_cell));
        write_row(out, cells);
    }
    out.push('\n');
}

fn format_cell(cell: &TextCell<'_>) -> String {
    let ratio = match cell.base {
        true => "*base*".to_owned(),
        false => cell.ratio.clone(),
    };
    let parts = [
        cell.figure(),
        Some(ratio),
        cell.range.clone(),
        Some(md(cell.note)),
        cell.lost
            .as_ref()
            .map(|_| format!("{LOSS} {}", cell.lost_by).trim_end().to_owned()),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|p| !p.is_empty())
        .collect();
    parts.join(" ")
}

fn write_chart(out: &mut String, chart: &Chart) {
    let grid = chart_grid(chart);
    if grid.places.is_empty() {
        return;
    }
    write_paragraph(out, &format!("#### {}", md(&chart.title)));
    match chart.x.is_empty() {
        true => write_paragraph(out, &md(&chart.y)),
        false => write_paragraph(out, &format!("{} over {}", md(&chart.y), md(&chart.x))),
    }
    let mut titles = vec![String::new()];
    titles.extend(grid.places.iter().map(|place| md(place)));
    write_head(out, &titles, 1);
    for (name, figures) in &grid.rows {
        write_row(out, std::iter::once(&md(name)).chain(figures));
    }
    out.push('\n');
}

fn write_foot(out: &mut String, report: &Report) {
    write_paragraph(out, "## Machine and method");
    for sentence in METHOD {
        out.push_str(&format!("- {sentence}\n"));
    }
    out.push('\n');
    write_head(out, &["Machine", ""], 2);
    for (name, value) in machine_facts(&report.header) {
        write_row(out, [name, &md(&value)]);
    }
    for (name, version) in &report.header.tools {
        write_row(out, [md(name), md(version)]);
    }
}
