//! [`Server`]: binds addresses, accepts connections, and stops.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use etui::calendar::time::TimeZone;
use etui::store::Options;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::accounts::{Accounts, StoreSource};
use crate::certificate::{Certificates, TlsFiles};
use crate::error::ServeError;
use crate::handout::Handout;
use crate::limits::Limits;
use crate::listener::{BoundListener, Connection, Listener, SocketFile, bind_tcp, bind_unix};
use crate::log::{LogQueue, LogSink, notice};
use crate::own_certificate::OwnCertificate;
use crate::paced_stream::PacedStream;
use crate::router::{Peer, Router};
use crate::strangers::Strangers;

/// How long accepting rests after an error, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long after the last request memory is given back.
const IDLE: Duration = Duration::from_secs(5);

/// How often the server's own certificate is looked at.
const RENEWAL_CHECK: Duration = Duration::from_secs(60 * 60);

/// Options of a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The stores.
    pub source: StoreSource,
    /// Options that stores are opened with.
    pub store_options: Options,
    /// TCP addresses.
    pub listen: Vec<SocketAddr>,
    /// A Unix socket, for a reverse proxy on the same machine. It has no TLS.
    pub unix: Option<PathBuf>,
    /// The certificate for TLS on the TCP addresses; plain HTTP if `None`.
    pub tls: Option<TlsFiles>,
    /// The server's own certificate, if [`ServeOptions::tls`] is that: it is renewed while the server runs.
    pub own_certificate: Option<OwnCertificate>,
    /// A reverse proxy in front encrypts, and names the client at the end of `X-Forwarded-For`.
    pub behind_proxy: bool,
    /// Limits for clients.
    pub limits: Limits,
    /// The time zone of the web page.
    pub zone: TimeZone,
    /// Receives log lines: one for each request, without names or paths of records. A thread of its own calls it,
    /// so it may wait.
    pub log: LogSink,
}

impl ServeOptions {
    /// Returns options that listen nowhere, and drop the log.
    pub fn new(source: StoreSource) -> Self {
        Self {
            source,
            store_options: Options::default(),
            listen: Vec::new(),
            unix: None,
            tls: None,
            own_certificate: None,
            behind_proxy: false,
            limits: Limits::default(),
            zone: TimeZone::system(),
            log: Arc::new(|_| {}),
        }
    }
}

/// A server that is bound, and may be run.
pub struct Server {
    router: Router,
    log: LogQueue,
    listeners: Vec<BoundListener>,
    addresses: Vec<SocketAddr>,
    socket_file: Option<SocketFile>,
    certificates: Option<Certificates>,
    own_certificate: Option<OwnCertificate>,
    stop: watch::Sender<bool>,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct StopHandle(watch::Sender<bool>);

impl StopHandle {
    /// Stops accepting, and ends the server when running requests are answered.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Opens the store and binds the addresses. Connections wait until [`Server::run`].
    ///
    /// # Errors
    /// [`ServeError::Unencrypted`]: an address is not loopback, and there is neither TLS nor a proxy; the
    /// other errors as named.
    pub fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let is_safe = options.tls.is_some() || options.behind_proxy;
        let is_open =
            |address: &&SocketAddr| !is_safe && !address.ip().to_canonical().is_loopback();
        if let Some(address) = options.listen.iter().find(is_open) {
            return Err(ServeError::Unencrypted(*address));
        }
        let certificates = options.tls.map(Certificates::load).transpose()?;
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in &options.listen {
            let listener = bind_tcp(*address)?;
            addresses.push(listener.local_addr().unwrap_or(*address));
            listeners.push(BoundListener::Tcp(listener));
        }
        let mut socket_file = None;
        if let Some(path) = &options.unix {
            let (listener, file) = bind_unix(path)?;
            listeners.push(BoundListener::Unix(listener));
            socket_file = Some(file);
        }
        let open_stores = options.limits.open_stores;
        let write_wait = options.limits.write_wait;
        let handout = Handout::new(&options.source, options.own_certificate.clone());
        let accounts = Accounts::open(
            options.source,
            options.store_options,
            open_stores,
            write_wait,
        )?;
        let log = LogQueue::start(options.log).map_err(|source| ServeError::System {
            what: "the thread of the log",
            source,
        })?;
        let mut router = Router::new(accounts, handout, options.limits, log.sink());
        (router.behind_proxy, router.zone) = (options.behind_proxy, options.zone);
        Ok(Self {
            router,
            log,
            listeners,
            addresses,
            socket_file,
            certificates,
            own_certificate: options.own_certificate,
            stop: watch::Sender::new(false),
        })
    }

