//! The lines that `strace -f -y` writes, one call each: [`TracedCall`].
//!
//! ```text
//! 2268  pwrite64(3</home/ann/t.db>, "\r\0\0"..., 4096, 16384) = 4096
//! 2268  fdatasync(5</home/ann/t.db-journal> <unfinished ...>
//! 2484  openat(AT_FDCWD</home/ann>, "t.db", O_RDONLY|O_CLOEXEC) = 6</home/ann/t.db>
//! 2268  <... fdatasync resumed>)          = 0
//! ```

use std::collections::BTreeMap;

/// A call that has returned, or never will.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedCall {
    /// The id of the thread that made it.
    pub thread: String,
    /// Its name, e.g. `pwrite64`.
    pub name: String,
    /// The arguments, verbatim.
    pub arguments: String,
    /// The return value, if it is a number: -1 for an error.
    pub result: Option<i64>,
}

/// The calls in the order in which they began.
pub fn parse_calls(text: &str) -> Vec<TracedCall> {
    let mut calls: Vec<TracedCall> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        let Some((process, rest)) = line.trim_start().split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix("<... ") {
            let begun = open.remove(process).and_then(|at| calls.get_mut(at));
            if let (Some(call), Some((_, rest))) = (begun, rest.split_once(" resumed>")) {
                let (arguments, result) = arguments_and_result(rest);
                call.arguments.push_str(arguments);
                call.result = result;
            }
            continue;
        }
        let Some((name, rest)) = rest.split_once('(') else {
            continue;
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            continue;
        }
        let (arguments, result) = match rest.strip_suffix("<unfinished ...>") {
            Some(arguments) => {
                open.insert(process, calls.len());
                (arguments.trim_end(), None)
            }
            None => arguments_and_result(rest),
        };
        calls.push(TracedCall {
            thread: process.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            result,
        });
    }
    calls
}

