//! Deliberate differences of address books.

use super::book_session::BookCall;
use super::compare::{Answer, Difference, Part, Rule, uid_of};
use super::lines::{comparable_lines, value_of};

const INVALID_QUERY: &str = "e-client-error-quark.Code16";
/// Letters whose folded form is longer.
const LONGER: [char; 6] = ['ß', 'ẞ', 'ﬁ', 'İ', 'ŉ', 'ǅ'];

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
                let cards = cards_of(difference, part);
                about_leaf(difference, part, |leaf| {
                    leaf.function == "exists"
                        && cards.iter().any(|card| has_empty(card, &leaf.field))
                })
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
                    && cursor_totals(difference, part)
                        .is_some_and(|(stock, ours)| stock.0 == ours.0 && ours.1 == ours.0 + 1)
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
                let cards = cards_of(difference, part);
                about_leaf(difference, part, |leaf| {
                    let queries = queries_about(difference, part);
                    let is_negated = queries.iter().any(|query| query.contains("(not "));
                    let is_found = match leaf.function.as_str() {
                        "exists" => matches!(part, Part::Ours(_)) || is_negated,
                        _ => {
                            !leaf.text.is_empty()
                                && cards.iter().any(|card| is_anywhere(card, &leaf.text))
                        }
                    };
                    leaf.field == "x-evolution-any-field" && is_found
                })
            },
        },
        Rule {
            name: "positions in descending order",
            reason: "they are those of the contacts; the stock server counts added contacts as if \
                     all fields were ascending, and letters from the beginning of the alphabet",
            explains: |difference, part| {
                let (Part::Stock(line) | Part::Ours(line)) = part else {
                    return false;
                };
                let slot = match &difference.call {
                    BookCall::Letter { slot, .. }
                    | BookCall::CursorQuery(slot, _)
                    | BookCall::Step { slot, .. } => slot.to_string(),
                    _ => line.chars().skip("cursor ".len()).take(1).collect(),
                };
                let order = difference.queries.get(&format!("order of cursor {slot}"));
                let is_position = match &difference.call {
                    // Letters, other queries, and steps that only fetch.
                    BookCall::Letter { .. } | BookCall::CursorQuery(..) => {
                        has_equal_total(difference)
                    }
                    BookCall::Step { flags: 2, .. } => {
                        line.contains(" stepped, ") && has_equal_total(difference)
                    }
                    _ => {
                        let totals = cursor_totals(difference, part);
                        totals.is_some_and(|(stock, ours)| stock.0 == ours.0)
                    }
                };
                is_position && order.is_some_and(|order| order.contains("descending"))
            },
        },
        Rule {
            name: "steps back from a letter",
            reason: "the position is that of the contact; the stock server counts back from that of \
                     the letter, which is after the contact",
            explains: |difference, part| {
                let slot = match (&difference.call, part) {
                    (BookCall::Step { slot, .. }, _) => slot.to_string(),
                    (_, Part::Stock(line) | Part::Ours(line)) => {
                        line.chars().skip("cursor ".len()).take(1).collect()
                    }
                    _ => return false,
                };
                let place = difference.queries.get(&format!("place of cursor {slot}"));
                let position = |answer: &Answer| -> Option<i64> {
                    let line = answer
                        .lines
                        .iter()
                        .find(|line| line.contains(" in all, at "))?;
                    line.rsplit_once(' ')?.1.parse().ok()
                };
                let is_one_less = match cursor_totals(difference, part) {
                    Some((stock, ours)) => stock.0 == ours.0 && stock.1 + 1 == ours.1,
                    None => {
                        has_equal_total(difference)
                            && position(&difference.stock).map(|at| at + 1)
                                == position(&difference.ours)
                    }
                };
                is_one_less && place.is_some_and(|place| place == "back from a letter")
            },
        },
        Rule {
            name: "positions of contacts without a name",
            reason: "equal ones are ordered by UID, as in the list; the stock server counts an \
                     added one as before the cursor's",
            explains: |difference, part| {
                let BookCall::Create(cards) = &difference.call else {
                    return false;
                };
                let totals = cursor_totals(difference, part);
                let nameless = cards
                    .iter()
                    .filter(|(_, text)| value_of(text, "N").is_none());
                totals.is_some_and(|(stock, ours)| {
                    let counted = stock.1 - ours.1;
                    stock.0 == ours.0 && counted > 0 && counted <= nameless.count() as i64
                })
            },
        },
        Rule {
            name: "not, of what is absent",
            reason: "what does not match is found by `not`; in the stock server's database, a \
                     comparison with an absent property is neither true nor false",
            explains: |difference, part| {
                let cards = cards_of(difference, part);
                let is_negated = |query: &&str| {
                    let negated = query.split_once("(not ").map_or("", |(_, negated)| negated);
                    leaves(negated)
                        .iter()
                        .any(|leaf| match leaf.field.as_str() {
                            // Any of these is compared.
                            "full_name" => ["FN", "family_name", "given_name", "nickname"]
                                .iter()
                                .any(|field| cards.iter().any(|card| is_absent(card, field))),
                            field => cards.iter().any(|card| is_absent(card, field)),
                        })
                };
                matches!(part, Part::Ours(_))
                    && queries_about(difference, part).iter().any(is_negated)
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
            name: "addresses in two pairs of brackets",
            reason: "are found",
            explains: |difference, part| {
                matches!(&difference.call, BookCall::ContainsEmail(text) if text.matches('<').count() == 2)
                    && matches!(part, Part::Stock("false") | Part::Ours("true"))
            },
        },
        Rule {
            name: "addresses with a name in the contact",
            reason: "`Ada <ada@x.org>` in EMAIL is found by its address; in the stock server by all of \
                     the text",
            explains: |difference, part| {
                let is_named = |text: &String| {
                    let address = format!("<{}>", text.trim().to_lowercase());
                    let mut emails = difference.before.iter().filter(|l| l.contains(" ¦ EMAIL"));
                    emails.any(|line| line.to_lowercase().contains(&address))
                };
                matches!(&difference.call, BookCall::ContainsEmail(text) if is_named(text))
                    && matches!(part, Part::Stock("false") | Part::Ours("true"))
            },
        },
        Rule {
            name: "folded regular expressions",
            reason: "for every field; in the stock server for those of its summary",
            explains: |difference, part| {
                matches!(part, Part::Ours(_))
                    && about_leaf(difference, part, |leaf| {
                        let is_folded = |c: char| !c.is_ascii() || c.is_ascii_uppercase();
                        leaf.function == "regex_normal" && leaf.text.contains(is_folded)
                    })
            },
        },
        Rule {
            name: "beginnings and ends of letters beyond ASCII",
            reason: "are found; the stock server compares as many bytes as the text has unfolded",
            explains: |difference, part| {
                let cards = cards_of(difference, part);
                let is_negated = |query: &&str| query.contains("(not ");
                let is_side = match part {
                    Part::Ours(_) => true,
                    Part::Stock(_) => queries_about(difference, part).iter().any(is_negated),
                    _ => false,
                };
                is_side
                    && about_leaf(difference, part, |leaf| {
                        let mut lines = cards.iter().flatten();
                        ["beginswith", "endswith"].contains(&leaf.function.as_str())
                            && cards.iter().any(|card| is_anywhere(card, &leaf.text))
                            && (!leaf.text.is_ascii() || lines.any(|line| line.contains(LONGER)))
                    })
            },
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
            reason: "they are equal to TRUE or FALSE, and other comparisons are refused; the stock \
                     server finds nothing, or refuses them in lists alone",
            explains: |difference, part| {
                let cards = cards_of(difference, part);
                about_leaf(difference, part, |leaf| {
                    let flags = ["list", "wants_html", "list_show_addresses"];
                    let has_value = || {
                        let text = leaf.text.to_uppercase();
                        cards.iter().any(|card| {
                            let values = values_of(card, &leaf.field).unwrap_or_default();
                            values.iter().any(|value| value.contains(&text))
                        })
                    };
                    let is_found = match part {
                        Part::Errors(stock, ours) => stock.is_empty() != ours.is_empty(),
                        // Or the view that is refused here.
                        Part::Stock(_) => difference.is_told() || has_value(),
                        Part::Ours(_) => has_value(),
                        Part::Order => false,
                    };
                    flags.contains(&leaf.field.as_str()) && is_found
                })
            },
        },
        Rule {
            name: "bad queries are refused",
            reason: "what is no query, no number or no regular expression is an error at once; the \
                     stock server finds nothing, or fails later with an error of its database",
            explains: |difference, part| {
                let is_refused = match part {
                    Part::Errors(_, ours) => ours == INVALID_QUERY,
                    // The view that is refused here.
                    Part::Stock(_) => difference.is_told(),
                    _ => false,
                };
                let queries = queries_about(difference, part);
                is_refused
                    && (queries.iter().any(|query| is_malformed(query))
                        || about_leaf(difference, part, |leaf| leaf.is_malformed()))
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
            explains: |difference, part| {
                let has_no_uid = |card: &String| value_of(card, "UID").is_none();
                let is_without_uid = matches!(&difference.call, BookCall::Modify(cards) if cards.iter().any(has_no_uid));
                let Part::Errors("e-book-backend-sqlite-error-quark.Code2", ours) = part else {
                    return false;
                };
                ours == "e-book-client-error-quark.Code1"
                    || (ours == "e-client-error-quark.Code19" && is_without_uid)
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

/// Total and position of the cursor that a part is about: of the stock server, and ours.
fn cursor_totals(difference: &BookDifference, part: Part<'_>) -> Option<((i64, i64), (i64, i64))> {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return None;
    };
    let cursor = line
        .strip_prefix("cursor ")
        .and_then(|rest| rest.get(..1))?;
    let totals = |answer: &Answer| {
        let start = format!("cursor {cursor}: ");
        let line = answer
            .lines
            .iter()
            .find_map(|line| line.strip_prefix(&start))?;
        let (total, position) = line.split_once(" in all, at ")?;
        Some((total.parse().ok()?, position.parse().ok()?))
    };
    Some((totals(&difference.stock)?, totals(&difference.ours)?))
}

/// Whether both answers of a cursor differ in the position alone.
fn has_equal_total(difference: &BookDifference) -> bool {
    let first = |answer: &Answer| {
        let line = answer.lines.first().map(String::as_str);
        line.and_then(|line| line.split_once(", at "))
            .map(|(rest, _)| rest.to_owned())
    };
    first(&difference.stock).is_some() && first(&difference.stock) == first(&difference.ours)
}

/// The contact that a part is about: its lines before the call, and those sent.
fn cards_of(difference: &BookDifference, part: Part<'_>) -> Vec<Vec<String>> {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return Vec::new();
    };
    let told = line
        .strip_prefix("view ")
        .and_then(|rest| rest.splitn(3, ' ').nth(2));
    let uid = uid_of(told.unwrap_or(line));
    let sent = match &difference.call {
        BookCall::Create(cards) => cards
            .iter()
            .find(|(own, _)| own == uid)
            .map(|(_, text)| text),
        BookCall::Modify(cards) => cards
            .iter()
            .find(|text| value_of(text, "UID").as_deref() == Some(uid)),
        _ => None,
    };
    let key = format!("{uid} ¦ ");
    let lines = difference.before.iter();
    let before: Vec<String> = lines
        .filter_map(|line| line.strip_prefix(&key))
        .map(str::to_owned)
        .collect();
    let sent = sent.map(|text| comparable_lines(text));
    let mut cards: Vec<Vec<String>> = sent.into_iter().chain([before]).collect();
    cards.retain(|card| !card.is_empty());
    cards
}

/// The property of a field, and the part of its value.
fn property_of(field: &str) -> Option<(&str, Option<usize>)> {
    Some(match field {
        "full_name" | "FN" => ("FN", None),
        "family_name" => ("N", Some(0)),
        "given_name" => ("N", Some(1)),
        "nickname" | "NICKNAME" => ("NICKNAME", None),
        "file_as" => ("X-EVOLUTION-FILE-AS", None),
        "N" => ("N", None),
        "email" | "email_1" | "email_2" => ("EMAIL", None),
        "phone" | "home_phone" | "business_phone" | "mobile_phone" => ("TEL", None),
        "org" => ("ORG", Some(0)),
        "org_unit" => ("ORG", Some(1)),
        "office" => ("ORG", Some(2)),
        "title" => ("TITLE", None),
        "role" => ("ROLE", None),
        "note" => ("NOTE", None),
        "spouse" => ("X-EVOLUTION-SPOUSE", None),
        "manager" => ("X-EVOLUTION-MANAGER", None),
        "url" | "homepage_url" => ("URL", None),
        "categories" | "category_list" => ("CATEGORIES", None),
        "im_jabber" | "im_jabber_home_1" => ("X-JABBER", None),
        "im_aim" => ("X-AIM", None),
        "sip" => ("X-SIP", None),
        "address" | "address_home" => ("ADR", None),
        "address_label_home" => ("LABEL", None),
        "X-CUSTOM" => ("X-CUSTOM", None),
        "list" => ("X-EVOLUTION-LIST", None),
        "list_show_addresses" => ("X-EVOLUTION-LIST-SHOW-ADDRESSES", None),
        "wants_html" => ("X-MOZILLA-HTML", None),
        _ => return None,
    })
}

/// The values of a field in a card: parts of them, or whole.
fn values_of<'a>(card: &'a [String], field: &str) -> Option<Vec<&'a str>> {
    let (name, place) = property_of(field)?;
    let values = card.iter().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let (params, value) = rest.split_once(':')?;
        (params.is_empty() || params.starts_with(';')).then_some(value)
    });
    Some(match place {
        Some(place) => values
            .filter_map(|value| value.split(" ¦ ").nth(place))
            .collect(),
        None => values.collect(),
    })
}

/// Whether a field is there with an empty value.
fn has_empty(card: &[String], field: &str) -> bool {
    if field == "name_or_org" {
        return ["file_as", "FN", "org"]
            .iter()
            .any(|field| has_empty(card, field));
    }
    let is_empty = |value: &&str| value.replace(" ¦ ", "").is_empty();
    values_of(card, field).is_some_and(|values| values.iter().any(is_empty))
}

/// Whether a card lacks a field.
fn is_absent(card: &[String], field: &str) -> bool {
    values_of(card, field).is_none_or(|values| values.is_empty())
}

/// Whether a text is in any property of a card, case aside.
fn is_anywhere(card: &[String], text: &str) -> bool {
    let folded = |text: &str| {
        text.to_lowercase()
            .replace('ß', "ss")
            .replace('\u{301}', "")
    };
    let text = folded(text);
    card.iter().any(|line| folded(line).contains(&text))
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
                // Combining marks alone fold to nothing.
                let is_mark = |c| ('\u{300}'..='\u{33f}').contains(&c);
                self.text.chars().all(is_mark) && self.field != "x-evolution-any-field"
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
        "\"text\"",
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
