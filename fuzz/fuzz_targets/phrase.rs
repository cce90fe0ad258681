//! Any text as a phrase, a time, a rule and a period: each is read or refused, and a rule that was read can be
//! written and parsed again.

#![no_main]

use etui_ical::recurrence::RecurrenceRule;
use etui_ical::time::DateTime;
use etui_when::{
    describe_missing_day, parse_any_day, parse_phrase, parse_recurrence, parse_times_on,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let now = DateTime::new(2026, 11, 27, 12, 24, 0).unwrap_or(DateTime::MAX);
    if let Ok(Some(phrase)) = parse_phrase(text, now.date(), now) {
        assert!(!phrase.title.is_empty());
        if let Some(rule) = phrase.rule {
            assert_eq!(rule.to_string().parse::<RecurrenceRule>(), Ok(rule));
        }
    }
    let _ = parse_times_on(text, now.date(), now);
    let _ = parse_recurrence(text, now.date(), now);
    let _ = parse_any_day(text);
    let _ = describe_missing_day(text);
});