/// `..., 4096, 16384) = 4096`: the bracket that closes is the last one before ` = `.
fn arguments_and_result(rest: &str) -> (&str, Option<i64>) {
    let Some((before, result)) = rest.rsplit_once(" = ") else {
        return (rest, None);
    };
    let arguments = before.trim_end();
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let digits = result
        .split(|c: char| c != '-' && !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    (arguments, digits.parse().ok())
}

impl TracedCall {
    /// Returns the file: that of the descriptor in the first argument, or the path
    /// beside or in place of it. A path that is relative to a directory is joined to it.
    pub fn file(&self) -> Option<String> {
        let described = describe_call(&self.arguments);
        let quoted = self
            .arguments
            .split_once('"')
            .and_then(|(before, rest)| {
                let beside = before.is_empty() || (described.is_some() && before.ends_with(">, "));
                beside.then(|| rest.split_once('"').map(|(path, _)| path))
            })
            .flatten()
            .filter(|path| !path.is_empty() && takes_path(&self.name));
        match (described, quoted) {
            (_, Some(path)) if path.starts_with('/') => Some(path.to_owned()),
            (Some(dir), Some(path)) => Some(format!("{dir}/{path}")),
            (None, Some(path)) => Some(path.to_owned()),
            (described, None) => described.map(str::to_owned),
        }
    }

    /// Returns the written text as far as traced, with its escapes.
    pub fn text(&self) -> Option<&str> {
        let (_, rest) = self.arguments.split_once('"')?;
        Some(rest.rsplit_once('"')?.0)
    }
}

/// Whether a text among the first arguments is a path; else it is data.
fn takes_path(name: &str) -> bool {
    !matches!(
        name,
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64"
    ) && !name.starts_with("writev")
        && !name.starts_with("pwritev")
}

/// `3</home/ann/t.db>, ...` or `AT_FDCWD</home/ann>, ...`.
fn describe_call(arguments: &str) -> Option<&str> {
    let (number, rest) = arguments.split_once('<')?;
    let descriptor = number == "AT_FDCWD"
        || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let end = rest
        .find(">,")
        .or_else(|| rest.find(">("))
        .or_else(|| rest.ends_with('>').then(|| rest.len() - 1))?;
    descriptor.then(|| rest.get(..end)).flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn one(line: &str) -> TracedCall {
        let mut calls = parse_calls(line);
        assert_eq!(calls.len(), 1, "{line}");
        calls.pop().unwrap()
    }

    #[test]
    fn whole_lines() {
        let call = one(
            r#"2268  pwrite64(5</tmp/d/t.db-journal>, "\r\0) = 1, \"x>, \325"..., 4096, 516) = 4096"#,
        );
        assert_eq!(call.name, "pwrite64");
        assert_eq!(call.file().unwrap(), "/tmp/d/t.db-journal");
        assert_eq!(call.result, Some(4096));

        let call = one(
            r#"2268  openat(AT_FDCWD</tmp>, "/tmp/d/t.db-journal", O_RDWR|O_CREAT|O_NOFOLLOW|O_CLOEXEC, 0644) = 5</tmp/d/t.db-journal>"#,
        );
        assert_eq!(call.file().unwrap(), "/tmp/d/t.db-journal");
        assert_eq!(call.result, Some(5));

        let call = one(
            r#"2268  newfstatat(AT_FDCWD</tmp>, "d/t.db-wal", 0x7ffeefb04d60, 0) = -1 ENOENT (No such file or directory)"#,
        );
        assert_eq!(call.file().unwrap(), "/tmp/d/t.db-wal");
        assert_eq!(call.result, Some(-1));

        let call = one(
            r#"2268  newfstatat(3</tmp/d/t.db>, "", {st_mode=S_IFREG|0644, st_size=20480, ...}, AT_EMPTY_PATH) = 0"#,
        );
        assert_eq!(call.file().unwrap(), "/tmp/d/t.db");

        let call = one(r#"2268  unlink("/tmp/d/t.db-journal") = 0"#);
        assert_eq!(call.file().unwrap(), "/tmp/d/t.db-journal");
        let call = one("2268  fdatasync(7</tmp/d>)          = 0");
        assert_eq!(call.file().unwrap(), "/tmp/d");
        let call = one(r"2268  fdatasync(7</tmp/d/x>(deleted)) = 0");
        assert_eq!(call.file().unwrap(), "/tmp/d/x");
        let call = one(r#"2268  write(4</dev/null>, "etui-lab begin save\n", 20) = 20"#);
        assert_eq!(call.file().unwrap(), "/dev/null");
        assert_eq!(call.text().unwrap(), r"etui-lab begin save\n");
    }

    #[test]
    fn calls_of_two_threads_at_once() {
        let found = parse_calls(concat!(
            "2534  pread64(7</tmp/d/t.db>,  <unfinished ...>\n",
            "2489  fcntl(5</tmp/d/t.db-shm>, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=124, l_len=1} <unfinished ...>\n",
            "2534  <... pread64 resumed>\"SQLite format 3\\0\\20\"..., 100, 0) = 100\n",
            "2489  <... fcntl resumed>)              = 0\n",
            "2534  exit(0 <unfinished ...>\n",
            "2534  <... exit resumed>)               = ?\n",
            "2534  fdatasync(7</tmp/d/t.db> <unfinished ...>\n",
        ));
        let names: Vec<(&str, Option<i64>)> =
            found.iter().map(|c| (c.name.as_str(), c.result)).collect();
        assert_eq!(
            names,
            [
                ("pread64", Some(100)),
                ("fcntl", Some(0)),
                ("exit", None),
                ("fdatasync", None)
            ]
        );
        assert_eq!(found[0].file().unwrap(), "/tmp/d/t.db");
        assert_eq!(found[1].file().unwrap(), "/tmp/d/t.db-shm");
        assert_eq!(found[3].file().unwrap(), "/tmp/d/t.db");
    }

    #[test]
    fn what_is_no_call_is_passed_over() {
        for line in [
            "",
            "2268",
            "2268  +++ exited with 0 +++",
            "2268  --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---",
            "2268  <... read resumed>",
            "2268  ???( <unfinished ...>",
        ] {
            assert_eq!(parse_calls(line), [], "{line}");
        }
        assert_eq!(one("1 getpid() = 1").file(), None);
        assert_eq!(one("1 mmap(NULL, 4096, PROT_READ) = 0x7f").file(), None);
        assert_eq!(one("1 odd(").result, None);
    }
}
