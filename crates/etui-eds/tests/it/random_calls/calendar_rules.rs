//! Deliberate differences of calendars.

use super::calendar_session::{ALL, CalendarCall};
use super::compare::{Answer, Aspect, Difference, Part, Rule, uid_of};
use super::instances::{Instance, instances, offset, property, seconds, written};
use super::lines::{comparable_lines, value_of};

type CalendarDifference = Difference<CalendarCall>;

const NOT_FOUND: &str = "e-cal-client-error-quark.Code1";
const EXISTS: &str = "e-cal-client-error-quark.Code4";
const NOT_SUPPORTED: &str = "e-client-error-quark.Code11";
const INVALID_QUERY: &str = "e-client-error-quark.Code16";

/// The rules. Each part of a difference counts for the first that fits.
pub fn calendar_rules() -> Vec<Rule<CalendarCall>> {
    vec![
        Rule {
            name: "empty properties",
            reason: "they stay; the stock server writes an error in their place",
            explains: explains_empty_properties,
        },
        Rule {
            name: "one UID twice in a call",
            reason: "refused; the stock server saves the first and loses the second",
            explains: explains_double_uid,
        },
        Rule {
            name: "this-and-prior",
            reason: "refused, as the capability `no-thisandprior` says; the stock server does not \
                     refuse it, and damages the series",
            explains: explains_this_and_prior,
        },
        Rule {
            name: "all, with an instance",
            reason: "the whole series is changed as the instance; the stock server replaces the \
                     series with the instance",
            explains: explains_all_with_instance,
        },
        Rule {
            name: "instances",
            reason: "found; the stock server finds those of events in UTC only",
            explains: explains_instances,
        },
        Rule {
            name: "times with a zone",
            reason: "that of the series; the stock server loses it in EXDATE and in the start of a \
                     series that it begins",
            explains: explains_zone,
        },
        Rule {
            name: "UNTIL before the instance",
            reason: "one second before it, in the form of the start; the stock server is off by the \
                     zone's offset, and writes UTC",
            explains: explains_until,
        },
        Rule {
            name: "nothing left of a series",
            reason: "at the first instance the whole series is removed or changed; the stock server \
                     keeps one that ends before it starts, or never",
            explains: explains_empty_series,
        },
        Rule {
            name: "instances that are not there",
            reason: "nothing happens to them; the stock server excludes them again, or begins a \
                     series there",
            explains: explains_missing_instances,
        },
        Rule {
            name: "new series in views",
            reason: "are added; the stock server tells of a change of what the view does not have",
            explains: explains_split_in_views,
        },
        Rule {
            name: "a series split outside of a view",
            reason: "stays there; the stock server reports its removal if the new series does \
                     not match",
            explains: explains_split_outside_view,
        },
        Rule {
            name: "removed instances in views",
            reason: "are named; the stock server tells the UID, or nothing",
            explains: explains_removed_in_views,
        },
        Rule {
            name: "changed instances of a removed series",
            reason: "they go with it; after a removal with `this`, the stock server keeps them",
            explains: explains_left_instances,
        },
        Rule {
            name: "stamps of messages",
            reason: "are their sender's, by which the next one is newer or older; the stock server \
                     adds its own",
            explains: |difference, part| {
                matches!(difference.call, CalendarCall::Receive(_))
                    && matches!(part, Part::Stock(line)
                        if line.ends_with(" ¦ CREATED:*") || line.ends_with(" ¦ LAST-MODIFIED:*"))
            },
        },
        Rule {
            name: "messages about a series",
            reason: "its changed and removed instances stay; the stock server replaces all of it",
            explains: explains_messages,
        },
        Rule {
            name: "ranges",
            reason: "changed instances and later occurrences of tasks are found; the stock server's \
                     index of times lacks them",
            explains: explains_ranges,
        },
        Rule {
            name: "either of two times",
            reason: "a task completed in time is found wherever it occurs; the stock server looks \
                     only from the first of the times to the last, and its index of times lacks \
                     changed instances",
            explains: explains_either_time,
        },
        Rule {
            name: "zone of a start",
            reason: "counts in `starts-before?`; the stock server compares local time with UTC",
            explains: explains_zoned_start,
        },
        Rule {
            name: "priority 0",
            reason: "is undefined (RFC 5545, 3.8.1.9); the stock server counts it as high",
            explains: |difference, part| {
                asks(difference, part, "\"priority\"")
                    && property(&component(difference, part), "PRIORITY") == Some(("", "0"))
            },
        },
        Rule {
            name: "100 percent",
            reason: "is completed, without a STATUS or COMPLETED too, as everywhere here; the stock \
                     server asks these two",
            explains: |difference, part| {
                let lines = component(difference, part);
                let is_asked = ["is-completed?", "\"status\""];
                is_asked.iter().any(|term| asks(difference, part, term))
                    && property(&lines, "PERCENT-COMPLETE") == Some(("", "100"))
                    && property(&lines, "STATUS").is_none()
                    && property(&lines, "COMPLETED").is_none()
            },
        },
        Rule {
            name: "public by default",
            reason: "a component without a class is public (RFC 5545, 3.8.1.3)",
            explains: |difference, part| {
                asks(difference, part, "\"classification\" \"Public\"")
                    && property(&component(difference, part), "CLASS").is_none()
            },
        },
        Rule {
            name: "negative numbers",
            reason: "are numbers; the stock server refuses them",
            explains: |difference, part| {
                matches!(part, Part::Errors(INVALID_QUERY, ""))
                    && query_of(difference, part).contains(" -2)")
            },
        },
        Rule {
            name: "trailing text of a query",
            reason: "refused; the stock server does not read what follows the first expression",
            explains: |difference, part| {
                let trailing = ["(has-start?) (has-end?)", "(has-start?)\""];
                matches!(part, Part::Errors("", INVALID_QUERY))
                    && trailing.contains(&query_of(difference, part))
            },
        },
    ]
}

