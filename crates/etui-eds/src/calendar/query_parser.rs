//! From an s-expression to a [`Condition`]. Types and numbers of arguments are checked here, once.

use etui::calendar::time::{DateTimeValue, TimeZone};
use etui::calendar::zones::TimeZoneResolver;

use super::condition::{Comparison, Condition, Operand, Part, TextField, TimeExpr, TimeRange};
use super::search_text::SearchText;
use crate::sexp::Expr;

const TEXT_FIELDS: [(&str, TextField); 10] = [
    ("any", TextField::Any),
    ("comment", TextField::Comment),
    ("description", TextField::Description),
    ("summary", TextField::Summary),
    ("location", TextField::Location),
    ("attendee", TextField::Attendee),
    ("organizer", TextField::Organizer),
    ("classification", TextField::Classification),
    ("status", TextField::Status),
    ("priority", TextField::Priority),
];

const PARTS: [(&str, Part); 7] = [
    ("has-start?", Part::Start),
    ("has-end?", Part::End),
    ("has-due?", Part::Due),
    ("has-duration?", Part::Duration),
    ("has-alarms?", Part::Alarms),
    ("has-recurrences?", Part::Recurrences),
    ("has-attachments?", Part::Attachments),
];

/// The other functions.
const FUNCTIONS: [&str; 21] = [
    "and",
    "or",
    "not",
    "=",
    "<",
    ">",
    "time-now",
    "make-time",
    "time-add-day",
    "time-day-begin",
    "time-day-end",
    "occur-in-time-range?",
    "occurrences-count?",
    "due-in-time-range?",
    "has-alarms-in-range?",
    "completed-before?",
    "starts-before?",
    "contains?",
    "uid?",
    "has-categories?",
    "is-completed?",
];

/// Parses a query. The expression's depth is bounded by its parser.
///
/// Unknown functions are refused. A known one with arguments that it cannot take is a query that
/// matches nothing, as in the stock server.
pub(super) fn parse_query(expr: &Expr, zones: &TimeZoneResolver) -> Result<Condition, String> {
    check_functions(expr)?;
    Ok(parse_condition(expr, zones).unwrap_or(Condition::Fault))
}

fn check_functions(expr: &Expr) -> Result<(), String> {
    let Expr::Call(name, arguments) = expr else {
        return Ok(());
    };
    let is_known = FUNCTIONS.contains(&name.as_str())
        || PARTS.iter().any(|(known, _)| known == name)
        || name == "percent-complete?";
    match is_known {
        true => arguments.iter().try_for_each(check_functions),
        false => Err(format!("there is no function \"{name}\"")),
    }
}

fn parse_condition(expr: &Expr, zones: &TimeZoneResolver) -> Option<Condition> {
    let (name, arguments) = match expr {
        Expr::Bool(value) => return Some(Condition::Const(*value)),
        Expr::Call(name, arguments) => (name.as_str(), arguments.as_slice()),
        _ => return None,
    };
    // What cannot be evaluated matters only if it is reached.
    let condition = |arg: &Expr| parse_condition(arg, zones).unwrap_or(Condition::Fault);
    let all = || arguments.iter().map(condition).collect();
    if let Some((_, part)) = PARTS.iter().find(|(known, _)| *known == name) {
        return arguments.is_empty().then_some(Condition::Has(*part));
    }
    match (name, arguments) {
        ("and", _) => Some(Condition::And(all())),
        ("or", _) => Some(Condition::Or(all())),
        ("not", []) => Some(Condition::Const(true)),
        ("not", [one, ..]) => Some(Condition::Not(Box::new(condition(one)))),
        ("=" | "<" | ">", [left, right]) => parse_comparison(name, left, right, zones),
        ("occur-in-time-range?", [from, to]) => {
            Some(Condition::OccursIn(range(from, to)?, TimeZone::UTC))
        }
        ("occur-in-time-range?", [from, to, Expr::Text(zone)]) => {
            let zone = zones.resolve(zone).unwrap_or(TimeZone::UTC);
            Some(Condition::OccursIn(range(from, to)?, zone))
        }
        ("due-in-time-range?", [from, to]) => Some(Condition::DueIn(range(from, to)?)),
        ("has-alarms-in-range?", [from, to]) => Some(Condition::HasAlarmsIn(range(from, to)?)),
        ("completed-before?", [time]) => Some(Condition::CompletedBefore(parse_time(time)?)),
        ("starts-before?", [time]) => Some(Condition::StartsBefore(parse_time(time)?)),
        ("contains?", [Expr::Text(field), Expr::Text(text)]) => {
            let (_, field) = TEXT_FIELDS.iter().find(|(known, _)| known == field)?;
            Some(Condition::Contains(*field, SearchText::new(text)))
        }
        ("uid?", [Expr::Text(uid)]) => Some(Condition::Uid(uid.clone())),
        ("has-categories?", [Expr::Bool(false)]) => Some(Condition::HasCategories(Vec::new())),
        ("has-categories?", [_, ..]) => Some(Condition::HasCategories(texts(arguments)?)),
        ("is-completed?", []) => Some(Condition::IsCompleted),
        _ => None,
    }
}

