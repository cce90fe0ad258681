#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::Store;
use crate::calendar::zones::TimeZoneResolver;

/// Whoever asked for many alarms leaves no more in memory than who asked for few.
#[test]
fn what_is_kept_of_series_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    for n in 0..10 {
        let text = format!(
            "BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART:20250101T09000{n}Z\r\nRRULE:FREQ=DAILY\r\n\
             BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
        );
        let record = CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
        calendar.save(&record).unwrap();
    }
    let at = |days: i64| Timestamp::from_seconds(1_750_000_000 + days * 86_400);
    let ask = |store: &Store, days, limit| {
        let calendar = store.calendar().unwrap();
        calendar.alarms(at(days), limit, &TimeZone::UTC).unwrap()
    };
    let kept = || {
        let all = store.alarms_ahead.0.lock().unwrap();
        all.iter().map(Ahead::held).collect::<Vec<_>>()
    };
    for (days, limit, most) in [
        (0, 3, 20),
        (1, 20_000, 20),
        (2, 300, 2_400),
        (3, 15_000, 20),
        (40, 25, 240),
    ] {
        let told = ask(&store, days, limit);
        assert_eq!(told.len(), limit);
        assert_eq!(ask(&Store::open(&path).unwrap(), days, limit), told);
        let kept = kept();
        assert!(matches!(kept[..], [n] if n <= most), "{kept:?} {days}");
    }
}