/// The component of a line: after its key.
fn lines_of<'a>(lines: &'a [String], key: &str) -> Vec<&'a str> {
    lines
        .iter()
        .map(|line| untold(line))
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(" ¦ "))
        .collect()
}

/// A line without `view N tells` or another verb.
fn untold(line: &str) -> &str {
    match line.strip_prefix("view ") {
        Some(rest) => rest.splitn(3, ' ').nth(2).unwrap_or_default(),
        None => line,
    }
}

/// UID and RECURRENCE-ID that a line is about.
fn key_of(line: &str) -> &str {
    let key = untold(line).split(" ¦ ").next().unwrap_or_default();
    let key = key.strip_suffix(" again").unwrap_or(key);
    key.strip_suffix(", which it never added").unwrap_or(key)
}

/// The lines of the component that a part is about.
fn component<'a>(difference: &'a CalendarDifference, part: Part<'a>) -> Vec<&'a str> {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return Vec::new();
    };
    let sources = [
        &difference.ours.lines,
        &difference.stock.lines,
        &*difference.before,
    ];
    let mut found = sources.iter().map(|lines| lines_of(lines, key_of(line)));
    found.find(|lines| !lines.is_empty()).unwrap_or_default()
}

/// The query that a part depends on; empty if none.
fn query_of<'a>(difference: &'a CalendarDifference, part: Part<'_>) -> &'a str {
    match (&difference.call, part) {
        (CalendarCall::List(query) | CalendarCall::OpenView { query, .. }, _) => query,
        (_, Part::Stock(line) | Part::Ours(line)) if difference.is_told() => {
            let view = line.get(..6).unwrap_or_default();
            difference.queries.get(view).map_or("", String::as_str)
        }
        _ => "",
    }
}

fn asks(difference: &CalendarDifference, part: Part<'_>, term: &str) -> bool {
    query_of(difference, part).contains(term)
}

/// A change of one instance: UID, RECURRENCE-ID and type of modification.
fn changed_instance(call: &CalendarCall) -> Option<(String, String, &'static str)> {
    match call {
        CalendarCall::Modify(texts, mod_type) => {
            let text = texts.first()?;
            Some((
                value_of(text, "UID")?,
                value_of(text, "RECURRENCE-ID")?,
                mod_type,
            ))
        }
        CalendarCall::Remove(ids, mod_type) => {
            let (uid, rid) = ids.first()?;
            (!rid.is_empty()).then(|| (uid.clone(), rid.clone(), *mod_type))
        }
        _ => None,
    }
}

/// Whether this service has changed nothing.
fn is_unchanged(difference: &CalendarDifference) -> bool {
    difference.aspect == Aspect::State && difference.ours.lines == *difference.before
}

fn explains_empty_properties(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let error = "X-LIC-ERROR;X-LIC-ERRORTYPE=VALUE-PARSE-ERROR:No value for CONTACT property";
    let has = |answer: &Answer, line: String| answer.lines.iter().any(|own| own.starts_with(&line));
    match part {
        Part::Stock(line) => line
            .split_once(error)
            .is_some_and(|(key, _)| has(&difference.ours, format!("{key}CONTACT:"))),
        Part::Ours(line) => line
            .strip_suffix("CONTACT:")
            .is_some_and(|key| has(&difference.stock, format!("{key}{error}"))),
        _ => false,
    }
}

