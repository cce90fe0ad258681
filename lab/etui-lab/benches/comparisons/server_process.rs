//! [`ServerProcess`]: a server that runs beside this process.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::processes::{ProcessCpu, peak_memory};
use etui_lab::Error;

/// A server as a child of this process. It ends with it.
#[derive(Debug)]
pub struct ServerProcess {
    child: Option<Child>,
    /// Of servers that ended.
    ended: ProcessCpu,
}

impl ServerProcess {
    /// None that runs.
    pub fn none() -> Self {
        Self {
            child: None,
            ended: ProcessCpu::default(),
        }
    }

    /// Starts a program; its output goes to a file.
    pub fn start(&mut self, command: &mut Command, log: &Path) -> Result<(), Error> {
        let output = File::create(log).map_err(|e| Error::file(log, e))?;
        let errors = output.try_clone().map_err(|e| Error::file(log, e))?;
        let started = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn();
        let program = Path::new(command.get_program());
        self.child = Some(started.map_err(|e| Error::file(program, e))?);
        Ok(())
    }

    /// Returns its id, if it was started.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns true if it runs.
    pub fn is_running(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Asks it to end, and waits until it has.
    pub fn stop(&mut self) -> Result<(), Error> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        let before = ProcessCpu::of_children();
        if let Some(pid) = i32::try_from(child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            // One that has ended already is waited for.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let ended = wait_until("a server that ends", || {
            child.try_wait().map_err(|e| Error::file("wait", e))
        });
        if ended.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.ended = self.ended.plus(ProcessCpu::of_children().minus(before));
        ended.map(|_| ())
    }

    /// Returns its processor time, with that of servers before it.
    pub fn processor_time(&self) -> Result<Duration, Error> {
        let running = match &self.child {
            Some(child) => ProcessCpu::of(child.id())?,
            None => ProcessCpu::default(),
        };
        Ok(self.ended.plus(running).time())
    }

    /// Returns the peak of its resident memory in bytes.
    pub fn peak_memory(&self) -> Result<Option<u64>, Error> {
        let child = self.child.as_ref();
        child.map(|child| peak_memory(child.id())).transpose()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// No server may take longer for one thing.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
const BETWEEN: Duration = Duration::from_millis(10);

/// Asks until there is an answer.
pub fn wait_until<T>(
    what: &str,
    mut ask: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if begun.elapsed() > TIMEOUT {
            let seconds = TIMEOUT.as_secs();
            return Err(Error::other(format!("waited {seconds} s for {what}")));
        }
        std::thread::sleep(BETWEEN);
    }
}

pub fn bytes_below(dir: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).map_err(|e| Error::file(dir, e))? {
        let entry = entry.map_err(|e| Error::file(dir, e))?;
        let path = entry.path();
        let metadata = path.symlink_metadata().map_err(|e| Error::file(&path, e))?;
        bytes += match metadata.is_dir() {
            true => bytes_below(&path)?,
            false if metadata.is_file() => metadata.len(),
            false => 0,
        };
    }
    Ok(bytes)
}
