//! The report's promises: well formed, harmless, complete, and readable in a real browser.

mod browser;
mod fixture;
mod forms;

use etui_lab::TableCell;
use etui_lab::report::{Report, to_csv, to_html, to_markdown, to_terminal};
use fixture::{HOSTILE, hostile, odd, rich};

fn all() -> [(&'static str, Report); 4] {
    [
        ("rich", rich()),
        ("odd", odd()),
        ("hostile", hostile()),
        ("empty", Report::default()),
    ]
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    for (name, report) in all() {
        let page = to_html(&report);
        if let Some(dir) = std::env::var_os("ETUI_TEST_KEEP") {
            let file = std::path::Path::new(&dir).join(format!("{name}.html"));
            std::fs::write(file, &page).unwrap();
        }
        let (elements, _) = forms::well_formed(&page);
        for loads in ["script", "img", "iframe", "object", "embed"] {
            assert!(!elements.contains(&loads.to_owned()), "{name}: {loads}");
        }
        assert!(
            !page.contains("http://") && !page.contains("https://"),
            "{name}"
        );
        assert!(!page.contains("NaN") && !page.contains("inf%"), "{name}");
    }
}

#[test]
fn hostile_results_stay_words() {
    let report = hostile();
    let page = to_html(&report);
    let (elements, text) = forms::well_formed(&page);
    assert!(!elements.contains(&"script".to_owned()));
    assert!(text.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
    let text = to_markdown(&report);
    assert!(!text.contains("<script") && !text.contains("<img") && !text.contains('\u{1b}'));
    let shown = to_terminal(&report.sections[0], 80, false);
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\r']));
}

#[test]
fn every_study_and_experiment_can_be_reached_from_the_top() {
    let page = to_html(&rich());
    for name in [
        "sample-sync",
        "sample-matrix",
        "sample-fetch",
        "sample-poll",
    ] {
        let links = page.matches(&format!("<a href=\"#x-{name}\">")).count();
        assert!(links >= 2, "{name}: in the summary and in the contents");
        assert!(
            page.contains(&format!("<article id=\"x-{name}\">")),
            "{name}"
        );
    }
    // The same reason is given once, with all it holds for.
    assert_eq!(
        page.matches("needs root; run the sample as root").count(),
        1
    );
    assert!(page.contains("<dt>stack other-fs, stack sample-fs</dt>"));
    // Each has a way back.
    let sections = page.matches("<article ").count() + 1;
    let back = page
        .matches("<a href=\"#contents\">Back to the contents</a>")
        .count();
    assert_eq!((sections, back), (5, 5));
    assert!(page.contains("<nav id=\"contents\""));
    assert!(page.contains("Not among these results: A date book on flash; Application start."));
}

#[test]
fn groups_are_said_once_and_each_has_its_base() {
    let page = to_html(&rich());
    for group in ["insert", "update", "delete"] {
        assert_eq!(
            page.matches(&format!("colspan=\"2\">{group}</th>")).count(),
            1
        );
    }
    let report = rich();
    let shown = to_terminal(&report.sections[0], 80, false);
    assert_eq!(shown.lines().filter(|l| l.trim() == "update").count(), 1);
    assert_eq!(shown.matches("ms  base\n").count(), 3, "{shown}");
}

#[test]
fn without_a_study_there_is_no_finding_to_show() {
    let mut report = rich();
    report.sections.truncate(1);
    report.sections[0].about.study = None;
    assert!(!to_terminal(&report.sections[0], 80, false).contains("no longer shows"));
    assert!(!to_markdown(&report).contains("no longer shows"));
}

#[test]
fn advice_comes_first_in_every_form() {
    let report = rich();
    let (page, text) = (to_html(&report), to_markdown(&report));
    let shown = to_terminal(&report.sections[1], 80, false);
    for form in [&page, &text, &shown] {
        let change = form.find("Change the limit:").expect("advice");
        let verdict = form.find("The made-up limit costs").expect("a verdict");
        assert!(change < verdict);
        assert!(form.contains("a batch takes 21 % less time (326 ms instead of 412 ms)"));
        // What to do, with what it compares.
        assert!(form.contains("a made-up setting"));
    }
    for form in [&page, &text] {
        // Each after its heading, and before the contents or the verdicts.
        let order = [
            "Change the limit:",
            "Where etui is used, or could be",
            "Change the store:",
            "What to leave as it is",
            "Change nothing:",
            "findings still show here",
        ];
        let places = order.map(|words| form.find(words).expect(words));
        assert!(places.is_sorted(), "{places:?}");
    }
}

#[test]
fn losses_say_who_won_by_how_much() {
    let report = rich();
    let words = "sample server, as shipped, Written: 1.46 MB, 2.3 times better than etui (1.18 MB)";
    assert!(to_html(&report).contains(words));
    assert!(to_markdown(&report).contains(words));
    let shown = to_terminal(&report.sections[1], 200, false);
    assert!(shown.contains(words), "{shown}");
    assert!(to_html(&report).contains("1.1 times better than etui (580); their ranges overlap"));
}

#[test]
fn nothing_is_a_column_of_dashes() {
    let mut report = rich();
    let table = &mut report.sections[1].presentation.tables[0];
    for row in &mut table.rows {
        row.cells[2] = TableCell::default();
    }
    for form in [
        to_html(&report),
        to_markdown(&report),
        to_terminal(&report.sections[1], 200, false),
    ] {
        let table = form
            .split("Ratios are taken against limit 1")
            .nth(1)
            .unwrap();
        let heading = table.split("limit 1").next().unwrap();
        assert!(heading.contains("Written") && !heading.contains("Writes"));
    }
}

#[test]
fn charts_show_their_ranges() {
    let report = rich();
    let page = to_html(&report);
    // Bars, and curves.
    assert!(page.contains("<span class=\"range\">(19.5\u{2013}58.5)</span>"));
    assert!(page.matches("<line class=\"spread\"").count() >= 5);
    assert!(page.matches("<polyline").count() > 30);
    assert!(to_markdown(&report).contains("39.0/s (19.5\u{2013}58.5)"));
}

#[test]
fn rows_are_explained() {
    let report = rich();
    let page = to_html(&report);
    assert!(page.contains("title=\"the sample limit, in parts\">limit 1</span>"));
    for form in [page, to_markdown(&report)] {
        assert!(form.contains("What the rows are"));
    }
}

/// A colour means one thing: those of roles and those of parts differ.
#[test]
fn no_colour_has_two_meanings() {
    let page = to_html(&Report::default());
    for theme in page.split(":root {").skip(1) {
        let theme = theme.split('}').next().unwrap();
        let mut colors: Vec<&str> = Vec::new();
        for name in [
            "found", "cure", "all", "loss", "peer", "etui", "variant", "f0", "f1", "f2", "f3",
            "f4", "f5", "f6",
        ] {
            let start = theme.split_once(&format!("--{name}: ")).expect(name).1;
            assert!(!colors.contains(&&start[..7]), "{name}");
            colors.push(&start[..7]);
        }
    }
}

/// The relative luminance of a colour `#rrggbb`, as WCAG 2 defines it.
fn luminance(color: &str) -> f64 {
    let part = |at: usize| {
        let value = u8::from_str_radix(&color[at..at + 2], 16).unwrap();
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

/// Text needs a contrast of 4.5 to its background, drawings one of 3 (WCAG 2, AA).
#[test]
fn colours_have_contrast_in_light_and_dark() {
    let page = to_html(&Report::default());
    let themes: Vec<&str> = page.split(":root {").skip(1).take(2).collect();
    assert_eq!(themes.len(), 2);
    for theme in themes {
        let color = |name: &str| {
            let start = theme.split_once(&format!("--{name}: ")).expect(name).1;
            luminance(&start[..7])
        };
        let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
        for words in ["ink", "muted", "link", "loss"] {
            for ground in ["paper", "tint"] {
                let found = contrast(color(words), color(ground));
                assert!(found >= 4.5, "{words} on {ground}: {found:.2}");
            }
        }
        for drawn in [
            "found", "cure", "all", "peer", "etui", "variant", "f0", "f1", "f2", "f3", "f4", "f5",
            "f6",
        ] {
            let found = contrast(color(drawn), color("paper"));
            assert!(found >= 3.0, "{drawn}: {found:.2}");
        }
    }
}

#[test]
fn markdown_as_it_is_read() {
    insta::assert_snapshot!(to_markdown(&rich()));
}

#[test]
fn terminal_as_it_is_read() {
    let report = rich();
    for section in &report.sections {
        insta::assert_snapshot!(section.about.name, to_terminal(section, 80, false));
    }
}

#[test]
fn terminal_lines_fit() {
    for (name, report) in all() {
        for section in &report.sections {
            for width in [40, 60, 80, 132, 250] {
                for line in to_terminal(section, width, false).lines() {
                    let used = unicode_width::UnicodeWidthStr::width(line);
                    assert!(used <= width, "{name} at {width}: {used}: {line}");
                }
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for section in &rich().sections {
        let mut plain = String::new();
        for (at, part) in to_terminal(section, 80, true).split('\u{1b}').enumerate() {
            let after = if at == 0 {
                part
            } else {
                part.split_once('m').unwrap().1
            };
            plain.push_str(after);
        }
        assert_eq!(plain, to_terminal(section, 80, false));
    }
}

#[test]
fn comma_separated_values_read_back() {
    for (name, report) in all() {
        let records = forms::records(&to_csv(&report));
        assert!(records.iter().all(|r| r.len() == 12), "{name}");
        let cells: usize = report
            .sections
            .iter()
            .flat_map(|s| &s.presentation.tables)
            .map(|t| {
                t.rows
                    .iter()
                    .map(|r| r.cells.len().min(t.columns.len()))
                    .sum::<usize>()
            })
            .sum();
        let points: usize = report
            .sections
            .iter()
            .flat_map(|s| &s.presentation.charts)
            .flat_map(|c| &c.series)
            .map(|s| s.points.len())
            .sum();
        assert_eq!(records.len(), 1 + cells + points, "{name}");
    }
    let records = forms::records(&to_csv(&hostile()));
    assert_eq!(records[1][2], HOSTILE);
    let report = rich();
    let records = forms::records(&to_csv(&report));
    let first = &report.sections[0].presentation.tables[0];
    for (record, column) in records[1..].iter().zip(0..first.columns.len()) {
        let cell = &first.rows[0].cells[column];
        assert_eq!(record[4], first.columns[column].title);
        assert_eq!(record[6].parse().ok(), cell.value);
        assert_eq!(record[7].parse().ok(), cell.range.map(|(low, _)| low));
    }
}

#[test]
fn the_page_opens_in_a_browser_without_complaint() {
    if browser::skipped() {
        return;
    }
    for (name, report) in all() {
        let document = browser::shows(&to_html(&report));
        assert!(
            document.contains("Storage on this machine: what to change"),
            "{name}"
        );
        assert!(!document.contains("parsererror"), "{name}");
    }
}

#[test]
fn nothing_overflows_or_overlaps_on_phone_or_desktop() {
    if browser::skipped() {
        return;
    }
    for (name, report) in all() {
        let page = to_html(&report);
        let drawings = report
            .sections
            .iter()
            .flat_map(|s| &s.presentation.charts)
            .any(|c| c.series.len() > 6);
        let faults = browser::faults(&page, &[320, 360, 700, 1280], drawings);
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
}
