//! The top of the page: what to change on this machine, whether the studies' findings still show,
//! the contents, and how to read the rest.

use maud::{Markup, html};

use super::super::{
    LOSS, LOSS_MEANS, Report, ReportSection, advice_figures, advice_lists, by_study,
    missing_studies, short_name, sign_of, verdict_lists, verdict_sentence,
};
use super::{badge, section_anchor, section_sign, status_sign, text};
use crate::{Advice, ArmRole, FindingStatus};

pub(super) fn header(report: &Report) -> Markup {
    let header = &report.header;
    let cores = match header.cores {
        0 => String::new(),
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let quick = if header.quick { "quick run" } else { "" };
    let facts = [
        &header.processor,
        &*cores,
        &header.system,
        &header.started,
        quick,
    ];
    html! {
        header #top {
            h1 { "Storage on this machine: what to change" }
            p.lead { (lead(report)) " First comes what that means for programs here, then the figures." }
            p.facts {
                @for fact in facts.iter().filter(|fact| !fact.is_empty()) { (text(fact)) " \u{b7} " }
                a href="#machine" { "machine and method" }
            }
        }
    }
}

/// Returns a sentence on the experiments, for a reader new to them.
fn lead(report: &Report) -> &'static str {
    let studies = report.sections.iter().any(|of| of.about.study.is_some());
    match studies || report.sections.is_empty() {
        true => {
            "Experiments ran on this machine: studies of slow storage on personal devices, repeated as \
             they found things, with each of their cures, and with etui, a store for personal data."
        }
        false => {
            "Experiments ran on this machine with etui, a store for personal data, and with other \
             programs and settings beside it."
        }
    }
}

/// All advice, then the verdict of each experiment.
pub(super) fn changes(report: &Report) -> Markup {
    let lists = advice_lists(report);
    let missing = missing_studies(report);
    html! {
        section #change {
            h2 { "What to change on this machine" }
            @if report.sections.is_empty() {
                p { "There are no results yet." }
            } @else {
                @if !lists.iter().any(|list| list.worth) {
                    p { "Nothing that was measured here is worth changing." }
                }
                @for list in lists {
                    @if !list.title.is_empty() { h3 { (list.title) } }
                    ol class=(if list.worth { "changes" } else { "keeps" }) {
                        @for (section, advice) in &list.all {
                            li {
                                (advice_lines(advice))
                                p.small {
                                    (text(&advice.measured)) ": " (text(advice_figures(advice))) ". "
                                    a href={"#" (section_anchor(section))} {
                                        "Figures: " (text(short_name(&section.about)))
                                    }
                                }
                            }
                        }
                    }
                }
                @for (title, sections) in verdict_lists(report) {
                    h3 { (title) }
                    ul.verdicts { @for section in sections { (verdict(section)) } }
                }
                @if !missing.is_empty() { p.small { (text(missing)) } }
            }
        }
    }
}

/// Advice and how it is followed.
pub(super) fn advice_lines(advice: &Advice) -> Markup {
    html! {
        p.do { b { (text(&advice.change)) ":" } " " (text(&advice.gain)) "." }
        @if !advice.how.is_empty() { p.how { "How: " (text(&advice.how)) "." } }
    }
}

fn verdict(section: &ReportSection) -> Markup {
    let count = |count: usize, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {several}")),
    };
    let apart = [
        count(
            section.losses().len(),
            "figure better than etui's",
            "figures better than etui's",
        ),
        count(section.parts_not_run(), "part not run", "parts not run"),
        count(section.failed.len(), "failed", "failed"),
    ];
    let apart: Vec<String> = apart.into_iter().flatten().collect();
    html! {
        li {
            a href={"#" (section_anchor(section))} { (text(short_name(&section.about))) }
            ": " (section_sign(section)) (text(verdict_sentence(section)))
            @if !apart.is_empty() { " " span.apart { "(" (text(apart.join(", "))) ")" } }
        }
    }
}

/// The contents: studies, and the experiments of each.
pub(super) fn contents(report: &Report) -> Markup {
    html! {
        nav #contents aria-label="Contents" {
            h2 { "Contents" }
            ul {
                li { a href="#change" { "What to change on this machine" } }
                @for (study, sections) in by_study(report) {
                    li {
                        (study.map_or("Further experiments", crate::Study::title))
                        ul {
                            @for section in sections {
                                li { a href={"#" (section_anchor(section))} { (text(section.about.title)) } }
                            }
                        }
                    }
                }
                li { a href="#machine" { "Machine and method" } }
            }
        }
    }
}

/// Whether a role is among the rows or the charts of a report.
fn is_shown(report: &Report, role: ArmRole) -> bool {
    let mut shown = report.sections.iter().map(|section| &section.presentation);
    shown.any(|of| {
        let rows = of.tables.iter().flat_map(|table| &table.rows);
        let series = of.charts.iter().flat_map(|chart| &chart.series);
        let roles = rows.map(|row| row.role);
        roles.chain(series.map(|one| one.role)).any(|of| of == role)
    })
}

/// Explains the signs; those of roles and findings, if they are on the page.
pub(super) fn legend(report: &Report) -> Markup {
    let roles = [
        (ArmRole::AsFound, "as the study found it"),
        (ArmRole::Cure, "one of its cures alone"),
        (ArmRole::AllCures, "all its cures together"),
        (ArmRole::Unsafe, "data may be lost: a bound, no cure"),
        (ArmRole::Peer, "another product"),
        (ArmRole::Etui, "this project, durable"),
        (
            ArmRole::Variant,
            "etui with another setting, or a part of it",
        ),
    ];
    let statuses = [
        (FindingStatus::Yes, "the finding shows here too"),
        (FindingStatus::Partly, "or on some stacks only"),
        (FindingStatus::No, "the verdict says why"),
        (FindingStatus::Open, "too little was run"),
    ];
    if report.sections.is_empty() {
        return Markup::default();
    }
    html! {
        section.legend {
            h2 { "How to read the figures" }
            ul {
                @for (role, words) in roles.into_iter().filter(|(role, _)| is_shown(report, *role)) {
                    li { (badge(role)) " " (words) }
                }
            }
            ul {
                li { span.loss { (LOSS) " 1.3x" } " " (LOSS_MEANS) ", by so much" }
                li { b { "0.82x" } " ratio to the figure marked " em { "base" } }
                li { b { "(398\u{2013}411)" } " lowest and highest repetition" }
            }
            @if report.sections.iter().any(|of| sign_of(of).is_some()) {
                ul { @for (of, words) in statuses { li { (status_sign(of)) " " (words) } } }
            }
        }
    }
}