fn explains_double_uid(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let CalendarCall::Create(texts) = &difference.call else {
        return false;
    };
    let mut uids: Vec<_> = texts.iter().map(|text| value_of(text, "UID")).collect();
    uids.dedup();
    let is_refused = match part {
        Part::Errors(stock, ours) => stock.is_empty() && ours == EXISTS,
        _ => is_unchanged(difference),
    };
    uids.len() < texts.len() && is_refused
}

fn explains_this_and_prior(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let changed = changed_instance(&difference.call);
    let Some((uid, _, "this-and-prior")) = changed else {
        return false;
    };
    match part {
        Part::Errors(stock, ours) => stock.is_empty() && ours == NOT_SUPPORTED,
        Part::Stock(line) if difference.is_told() => {
            uid_of(key_of(line)) == uid && difference.ours.lines.is_empty()
        }
        _ => is_unchanged(difference),
    }
}

fn explains_all_with_instance(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (CalendarCall::Modify(texts, ALL), Some((uid, rid, _))) =
        (&difference.call, changed_instance(&difference.call))
    else {
        return false;
    };
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let (stock, ours) = (&difference.stock.lines, &difference.ours.lines);
    difference.aspect == Aspect::State
        && uid_of(line) == uid
        && lines_of(stock, &uid).is_empty()
        && !lines_of(stock, &format!("{uid} at {rid}")).is_empty()
        && is_as_sent(&lines_of(ours, &uid), texts)
}

/// Whether a series has the title and the rule of a sent component.
fn is_as_sent(series: &[&str], texts: &[String]) -> bool {
    let sent = texts
        .first()
        .map(|text| comparable_lines(text))
        .unwrap_or_default();
    let sent: Vec<&str> = sent.iter().map(String::as_str).collect();
    let is_sent = |name| property(series, name) == property(&sent, name);
    is_sent("SUMMARY") && is_sent("RRULE") && is_sent("DESCRIPTION") && is_sent("LOCATION")
}

fn explains_instances(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (CalendarCall::Get(uid, rid), Part::Errors(NOT_FOUND, "")) = (&difference.call, part)
    else {
        return false;
    };
    let master = lines_of(&difference.before, uid);
    let all = instances(&master, 0);
    let found = all.iter().find(|own| match rid.ends_with('Z') {
        true => Some(own.start) == seconds(rid),
        false => own.value == *rid,
    });
    let (Some((params, first)), Some(found)) = (property(&master, "DTSTART"), found) else {
        return false;
    };
    let key = format!("{uid} at {}", found.value);
    let mut expected: Vec<String> = master
        .iter()
        .map(|line| format!("{key} ¦ {line}"))
        .collect();
    expected.push(format!("{key} ¦ RECURRENCE-ID{params}:{}", found.value));
    expected.push(key);
    expected.sort();
    let is_found_by_stock = first.ends_with('Z') && master.contains(&"BEGIN:VEVENT");
    !is_found_by_stock && property(&master, "RRULE").is_some() && difference.ours.lines == expected
}

fn explains_zone(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let Some((uid, rid, mod_type)) = changed_instance(&difference.call) else {
        return false;
    };
    let master = lines_of(&difference.before, &uid);
    let (Some((params, _)), Some((key, text))) =
        (property(&master, "DTSTART"), line.split_once(" ¦ "))
    else {
        return false;
    };
    let (Some((head, value)), Some(name)) = (text.split_once(':'), text.split([':', ';']).next())
    else {
        return false;
    };
    let is_lost = match name {
        "EXDATE" => mod_type == "this" && key == uid && value == rid,
        "DTSTART" | "DTEND" | "DUE" => mod_type == "this-and-future" && key.starts_with("split-"),
        _ => false,
    };
    let ours = format!("{key} ¦ {name}{params}:{value}");
    let stock = format!("{key} ¦ {name}:{value}");
    is_lost
        && (head == name || head == format!("{name}{params}"))
        && params.starts_with(";")
        && difference.ours.lines.contains(&ours)
        && difference.stock.lines.contains(&stock)
}

