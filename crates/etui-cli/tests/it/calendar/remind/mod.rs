//! `etui calendar remind`, against a notification server on a private bus.

mod desktop;

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use etui::calendar::time::Timestamp;
use etui_testkit::wait::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use self::desktop::Desktop;
use crate::harness::{TestHome, session};

const ALL: &[&str] = &["actions", "body", "body-markup", "persistence"];

/// A home with an empty store.
fn with_store() -> TestHome {
    let home = TestHome::new();
    assert_eq!(home.run("etui -q init --locale en --region DE").1, Some(0));
    home
}

/// Returns a time so many seconds from now, in the form of iCalendar.
fn from_now(seconds: i64) -> String {
    let now = Timestamp::from(SystemTime::now());
    now.plus_seconds(seconds).to_string()
}

/// Returns an event that starts in ten minutes, with an alarm so many seconds from now.
fn event(uid: &str, alarm: i64, lines: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example//EN\nBEGIN:VEVENT\nUID:{uid}\n\
         SUMMARY:{uid}\nDTSTART:{}\nDURATION:PT30M\n{lines}\
         BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER;VALUE=DATE-TIME:{}\nEND:VALARM\n\
         END:VEVENT\nEND:VCALENDAR\n",
        from_now(600),
        from_now(alarm)
    )
}

fn import(home: &TestHome, options: &str, text: &str) {
    fs::write(home.path("new.ics"), text).unwrap();
    let (out, code) = home.run(&format!("etui -q import {options} new.ics"));
    assert_eq!(code, Some(0), "{out}");
}

/// A running `etui calendar remind`.
struct Reminding {
    child: Child,
    stderr: fs::File,
    noted: String,
}

impl Reminding {
    /// Starts it, without a terminal, and waits for its first note.
    fn start(home: &TestHome, desktop: &Desktop, arguments: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let path = home.path(&format!("stderr-{number}"));
        let out = fs::File::create(&path).unwrap();
        let mut command = home.command("etui");
        command
            .args(["calendar", "remind"])
            .args(arguments.split_whitespace())
            .env("DBUS_SESSION_BUS_ADDRESS", desktop.bus.address())
            .stdout(Stdio::null())
            .stderr(out);
        let mut running = Self {
            child: command.spawn().unwrap(),
            stderr: fs::File::open(path).unwrap(),
            noted: String::new(),
        };
        running.wait_note("Showing reminders; stop with Ctrl-C.");
        running
    }

