//! [`NotificationServer`]: the notification server of the desktop, over D-Bus (Desktop Notifications
//! Specification 1.3, `org.freedesktop.Notifications`).

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_lite::{StreamExt, future};
use zbus::fdo::{DBusProxy, NameOwnerChangedStream};
use zbus::message::Type;
use zbus::names::BusName;
use zbus::{Connection, MatchRule, MessageStream, Variant, proxy};

use super::words::ReminderText;

const NAME: &str = "org.freedesktop.Notifications";

/// Time after which a call is given up. A server that is started by its first call takes seconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Signals that are held while a call waits for its reply. They are of all programs' notifications.
const MAX_QUEUED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1_023);

/// The action that closes a notification.
const DISMISS: &str = "dismiss";
/// The actions that show it again: this prefix and the minutes.
const SNOOZE: &str = "snooze-";

/// `urgency` of the specification: shown until it is closed, not above all else.
const URGENCY_NORMAL: u8 = 1;
/// Never close it after a time.
const NEVER: i32 = 0;
/// `reason` of `NotificationClosed`: the person closed it.
const CLOSED_BY_PERSON: u32 = 2;

#[proxy(
    interface = "org.freedesktop.Notifications",
    default_service = "org.freedesktop.Notifications",
    default_path = "/org/freedesktop/Notifications"
)]
trait Notifications {
    fn get_capabilities(&self) -> zbus::Result<Vec<String>>;

    #[allow(clippy::too_many_arguments, reason = "it is the specification's")]
    fn notify(
        &self,
        app_name: &str,
        replaces_id: u32,
        app_icon: &str,
        summary: &str,
        body: &str,
        actions: &[&str],
        hints: HashMap<&str, Variant<'_>>,
        expire_timeout: i32,
    ) -> zbus::Result<u32>;

    fn close_notification(&self, id: u32) -> zbus::Result<()>;
}

/// A notification to be shown.
#[derive(Debug)]
pub struct Notification {
    /// The first line.
    pub title: String,
    /// Further lines, in plain text.
    pub body: String,
    pub was_missed: bool,
    /// Whether it makes a sound.
    pub has_sound: bool,
    /// Minutes after which it can be shown again; empty if it cannot be snoozed.
    pub snooze_minutes: Vec<u32>,
}

impl Notification {
    /// Returns the notification of one reminder.
    pub fn of_reminder(text: &ReminderText, has_sound: bool, snooze_minutes: &[u32]) -> Self {
        let missed = text.missed_at.as_ref();
        let missed = missed.map(|at| format!("The reminder was due at {at}"));
        let lines = [text.when.clone(), text.place.clone()]
            .into_iter()
            .chain(missed);
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        Self {
            title: text.title.clone(),
            body: lines.join("\n"),
            was_missed: text.missed_at.is_some(),
            has_sound,
            snooze_minutes: snooze_minutes.to_vec(),
        }
    }
}

/// A signal of the server or of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEvent {
    /// The person wants to be reminded again after these minutes.
    Snoozed { id: u32, minutes: u32 },
    /// The person closed the notification.
    Dismissed { id: u32 },
    /// The notification is gone for another reason.
    Closed { id: u32 },
    /// A server started or ended. Notifications of the former one are gone.
    ServerChanged,
    /// The bus is gone.
    BusLost,
}

/// The connection to the bus, and the server on it if there is one.
pub struct NotificationServer {
    connection: Connection,
    signals: MessageStream,
    owners: NameOwnerChangedStream,
    /// Of the server that runs; read once.
    capabilities: Option<Vec<String>>,
}

impl NotificationServer {
    /// Connects to the session bus.
    pub async fn connect() -> zbus::Result<Self> {
        let builder = zbus::connection::Builder::session().method_timeout(CALL_TIMEOUT);
        let connection = builder.build().await?;
        let rule = MatchRule::builder()
            .msg_type(Type::Signal)
            .interface(NAME)
            .build()?;
        let signals = MessageStream::for_match_rule(rule, &connection, Some(MAX_QUEUED)).await?;
        let bus = DBusProxy::new(&connection).await?;
        let owners = bus
            .receive_name_owner_changed_with_args(&[(0, NAME)])
            .await?;
        Ok(Self {
            connection,
            signals,
            owners,
            capabilities: None,
        })
    }

    /// Returns true if a server runs, or the bus can start one.
    pub async fn is_available(&self) -> zbus::Result<bool> {
        let bus = DBusProxy::new(&self.connection).await?;
        if bus.name_has_owner(BusName::try_from(NAME)?).await? {
            return Ok(true);
        }
        let names = bus.list_activatable_names().await?;
        Ok(names.iter().any(|name| name.as_str() == NAME))
    }

