//! To-dos and memos: [`Task`] to `VTODO`, [`Memo`] to `VJOURNAL`, and back.
//!
//! ```text
//! due, done       DUE;VALUE=DATE, STATUS:COMPLETED
//! priority 1 - 5  PRIORITY 1, 3, 5, 7, 9
//! title, note     SUMMARY, DESCRIPTION
//! memo            DESCRIPTION; its first line is also SUMMARY
//! ```

use etui_ical::ics::ComponentKind;
use etui_ical::time::TimeZone;
use etui_ical::{CalendarComponent, CalendarObject};

use crate::component::{ComponentLines, begin, end, note_zone, to_local};
use crate::contact::RecordContext;
use crate::lines::{push_raw, push_text};
use crate::outgoing::Outgoing;
use crate::task::{Memo, Task};

/// The priority of a to-do without one: the middle.
const NO_PRIORITY: u8 = 3;

/// Returns a to-do as a `VTODO`.
pub fn task_to_todo(task: &Task, context: RecordContext<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out, "VTODO", context);
    if let Some(due) = task.due {
        push_raw(&mut out, "DUE;VALUE=DATE", &due.to_string());
    }
    let priority = task.priority.clamp(1, 5) * 2 - 1;
    push_raw(&mut out, "PRIORITY", &priority.to_string());
    if task.is_done {
        push_raw(&mut out, "STATUS", "COMPLETED");
    }
    push_text(&mut out, "SUMMARY", &task.title);
    push_text(&mut out, "DESCRIPTION", &task.note);
    end(&mut out, "VTODO", context, &[]);
    out
}

/// Returns a memo as a `VJOURNAL`.
pub fn memo_to_journal(memo: &Memo, context: RecordContext<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out, "VJOURNAL", context);
    push_text(&mut out, "SUMMARY", memo.title());
    push_text(&mut out, "DESCRIPTION", &memo.text);
    end(&mut out, "VJOURNAL", context, &[]);
    out
}

/// Returns the to-dos of an object, with the local times of `zone`.
pub fn object_to_tasks(object: &CalendarObject, zone: &TimeZone) -> Vec<Outgoing<Task>> {
    let components = object.components().zip(object.component_texts());
    let todos = components.filter(|(component, _)| component.kind == ComponentKind::Todo);
    todos
        .map(|(component, text)| component_to_task(component, text, zone))
        .collect()
}