    fn wait_note(&mut self, note: &str) {
        wait_until(&format!("the note {note:?}"), || {
            self.stderr.read_to_string(&mut self.noted).unwrap();
            self.noted.contains(note)
        });
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a session does, and returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Reminding {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the alarms that are remembered as shown; none before the program has made the file.
fn remembered(home: &TestHome) -> String {
    let path = home.path(".local/share/etui/personal.etui-reminders.json");
    fs::read_to_string(path).unwrap_or_default()
}

/// Waits until the remembered alarms are as they have to be, and returns them.
fn wait_remembered(home: &TestHome, is_met: impl Fn(&str) -> bool) -> String {
    wait_for("the remembered alarms", || {
        Some(remembered(home)).filter(|state| is_met(state))
    })
}

#[test]
fn an_alarm_is_one_notification() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    let running = Reminding::start(&home, &desktop, "");
    // The entry is added while it runs.
    import(&home, "", &event("Lunch <now>", 1, "LOCATION:Room & 4\n"));
    let [notified] = &desktop.wait_notified(1)[..] else {
        panic!("one");
    };
    assert_eq!(notified.app, "etui");
    assert_eq!(notified.title, "Lunch <now>");
    let clock = notified.body.split_once(" (").unwrap();
    assert!(
        ["in 9 minutes", "in 10 minutes"].contains(&clock.0),
        "{}",
        notified.body
    );
    assert!(
        notified.body.ends_with(")\nRoom &amp; 4"),
        "{}",
        notified.body
    );
    assert_eq!(notified.icon, "appointment-soon");
    assert_eq!(
        notified.actions,
        [
            "snooze-5",
            "In 5 minutes",
            "snooze-60",
            "In 1 hour",
            "dismiss",
            "Dismiss"
        ]
    );
    assert_eq!(
        notified.hints,
        [
            r#"category=Str("x-etui.calendar.reminder")"#,
            r#"sound-name=Str("alarm-clock-elapsed")"#,
            "urgency=U8(1)",
        ]
    );
    assert_eq!((notified.replaces, notified.timeout), (0, 0));
    wait_remembered(&home, |state| state.contains("Lunch"));
    assert_eq!(running.stop(), Some(0));

    // One that is started again does not show it again.
    let running = Reminding::start(&home, &desktop, "--no-sound --snooze 10");
    import(&home, "", &event("Next", 1, ""));
    let notified = desktop.wait_notified(2);
    assert_eq!(notified.len(), 2);
    assert_eq!(notified[1].title, "Next");
    assert_eq!(
        notified[1].actions,
        ["snooze-10", "In 10 minutes", "dismiss", "Dismiss"]
    );
    assert!(
        notified[1]
            .hints
            .contains(&"suppress-sound=Bool(true)".to_owned())
    );
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_plain_server_gets_plain_text_and_no_actions() {
    let (home, desktop) = (with_store(), Desktop::with_server(&["body"]));
    import(&home, "", &event("Lunch", -600, "LOCATION:Room & 4\n"));
    let _running = Reminding::start(&home, &desktop, "");
    let notified = &desktop.wait_notified(1)[0];
    assert_eq!(notified.title, "Missed: Lunch");
    assert!(
        notified
            .body
            .contains("\nRoom & 4\nThe reminder was due at "),
        "{}",
        notified.body
    );
    assert_eq!(notified.icon, "appointment-missed");
    assert!(notified.actions.is_empty());
}

#[test]
fn two_processes_show_each_alarm_once() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    let first = Reminding::start(&home, &desktop, "");
    let second = Reminding::start(&home, &desktop, "");
    for n in 0..4 {
        import(&home, "", &event(&format!("E{n}"), 1 + n / 2, ""));
    }
    desktop.wait_notified(4);
    import(&home, "", &event("Last", 1, ""));
    let mut titles: Vec<_> = desktop
        .wait_notified(5)
        .into_iter()
        .map(|n| n.title)
        .collect();
    titles.sort();
    assert_eq!(titles, ["E0", "E1", "E2", "E3", "Last"]);
    assert_eq!((first.stop(), second.stop()), (Some(0), Some(0)));
    assert_eq!(desktop.wait_notified(5).len(), 5);
}

/// A process that is killed after the server got the notification, and before it could remember
/// that: the alarm is shown again, at least once.
#[test]
fn killed_before_it_remembers_it_shows_the_alarm_again() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    let mut running = Reminding::start(&home, &desktop, "");
    desktop.kill_when_notified(running.id());
    import(&home, "", &event("Lunch", 1, ""));
    desktop.wait_notified(1);
    assert_eq!(running.child.wait().unwrap().code(), None);
    assert_eq!(remembered(&home), "");
    let running = Reminding::start(&home, &desktop, "");
    assert_eq!(desktop.wait_notified(2)[1].title, "Lunch");
    wait_remembered(&home, |state| state.contains("\"uid\":\"Lunch\""));
    assert_eq!(running.stop(), Some(0));
    import(&home, "", &event("Next", 1, ""));
    let _running = Reminding::start(&home, &desktop, "");
    assert_eq!(desktop.wait_notified(3)[2].title, "Next");
}

#[test]
fn a_snoozed_reminder_comes_again_and_a_dismissed_one_does_not() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    for uid in ["Closed", "Dismissed", "Snoozed"] {
        import(&home, "", &event(uid, -1, ""));
    }
    let running = Reminding::start(&home, &desktop, "");
    let notified = desktop.wait_notified(3);
    let id = |title: &str| notified.iter().find(|n| n.title == title).unwrap().id;
    desktop.press(id("Snoozed"), "snooze-5");
    desktop.press(id("Dismissed"), "dismiss");
    desktop.close_by_person(id("Closed"));
    // Notifications of other programs.
    desktop.press(999, "snooze-5");
    let state = wait_remembered(&home, |state| {
        state.matches("\"dismissed\":true").count() == 2 && state.contains("snoozed_until")
    });
    assert_eq!(state.matches("\"snoozed_until\"").count(), 1, "{state}");
    assert_eq!(running.stop(), Some(0));