fn explains_until(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let Some((uid, rid, "this-and-future")) = changed_instance(&difference.call) else {
        return false;
    };
    let master = lines_of(&difference.before, &uid);
    let (Some((params, first)), Some(at)) = (property(&master, "DTSTART"), seconds(&rid)) else {
        return false;
    };
    let before = at - offset(params, first, 0) - 1;
    let form = match params.starts_with(";TZID=") {
        true => "20261201T000000Z",
        false => first,
    };
    let until = format!("UNTIL={}", written(before, form));
    let rule = |answer: &Answer| {
        let lines = lines_of(&answer.lines, &uid);
        let rule = property(&lines, "RRULE").map(|(_, rule)| rule.to_owned());
        rule.unwrap_or_default()
    };
    let (stock, ours) = (rule(&difference.stock), rule(&difference.ours));
    let rest = |rule: &str| rule.split_once("UNTIL=").map(|(rest, _)| rest.to_owned());
    difference.aspect == Aspect::State
        && line.starts_with(&format!("{uid} ¦ RRULE:"))
        && rest(&stock) == rest(&ours)
        && ours.ends_with(&until)
}

fn explains_empty_series(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let Some((uid, rid, "this-and-future")) = changed_instance(&difference.call) else {
        return false;
    };
    let (stock, ours) = (&difference.stock.lines, &difference.ours.lines);
    let master = lines_of(&difference.before, &uid);
    let first = property(&master, "DTSTART").map(|(_, first)| first);
    let is_right = match &difference.call {
        CalendarCall::Modify(texts, _) => {
            let series = lines_of(stock, &uid);
            property(&series, "SUMMARY") == property(&master, "SUMMARY")
                && is_as_sent(&lines_of(ours, &uid), texts)
        }
        _ => !ours.iter().any(|own| uid_of(own) == uid),
    };
    let is_about =
        uid_of(line) == uid || (line.starts_with("split-") && stock.iter().any(|own| own == line));
    difference.aspect == Aspect::State && first == Some(rid.as_str()) && is_about && is_right
}

fn explains_missing_instances(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let Some((uid, rid, mod_type)) = changed_instance(&difference.call) else {
        return false;
    };
    let master = lines_of(&difference.before, &uid);
    let is_missing = !instances(&master, 0).iter().any(|own| own.value == rid)
        && lines_of(&difference.before, &format!("{uid} at {rid}")).is_empty();
    let is_future_change =
        mod_type == "this-and-future" && matches!(difference.call, CalendarCall::Modify(..));
    is_missing
        && match part {
            Part::Errors(stock, ours) => stock.is_empty() && ours == NOT_FOUND && is_future_change,
            // The stock server reports the series as it was.
            Part::Stock(line) if difference.is_told() => {
                let is_as_before = match line.split_once(" tells ") {
                    Some((_, text)) => difference.before.iter().any(|own| own == text),
                    None => line.ends_with(&format!(" modifies {uid}")),
                };
                let is_removal = matches!(difference.call, CalendarCall::Remove(..));
                (is_future_change || is_removal) && difference.ours.lines.is_empty() && is_as_before
            }
            Part::Stock(line) | Part::Ours(line) => {
                let is_exdate =
                    line.starts_with(&format!("{uid} ¦ EXDATE")) && line.ends_with(&rid);
                is_unchanged(difference) && (is_future_change || is_exdate)
            }
            _ => false,
        }
}

fn explains_split_in_views(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let view = line.get(..7).unwrap_or_default();
    let key = key_of(line);
    let has = |answer: &Answer, event: String| answer.lines.contains(&event);
    difference.is_told()
        && key.starts_with("split-")
        && !line.contains(" tells ")
        && has(&difference.ours, format!("{view}adds {key}"))
        && has(
            &difference.stock,
            format!("{view}modifies {key}, which it never added"),
        )
}

fn explains_split_outside_view(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line), CalendarCall::Modify(..)) = (part, &difference.call) else {
        return false;
    };
    let Some((uid, _, "this-and-future")) = changed_instance(&difference.call) else {
        return false;
    };
    let view = line.get(..7).unwrap_or_default();
    let new_series = format!("{view}adds split-");
    difference.is_told()
        && line == format!("{view}removes {uid}")
        && difference
            .ours
            .lines
            .contains(&format!("{view}modifies {uid}"))
        && !difference
            .ours
            .lines
            .iter()
            .any(|own| own.starts_with(&new_series))
}

fn explains_removed_in_views(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let (view, key) = (line.get(..7).unwrap_or_default(), key_of(line));
    let told = format!("{view}removes {}", uid_of(key));
    let is_instance = |own: &String| {
        let rest = own
            .strip_prefix(&told)
            .and_then(|rest| rest.strip_prefix(" at "));
        rest.is_some_and(|rid| {
            !lines_of(&difference.before, &format!("{} at {rid}", uid_of(key))).is_empty()
        })
    };
    difference.is_told()
        && difference.ours.lines.iter().any(is_instance)
        && match part {
            Part::Ours(line) => is_instance(&line.to_owned()),
            _ => line.starts_with(&told),
        }
}

