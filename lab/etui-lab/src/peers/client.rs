//! [`CommandClient`]: commands to a client program of a peer and its answers. The programs list
//! them: `contacts.c` and `calendar.c` of Evolution Data Server, `contacts.cpp` of Akonadi.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;

use super::shorten_line;
use crate::error::Error;
use crate::machine::command_line;

/// How long one command may take before the server counts as hung.
const PATIENCE: Duration = Duration::from_secs(180);

/// Time and result of a command.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct TimedAnswer {
    /// Each call's time, nanoseconds.
    #[serde(default)]
    pub ns: Vec<f64>,
    /// How many records.
    #[serde(default)]
    pub count: u64,
    /// [`digest_names`] over their UIDs and names or titles; empty if none was made.
    #[serde(default)]
    pub digest: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ClientReply {
    Error { error: String },
    TimedAnswer(TimedAnswer),
}

/// FNV-1a (64 bits) over the lines "UID, tab, name, newline", sorted, as
/// `common.c` has it.
pub fn digest_names<'a>(contacts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut lines: Vec<String> = contacts
        .into_iter()
        .map(|(uid, name)| format!("{uid}\t{name}\n"))
        .collect();
    lines.sort_unstable();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in lines.iter().flat_map(|line| line.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// A running client program; it ends when this is dropped.
#[derive(Debug)]
pub struct CommandClient {
    child: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl CommandClient {
    /// Starts the program.
    pub fn start(mut command: Command) -> Result<Self, Error> {
        let line = command_line(&command);
        let failed = |message: &str| Error::Command {
            command: line.clone(),
            message: message.to_owned(),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed(&e.to_string()))?;
        let commands = child.stdin.take();
        let out = child
            .stdout
            .take()
            .ok_or_else(|| failed("it has no output"))?;
        let (sender, answers) = channel();
        // Ends with the client's output.
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            commands,
            answers,
        })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives a command and waits for its answer.
    pub fn ask(&mut self, words: &[&str]) -> Result<TimedAnswer, Error> {
        let failed = |message: String| Error::Command {
            command: format!("client: {}", shorten_line(&words.join(" "))),
            message,
        };
        let mut line = words.join("\t");
        line.push('\n');
        self.commands
            .as_mut()
            .ok_or_else(|| failed("it is gone".to_owned()))?
            .write_all(line.as_bytes())
            .map_err(|e| failed(e.to_string()))?;
        let said = self.answers.recv_timeout(PATIENCE).map_err(|e| {
            failed(match e {
                RecvTimeoutError::Timeout => {
                    format!("no answer within {} s", PATIENCE.as_secs())
                }
                RecvTimeoutError::Disconnected => {
                    "it ended; session.log in the run's directory may say why".to_owned()
                }
            })
        })?;
        match serde_json::from_str(&said) {
            Ok(ClientReply::TimedAnswer(answer)) => Ok(answer),
            Ok(ClientReply::Error { error }) => Err(failed(error)),
            Err(e) => Err(failed(format!("not understood: {e}"))),
        }
    }

    /// Gives a command about records by their UIDs, `times` times over.
    pub fn ask_for_uids(
        &mut self,
        command: &str,
        times: u64,
        uids: &[String],
    ) -> Result<TimedAnswer, Error> {
        let times = times.to_string();
        let uids = uids.iter().map(String::as_str);
        let words: Vec<&str> = [command, &times].into_iter().chain(uids).collect();
        self.ask(&words)
    }

    /// Reads a file of records, to be saved from; their number.
    pub fn load(&mut self, file: &Path) -> Result<u64, Error> {
        // The client may run in another directory.
        let file = std::path::absolute(file).map_err(|e| Error::file(file, e))?;
        Ok(self.ask(&["load", &file.to_string_lossy()])?.count)
    }

    /// Saves some of the loaded records at once.
    pub fn batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        self.ask(&["batch", &from.to_string(), &count.to_string()])
    }
}

impl Drop for CommandClient {
    fn drop(&mut self) {
        // It ends when its input does; killed, in case it hangs in a call.
        drop(self.commands.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_fnv_1a_and_knows_no_order() {
        assert_eq!(digest_names([]), "cbf29ce484222325");
        assert_eq!(
            digest_names([("b", "Bo"), ("a", "Ada")]),
            digest_names([("a", "Ada"), ("b", "Bo")])
        );
        assert_ne!(digest_names([("a", "Ada")]), digest_names([("a", "Bo")]));
    }
}