    // The five minutes pass.
    let (before, after) = state.split_once("\"snoozed_until\":").unwrap();
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let soon = Timestamp::from(SystemTime::now()).seconds() + 1;
    let path = home.path(".local/share/etui/personal.etui-reminders.json");
    fs::write(path, format!("{before}\"snoozed_until\":{soon}{rest}")).unwrap();
    let running = Reminding::start(&home, &desktop, "");
    let notified = desktop.wait_notified(4);
    assert_eq!(notified[3].title, "Snoozed");
    assert_eq!(notified[3].icon, "appointment-soon");
    wait_remembered(&home, |state| !state.contains("snoozed_until"));
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_later_alarm_takes_the_place_of_the_earlier_and_a_removed_entry_its_notification() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    let _running = Reminding::start(&home, &desktop, "");
    let second = format!(
        "BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER;VALUE=DATE-TIME:{}\nEND:VALARM\n",
        from_now(6)
    );
    // On a busy machine the program may see the entry some seconds later, but before the second alarm.
    import(&home, "", &event("Lunch", 1, &second));
    let notified = desktop.wait_notified(2);
    assert_eq!(notified[1].replaces, notified[0].id);
    assert_eq!(home.run("etui -q calendar remove Lunch").1, Some(0));
    assert_eq!(desktop.wait_closed(), notified[0].id);
}

#[test]
fn it_waits_for_a_server_and_outlives_it() {
    let (home, mut desktop) = (with_store(), Desktop::without_server());
    import(&home, "", &event("Lunch", 0, ""));
    let mut running = Reminding::start(&home, &desktop, "");
    running.wait_note("No notification server runs; waiting for one");
    desktop.start_server(ALL);
    assert_eq!(desktop.wait_notified(1)[0].title, "Lunch");
    // A server that ends before it replies is one that has not shown it.
    wait_remembered(&home, |state| state.contains("Lunch"));
    desktop.stop_server();
    import(&home, "", &event("Next", 1, ""));
    desktop.start_server(ALL);
    assert_eq!(desktop.wait_notified(2)[1].title, "Next");
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn many_missed_alarms_are_one_list() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    for n in 10..35 {
        import(&home, "", &event(&format!("E{n}"), -600, ""));
    }
    let _running = Reminding::start(&home, &desktop, "");
    let notified = &desktop.wait_notified(1)[0];
    assert_eq!(notified.title, "25 reminders");
    assert!(notified.actions.is_empty());
    let lines: Vec<&str> = notified.body.lines().collect();
    assert_eq!(lines.len(), 21);
    assert!(lines[0].starts_with("Missed: E10, in "), "{}", lines[0]);
    assert_eq!(lines[20], "and 5 more");
}

#[test]
fn chosen_and_new_calendars_are_followed() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    assert_eq!(home.run("etui -q calendars create Work").1, Some(0));
    let work = Reminding::start(&home, &desktop, "Work");
    import(&home, "--calendar Calendar", &event("Own", 1, ""));
    import(&home, "--calendar Work", &event("Work", 2, ""));
    assert_eq!(desktop.wait_notified(1)[0].title, "Work");
    wait_remembered(&home, |state| state.contains("Work"));
    assert_eq!(work.stop(), Some(0));
    let _all = Reminding::start(&home, &desktop, "");
    assert_eq!(desktop.wait_notified(2)[1].title, "Own");
    assert_eq!(home.run("etui -q calendars create Club").1, Some(0));
    import(&home, "--calendar Club", &event("Club", 1, ""));
    assert_eq!(desktop.wait_notified(3)[2].title, "Club");
    assert_eq!(home.run("etui -q calendars remove Club --yes").1, Some(0));
    assert_eq!(desktop.wait_closed(), desktop.wait_notified(3)[2].id);
    assert_eq!(home.run("etui -q calendars restore Club").1, Some(0));
    import(&home, "--calendar Club", &event("Club again", 1, ""));
    assert_eq!(desktop.wait_notified(4)[3].title, "Club again");
}

#[test]
fn it_sleeps_until_something_is_due() {
    let (home, desktop) = (with_store(), Desktop::with_server(ALL));
    import(&home, "", &event("Lunch", -1, ""));
    import(&home, "", &event("Later", 300, ""));
    let running = Reminding::start(&home, &desktop, "");
    desktop.wait_notified(1);
    let switches = || -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", running.id())).unwrap();
        let of_task = |task: fs::DirEntry| -> u64 {
            let status = fs::read_to_string(task.path().join("status")).unwrap();
            let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
            lines
                .map(|l| l.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
                .sum()
        };
        tasks.map(|task| of_task(task.unwrap())).sum()
    };
    // Once the reply, and messages after it, are read.
    wait_until("two seconds in which it is not woken five times", || {
        let before = switches();
        std::thread::sleep(Duration::from_secs(2));
        switches() - before < 5
    });
}