fn component_to_task(
    component: &CalendarComponent,
    text: &[u8],
    zone: &TimeZone,
) -> Outgoing<Task> {
    let mut outgoing = Outgoing::new(Task::default());
    let due = component.due_time();
    let due = due.as_ref();
    outgoing.record.due = due.map(|due| to_local(due, zone).date());
    if let Some(due) = due {
        note_zone(due, &mut outgoing.notes);
        if !due.is_date() {
            let local = to_local(due, zone);
            outgoing
                .notes
                .push(format!("DUE: {local} (without the time)"));
        }
    }
    let mut priority = None;
    let mut lines = ComponentLines::read(text);
    let alarms = std::mem::take(&mut lines.alarms).len();
    lines.read_into(&mut outgoing, |line, outgoing| {
        let record = &mut outgoing.record;
        match line.name.as_str() {
            "SUMMARY" if record.title.is_empty() => record.title = line.text(),
            "DESCRIPTION" if record.note.is_empty() => record.note = line.text(),
            "DUE" => {
                line.take_param("TZID");
                line.take_param("VALUE");
            }
            "STATUS" if line.value.trim().eq_ignore_ascii_case("COMPLETED") => {
                record.is_done = true;
            }
            "STATUS" if line.value.trim().eq_ignore_ascii_case("NEEDS-ACTION") => {}
            "PRIORITY" if priority.is_none() => match line.value.trim().parse() {
                Ok(0) => {}
                Ok(of_nine @ 1..=9u8) => {
                    let of_five = of_nine.div_ceil(2);
                    priority = Some(of_five);
                    if of_five * 2 - 1 != of_nine {
                        let note = format!("PRIORITY: {of_nine} of 9 (written as {of_five} of 5)");
                        outgoing.notes.push(note);
                    }
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    });
    outgoing.record.priority = priority.unwrap_or_else(|| {
        outgoing
            .notes
            .push(format!("no PRIORITY (written as {NO_PRIORITY} of 5)"));
        NO_PRIORITY
    });
    for _ in 0..alarms {
        outgoing.notes.push("VALARM".to_owned());
    }
    if component.is_override() {
        outgoing.uid = None;
    }
    outgoing
}

/// Returns the memos of the journal entries of an object.
pub fn object_to_memos(object: &CalendarObject) -> Vec<Outgoing<Memo>> {
    let components = object.components().zip(object.component_texts());
    let journals = components.filter(|(component, _)| component.kind == ComponentKind::Journal);
    journals
        .map(|(component, text)| {
            let mut outgoing = Outgoing::new(Memo::default());
            let mut title = String::new();
            ComponentLines::read(text).read_into(&mut outgoing, |line, outgoing| {
                let text = &mut outgoing.record.text;
                match line.name.as_str() {
                    "SUMMARY" if title.is_empty() => title = line.text(),
                    "DESCRIPTION" if text.is_empty() => *text = line.text(),
                    // A journal may have several (RFC 5545 section 3.6.3).
                    "DESCRIPTION" => {
                        outgoing
                            .notes
                            .push(format!("{} (written after the first)", line.excerpt()));
                        text.push('\n');
                        text.push_str(&line.text());
                    }
                    _ => return false,
                }
                true
            });
            let memo = &mut outgoing.record;
            if !title.is_empty() && memo.title() != title {
                let rest = std::mem::take(&mut memo.text);
                memo.text = match rest.is_empty() {
                    true => title,
                    false => format!("{title}\n{rest}"),
                };
            }
            if component.is_override() {
                outgoing.uid = None;
            }
            outgoing
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use etui_ical::time::Date;
    use etui_ical::zones::TimeZoneResolver;

    const CONTEXT: RecordContext<'_> = RecordContext {
        uid: "x",
        category: None,
        is_secret: false,
    };

    fn parse(text: impl Into<Vec<u8>>) -> CalendarObject {
        CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
    }

    #[test]
    fn a_task_is_a_todo_and_back() {
        for priority in 1..=5 {
            let task = Task {
                due: Date::new(2003, 3, 25),
                is_done: priority == 2,
                priority,
                title: "Pay, now".to_owned(),
                note: "twice".to_owned(),
            };
            let text = task_to_todo(&task, CONTEXT);
            let [back] = &object_to_tasks(&parse(text), &TimeZone::UTC)[..] else {
                panic!("one to-do is one task");
            };
            assert_eq!((&back.record, &back.notes[..]), (&task, &[][..]));
        }
    }

    #[test]
    fn every_property_of_a_todo_without_a_place_is_noted() {
        let found = object_to_tasks(
            &parse(
                "BEGIN:VTODO\r\nUID:1\r\nDTSTART:20030324T080000\r\nDUE;TZID=Europe/Berlin:20030325T233000\r\n\
                 SUMMARY:Pay\r\nPRIORITY:4\r\nPERCENT-COMPLETE:100\r\nCOMPLETED:20030324T100000Z\r\n\
                 STATUS:IN-PROCESS\r\nRRULE:FREQ=DAILY\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n\
                 END:VTODO\r\n",
            ),
            &TimeZone::UTC,
        );
        assert_eq!(found[0].record.due, Date::new(2003, 3, 25));
        let expected = [
            "time zone Europe/Berlin (written in local time)",
            "DUE: 20030325T223000 (without the time)",
            "DTSTART: 20030324T080000",
            "PRIORITY: 4 of 9 (written as 2 of 5)",
            "PERCENT-COMPLETE: 100",
            "COMPLETED: 20030324T100000Z",
            "STATUS: IN-PROCESS",
            "RRULE: FREQ=DAILY",
            "VALARM",
        ];
        assert_eq!(found[0].notes, expected);
    }

    #[test]
    fn a_memo_is_a_journal_entry_and_back() {
        for text in ["List\nmilk", "List", "", "\nno title", " blanks \n"] {
            let memo = Memo {
                text: text.to_owned(),
            };
            let journal = memo_to_journal(&memo, CONTEXT);
            let [back] = &object_to_memos(&parse(journal))[..] else {
                panic!("one journal entry is one memo");
            };
            assert_eq!((&back.record, &back.notes[..]), (&memo, &[][..]));
        }
        let found = object_to_memos(&parse(
            "BEGIN:VJOURNAL\r\nUID:1\r\nDTSTART:20030324T080000\r\nSUMMARY:Title\r\n\
             DESCRIPTION:Text\r\nDESCRIPTION:More\r\nEND:VJOURNAL\r\n",
        ));
        assert_eq!(found[0].record.text, "Title\nText\nMore");
        assert_eq!(
            found[0].notes,
            [
                "DTSTART: 20030324T080000",
                "DESCRIPTION: More (written after the first)"
            ]
        );
    }
}
