//! The parts that views of contacts and of calendars share: their life and their signals.
//!
//! ```text
//! idle ── Start ──► loading ──► live ── changes of the collection, from its follower
//!   ▲                  │          │
//!   └────── Stop ──────┴──────────┘
//! ```
//!
//! While a view loads, changes wait; they are applied once the content is sent. So there is no gap
//! between the two, and one task at a time sends signals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zbus::Connection;
use zbus::names::{BusName, InterfaceName, OwnedUniqueName};
use zbus::object_server::SignalEmitter;

use super::text_array::MAX_ARRAY;

/// A signal has at most this many records.
pub const MAX_BATCH: usize = 256;
/// A signal ends with the record that brings it to this many bytes.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// A larger record is not sent: no signal could hold it.
const MAX_RECORD: usize = MAX_ARRAY - (1 << 20);
/// `Progress` with an unknown percentage.
const UNKNOWN_PERCENT: u32 = u32::MAX;
/// The flag by which a view sends its matches at the start.
pub const NOTIFY_INITIAL: u32 = 1;

/// How far a view is. `K` is what its client knows, `U` a changed record.
pub struct ViewLife<K, U>(Mutex<State<K, U>>);

/// `generation` counts starts: a load of an earlier start gives up.
struct State<K, U> {
    generation: u64,
    phase: Phase<K, U>,
}

enum Phase<K, U> {
    Idle,
    /// Changes that came while the content is sent.
    Loading(Vec<Arc<Vec<U>>>),
    Live(K),
}

impl<K, U> Default for ViewLife<K, U> {
    fn default() -> Self {
        Self(Mutex::new(State {
            generation: 0,
            phase: Phase::Idle,
        }))
    }
}

impl<K, U> ViewLife<K, U> {
    fn state(&self) -> MutexGuard<'_, State<K, U>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to load an idle view. Returns the number of this start; `None` if the view runs.
    pub fn start(&self) -> Option<u64> {
        let mut state = self.state();
        if !matches!(state.phase, Phase::Idle) {
            return None;
        }
        state.generation += 1;
        state.phase = Phase::Loading(Vec::new());
        Some(state.generation)
    }

    /// Makes the view idle.
    pub fn stop(&self) {
        self.state().phase = Phase::Idle;
    }

    /// Whether the start `generation` is still loading.
    pub fn is_loading(&self, generation: u64) -> bool {
        let state = self.state();
        state.generation == generation && matches!(state.phase, Phase::Loading(_))
    }

    /// Takes the changes that came while the content was sent. `None` ends the load: the view is
    /// live and knows `known`, or it was stopped.
    pub fn take_waiting(&self, generation: u64, known: K) -> Option<(K, Vec<Arc<Vec<U>>>)> {
        let mut state = self.state();
        if state.generation != generation {
            return None;
        }
        let Phase::Loading(waiting) = &mut state.phase else {
            return None;
        };
        if waiting.is_empty() {
            state.phase = Phase::Live(known);
            return None;
        }
        Some((known, std::mem::take(waiting)))
    }

    /// Applies changes to a live view; keeps them for a view that loads.
    pub fn apply<S>(&self, updates: &Arc<Vec<U>>, apply: impl FnOnce(&mut K) -> S) -> Option<S> {
        match &mut self.state().phase {
            Phase::Idle => None,
            Phase::Loading(waiting) => {
                waiting.push(updates.clone());
                None
            }
            Phase::Live(known) => Some(apply(known)),
        }
    }
}

/// The signals of a view, which go to its owner alone.
pub struct ViewChannel {
    /// The interface of the view.
    pub interface: InterfaceName<'static>,
    /// Its connection.
    pub connection: Connection,
    /// The path of its object.
    pub path: String,
    /// Its owner.
    pub owner: OwnedUniqueName,
}

impl ViewChannel {
    /// Sends a signal.
    pub async fn emit<B>(&self, signal: &str, body: &B)
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let sent = match SignalEmitter::new(&self.connection, self.path.as_str()) {
            Ok(emitter) => {
                let owner = BusName::Unique(self.owner.as_ref());
                let emitter = emitter.set_destination(owner);
                emitter.emit(self.interface.as_ref(), signal, body).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            tracing::warn!("a view's signal was not sent: {error}");
        }
    }

    /// Announces that the content follows.
    pub async fn send_loading(&self) {
        self.emit("Progress", &(UNKNOWN_PERCENT, "Loading")).await;
    }

    /// Announces the end of the content, or the error that ended it.
    pub async fn send_complete(&self, error: Option<&crate::error::EdsError>) {
        let error = error.map_or(("", ""), |error| (error.name(), error.message()));
        self.emit("Complete", &error).await;
    }

    /// Sends records in batches; `write` appends the arguments of one.
    pub async fn send_batches<T>(
        &self,
        signal: &str,
        records: Vec<T>,
        mut write: impl FnMut(T, &mut Vec<String>),
    ) {
        let mut batch: Vec<String> = Vec::new();
        let (mut count, mut bytes) = (0, 0);
        for record in records {
            let first = batch.len();
            write(record, &mut batch);
            let size = batch.iter().skip(first).map(String::len).sum::<usize>();
            if size > MAX_RECORD {
                tracing::warn!("a record of {size} bytes is too large for a view");
                batch.truncate(first);
                continue;
            }
            count += 1;
            bytes += size;
            if count == MAX_BATCH || bytes >= MAX_BATCH_BYTES {
                self.emit(signal, &(std::mem::take(&mut batch),)).await;
                (count, bytes) = (0, 0);
            }
        }
        if count > 0 {
            self.emit(signal, &(batch,)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_wait_until_the_content_is_sent() {
        let life = ViewLife::<u32, char>::default();
        let apply = |change: char| life.apply(&Arc::new(vec![change]), |known| *known);
        assert_eq!(apply('a'), None);
        let start = life.start().unwrap();
        assert_eq!(life.start(), None);
        assert_eq!(apply('b'), None);
        let (known, waiting) = life.take_waiting(start, 1).unwrap();
        assert_eq!((known, waiting), (1, vec![Arc::new(vec!['b'])]));
        assert!(life.is_loading(start));
        assert!(life.take_waiting(start, 2).is_none());
        assert_eq!(apply('c'), Some(2));
        life.stop();
        assert_eq!(apply('d'), None);
    }

    #[test]
    fn a_load_of_an_earlier_start_ends() {
        let life = ViewLife::<u32, char>::default();
        let first = life.start().unwrap();
        life.stop();
        let second = life.start().unwrap();
        assert!(!life.is_loading(first) && life.is_loading(second));
        assert!(life.take_waiting(first, 1).is_none());
        assert!(life.is_loading(second));
    }
}