/// Adds a script that replaces the times in its input. Times of another day, around midnight, have their date.
fn with_plain(home: &TestHome) {
    let script = "#!/bin/sh\nsed -E 's/[A-Z][a-z]{2} [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4}, //g; \
        s/[0-9]{2}:[0-9]{2}(:[0-9]{2})?/TIME/g; \
        s/in (9|10) minutes/in N minutes/; s/\"(at|start|end)\":\"[^\"]*\"/\"\\1\":\"TIME\"/g'\n";
    fs::write(home.path("plain"), script).unwrap();
    assert_eq!(home.run("chmod +x plain").1, Some(0));
}

#[test]
fn due_reminders_are_printed_once() {
    let home = with_store();
    import(&home, "", &event("Lunch", -1, "LOCATION:Room 4\n"));
    import(&home, "", &event("Walk", -600, ""));
    import(&home, "", &event("Later", 300, ""));
    with_plain(&home);
    session!(home, [
        "etui calendar remind --once | ./plain",
        "etui calendar remind --once",
        "rm .local/share/etui/personal.etui-reminders.json",
        "etui calendar remind --once --missed 5m | ./plain",
        "rm .local/share/etui/personal.etui-reminders.json",
        "etui calendar remind --once --json | ./plain",
        "etui calendar remind --once --json",
        "etui calendar remind --once Wrok",
        "etui calendar remind --snooze 0",
    ], @r#"
    $ etui calendar remind --once | ./plain
    TIME  Missed: Walk  in N minutes (TIME)  #2
    TIME  Lunch  in N minutes (TIME)  Room 4  #1
    $ etui calendar remind --once
    $ rm .local/share/etui/personal.etui-reminders.json
    $ etui calendar remind --once --missed 5m | ./plain
    TIME  Lunch  in N minutes (TIME)  Room 4  #1
    $ rm .local/share/etui/personal.etui-reminders.json
    $ etui calendar remind --once --json | ./plain
    {"calendar":"Calendar","id":2,"uid":"Walk","kind":"event","at":"TIME","start":"TIME","end":null,"title":"Walk","place":"","when":"in N minutes (TIME)","missed":true}
    {"calendar":"Calendar","id":1,"uid":"Lunch","kind":"event","at":"TIME","start":"TIME","end":null,"title":"Lunch","place":"Room 4","when":"in N minutes (TIME)","missed":false}
    $ etui calendar remind --once --json
    $ etui calendar remind --once Wrok
    error: there is no calendar named "Wrok" (there are: Calendar)
    [exit 4]
    $ etui calendar remind --snooze 0
    error: invalid value '0' for '--snooze <MINUTES>': 0 is not in 1..=10080

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn without_a_bus_it_prints_on_a_terminal() {
    let home = with_store();
    with_plain(&home);
    import(&home, "", &event("Lunch", -1, ""));
    let terminal = "\
        script -qec 'echo $$ > pid; exec etui --color never calendar remind' /dev/null </dev/null >shown &\n\
        wait_until grep Lunch shown\n\
        kill -INT $(cat pid); wait; tr -d '\\r' < shown\n";
    fs::write(home.path("terminal"), terminal).unwrap();
    session!(home, [
        "export DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere; etui calendar remind",
        "export DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere; . ./terminal | ./plain",
    ], @r"
    $ export DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere; etui calendar remind
    error: no notifications without a session bus: failed to connect to `unix:path=/nowhere`: No such file or directory (os error 2); --print prints the reminders
    [exit 1]
    $ export DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere; . ./terminal | ./plain
    No session bus (failed to connect to `unix:path=/nowhere`: No such file or directory (os error 2)); reminders are printed here
    Showing reminders; stop with Ctrl-C.
    TIME  Lunch  in N minutes (TIME)  #1
    ");
}

#[test]
fn the_unit_of_systemd_runs_it() {
    let unit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../dist/etui-remind.service"
    );
    let text = fs::read_to_string(unit).unwrap();
    let exec = text
        .lines()
        .find_map(|l| l.strip_prefix("ExecStart=/usr/bin/"));
    let home = TestHome::new();
    let (out, code) = home.run(&format!("{} --help", exec.unwrap()));
    assert_eq!(code, Some(0), "{out}");
    // The program it names is not installed here.
    let check = text.replace("/usr/bin/etui-session", "/bin/true");
    fs::write(home.path("etui-remind.service"), check).unwrap();
    let (out, code) = home.run(
        "if command -v systemd-analyze >/dev/null; then \
         XDG_RUNTIME_DIR=$PWD/tmp systemd-analyze --user verify --man=no ./etui-remind.service; fi",
    );
    assert_eq!((out.as_str(), code), ("", Some(0)));
}
