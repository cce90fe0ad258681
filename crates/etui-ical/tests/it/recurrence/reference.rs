//! 10,000 random rules give the occurrences of python-dateutil, libical and Python, as recorded by
//! `scripts/recurrence-reference`: from the start, and far from it.

use etui_ical::recurrence::{CompiledRule, RecurrenceRule};
use etui_ical::time::{DateTime, DateTimeValue, TimeZone, Timestamp};

use super::support::{at, series};

fn time(text: &str) -> DateTime {
    text.parse::<DateTimeValue>().expect(text).local()
}

/// Number and sum, as the script makes them, of the occurrences from `from` to before `to`.
fn sums(compiled: &CompiledRule, from: &str, to: &str) -> (usize, u32) {
    let (from, to) = (time(from), time(to));
    let mut found = (0, 0x811c_9dc5_u32);
    for occurrence in compiled.occurrences(from, to.plus_seconds(-1)) {
        found.0 += 1;
        for byte in format!("{occurrence}\n").bytes() {
            found.1 = (found.1 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    found
}

#[test]
fn ten_thousand_rules_agree() {
    let (mut lines, mut occurrences, mut failed) = (0, 0, Vec::new());
    for line in include_str!("../data/recurrence-reference.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[
            _,
            start,
            rule,
            end,
            number,
            sum,
            from,
            to,
            far_number,
            far_sum,
        ] = fields.as_slice()
        else {
            panic!("{line}");
        };
        lines += 1;
        let parsed: RecurrenceRule = rule.parse().expect(rule);
        let compiled = CompiledRule::new(&parsed, time(start), false);
        for (from, to, number, sum) in [(start, end, number, sum), (from, to, far_number, far_sum)]
        {
            let (n, s) = sums(&compiled, from, to);
            occurrences += n;
            if (n.to_string().as_str(), format!("{s:08x}").as_str()) != (number, sum) {
                failed.push(format!("{line}\n    {from}: {n} instead of {number}"));
            }
        }
    }
    println!("{lines} rules, {occurrences} occurrences");
    assert!(
        failed.is_empty(),
        "{} differ:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert_eq!(lines, 10_000);
}

/// The same in zones whose clocks change, as instants.
#[test]
fn a_thousand_rules_in_zones_agree() {
    let (mut lines, mut instants, mut failed) = (0, 0, Vec::new());
    for line in include_str!("../data/recurrence-zones.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[zone, start, rule, end, number, sum] = fields.as_slice() else {
            panic!("{line}");
        };
        lines += 1;
        let series = series(&[&format!("DTSTART;TZID={zone}:{start}\nRRULE:{rule}")]);
        let (mut n, mut s, mut last) = (0, 0x811c_9dc5_u32, Timestamp::MIN);
        for instance in series.between(Timestamp::MIN..at(end), &TimeZone::UTC) {
            let start = instance.during.start;
            assert!(start > last, "{line}: {start} behind {last}");
            last = start;
            n += 1;
            for byte in format!("{start}\n").bytes() {
                s = (s ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        }
        instants += n;
        if (n.to_string().as_str(), format!("{s:08x}").as_str()) != (number, sum) {
            failed.push(format!("{line}: {n} instead of {number}"));
        }
    }
    println!("{lines} rules, {instants} instants");
    assert!(
        failed.is_empty(),
        "{} differ:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert_eq!(lines, 1_000);
}
