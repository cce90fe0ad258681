//! Deliberate differences of address books.

use crate::book_session::BookCall;
use crate::compare::{Difference, Part, Rule};

type BookDifference = Difference<BookCall>;

/// The rules. Each part of a difference counts for the first that fits.
pub fn book_rules() -> Vec<Rule<BookCall>> {
    vec![
        Rule {
            name: "E.164 of numbers without a country",
            reason: "they are read without a region: a leading zero is a trunk prefix, and letters \
                     are no digits; the stock server reads them as numbers of its locale",
            explains: |_, part| matches!(part, Part::Stock(line) | Part::Ours(line) if has_local_number(line)),
        },
        Rule {
            name: "properties made for views",
            reason: "cards go out as they came; the stock server makes FN and FILE-AS for cards \
                     that views are told later",
            explains: |difference, part| {
                let made = [" ¦ X-EVOLUTION-FILE-AS:", " ¦ FN:"];
                difference.is_told()
                    && matches!(part, Part::Stock(line) if made.iter().any(|name| line.contains(name)))
            },
        },
        Rule {
            name: "views of UID and REV alone",
            reason: "they get UID and REV of later changes, too; the stock server then sends whole \
                     cards",
            explains: |difference, part| {
                let (Part::Stock(line) | Part::Ours(line)) = part else {
                    return false;
                };
                let slot = line.chars().nth("view ".len()).unwrap_or_default();
                let fields = difference.queries.get(&format!("fields of view {slot}"));
                difference.is_told()
                    && line.contains(" tells ")
                    && fields.is_some_and(|fields| fields == "id Rev")
            },
        },
        Rule {
            name: "several contacts modified at once",
            reason: "views are told each; the stock server tells the first as often",
            explains: |difference, part| {
                let several =
                    matches!(&difference.call, BookCall::Modify(cards) if cards.len() > 1);
                difference.is_told()
                    && several
                    && matches!(part, Part::Stock(line) | Part::Ours(line) if line.starts_with("view "))
            },
        },
        Rule {
            name: "present but empty",
            reason: "`exists` is true of a property that is there, whatever it holds; in the stock \
                     server this depends on whether the field is in its summary",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| leaf.function == "exists")
            },
        },
        Rule {
            name: "views of everything by an empty query",
            reason: "they stay so; in the stock server, nothing that changes later matches",
            explains: |difference, part| {
                difference.is_told()
                    && queries_about(difference, part).contains(&"")
                    && matches!(part, Part::Stock(line) | Part::Ours(line) if line.starts_with("view"))
            },
        },
        Rule {
            name: "cursor at the end",
            reason: "it stays behind the last contact when others add or remove contacts; the \
                     stock server's keeps its number",
            explains: |difference, part| {
                difference.is_told()
                    && matches!(part, Part::Stock(line) | Part::Ours(line) if line.starts_with("cursor"))
                    && difference
                        .ours
                        .lines
                        .iter()
                        .any(|line| is_behind_last(line))
            },
        },
        Rule {
            name: "fields without a text",
            reason: "the stock server does not compare these; here it is the property's text",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| {
                    let fields = [
                        "sip",
                        "geo",
                        "photo",
                        "logo",
                        "address",
                        "address_home",
                        "category_list",
                        "birth_date",
                        "x509Cert",
                        "name",
                    ];
                    fields.contains(&leaf.field.as_str()) || leaf.field.starts_with("im_")
                })
            },
        },
        Rule {
            name: "any field",
            reason: "each visible property and each of its parts; the stock server has a list of \
                     fields",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| {
                    leaf.field == "x-evolution-any-field" && !leaf.text.is_empty()
                })
            },
        },
        Rule {
            name: "letters in descending order",
            reason: "the position is counted from the end of the alphabet, also after changes",
            explains: |difference, part| {
                let (Part::Stock(line) | Part::Ours(line)) = part else {
                    return false;
                };
                let slot = line.chars().nth("cursor ".len()).unwrap_or_default();
                let order = difference.queries.get(&format!("order of cursor {slot}"));
                difference.is_told()
                    && line.starts_with("cursor")
                    && order.is_some_and(|order| order.starts_with("descending"))
            },
        },
        Rule {
            name: "not, of what is absent",
            reason: "what does not match is found by `not`; in the stock server's database, a \
                     comparison with an absent property is neither true nor false",
            explains: |difference, part| {
                let queries = queries_about(difference, part);
                matches!(part, Part::Ours(_)) && queries.iter().any(|query| query.contains("(not "))
            },
        },
        Rule {
            name: "cursor before the first contact",
            reason: "the stock server counts from it to 4294967295",
            explains: |difference, part| {
                let underflow = difference
                    .stock
                    .lines
                    .iter()
                    .any(|line| line.contains("42949672"));
                underflow
                    && matches!(part, Part::Stock(line) | Part::Ours(line) if line.contains(" in all"))
            },
        },
        Rule {
            name: "each category is a value",
            reason: "the stock server compares the field `categories` as one text",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| leaf.field == "categories")
            },
        },
        Rule {
            name: "quoted addresses",
            reason: "the stock server looks for them without their quotes",
            explains: |difference, _| matches!(&difference.call, BookCall::ContainsEmail(text) if text.contains('"')),
        },
        Rule {
            name: "absent is not empty",
            reason: "an absent property matches nothing; in the stock server this depends on \
                     whether the field is in its summary",
            explains: |difference, part| about_leaf(difference, part, |leaf| leaf.matches_empty()),
        },
        Rule {
            name: "blanks are literal",
            reason: "in the stock server a blank stands for anything in between where the field is \
                     not in its summary",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| {
                    leaf.function == "contains" && leaf.text.contains(' ')
                })
            },
        },
        Rule {
            name: "flags compared as text",
            reason: "the stock server refuses to compare fields that are true or false with a text",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| {
                    let flags = ["list", "wants_html", "list_show_addresses"];
                    flags.contains(&leaf.field.as_str())
                })
            },
        },
        Rule {
            name: "bad queries are refused",
            reason: "what is no query, no number or no regular expression is an error at once; the \
                     stock server finds nothing, or fails later with an error of its database",
            explains: |difference, part| {
                queries_about(difference, part)
                    .iter()
                    .any(|query| is_malformed(query))
                    || about_leaf(difference, part, |leaf| leaf.is_malformed())
            },
        },
        Rule {
            name: "equal numbers with a trunk zero",
            reason: "as for E.164: `030 1234567` is the national number 301234567",
            explains: |difference, part| {
                about_leaf(difference, part, |leaf| {
                    leaf.function.starts_with("eqphone")
                        && leaf.function != "eqphone_short"
                        && ["1234567", "79460958"]
                            .iter()
                            .any(|end| leaf.text.replace([' ', '-'], "").contains(end))
                })
            },
        },
        Rule {
            name: "errors of the stock database",
            reason: "clients do not know its error domain; ours says that there is no such contact",
            explains: |_, part| {
                matches!(part, Part::Errors("e-book-backend-sqlite-error-quark.Code2", ours)
                    if ours == "e-book-client-error-quark.Code1")
            },
        },
    ]
}

