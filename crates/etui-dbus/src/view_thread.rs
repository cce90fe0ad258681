//! [`ViewThread`]: the thread that holds all open views, and announces that there is something to
//! ask for.
//!
//! A view borrows the store, so one thread owns them all and is asked by messages:
//!
//! ```text
//!   announced: not polled  ── Changes, Load ──►  armed: its descriptor is polled
//!        ▲                                                   │
//!        └──────────── readable: `Ready` is sent once ───────┘
//! ```

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use etui::Store;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::collection::ListCalls;
use crate::error::{ErrorKind, StoreError};
use crate::rows::WireRow;
use crate::view::{PulledChanges, PulledView};
use etui_bus::guard::catch_panic;

/// Called once when there is something to ask for.
pub(crate) type ReadyCallback = Box<dyn Fn() + Send>;

/// A page and the changes up to it.
pub(crate) type LoadedPage = (PulledChanges, Vec<WireRow>);

/// A request to the thread.
enum ViewRequest {
    Open {
        number: u64,
        calls: Arc<dyn ListCalls>,
        filter: String,
        ready: ReadyCallback,
        reply: SyncSender<Result<(), StoreError>>,
    },
    Changes {
        number: u64,
        columns: Vec<String>,
        reply: SyncSender<Result<PulledChanges, StoreError>>,
    },
    Load {
        number: u64,
        offset: u64,
        limit: u64,
        columns: Vec<String>,
        reply: SyncSender<Result<LoadedPage, StoreError>>,
    },
    Close(u64),
    Stop,
}

/// The handle to the thread.
pub(crate) struct ViewThread {
    requests: Sender<ViewRequest>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl ViewThread {
    /// Starts the thread. The store is released when it is stopped.
    pub(crate) fn start(store: &Arc<Store>) -> std::io::Result<Self> {
        let (requests, receiver) = channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (store, heard) = (Arc::downgrade(store), Arc::clone(&bell));
        let thread = std::thread::Builder::new()
            .name("views".to_owned())
            .spawn(move || run_thread(&store, &receiver, &heard))?;
        Ok(Self {
            requests,
            bell,
            thread: Some(thread),
        })
    }

    /// Opens a view.
    pub(crate) fn open(
        &self,
        number: u64,
        calls: Arc<dyn ListCalls>,
        filter: String,
        ready: ReadyCallback,
    ) -> Result<(), StoreError> {
        self.ask(|reply| ViewRequest::Open {
            number,
            calls,
            filter,
            ready,
            reply,
        })
    }

    /// Returns the changes of a view since it was last read.
    pub(crate) fn pull_changes(
        &self,
        number: u64,
        columns: Vec<String>,
    ) -> Result<PulledChanges, StoreError> {
        self.ask(|reply| ViewRequest::Changes {
            number,
            columns,
            reply,
        })
    }

    /// Returns a page of a view, and the changes up to its state.
    pub(crate) fn load_page(
        &self,
        number: u64,
        (offset, limit): (u64, u64),
        columns: Vec<String>,
    ) -> Result<LoadedPage, StoreError> {
        self.ask(|reply| ViewRequest::Load {
            number,
            offset,
            limit,
            columns,
            reply,
        })
    }

    /// Closes a view.
    pub(crate) fn close(&self, number: u64) {
        self.send(ViewRequest::Close(number));
    }

    /// Sends a request and waits for its reply.
    fn ask<T>(
        &self,
        request: impl FnOnce(SyncSender<Result<T, StoreError>>) -> ViewRequest,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        self.send(request(reply));
        answer
            .recv()
            .unwrap_or_else(|_| Err(StoreError::new(ErrorKind::Busy, "the service is ending")))
    }

    fn send(&self, request: ViewRequest) {
        // A thread that ended drops the request, and with it the sender of its reply.
        let _ = self.requests.send(request);
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }
}

impl Drop for ViewThread {
    fn drop(&mut self) {
        self.send(ViewRequest::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An open view.
struct OpenView<'s> {
    view: Box<dyn PulledView + 's>,
    ready: ReadyCallback,
    announced: bool,
}

fn run_thread(store: &Weak<Store>, requests: &Receiver<ViewRequest>, bell: &OwnedFd) {
    let Some(store) = store.upgrade() else {
        return;
    };
    let mut views: HashMap<u64, OpenView<'_>> = HashMap::new();
    loop {
        while let Ok(request) = requests.try_recv() {
            match request {
                ViewRequest::Stop => return,
                request => serve_request(&store, &mut views, request),
            }
        }
        for number in wait_readable(&views, bell) {
            if let Some(view) = views.get_mut(&number) {
                view.announced = true;
                (view.ready)();
            }
        }
    }
}

/// Waits for a request or a change; returns the views that have something to read.
fn wait_readable(views: &HashMap<u64, OpenView<'_>>, bell: &OwnedFd) -> Vec<u64> {
    let armed = views.iter().filter(|(_, view)| !view.announced);
    // A view without a descriptor reports by `Changes` alone.
    let (numbers, descriptors): (Vec<u64>, Vec<_>) = armed
        .filter_map(|(number, open)| Some((*number, open.view.descriptor().ok()?)))
        .unzip();
    let mut polled = vec![PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN)];
    polled.extend(
        descriptors
            .into_iter()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
    );
    // An interrupted wait is begun again by the caller.
    let _ = poll(&mut polled, None);
    let readable = |fd: &PollFd<'_>| !fd.revents().is_empty();
    if polled.first().is_some_and(readable) {
        let _ = rustix::io::read(bell, &mut [0u8; 8]);
    }
    let views = polled.iter().skip(1).zip(numbers);
    views
        .filter(|(fd, _)| readable(fd))
        .map(|(_, number)| number)
        .collect()
}

fn serve_request<'s>(
    store: &'s Store,
    views: &mut HashMap<u64, OpenView<'s>>,
    request: ViewRequest,
) {
    // A client that left does not wait for its reply.
    match request {
        ViewRequest::Open {
            number,
            calls,
            filter,
            ready,
            reply,
        } => {
            let opened = catch_panic(|| calls.open_view(store, &filter));
            let _ = reply.send(opened.map(|view| {
                let open = OpenView {
                    view,
                    ready,
                    announced: false,
                };
                views.insert(number, open);
            }));
        }
        ViewRequest::Changes {
            number,
            columns,
            reply,
        } => {
            let _ = reply.send(read_view(views, number, |view| view.pull_changes(&columns)));
        }
        ViewRequest::Load {
            number,
            offset,
            limit,
            columns,
            reply,
        } => {
            let load = |view: &mut dyn PulledView| view.load_page(offset, limit, &columns);
            let _ = reply.send(read_view(views, number, load));
        }
        ViewRequest::Close(number) => {
            views.remove(&number);
        }
        ViewRequest::Stop => {}
    }
}

/// Reads a view, and arms it again if that succeeds.
fn read_view<T>(
    views: &mut HashMap<u64, OpenView<'_>>,
    number: u64,
    read: impl FnOnce(&mut dyn PulledView) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let Some(open) = views.get_mut(&number) else {
        return Err(StoreError::new(ErrorKind::NotFound, "the view is closed"));
    };
    let value = catch_panic(|| read(&mut *open.view))?;
    open.announced = false;
    Ok(value)
}
