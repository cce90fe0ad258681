//! One experiment on the page.

use super::super::{ReportSection, verdict_sentence};
use super::top::write_advice;
use super::{
    LOSS, LOSS_MEANS, bars, begin_table, end_table, growth, or_dash, put, section_anchor, tables,
    write_back, write_definitions, write_notes, write_sign,
};
use crate::{Advice, Chart, ChartKind, ChartPoint, ChartSeries};

/// Charts of an experiment that are open; the others are opened by the reader.
const OPEN_CHARTS: usize = 1;

pub(super) fn write_experiment(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    put!(
        out,
        "<article id=\"{}\">\n<h3>{} <code>{}</code></h3>\n<p class=\"asks\">{}</p>\n",
        section_anchor(section),
        about.title,
        about.name,
        about.question
    );
    write_verdict(out, section);
    write_arms(out, section);
    write_charts(out, section);
    for (at, table) in section.presentation.tables.iter().enumerate() {
        tables::write_table(out, section, table, at);
    }
    write_losses(out, section);
    write_folded_notes(out, section);
    write_study(out, section);
    let [not_run, failed, stacks] = section.lists();
    for (title, items) in [not_run, failed, stacks] {
        if !items.is_empty() {
            let open = if title == "Failed" {
                " open=\"open\""
            } else {
                ""
            };
            put!(
                out,
                "<details{open}>\n<summary>{title}: {}</summary>\n",
                items.len()
            );
            write_definitions(out, "not-run", items);
            out.push_str("</details>\n");
        }
    }
    write_back(out);
    out.push_str("</article>\n");
}

/// Writes the advice with its figures, and whether the study's finding shows.
fn write_verdict(out: &mut String, section: &ReportSection) {
    let verdict = &section.presentation.verdict;
    out.push_str("<div class=\"verdict\">\n");
    for advice in &verdict.advice {
        write_advice(out, advice);
        bars::write_bars(out, &advice_chart(advice), &[]);
        write_meanings(out, section, advice);
    }
    out.push_str("<p>");
    write_sign(out, section);
    put!(out, "{}</p>\n", verdict_sentence(section));
    if !verdict.evidence.is_empty() {
        put!(out, "<p class=\"small\">{}</p>\n", verdict.evidence);
    }
    out.push_str("</div>\n");
}

/// Says what the arms are that advice compares.
fn write_meanings(out: &mut String, section: &ReportSection, advice: &Advice) {
    let arms = advice.figures.iter().map(|figure| figure.arm.as_str());
    let meanings = arms.map(|arm| (arm, section.about.arm_meaning(arm)));
    let mut meanings: Vec<_> = meanings.filter(|(_, of)| !of.is_empty()).collect();
    meanings.dedup();
    if meanings.is_empty() {
        return;
    }
    out.push_str("<ul class=\"meanings\">\n");
    for (arm, meaning) in meanings {
        put!(out, "<li><b>{}</b>: {}</li>\n", arm, meaning);
    }
    out.push_str("</ul>\n");
}

/// Returns the bars of the figures that advice compares.
fn advice_chart(advice: &Advice) -> Chart {
    let figures = advice.figures.iter();
    let labels = figures.map(|figure| {
        let mut label = match figure.title == figure.arm {
            true => figure.arm.clone(),
            false => format!("{}: {}", figure.title, figure.arm),
        };
        if !figure.work.is_empty() {
            label += &format!(", {}", figure.work);
        }
        label
    });
    let mut series: Vec<ChartSeries> = Vec::new();
    for (at, figure) in advice.figures.iter().enumerate() {
        let point = ChartPoint {
            x: at as f64,
            y: figure.value,
            range: figure.range,
        };
        match series.iter_mut().find(|one| one.role == figure.role) {
            Some(one) => one.points.push(point),
            None => series.push(ChartSeries {
                name: figure.role.label().to_owned(),
                role: figure.role,
                points: vec![point],
            }),
        }
    }
    Chart {
        title: advice.measured.clone(),
        kind: ChartKind::Bars,
        x: String::new(),
        y: String::new(),
        unit: advice.unit,
        labels: labels.collect(),
        series,
    }
}

