//! Any components of one UID as messages of RFC 5546, parted by empty lines, in both orders: none of them makes the
//! stored entry unreadable.

#![no_main]

use etui_ical::zones::TimeZoneResolver;
use etui_ical::{CalendarObject, FloatingZone, Method};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let zones = TimeZoneResolver::new();
    let messages: Vec<(CalendarObject, Method)> = text
        .split("\n\n")
        .take(8)
        .filter_map(|part| {
            let method = Method::of_object(part.as_bytes());
            let start = part.find("BEGIN:V").unwrap_or(0);
            let head = part.get(..start).unwrap_or_default();
            let mut body = part.get(start..)?.as_bytes().to_vec();
            if let Some(zone) = FloatingZone::of_object(head.as_bytes(), &zones) {
                body = zone.apply(&body, &zones).unwrap_or(body);
            }
            let mut object = CalendarObject::parse(body, &zones).ok()?;
            object.apply_method(method);
            Some((object, method))
        })
        .collect();
    let orders: [Vec<_>; 2] = [messages.clone(), messages.into_iter().rev().collect()];
    for order in orders {
        let mut order = order.into_iter();
        let Some((mut stored, _)) = order.next() else {
            return;
        };
        for (message, method) in order {
            let _ = stored.receive(message, method, true);
            let again = CalendarObject::parse(stored.text().to_vec(), &zones);
            assert!(again.is_ok(), "{}", String::from_utf8_lossy(stored.text()));
        }
    }
});
