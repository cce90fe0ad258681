//! [`Desktop`]: a private bus with a notification server that records its calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use etui_testkit::bus::PrivateBus;
use etui_testkit::wait::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use zbus::connection::Builder;
use zbus::{Connection, OwnedVariant, block_on, interface};

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// A call of `Notify`.
#[derive(Debug, Clone)]
pub struct Notified {
    pub id: u32,
    pub app: String,
    pub replaces: u32,
    pub icon: String,
    pub title: String,
    pub body: String,
    pub actions: Vec<String>,
    /// The hints, each as `name=value`, in order.
    pub hints: Vec<String>,
    pub timeout: i32,
}

#[derive(Debug, Default)]
struct Calls {
    notified: Vec<Notified>,
    closed: Vec<u32>,
    /// The process that is killed before it gets the reply to `Notify`.
    victim: Option<u32>,
}

/// The calls.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Calls>>);

impl Recorder {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Calls) -> T) -> T {
        change(&mut self.calls())
    }
}

struct Server {
    recorder: Recorder,
    capabilities: Vec<String>,
}

#[interface(name = "org.freedesktop.Notifications")]
impl Server {
    fn get_capabilities(&self) -> Vec<String> {
        self.capabilities.clone()
    }

    #[allow(clippy::too_many_arguments)]
    fn notify(
        &self,
        app: String,
        replaces: u32,
        icon: String,
        title: String,
        body: String,
        actions: Vec<String>,
        hints: HashMap<String, OwnedVariant>,
        timeout: i32,
    ) -> u32 {
        let mut hints: Vec<String> = hints
            .iter()
            .map(|(name, value)| format!("{name}={:?}", **value))
            .collect();
        hints.sort();
        self.recorder.change(|calls| {
            let new = u32::try_from(calls.notified.len()).unwrap() + 7;
            let id = if replaces == 0 { new } else { replaces };
            calls.notified.push(Notified {
                id,
                app,
                replaces,
                icon,
                title,
                body,
                actions,
                hints,
                timeout,
            });
            if let Some(victim) = calls.victim.take() {
                let victim = Pid::from_raw(i32::try_from(victim).unwrap()).unwrap();
                kill_process(victim, Signal::KILL).unwrap();
            }
            id
        })
    }

    fn close_notification(&self, id: u32) {
        self.recorder.change(|calls| calls.closed.push(id));
    }
}

/// A session with a notification server.
pub struct Desktop {
    pub bus: PrivateBus,
    server: Option<Connection>,
    recorder: Recorder,
}

impl Desktop {
    /// A session without a server.
    pub fn without_server() -> Self {
        Self {
            bus: PrivateBus::start().unwrap(),
            server: None,
            recorder: Recorder::default(),
        }
    }

    /// A session whose server has these capabilities.
    pub fn with_server(capabilities: &[&str]) -> Self {
        let mut desktop = Self::without_server();
        desktop.start_server(capabilities);
        desktop
    }

    pub fn start_server(&mut self, capabilities: &[&str]) {
        let server = Server {
            recorder: self.recorder.clone(),
            capabilities: capabilities.iter().map(|c| (*c).to_owned()).collect(),
        };
        let builder = Builder::address(self.bus.address()).serve_at(PATH, server);
        self.server = Some(block_on(builder.name(NAME).build()).unwrap());
    }

    pub fn stop_server(&mut self) {
        block_on(self.server.take().unwrap().close()).unwrap();
    }

    /// Has the process killed when it next notifies, before it gets the reply.
    pub fn kill_when_notified(&self, process: u32) {
        self.recorder.change(|calls| calls.victim = Some(process));
    }

    /// Waits until there are `count` notifications, and returns all.
    pub fn wait_notified(&self, count: usize) -> Vec<Notified> {
        wait_until(&format!("{count} notifications"), || {
            self.recorder.calls().notified.len() >= count
        });
        self.recorder.calls().notified.clone()
    }

    /// Waits until a notification is closed by the program.
    pub fn wait_closed(&self) -> u32 {
        wait_for("a closed notification", || {
            self.recorder.calls().closed.first().copied()
        })
    }

    /// Presses a button of a notification.
    pub fn press(&self, id: u32, action: &str) {
        self.emit("ActionInvoked", &(id, action));
        self.emit("NotificationClosed", &(id, 2u32));
    }

    /// Closes a notification as a person does.
    pub fn close_by_person(&self, id: u32) {
        self.emit("NotificationClosed", &(id, 2u32));
    }

    fn emit<B: serde::Serialize + zbus::DynamicType>(&self, signal: &str, body: &B) {
        let server = self.server.as_ref().unwrap();
        let none = None::<zbus::names::BusName<'_>>;
        block_on(server.emit_signal(none, PATH, NAME, signal, body)).unwrap();
    }
}