fn explains_left_instances(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let (Part::Stock(line), CalendarCall::Remove(ids, "this" | "only-this")) =
        (part, &difference.call)
    else {
        return false;
    };
    let Some((uid, rid)) = ids.first() else {
        return false;
    };
    difference.aspect == Aspect::State
        && rid.is_empty()
        && line.starts_with(&format!("{uid} at "))
        && difference.before.iter().any(|own| own == line)
        && !difference.ours.lines.iter().any(|own| uid_of(own) == uid)
}

fn explains_ranges(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let Part::Ours(line) = part else {
        return false;
    };
    let query = query_of(difference, part);
    let lines = component(difference, part);
    let is_changed_instance = key_of(line).contains(" at ");
    let is_later_task = lines.contains(&"BEGIN:VTODO") && property(&lines, "RRULE").is_some();
    ranges_of(query).iter().any(|range| {
        let all = instances(&lines, range.floating);
        match range.function {
            "occur-in-time-range?" => {
                (is_changed_instance || is_later_task)
                    && all
                        .iter()
                        .any(|own| own.start < range.to && range.from < own.end.max(own.start + 1))
            }
            // A quarter of an hour before the start.
            "has-alarms-in-range?" => {
                let is_due = |own: &Instance| (range.from..range.to).contains(&(own.start - 900));
                (is_changed_instance || is_later_task) && all.iter().any(is_due)
            }
            "due-in-time-range?" => {
                let is_due = |own: &Instance| (range.from..=range.to).contains(&own.end);
                is_changed_instance && all.iter().any(is_due)
            }
            _ => false,
        }
    })
}

fn explains_messages(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let CalendarCall::Receive(text) = &difference.call else {
        return false;
    };
    let (Part::Stock(line) | Part::Ours(line)) = part else {
        return false;
    };
    let Some(uid) = value_of(text, "UID") else {
        return false;
    };
    let key = key_of(line);
    let of_instance = key.starts_with(&format!("{uid} at "));
    let is_kept = of_instance || line.starts_with(&format!("{uid} ¦ EXDATE"));
    let was_there = match difference.is_told() {
        true => difference.before.iter().any(|before| key_of(before) == key),
        false => difference.before.iter().any(|before| before == line),
    };
    uid_of(key) == uid
        && is_kept
        && was_there
        && difference.is_told() | matches!(part, Part::Ours(_))
}

fn explains_either_time(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let query = query_of(difference, part);
    let bound = query.split_once("(completed-before? (make-time \"");
    let bound = bound.and_then(|(_, rest)| seconds(rest.split('"').next()?));
    let lines = component(difference, part);
    let completed = property(&lines, "COMPLETED").and_then(|(_, at)| seconds(at));
    let (Some(bound), Some(completed)) = (bound, completed) else {
        return false;
    };
    let is_either = query.starts_with("(or ") && query.contains("-range? ");
    let is_instance = property(&lines, "RECURRENCE-ID").is_some();
    matches!(part, Part::Ours(_)) && (is_either || is_instance) && completed < bound
}

/// A range of a query, with the offset of times without a zone.
struct QueryRange<'q> {
    function: &'q str,
    from: i64,
    to: i64,
    floating: i64,
}

fn ranges_of(query: &str) -> Vec<QueryRange<'_>> {
    let mut ranges = Vec::new();
    let parts: Vec<&str> = query.split("(make-time \"").collect();
    let time = |part: &str| seconds(part.split('"').next()?);
    for three in parts.windows(3) {
        let function = three[0].rsplit('(').next().unwrap_or_default().trim();
        let (Some(from), Some(to)) = (time(three[1]), time(three[2])) else {
            continue;
        };
        ranges.push(QueryRange {
            function,
            from,
            to,
            floating: match three[2].contains("\"Europe/Berlin\"") {
                true => 3600,
                false => 0,
            },
        });
    }
    ranges
}

fn explains_zoned_start(difference: &CalendarDifference, part: Part<'_>) -> bool {
    let lines = component(difference, part);
    let query = query_of(difference, part);
    let bound = query.split_once("(starts-before? (make-time \"");
    let bound = bound.and_then(|(_, rest)| seconds(rest.split('"').next()?));
    let (Some(bound), Some((params, value))) = (bound, property(&lines, "DTSTART")) else {
        return false;
    };
    let Some(local) = seconds(value) else {
        return false;
    };
    matches!(part, Part::Ours(_)) && local > bound && local - offset(params, value, 0) <= bound
}
