//! [`Told`]: a change of a record waits until the views were told that it was added.
//!
//! A follower reads what changed since it last looked: a record that was added and changed meanwhile
//! would come as added alone, and the client would not learn that its change was made.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use etui::record::{Collection, RecordKind};
use etui::{Changes, SyncToken};

/// How far the views of a collection were told of its changes. Numbers are those of the store's changes.
#[derive(Default)]
pub(crate) struct Told(Mutex<State>);

#[derive(Default)]
struct State {
    /// The last addition of which views are to be told.
    added: i64,
    told: i64,
    waiting: Vec<Waker>,
}

impl Told {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was changed in a collection since a token: its follower is woken by these changes. One of another
    /// collection would be waited for in vain.
    pub(crate) fn expect_since<R: RecordKind>(
        &self,
        collection: &Collection<R>,
        before: &SyncToken,
    ) {
        if let Ok(Changes::Since(changes)) = collection.changes_since(before)
            && let Some(last) = changes.iter().map(|change| change.seq).max()
        {
            let mut state = self.state();
            state.added = state.added.max(last);
        }
    }

    /// Notes that the views were told of all changes up to this one; `i64::MAX`: none will be told any more.
    pub(crate) fn tell(&self, change: i64) {
        let mut state = self.state();
        state.told = state.told.max(change);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until the views were told of all additions.
    pub(crate) async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.told >= state.added {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
