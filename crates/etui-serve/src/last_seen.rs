//! [`LastSeen`]: records when devices were last seen, after their requests and never within them.

use etui::DeviceId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::accounts::Login;

/// How long the server does not try again for a device. The store records a time a day at most.
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The devices that were recorded in the last hour.
pub struct LastSeen {
    tried: Mutex<HashMap<(String, DeviceId), Instant>>,
    /// One write at a time; it may wait for another process.
    turn: Arc<Semaphore>,
}

impl Default for LastSeen {
    fn default() -> Self {
        Self {
            tried: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl LastSeen {
    /// Records that a device is in use, in the background. While another write waits it is left out; a later
    /// request records it.
    pub fn record(&self, login: &Login) {
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else {
            return;
        };
        let now = Instant::now();
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.retain(|_, at| now.duration_since(*at) < INTERVAL);
        let key = (login.user.clone(), login.device.id);
        if tried.contains_key(&key) {
            return;
        }
        tried.insert(key, now);
        drop(tried);
        let (store, device) = (Arc::clone(&login.store), login.device.clone());
        spawn_blocking(move || {
            let _turn = turn;
            if let Err(error) = store.devices().record_use(&device) {
                tracing::warn!(%error, "the use of a device was not recorded");
            }
        });
    }
}
