//! The report as one page: a single file without scripts, images or fonts from anywhere, well
//! formed as XML too.
//!
//! - `top`: what to change on this machine, the contents, how to read it;
//! - `section`: an experiment: question, advice and verdict, charts, tables, and folded below them
//!   losses, notes, the study's results, the method;
//! - `tables`, `bars`, `growth`: figures.
//!
//! Whatever comes from results or descriptions goes through [`text`]; the rest is markup.

mod bars;
mod growth;
mod section;
mod tables;
mod top;

use std::fmt::Display;

use maud::{Markup, PreEscaped, html};

use super::text::HtmlText;
use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, by_study, machine_facts, sign_of, status_words,
};
use crate::{ArmRole, FindingStatus};

/// How the page looks.
const STYLE: &str = include_str!("style.css");

/// The head but for the style: nothing may be loaded or run, whatever should slip into the page. As
/// text, since elements without content have no end in HTML, but need one in XML.
const HEAD: &str = r#"<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<link rel="icon" href="data:,"/>
<title>Storage on this machine: what to change</title>
"#;

fn text(value: impl Display) -> PreEscaped<String> {
    PreEscaped(HtmlText(value).to_string())
}

/// The report as a page.
pub fn to_html(report: &Report) -> String {
    let page = html! {
        (PreEscaped("<!DOCTYPE html>\n"))
        html lang="en" {
            head { (PreEscaped(HEAD)) style { (PreEscaped(STYLE)) } }
            body {
                (top::header(report))
                main {
                    (top::changes(report))
                    (top::contents(report))
                    (top::legend(report))
                    @for (study, sections) in by_study(report) {
                        section.study {
                            @if let Some(study) = study {
                                h2 { (study.title()) }
                                p.source { (study.source()) }
                            } @else {
                                h2 { "Further experiments" }
                            }
                            @for section in sections { (section::experiment(section)) }
                        }
                    }
                    (foot(report))
                }
                a.to-contents href="#contents" { "Contents" }
            }
        }
    };
    page.into_string()
}

/// The name by which links find an experiment.
fn section_anchor(section: &ReportSection) -> String {
    let name = section.about.name.chars();
    let safe = name.map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("x-{}", safe.collect::<String>())
}

/// A table that scrolls in its box; `label` is for screen readers. A heading of figures is on the
/// right. A tall one scrolls under its headings.
fn scrolling_table(
    (label, class, tall): (&str, &str, bool),
    headings: &[(&str, bool)],
    rows: &Markup,
) -> Markup {
    html! {
        div class={"scroll" @if tall { " tall" }} tabindex="0" role="region" aria-label=(text(label)) {
            table class=(class) {
                thead { tr {
                    @for (heading, figure) in headings {
                        th scope="col" class=[figure.then_some("figure")] { (text(heading)) }
                    }
                } }
                tbody { (rows) }
            }
        }
    }
}

/// The sign of a verdict: a disc that is full, half full, empty or dashed, and the word.
fn status_sign(of: FindingStatus) -> Markup {
    let class = match of {
        FindingStatus::Yes => "yes",
        FindingStatus::Partly => "partly",
        FindingStatus::No => "no",
        FindingStatus::Open => "open",
    };
    let full = (of == FindingStatus::Yes).then_some("full");
    let dashes = (of == FindingStatus::Open).then_some("2 2.3");
    html! {
        span class={"sign " (class)} {
            svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" {
                circle cx="7" cy="7" r="5.5" class=[full] stroke-dasharray=[dashes] {}
                @if of == FindingStatus::Partly {
                    path d="M7 1.5a5.5 5.5 0 0 0 0 11z" class="full" {}
                }
            }
            (status_words(of))
        }
    }
}

/// The sign of a section's finding, if it has one.
fn section_sign(section: &ReportSection) -> Markup {
    html! { @if let Some(shown) = sign_of(section) { (status_sign(shown)) " " } }
}

/// The way back to the contents.
fn back_link() -> Markup {
    html! { p.back { a href="#contents" { "Back to the contents" } } }
}

/// The class that gives a role's colour.
fn role_class(role: ArmRole) -> &'static str {
    match role {
        ArmRole::AsFound => "r-found",
        ArmRole::Cure => "r-cure",
        ArmRole::AllCures => "r-all",
        ArmRole::Unsafe => "r-unsafe",
        ArmRole::Peer => "r-peer",
        ArmRole::Etui => "r-etui",
        ArmRole::Variant => "r-variant",
    }
}

fn badge(role: ArmRole) -> Markup {
    html! { span class={"badge " (role_class(role))} { i {} (role.label()) } }
}

fn list_of(class: &str, items: impl IntoIterator<Item = impl Display>) -> Markup {
    html! { ul class=(class) { @for item in items { li { (text(item)) } } } }
}

fn definitions(class: &str, items: impl IntoIterator<Item = (impl Display, String)>) -> Markup {
    html! {
        dl class=(class) {
            @for (term, words) in items { dt { (text(term)) } dd { (text(or_dash(&words))) } }
        }
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "\u{2013}" } else { text }
}

fn foot(report: &Report) -> Markup {
    let tools = &report.header.tools;
    html! {
        section.study #machine {
            h2 { "Machine and method" }
            (back_link())
            h4 { "How the figures are taken" }
            (list_of("notes", METHOD))
            h4 { "The machine" }
            (definitions("facts", machine_facts(&report.header)))
            @if !tools.is_empty() {
                h4 { "Tools found" }
                (definitions("facts", tools.iter().map(|(name, version)| (name, version.clone()))))
            }
        }
    }
}
