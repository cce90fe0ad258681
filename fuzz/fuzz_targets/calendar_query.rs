//! Any text as a calendar query of Evolution Data Server: an error, or an answer for an event.

#![no_main]

use std::sync::LazyLock;

use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;
use etui_eds::calendar::count_matches;
use libfuzzer_sys::fuzz_target;

static EVENT: LazyLock<Option<CalendarObject>> = LazyLock::new(|| {
    let text = "BEGIN:VEVENT\r\nUID:u\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:20261123T100000Z\r\n\
                RRULE:FREQ=DAILY;COUNT=5\r\nSUMMARY:Größe\r\nEND:VEVENT\r\n";
    CalendarObject::parse(text, &TimeZoneResolver::new()).ok()
});

fuzz_target!(|text: &str| {
    if let Some(event) = &*EVENT
        && let Err(error) = count_matches(text, event, &TimeZoneResolver::new())
    {
        assert!(!error.message().is_empty());
    }
});