    /// Shows a notification, in the place of an earlier one that is not closed yet if there is one
    /// (`replaces`). Returns its id.
    pub async fn show(
        &mut self,
        notification: &Notification,
        replaces: Option<u32>,
    ) -> zbus::Result<u32> {
        let server = NotificationsProxy::new(&self.connection).await?;
        let capabilities = match &self.capabilities {
            Some(known) => known,
            None => self.capabilities.insert(server.get_capabilities().await?),
        };
        let can = |what: &str| capabilities.iter().any(|known| known == what);
        let body = match can("body-markup") {
            true => escape_markup(&notification.body),
            false => notification.body.clone(),
        };
        let actions = match can("actions") {
            true => actions_of(notification),
            false => Vec::new(),
        };
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        let mut hints = HashMap::from([
            ("urgency", Variant::from(URGENCY_NORMAL)),
            ("category", Variant::from("x-etui.calendar.reminder")),
        ]);
        match notification.has_sound {
            true => hints.insert("sound-name", Variant::from("alarm-clock-elapsed")),
            false => hints.insert("suppress-sound", Variant::from(true)),
        };
        let icon = match notification.was_missed {
            true => "appointment-missed",
            false => "appointment-soon",
        };
        let (title, id) = (&notification.title, replaces.unwrap_or(0));
        server
            .notify("etui", id, icon, title, &body, &actions, hints, NEVER)
            .await
    }

    /// Closes a notification.
    pub async fn close(&self, id: u32) -> zbus::Result<()> {
        let server = NotificationsProxy::new(&self.connection).await?;
        server.close_notification(id).await
    }

    /// Waits for the next event.
    pub async fn next_event(&mut self) -> ServerEvent {
        let (signals, owners) = (&mut self.signals, &mut self.owners);
        let capabilities = &mut self.capabilities;
        let signal = async {
            loop {
                match signals.next().await {
                    Some(Ok(message)) => {
                        if let Some(event) = read_signal(&message) {
                            return event;
                        }
                    }
                    Some(Err(_)) => {}
                    None => return ServerEvent::BusLost,
                }
            }
        };
        let owner = async {
            match owners.next().await {
                Some(_) => ServerEvent::ServerChanged,
                None => ServerEvent::BusLost,
            }
        };
        let event = future::or(signal, owner).await;
        if event == ServerEvent::ServerChanged {
            *capabilities = None;
        }
        event
    }
}

/// Reads a signal of the server; `None` if it says nothing.
fn read_signal(message: &zbus::Message) -> Option<ServerEvent> {
    let body = message.body();
    match message.header().member()?.as_str() {
        "ActionInvoked" => {
            let (id, action): (u32, &str) = body.deserialize().ok()?;
            match action.strip_prefix(SNOOZE) {
                Some(minutes) => Some(ServerEvent::Snoozed {
                    id,
                    minutes: minutes.parse().ok()?,
                }),
                None => (action == DISMISS).then_some(ServerEvent::Dismissed { id }),
            }
        }
        "NotificationClosed" => {
            let (id, reason): (u32, u32) = body.deserialize().ok()?;
            Some(match reason {
                CLOSED_BY_PERSON => ServerEvent::Dismissed { id },
                _ => ServerEvent::Closed { id },
            })
        }
        _ => None,
    }
}

/// Returns the actions, each a key and its text.
fn actions_of(notification: &Notification) -> Vec<String> {
    if notification.snooze_minutes.is_empty() {
        return Vec::new();
    }
    let mut actions = Vec::new();
    for minutes in &notification.snooze_minutes {
        let time = etui::calendar::time::Duration::from_seconds(i64::from(*minutes) * 60);
        actions.push(format!("{SNOOZE}{minutes}"));
        actions.push(format!("In {}", etui_when::describe_duration(time)));
    }
    actions.push(DISMISS.to_owned());
    actions.push("Dismiss".to_owned());
    actions
}

/// Escapes a text for a server that reads markup.
fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape_markup("<b>Q&A</b>"), "&lt;b&gt;Q&amp;A&lt;/b&gt;");
    }

    #[test]
    fn the_actions_are_pairs() {
        let mut notification = Notification {
            title: String::new(),
            body: String::new(),
            was_missed: false,
            has_sound: true,
            snooze_minutes: vec![5, 60],
        };
        assert_eq!(
            actions_of(&notification),
            [
                "snooze-5",
                "In 5 minutes",
                "snooze-60",
                "In 1 hour",
                "dismiss",
                "Dismiss"
            ]
        );
        notification.snooze_minutes.clear();
        assert!(actions_of(&notification).is_empty());
    }
}
