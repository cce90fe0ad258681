//! [`follow_sources`]: collections follow the sources that a person renames and removes.
//!
//! A source that is renamed renames its collection; one that is removed moves its collection to the
//! store's trash, for 30 days. After each signal of the registry its whole list is read again: a
//! source counts as removed if a signal said so and the list lacks it. A registry that ends or
//! starts again removes none.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use futures_lite::StreamExt;
use zbus::fdo::{InterfacesRemoved, PropertiesChanged};
use zbus::message::Type;
use zbus::{MatchRule, Message, MessageStream, OwnedObjectPath};
use zruntime::lock::Mutex;

use super::guard::answer_on_worker;
use super::shared::Server;
use crate::collections::{remove_collection, rename_collection};
use crate::error::EdsResult;
use crate::sources::{MANAGER, REGISTRY, Source, SourceKind, read_sources};

/// Follows the registry until the process ends.
pub(super) async fn follow_sources(server: Arc<Server>) {
    let follower = Arc::new(SourceFollower {
        server,
        known: Mutex::new(None),
        removed: Default::default(),
        is_due: AtomicBool::new(false),
    });
    if let Err(error) = follower.follow().await {
        tracing::error!("the registry of sources is not followed: {error}");
    }
}

struct SourceFollower {
    server: Arc<Server>,
    known: Mutex<Option<OwnSources>>,
    /// The objects that signals said were removed.
    removed: std::sync::Mutex<HashSet<OwnedObjectPath>>,
    /// A read of the list is on its way, for all signals until it begins.
    is_due: AtomicBool,
}

impl SourceFollower {
    /// Takes the signals as they come; an unread one would hold up the connection, and with it the
    /// reply that a read waits for.
    async fn follow(self: Arc<Self>) -> EdsResult<()> {
        let rule = MatchRule::builder()
            .msg_type(Type::Signal)
            .sender(REGISTRY)
            .path_namespace(MANAGER)
            .build()?;
        let connection = &self.server.connection;
        let mut signals = MessageStream::for_match_rule(rule, connection, None).await?;
        self.clone().read_soon();
        while let Some(signal) = signals.next().await {
            let Ok(signal) = signal else { continue };
            if let Some(removed) = InterfacesRemoved::from_message(signal.clone())
                && let Ok(arguments) = removed.args()
            {
                let path = arguments.object_path.to_owned();
                self.removed().insert(path.into());
            }
            if may_change_sources(signal) {
                self.clone().read_soon();
            }
        }
        Ok(())
    }

    fn removed(&self) -> MutexGuard<'_, HashSet<OwnedObjectPath>> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_soon(self: Arc<Self>) {
        if !self.is_due.swap(true, Ordering::AcqRel) {
            zruntime::spawn(async move {
                if let Err(error) = self.apply_changes().await {
                    tracing::warn!("the list of sources is not followed: {error}");
                }
            })
            .detach();
        }
    }

    async fn apply_changes(&self) -> EdsResult<()> {
        let mut known = self.known.lock().await;
        // Before the sources are read: a change meanwhile is read once more.
        self.is_due.store(false, Ordering::Release);
        let now = OwnSources::read(&self.server).await?;
        let Some(before) = known.replace(now.clone()) else {
            return Ok(());
        };
        let server = self.server.clone();
        let removed = std::mem::take(&mut *self.removed());
        answer_on_worker(move || {
            before.apply_changes(&now, &removed, &server);
            Ok(())
        })
        .await
    }
}

/// Whether a signal is about the list or a source's file. Most are about the state of a connection.
fn may_change_sources(signal: Message) -> bool {
    let Some(changed) = PropertiesChanged::from_message(signal) else {
        return true;
    };
    let arguments = changed.args();
    arguments.is_ok_and(|arguments| arguments.changed_properties().contains_key("Data"))
}

/// The sources that are collections of the store.
#[derive(Clone)]
struct OwnSources(HashMap<(SourceKind, String), Source>);

impl OwnSources {
    async fn read(server: &Server) -> EdsResult<Self> {
        let mut own = HashMap::new();
        for source in read_sources(&server.connection).await? {
            for kind in SourceKind::ALL {
                if source.is_ours(kind) {
                    own.insert((kind, source.uid.clone()), source.clone());
                }
            }
        }
        Ok(Self(own))
    }

    /// Renames and removes collections as their sources were.
    fn apply_changes(&self, now: &Self, removed: &HashSet<OwnedObjectPath>, server: &Server) {
        for ((kind, uid), before) in &self.0 {
            let applied = match now.0.get(&(*kind, uid.clone())) {
                Some(source) if source.display_name() != before.display_name() => {
                    rename_collection(&server.store, *kind, source)
                }
                None if removed.contains(&before.path) => {
                    server.opened().remove(&(*kind, uid.clone()));
                    remove_collection(&server.store, *kind, uid)
                }
                _ => continue,
            };
            match applied {
                Ok(()) => tracing::info!("{} {uid}: follows its source", kind.noun()),
                Err(error) => tracing::warn!("{} {uid}: {error}", kind.noun()),
            }
        }
    }
}