/// Whether a line is a phone number without a country that begins with 0 or has letters.
fn has_local_number(line: &str) -> bool {
    let Some((_, value)) = line
        .split_once(" ¦ TEL")
        .and_then(|(_, tel)| tel.split_once(':'))
    else {
        return false;
    };
    value.starts_with('0') || value.contains("FLOWERS")
}

/// Whether a line is a cursor's totals with the position behind the last contact.
fn is_behind_last(line: &str) -> bool {
    let numbers: Vec<i64> = line
        .split([' ', ',', ':'])
        .filter_map(|word| word.parse().ok())
        .collect();
    matches!(numbers[..], [_, total, position] if position == total + 1)
}

/// A comparison in a query.
pub struct Leaf {
    pub function: String,
    pub field: String,
    pub text: String,
}

impl Leaf {
    /// Whether an empty text would match.
    fn matches_empty(&self) -> bool {
        match self.function.as_str() {
            "contains" | "is" | "beginswith" | "endswith" => {
                self.text.is_empty() && self.field != "x-evolution-any-field"
            }
            "regex_normal" | "regex_raw" => self.text == "^$",
            _ => false,
        }
    }

    fn is_malformed(&self) -> bool {
        match self.function.as_str() {
            "regex_normal" | "regex_raw" => self.text == "(",
            function if function.starts_with("eqphone") => {
                self.text.contains("FLOWERS") || !self.text.contains(|c: char| c.is_ascii_digit())
            }
            _ => false,
        }
    }
}

/// The queries that a part of a difference depends on.
fn queries_about<'a>(difference: &'a BookDifference, part: Part<'_>) -> Vec<&'a str> {
    let open = |name: String| difference.queries.get(&name).map(String::as_str);
    if difference.is_told() {
        let (Part::Stock(line) | Part::Ours(line)) = part else {
            return difference.queries.values().map(String::as_str).collect();
        };
        let name: Vec<&str> = line.splitn(3, [' ', ':']).take(2).collect();
        return open(name.join(" ")).into_iter().collect();
    }
    match &difference.call {
        BookCall::List(query) | BookCall::Uids(query) => vec![query],
        BookCall::OpenView { query, .. }
        | BookCall::OpenCursor { query, .. }
        | BookCall::CursorQuery(_, query) => vec![query],
        BookCall::Step { slot, .. } | BookCall::Letter { slot, .. } => {
            open(format!("cursor {slot}")).into_iter().collect()
        }
        _ => vec![],
    }
}

fn about_leaf(difference: &BookDifference, part: Part<'_>, test: impl Fn(&Leaf) -> bool) -> bool {
    let queries = queries_about(difference, part);
    queries
        .iter()
        .flat_map(|query| leaves(query))
        .any(|leaf| test(&leaf))
}

fn is_malformed(query: &str) -> bool {
    let blank = !query.is_empty() && query.trim().is_empty();
    let whole = [
        "#t",
        "(exists \"email\") (exists \"phone\")",
        "(and)",
        "(or)",
        "(exists)",
        "(not)",
        "()",
        "(is \"full_name\" 7)",
    ];
    blank || whole.contains(&query)
}

/// The comparisons of a query, in order.
fn leaves(query: &str) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for call in query.split('(').skip(1) {
        let (function, rest) = call.split_once([' ', ')']).unwrap_or((call, ""));
        let mut texts = Vec::new();
        let mut text: Option<String> = None;
        let mut escaped = false;
        for c in rest.chars() {
            match (&mut text, c) {
                (Some(text), c) if escaped => {
                    text.push(c);
                    escaped = false;
                }
                (Some(_), '\\') => escaped = true,
                (Some(_), '"') => texts.extend(text.take()),
                (Some(text), c) => text.push(c),
                (None, '"') => text = Some(String::new()),
                (None, _) => {}
            }
        }
        // A parenthesis in a text ends the part here; it has no closing quote.
        texts.extend(text.map(|_| "(".to_owned()));
        let mut texts = texts.into_iter();
        leaves.push(Leaf {
            function: function.to_owned(),
            field: texts.next().unwrap_or_default(),
            text: texts.next().unwrap_or_default(),
        });
    }
    leaves
}