fn parse_comparison(
    name: &str,
    left: &Expr,
    right: &Expr,
    zones: &TimeZoneResolver,
) -> Option<Condition> {
    let comparison = match name {
        "=" => Comparison::Equal,
        "<" => Comparison::Less,
        _ => Comparison::Greater,
    };
    let (left, right) = (parse_operand(left, zones)?, parse_operand(right, zones)?);
    match operand_type(&left) == operand_type(&right) {
        true => Some(Condition::Compare(
            comparison,
            Box::new(left),
            Box::new(right),
        )),
        false => None,
    }
}

/// Returns a number for the type of an operand. Times are compared with numbers.
fn operand_type(operand: &Operand) -> u8 {
    match operand {
        Operand::Number(_) | Operand::Time(_) => 0,
        Operand::PercentComplete | Operand::Occurrences(_) => 0,
        Operand::Text(_) => 1,
        Operand::Condition(_) => 2,
    }
}

fn parse_operand(expr: &Expr, zones: &TimeZoneResolver) -> Option<Operand> {
    match expr {
        Expr::Number(number) => Some(Operand::Number(*number)),
        Expr::Text(text) => Some(Operand::Text(text.clone())),
        Expr::Bool(_) => Some(Operand::Condition(parse_condition(expr, zones)?)),
        Expr::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
            ("percent-complete?", []) => Some(Operand::PercentComplete),
            ("occurrences-count?", []) => Some(Operand::Occurrences(None)),
            ("occurrences-count?", [from, to]) => {
                Some(Operand::Occurrences(Some(range(from, to)?)))
            }
            _ => match parse_time(expr) {
                Some(time) => Some(Operand::Time(time)),
                None => Some(Operand::Condition(parse_condition(expr, zones)?)),
            },
        },
    }
}

fn parse_time(expr: &Expr) -> Option<TimeExpr> {
    let Expr::Call(name, arguments) = expr else {
        return None;
    };
    match (name.as_str(), arguments.as_slice()) {
        ("time-now", []) => Some(TimeExpr::Now),
        ("make-time", [Expr::Text(text)]) => {
            let value: DateTimeValue = text.parse().ok()?;
            Some(TimeExpr::At(value.local().seconds()))
        }
        ("time-add-day", [time, Expr::Number(days)]) => {
            Some(TimeExpr::AddDays(Box::new(parse_time(time)?), *days))
        }
        ("time-day-begin", [time]) => Some(TimeExpr::DayBegin(Box::new(parse_time(time)?))),
        ("time-day-end", [time]) => Some(TimeExpr::DayEnd(Box::new(parse_time(time)?))),
        _ => None,
    }
}

fn range(from: &Expr, to: &Expr) -> Option<TimeRange> {
    Some(TimeRange {
        from: parse_time(from)?,
        to: parse_time(to)?,
    })
}

fn texts(arguments: &[Expr]) -> Option<Vec<String>> {
    let text = |arg: &Expr| match arg {
        Expr::Text(text) => Some(text.clone()),
        _ => None,
    };
    arguments.iter().map(text).collect()
}