/// Writes the meaning of the rows' names.
fn write_arms(out: &mut String, section: &ReportSection) {
    let arms = section.about.arms;
    if arms.is_empty() {
        return;
    }
    put!(
        out,
        "<details>\n<summary>What the rows are: {} settings and programs</summary>\n",
        arms.len()
    );
    let arms = arms.iter().map(|arm| (arm.name, format!("{}.", arm.about)));
    write_definitions(out, "not-run", arms.collect());
    out.push_str("</details>\n");
}

fn write_charts(out: &mut String, section: &ReportSection) {
    let charts = &section.presentation.charts;
    let stacked = charts
        .iter()
        .filter(|chart| chart.kind == ChartKind::Stacked);
    let mut parts: Vec<&str> = Vec::new();
    for series in stacked.flat_map(|chart| &chart.series) {
        if !parts.contains(&series.name.as_str()) {
            parts.push(&series.name);
        }
    }
    for (at, chart) in charts.iter().enumerate() {
        if at == OPEN_CHARTS {
            put!(
                out,
                "<details class=\"table\">\n<summary>More charts: {}</summary>\n",
                charts.len() - OPEN_CHARTS
            );
        }
        match chart.kind {
            ChartKind::Growth => growth::write_growth(out, chart),
            ChartKind::Bars | ChartKind::Stacked => bars::write_bars(out, chart, &parts),
        }
    }
    if charts.len() > OPEN_CHARTS {
        out.push_str("</details>\n");
    }
}

fn write_folded_notes(out: &mut String, section: &ReportSection) {
    let notes = &section.presentation.verdict.notes;
    if !notes.is_empty() {
        put!(
            out,
            "<details>\n<summary>Findings, bounds and notes, one by one: {}</summary>\n",
            notes.len()
        );
        write_notes(out, notes);
        out.push_str("</details>\n");
    }
}

/// Writes what the study found, and how it is repeated here.
fn write_study(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    let title = match about.found.is_empty() {
        true => "How it is measured",
        false => "What the study found, and how it is repeated here",
    };
    put!(out, "<details>\n<summary>{title}</summary>\n");
    write_published(out, section);
    if !about.method.is_empty() {
        put!(out, "<p>{}</p>\n", about.method);
    }
    if !about.same_answer.is_empty() {
        put!(out, "<p><b>Same answer:</b> {}</p>\n", about.same_answer);
    }
    if !section.parameters.is_empty() {
        put!(out, "<p><b>Run with:</b> {}.</p>\n", section.settings());
    }
    out.push_str("</details>\n");
}

fn write_published(out: &mut String, section: &ReportSection) {
    if section.about.found.is_empty() {
        return;
    }
    let title = "What was found then";
    let headings = ["Finding", "Cure", "The study's figure"].map(|heading| (heading, false));
    begin_table(out, title, "found", &headings);
    for found in section.about.found {
        put!(out, "<tr><td>{}</td>", found.finding);
        for (title, words) in [("Cure", found.cure), ("Figure", found.figure)] {
            let class = if words.is_empty() {
                " class=\"none\""
            } else {
                ""
            };
            put!(
                out,
                "<td data-title=\"{title}\"{class}>{}</td>",
                or_dash(words)
            );
        }
        out.push_str("</tr>\n");
    }
    end_table(out);
}

/// Writes where another product is better than etui, by table, and by how much.
fn write_losses(out: &mut String, section: &ReportSection) {
    let losses = section.losses();
    if losses.is_empty() {
        return;
    }
    put!(
        out,
        "<details>\n<summary>{LOSS} Where {LOSS_MEANS}, and by how much: {}</summary>\n",
        losses.len()
    );
    for of_table in losses.chunk_by(|a, b| a.0 == b.0) {
        let title = of_table.first().map_or("", |loss| loss.0);
        put!(out, "<h4>{}</h4>\n<ul class=\"losses\">\n", title);
        for (_, words) in of_table {
            put!(out, "<li>{}</li>\n", words);
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</details>\n");
}
