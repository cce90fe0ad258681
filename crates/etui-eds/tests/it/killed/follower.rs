//! [`Follower`]: a client that holds the content of a source by a view.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_lite::{StreamExt, future};
use zbus::message::Type;
use zbus::{MatchRule, Message, MessageStream, OwnedObjectPath};
use zruntime::SharedRuntime;

use super::link::{Link, Lost, SourceKind, uid_of};

/// Signals that wait to be read.
const QUEUED: usize = 100_000;

/// A thread with a client that follows a source.
pub struct Follower {
    state: Arc<FollowerState>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct FollowerState {
    /// The records by UID, as the signals brought them.
    held: Mutex<BTreeMap<String, String>>,
    /// The view has sent its content.
    is_complete: AtomicBool,
    opened: AtomicU32,
    end: AtomicBool,
}

impl Follower {
    pub fn start(address: &str, kind: &'static SourceKind) -> Self {
        let state = Arc::new(FollowerState::default());
        let (shared, address) = (state.clone(), address.to_owned());
        let thread = std::thread::spawn(move || {
            zbus::block_on(async { follow(&shared, Link::open(&address, kind).await).await });
        });
        Self { state, thread }
    }

    /// Returns true while the content of its present view is there.
    pub fn is_following(&self) -> bool {
        self.state.is_complete.load(Ordering::Acquire)
    }

    /// Returns what it holds.
    pub fn held(&self) -> BTreeMap<String, String> {
        self.state.held.lock().unwrap().clone()
    }

    /// Ends it; returns how often it opened a view.
    pub fn join(self) -> u32 {
        self.state.end.store(true, Ordering::Release);
        self.thread.join().unwrap();
        self.state.opened.load(Ordering::Acquire)
    }
}

async fn follow(state: &FollowerState, mut link: Link) {
    let rule = MatchRule::builder().msg_type(Type::Signal).build().unwrap();
    let signals = MessageStream::for_match_rule(rule, &link.connection, NonZeroUsize::new(QUEUED));
    let mut signals = signals.await.unwrap();
    let runtime = SharedRuntime::current().unwrap();
    let mut view = open_view(state, &mut link).await;
    while !state.end.load(Ordering::Acquire) {
        let pause = async {
            runtime.sleep(Duration::from_millis(20)).await;
            None
        };
        let Some(message) = future::or(signals.next(), pause).await else {
            continue;
        };
        let message = message.unwrap();
        if is_loss(&message, link.kind.bus_name) {
            view = open_view(state, &mut link).await;
        } else if message.header().path().is_some_and(|p| p.as_str() == view) {
            apply(state, &message, link.kind.is_book());
        }
    }
}

/// Opens the source and a view of everything; returns the view's path.
async fn open_view(state: &FollowerState, link: &mut Link) -> String {
    state.is_complete.store(false, Ordering::Release);
    state.held.lock().unwrap().clear();
    state.opened.fetch_add(1, Ordering::AcqRel);
    loop {
        link.reopen().await;
        if let Ok(path) = try_open_view(link).await {
            return path;
        }
    }
}

async fn try_open_view(link: &Link) -> Result<String, Lost> {
    let reply = link.call("GetView", &link.kind.everything).await?;
    let path: OwnedObjectPath = reply.body().deserialize().unwrap();
    let interface = format!("{}View", link.kind.interface);
    link.call_at(path.as_str(), &interface, "Start", &())
        .await?;
    Ok(path.to_string())
}

/// Returns true if a bus name lost its owner.
fn is_loss(message: &Message, bus_name: &str) -> bool {
    let is_change = message
        .header()
        .member()
        .is_some_and(|m| m.as_str() == "NameOwnerChanged");
    is_change
        && message
            .body()
            .deserialize::<(String, String, String)>()
            .is_ok_and(|(name, _, owner)| name == bus_name && owner.is_empty())
}

/// Applies a signal of the view.
fn apply(state: &FollowerState, message: &Message, is_book: bool) {
    let texts = || -> Vec<String> { message.body().deserialize().unwrap() };
    let mut held = state.held.lock().unwrap();
    match message.header().member().map_or("", |m| m.as_str()) {
        name @ ("ObjectsAdded" | "ObjectsModified") => {
            // A book's are pairs of card and UID.
            let texts = texts().into_iter().step_by(if is_book { 2 } else { 1 });
            for text in texts {
                let was_there = held.insert(uid_of(&text), text).is_some();
                assert_eq!(was_there, name == "ObjectsModified", "{name}");
            }
        }
        "ObjectsRemoved" => {
            for uid in texts() {
                assert!(held.remove(&uid).is_some(), "removed, but not held: {uid}");
            }
        }
        "Complete" => state.is_complete.store(true, Ordering::Release),
        _ => {}
    }
}
