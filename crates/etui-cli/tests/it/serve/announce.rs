//! `etui serve --announce`. A program that records how it was started is in the place of Avahi's, which needs a daemon
//! and the system's bus.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use etui_testkit::wait::wait_until;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::harness::TestHome;

/// Writes its arguments to a file of its process number, and stays.
const PROGRAM: &str = "#!/bin/sh
[ \"$1\" = --version ] && exit
echo \"$@\" >tmp/$$.part && mv tmp/$$.part tmp/$$.announced
exec sleep 100000
";

/// A server that announces itself, and the processes that announce it.
fn start(home: &TestHome) -> (Child, Vec<(Pid, String)>) {
    std::fs::create_dir(home.path("bin")).unwrap();
    let program = home.path("bin/avahi-publish-service");
    std::fs::write(&program, PROGRAM).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}:/usr/bin:/bin",
        home.path("bin").display(),
        crate::harness::bin().display()
    );
    let mut server = home
        .command("etui-serve")
        .env("PATH", path)
        .args(["--tls", "--listen", "0.0.0.0:0", "--announce"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let announced = || {
        let files = std::fs::read_dir(home.path("tmp"))
            .unwrap()
            .map(|file| file.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|end| end == "announced"));
        files
            .map(|file| {
                let number = file.file_stem().unwrap().to_str().unwrap().parse().unwrap();
                (
                    Pid::from_raw(number).unwrap(),
                    std::fs::read_to_string(file).unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let mut first = String::new();
    // The others lines are read, too: a closed pipe would end the server.
    let mut output = BufReader::new(server.stdout.take().unwrap());
    output.read_line(&mut first).unwrap();
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    let port = first
        .trim_end()
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap()
        .to_owned();
    wait_until("both services", || announced().len() == 2);
    let mut all = announced();
    all.sort_by(|a, b| a.1.cmp(&b.1));
    for ((_, words), service) in all.iter().zip(["_caldavs._tcp", "_carddavs._tcp"]) {
        assert!(
            words.ends_with(&format!(" {service} {port} path=/dav/\n")),
            "{words}"
        );
        assert!(words.starts_with("--no-fail etui"), "{words}");
    }
    (server, all)
}

#[test]
fn the_announcement_ends_with_the_server_however_that_ends() {
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let home = TestHome::new();
        let (mut server, announced) = start(&home);
        kill_process(Pid::from_child(&server), signal).unwrap();
        server.wait().unwrap();
        for (process, _) in announced {
            wait_until("the end of the announcement", || {
                test_kill_process(process).is_err()
            });
        }
    }
}

#[test]
fn what_is_in_the_way_is_a_note() {
    let home = TestHome::new();
    // Nobody else can reach it; the program is not installed.
    for (listen, note) in [
        (
            &["--listen", "0"][..],
            "only programs on this machine can reach the server",
        ),
        (&["--tls", "--listen", "0.0.0.0:0"], "install avahi-utils"),
    ] {
        let mut server = home
            .command("etui-serve")
            .env("PATH", crate::harness::bin())
            .arg("--announce")
            .args(listen)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut notes = lines.map(Result::unwrap);
        let found = notes.find(|line| line.starts_with("Not announced: "));
        assert!(
            found.as_ref().is_some_and(|found| found.contains(note)),
            "{found:?}"
        );
        kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
        // It serves all the same, until it is asked to stop.
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }
    let (text, code) = home.run("etui serve --announce --behind-proxy --listen 0");
    assert!(
        code == Some(2) && text.contains("cannot be used with"),
        "{text}"
    );
}
