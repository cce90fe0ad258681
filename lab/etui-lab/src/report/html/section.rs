//! One experiment on the page.

use maud::{Markup, html};

use super::super::{ReportSection, verdict_sentence};
use super::top::advice_lines;
use super::{
    LOSS, LOSS_MEANS, back_link, bars, definitions, growth, list_of, or_dash, scrolling_table,
    section_anchor, section_sign, tables, text,
};
use crate::{Advice, Chart, ChartKind, ChartPoint, ChartSeries};

/// Charts of an experiment that are open; the others are opened by the reader.
const OPEN_CHARTS: usize = 1;

pub(super) fn experiment(section: &ReportSection) -> Markup {
    let about = &section.about;
    let arms = about.arms.iter();
    let arms = arms.map(|arm| (arm.name, format!("{}.", arm.about)));
    let notes = &section.presentation.verdict.notes;
    let lists = section.lists().into_iter();
    html! {
        article id=(section_anchor(section)) {
            h3 { (text(about.title)) " " code { (text(about.name)) } }
            p.asks { (text(about.question)) }
            (verdict(section))
            @if !about.arms.is_empty() {
                details {
                    summary { "What the rows are: " (about.arms.len()) " settings and programs" }
                    (definitions("not-run", arms))
                }
            }
            (charts(&section.presentation.charts))
            @for (at, table) in section.presentation.tables.iter().enumerate() {
                (tables::table(section, table, at))
            }
            (losses(section))
            @if !notes.is_empty() {
                details {
                    summary { "Findings, bounds and notes, one by one: " (notes.len()) }
                    (list_of("notes", notes))
                }
            }
            (study(section))
            @for (title, items) in lists.filter(|(_, items)| !items.is_empty()) {
                details open=[(title == "Failed").then_some("open")] {
                    summary { (title) ": " (items.len()) }
                    (definitions("not-run", items))
                }
            }
            (back_link())
        }
    }
}

/// The advice with its figures, and whether the study's finding shows.
fn verdict(section: &ReportSection) -> Markup {
    let verdict = &section.presentation.verdict;
    html! {
        div.verdict {
            @for advice in &verdict.advice {
                (advice_lines(advice))
                (bars::bars(&advice_chart(advice), &[]))
                (meanings(section, advice))
            }
            p { (section_sign(section)) (text(verdict_sentence(section))) }
            @if !verdict.evidence.is_empty() { p.small { (text(&verdict.evidence)) } }
        }
    }
}

/// What the arms are that advice compares.
fn meanings(section: &ReportSection, advice: &Advice) -> Markup {
    let arms = advice.figures.iter().map(|figure| figure.arm.as_str());
    let meanings = arms.map(|arm| (arm, section.about.arm_meaning(arm)));
    let mut meanings: Vec<_> = meanings.filter(|(_, of)| !of.is_empty()).collect();
    meanings.dedup();
    html! {
        @if !meanings.is_empty() {
            ul.meanings {
                @for (arm, meaning) in meanings { li { b { (text(arm)) } ": " (text(meaning)) } }
            }
        }
    }
}

/// Returns the bars of the figures that advice compares.
fn advice_chart(advice: &Advice) -> Chart {
    let figures = advice.figures.iter();
    let labels = figures.clone().map(|figure| {
        let mut label = match figure.title == figure.arm {
            true => figure.arm.clone(),
            false => format!("{}: {}", figure.title, figure.arm),
        };
        if !figure.work.is_empty() {
            label += &format!(", {}", figure.work);
        }
        label
    });
    let series = figures.enumerate().map(|(at, figure)| ChartSeries {
        name: figure.role.label().to_owned(),
        role: figure.role,
        points: vec![ChartPoint {
            x: at as f64,
            y: figure.value,
            range: figure.range,
        }],
    });
    Chart {
        title: advice.measured.clone(),
        kind: ChartKind::Bars,
        x: String::new(),
        y: String::new(),
        unit: advice.unit,
        labels: labels.collect(),
        series: series.collect(),
    }
}

fn charts(charts: &[Chart]) -> Markup {
    let stacked = charts.iter().filter(|of| of.kind == ChartKind::Stacked);
    let mut parts: Vec<&str> = Vec::new();
    for series in stacked.flat_map(|chart| &chart.series) {
        if !parts.contains(&series.name.as_str()) {
            parts.push(&series.name);
        }
    }
    let draw = |chart: &Chart| match chart.kind {
        ChartKind::Growth => growth::growth(chart),
        ChartKind::Bars | ChartKind::Stacked => bars::bars(chart, &parts),
    };
    let (open, more) = charts.split_at(charts.len().min(OPEN_CHARTS));
    html! {
        @for chart in open { (draw(chart)) }
        @if !more.is_empty() {
            details.table {
                summary { "More charts: " (more.len()) }
                @for chart in more { (draw(chart)) }
            }
        }
    }
}

/// The study's finding, and its repetition here.
fn study(section: &ReportSection) -> Markup {
    let about = &section.about;
    let headings = ["Finding", "Cure", "The study's figure"].map(|heading| (heading, false));
    let found = html! {
        @for found in about.found {
            tr {
                td { (text(found.finding)) }
                @for (title, words) in [("Cure", found.cure), ("Figure", found.figure)] {
                    td data-title=(title) class=[words.is_empty().then_some("none")] {
                        (text(or_dash(words)))
                    }
                }
            }
        }
    };
    html! {
        details {
            @if about.found.is_empty() {
                summary { "How it is measured" }
            } @else {
                summary { "What the study found, and how it is repeated here" }
                (scrolling_table(("What was found then", "found", false), &headings, &found))
            }
            @if !about.method.is_empty() { p { (text(about.method)) } }
            @if !about.same_answer.is_empty() {
                p { b { "Same answer:" } " " (text(about.same_answer)) }
            }
            @if !section.parameters.is_empty() {
                p { b { "Run with:" } " " (text(section.settings())) "." }
            }
        }
    }
}

/// Where another product is better than etui, by table, and by how much.
fn losses(section: &ReportSection) -> Markup {
    let losses = section.losses();
    html! {
        @if !losses.is_empty() {
            details {
                summary { (LOSS) " Where " (LOSS_MEANS) ", and by how much: " (losses.len()) }
                @for of_table in losses.chunk_by(|a, b| a.0 == b.0) {
                    h4 { (text(of_table[0].0)) }
                    (list_of("losses", of_table.iter().map(|(_, words)| words)))
                }
            }
        }
    }
}