    /// Returns the TCP addresses, with the ports that were chosen for port 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the SHA-256 fingerprint of the certificate.
    pub fn fingerprint(&self) -> Option<String> {
        self.certificates.as_ref().map(Certificates::fingerprint)
    }

    /// Returns the users, and the names of files that cannot be those of users.
    ///
    /// # Errors
    /// [`ServeError::Directory`].
    pub fn users(&self) -> Result<(Vec<String>, Vec<String>), ServeError> {
        self.router.accounts.users()
    }

    /// Returns a handle that stops the server.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.stop.clone())
    }

    /// Serves until [`StopHandle::stop`], then answers running requests, for a limited time, and closes the
    /// stores.
    ///
    /// # Errors
    /// [`ServeError::System`]: the operating system gives no event queue; [`ServeError::Store`]: a store could not be
    /// closed.
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(self.router.threads())
            .build()
            .map_err(|source| ServeError::System {
                what: "the event queue",
                source,
            })?;
        let router = Arc::new(self.router);
        let certificates = self.certificates.map(Arc::new);
        let stop_time = router.limits.stop;
        let served = runtime.block_on(async {
            let limits = &router.limits;
            let room = Arc::new(Semaphore::new(limits.connections.max(1)));
            // Half of the connections are left to devices that have logged in.
            let strangers = limits.strangers.min(limits.connections / 2);
            let strangers = Strangers::new(strangers, limits.strangers_per_address);
            let (running, mut ended) = watch_connections();
            let mut acceptors = Vec::new();
            for listener in self.listeners {
                let acceptor = Acceptor {
                    certificates: match listener {
                        BoundListener::Tcp(_) => certificates.clone(),
                        BoundListener::Unix(_) => None,
                    },
                    listener: listener.register().map_err(|source| ServeError::System {
                        what: "the event queue",
                        source,
                    })?,
                    router: Arc::clone(&router),
                    room: Arc::clone(&room),
                    strangers: Arc::clone(&strangers),
                    running: running.clone(),
                    stop: self.stop.subscribe(),
                };
                acceptors.push(tokio::spawn(acceptor.run()));
            }
            tokio::spawn(release_when_idle(Arc::clone(&router)));
            if let Some(own) = self.own_certificate {
                tokio::spawn(renew_certificate(Arc::clone(&router), own));
            }
            let mut stop = self.stop.subscribe();
            wait_for_stop(&mut stop).await;
            drop(running);
            // Connections that do not end in time are cut.
            let _ = timeout(stop_time, ended.recv()).await;
            drop(acceptors);
            Ok(())
        });
        runtime.shutdown_timeout(stop_time);
        drop(self.socket_file);
        self.log.flush();
        router.accounts.close()?;
        served
    }
}

impl Server {
    /// Serves the owner of the one store over standard input and output, until the other end closes them.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_stdio(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| ServeError::System {
                what: "the event queue",
                source,
            })?;
        let router = Arc::new(self.router);
        let peer = Arc::new(Peer {
            address: None,
            stranger: None,
            is_owner: true,
        });
        let stop = self.stop.subscribe();
        let pipe = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
        runtime.block_on(serve_http(pipe, peer, Arc::clone(&router), stop));
        runtime.shutdown_timeout(router.limits.stop);
        router.accounts.close()?;
        Ok(())
    }
}

/// Gives memory back some seconds after the last of each group of requests.
async fn release_when_idle(router: Arc<Router>) {
    loop {
        router.used.notified().await;
        while timeout(IDLE, router.used.notified()).await.is_ok() {}
        let router = Arc::clone(&router);
        // The result of a worker that was stopped is of no interest.
        let _ = tokio::task::spawn_blocking(move || router.accounts.release_memory()).await;
    }
}

/// Renews the server's own certificate when it is about to end. The next connections read it from its files.
async fn renew_certificate(router: Arc<Router>, own: OwnCertificate) {
    loop {
        let certificate = own.clone();
        let renewed = tokio::task::spawn_blocking(move || certificate.renew()).await;
        match renewed {
            Ok(Ok(true)) => {
                let text = "the certificate was about to end and is made again; devices that do not trust its \
                            authority ask whether it is trusted";
                (router.log)(&notice(text));
            }
            Ok(Err(error)) => {
                (router.log)(&notice(format_args!(
                    "the certificate is not renewed: {error}"
                )));
            }
            // A task that did not run tries again.
            Ok(Ok(false)) | Err(_) => {}
        }
        sleep(RENEWAL_CHECK).await;
    }
}

