//! Imports by descriptor.

use std::io::{Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use etui_testkit::wait::wait_until;
use zbus::OwnedObjectPath;

use super::support::*;

type Report = (u64, u64, u64, u64, u64, u64, String);

fn import(client: &Client, collection: &str, file: OwnedFd) -> String {
    let file = zbus::OwnedFd::from(file);
    let job: OwnedObjectPath = client
        .call(collection, COLLECTION, "Import", &(file, none()))
        .unwrap();
    job.to_string()
}

fn state(client: &Client, job: &str) -> String {
    client.property(job, JOB, "State")
}

#[test]
fn a_file_is_imported_and_refusals_are_listed() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let mut file = tempfile::tempfile().unwrap();
    for text in cards(20, "") {
        file.write_all(text.as_bytes()).unwrap();
    }
    file.write_all(b"BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n")
        .unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let job = import(&client, &book, file.into());
    wait_until("the import ends", || state(&client, &job) != "running");
    assert_eq!(state(&client, &job), "finished");
    let report: Report = client.call(&job, JOB, "Report", &()).unwrap();
    assert_eq!(
        (report.0, report.1, report.3, report.6.as_str()),
        (20, 0, 1, "")
    );
    let refusals: Vec<(u64, u64, String, String)> =
        client.call(&job, JOB, "Refusals", &()).unwrap();
    assert_eq!(refusals[0].0, 101, "{refusals:?}");
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 20);
    client.call::<_, ()>(&job, JOB, "Close", &()).unwrap();
    assert!(client.call::<_, Report>(&job, JOB, "Report", &()).is_err());

    let calendar = client.collection("calendar");
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(
        b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:e\r\nDTSTAMP:20260101T000000Z\r\n\
          DTSTART:20260102T100000Z\r\nSUMMARY:Fair\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    )
    .unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let job = import(&client, &calendar, file.into());
    wait_until("the import ends", || state(&client, &job) == "finished");
    assert_eq!(client.property::<u64>(&calendar, COLLECTION, "Count"), 1);
}

#[test]
fn a_silent_pipe_is_cancelled_and_jobs_are_bounded() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let mut writers = Vec::new();
    let mut jobs = Vec::new();
    for _ in 0..4 {
        let (reader, writer) = std::io::pipe().unwrap();
        writers.push(writer);
        jobs.push(import(&client, &book, reader.into()));
    }
    let (reader, _writer) = std::io::pipe().unwrap();
    let file = zbus::OwnedFd::from(OwnedFd::from(reader));
    let fifth = client.call::<_, OwnedObjectPath>(&book, COLLECTION, "Import", &(file, none()));
    assert_eq!(fifth.unwrap_err().name, "Busy");
    client.call::<_, ()>(&jobs[0], JOB, "Cancel", &()).unwrap();
    wait_until("it is cancelled", || {
        state(&client, &jobs[0]) == "cancelled"
    });
    // The others end with their pipes.
    drop(writers);
    for job in &jobs[1..] {
        wait_until("an import ends", || state(&client, job) == "finished");
    }
}