/// Waits until the server is to stop.
async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // Without a sender nobody can stop it any more, and it is over too.
    let _ = stop.wait_for(|is_set| *is_set).await;
}

/// Returns a value that each connection holds, and a receiver that ends with the last of them.
fn watch_connections() -> (ConnectionGuard, tokio::sync::mpsc::Receiver<()>) {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    (ConnectionGuard(sender), receiver)
}

/// Held by a connection while it is open.
#[derive(Clone)]
struct ConnectionGuard(
    #[expect(dead_code, reason = "its drop is the signal")] tokio::sync::mpsc::Sender<()>,
);

/// Accepts the connections of an address.
struct Acceptor {
    listener: Listener,
    certificates: Option<Arc<Certificates>>,
    router: Arc<Router>,
    room: Arc<Semaphore>,
    strangers: Arc<Strangers>,
    running: ConnectionGuard,
    stop: watch::Receiver<bool>,
}

impl Acceptor {
    async fn run(mut self) {
        let mut stop = self.stop.clone();
        loop {
            let accepted = async {
                // The semaphore is never closed.
                let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
                Some((
                    permit,
                    self.listener.accept(self.router.limits.answer_pause).await,
                ))
            };
            let accepted = tokio::select! {
                () = wait_for_stop(&mut stop) => return,
                accepted = accepted => accepted,
            };
            match accepted {
                None => return,
                Some((permit, Ok((connection, address)))) => {
                    self.serve(connection, address, permit);
                }
                Some((_, Err(error))) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Serves a connection in a task of its own.
    fn serve(
        &mut self,
        connection: Box<dyn Connection>,
        address: Option<std::net::IpAddr>,
        permit: OwnedSemaphorePermit,
    ) {
        let router = Arc::clone(&self.router);
        let running = self.running.clone();
        let stop = self.stop.clone();
        let limits = &router.limits;
        let (time, handshake_time) = (limits.stranger, limits.handshake);
        let connection = PacedStream::new(connection, limits.answer_pause, limits.answer_rate);
        let peer = Arc::new(Peer {
            address,
            // A reverse proxy uses its connections for strangers and devices alike.
            stranger: address
                .filter(|_| !router.behind_proxy)
                .map(|address| self.strangers.add(address)),
            is_owner: false,
        });
        let tls = self.certificates.as_ref().map(|certificates| {
            certificates.current(|read| {
                let text = match read {
                    Ok(fingerprint) => format!("the certificate was read again: {fingerprint}"),
                    Err(error) => format!("the certificate changed, the former one stays: {error}"),
                };
                (self.router.log)(&notice(text));
            })
        });
        tokio::spawn(async move {
            let _held = (permit, running);
            let served = async {
                let Some(tls) = tls else {
                    return serve_http(connection, Arc::clone(&peer), router, stop).await;
                };
                let handshake = TlsAcceptor::from(tls).accept(connection);
                match timeout(handshake_time, handshake).await {
                    Ok(Ok(encrypted)) => {
                        serve_http(encrypted, Arc::clone(&peer), router, stop).await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
                    Err(_) => tracing::debug!("no TLS in time"),
                }
            };
            let Some(stranger) = &peer.stranger else {
                return served.await;
            };
            tokio::select! {
                () = served => {}
                () = stranger.wait_for_cut(time) => tracing::debug!("a stranger was cut off"),
            }
        });
    }
}

/// Serves the requests of a connection.
async fn serve_http(
    connection: impl Connection,
    peer: Arc<Peer>,
    router: Arc<Router>,
    mut stop: watch::Receiver<bool>,
) {
    let limits = &router.limits;
    let (head, head_bytes) = (limits.head, limits.head_bytes);
    let service = service_fn(|request| {
        let (router, peer) = (Arc::clone(&router), Arc::clone(&peer));
        async move { Ok::<_, std::convert::Infallible>(router.answer(request, &peer).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(head_bytes)
        .serve_connection(TokioIo::new(connection), service);
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = wait_for_stop(&mut stop) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}
