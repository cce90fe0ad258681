//! [`HttpClient`]: one connection to a server, over TLS, plain TCP, or the pipes of a program such as ssh.

use std::cell::{Cell, RefCell};
use std::io::{self, BufReader, Read};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use etui_dav::client::{Address, AddressError, ClientRequest, failure_reason};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How long the head of an answer may take: servers list large collections before they begin to answer.
const ANSWER: Duration = Duration::from_secs(180);

/// How long a part of a body may take.
const PART: Duration = Duration::from_secs(60);

/// The longest time that a server may have us wait before a request is sent again.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// How often a request is sent again to a server that is busy.
const MAX_TRIES: u32 = 5;

/// The first wait for a busy server that does not say how long; doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 5;

/// Bytes of the body of a refusal that are read for its reason.
const MAX_REFUSAL: u64 = 64 << 10;

/// Who logs in.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// With user and password (RFC 7617).
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// With a token (RFC 6750).
    Bearer(String),
    /// Nobody: the other end of a pipe knows who it is.
    None,
}

/// Without the password.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Basic { .. } => "Basic",
            Self::Bearer(_) => "Bearer",
            Self::None => "None",
        })
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// An address where the password does not go.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The server cannot be reached, or the connection ended.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The server has a certificate that no authority of this machine vouches for.
    #[error(
        "{server} has a certificate that this machine does not know (SHA-256 {fingerprint}): {reason}"
    )]
    UnknownCertificate {
        /// The server.
        server: String,
        /// The SHA-256 of the certificate, in hexadecimal digits.
        fingerprint: String,
        /// Why it is not taken.
        reason: String,
    },
    /// The server asks to wait for longer than a run waits.
    #[error("{server} is busy ({status}); try again in {} s", wait.as_secs())]
    Busy {
        /// The server.
        server: String,
        /// The status: 429 or 503.
        status: u16,
        /// How long.
        wait: Duration,
    },
    /// The server refers from one address to the next.
    #[error("{0} refers from one address to the next without end")]
    Redirects(String),
}

/// How a server is reached.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The SHA-256 of a certificate that a person accepted.
    pub certificate: Option<String>,
    /// A program that speaks HTTP on its standard input and output, with its arguments.
    pub command: Option<Vec<String>>,
}

/// One connection to a server.
pub struct HttpClient {
    runtime: Runtime,
    given: Address,
    login: Login,
    tls: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
    command: Option<Vec<String>>,
    open: RefCell<Option<(Address, SendRequest<Full<Bytes>>)>>,
    /// The server has answered on a connection that it had answered on before.
    keeps: Cell<bool>,
    sent: RefCell<u64>,
}

/// An answer, whose body is read as it comes.
pub struct Answer<'c> {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: BufReader<Body<'c>>,
    /// The address that answered, after redirects.
    pub address: Address,
}

impl Answer<'_> {
    /// Returns a header.
    #[must_use]
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the server's own reason of a refusal.
    #[must_use]
    pub fn reason(self) -> String {
        let mut text = Vec::new();
        // A body that breaks off says less.
        let _ = self.body.take(MAX_REFUSAL).read_to_end(&mut text);
        let code = StatusCode::from_u16(self.status).ok();
        let name = code.and_then(|code| code.canonical_reason());
        let status = match name {
            Some(name) => format!("{} {name}", self.status),
            None => self.status.to_string(),
        };
        match failure_reason(&text) {
            Some(reason) => format!("{reason} ({status})"),
            None => status,
        }
    }
}

/// The body of an answer.
pub struct Body<'c> {
    client: &'c HttpClient,
    incoming: Incoming,
    rest: Bytes,
}

impl Read for Body<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            let part = self
                .client
                .runtime
                .block_on(async { timeout(PART, self.incoming.frame()).await });
            match part {
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(None) => return Ok(0),
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Ok(Some(Ok(frame))) => self.rest = frame.into_data().unwrap_or_default(),
            }
        }
        let length = into.len().min(self.rest.len());
        into[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl HttpClient {
    /// Prepares a client for the server of `given`, the address that the person named: the password goes there
    /// only ([`Address::trusts`]).
    ///
    /// # Errors
    /// The machine gives no event loop.
    pub fn new(given: &Address, login: Login, options: &HttpOptions) -> io::Result<Self> {
        let verifier = Arc::new(Verifier::new(options.certificate.clone()));
        let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<_>)
            .with_no_client_auth();
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            given: given.clone(),
            login,
            tls: Arc::new(tls),
            verifier,
            command: options.command.clone(),
            open: RefCell::new(None),
            // A program is started once.
            keeps: Cell::new(options.command.is_some()),
            sent: RefCell::new(0),
        })
    }

    /// Returns the number of requests that were sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        *self.sent.borrow()
    }

    /// Sends a request. Redirects within the server are followed; a server that is busy is asked again.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(&self, request: &ClientRequest) -> Result<Answer<'_>, SendError> {
        let mut request = request.clone();
        for _ in 0..MAX_REDIRECTS {
            let answer = self.send_patiently(&request)?;
            let location = match answer.status {
                301 | 302 | 307 | 308 => answer.header(header::LOCATION).map(str::to_owned),
                _ => None,
            };
            let Some(location) = location else {
                return Ok(answer);
            };
            let to = request.address().resolve(&location)?;
            drop(answer);
            request = request.at(to);
        }
        Err(SendError::Redirects(self.given.host().to_owned()))
    }

    /// Sends a request without following redirects.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send_patiently(&self, request: &ClientRequest) -> Result<Answer<'_>, SendError> {
        let mut wait = FIRST_WAIT;
        for tried in 1.. {
            let answer = self.send_once(request)?;
            if !matches!(answer.status, 429 | 503) {
                return Ok(answer);
            }
            let asked = answer.header(header::RETRY_AFTER);
            let asked = asked.and_then(|text| text.trim().parse().ok());
            let next = asked.map_or(wait, Duration::from_secs);
            if tried >= MAX_TRIES || next > MAX_WAIT {
                return Err(SendError::Busy {
                    server: self.given.host().to_owned(),
                    status: answer.status,
                    wait: next,
                });
            }
            drop(answer);
            std::thread::sleep(next);
            wait = (wait * 2).min(MAX_WAIT);
        }
        Err(SendError::Redirects(self.given.host().to_owned()))
    }

    fn send_once(&self, request: &ClientRequest) -> Result<Answer<'_>, SendError> {
        match self.given.trusts(request.address()) {
            // Where nobody logs in, there is nothing to give away.
            Err(AddressError::OtherHost { .. }) if matches!(self.login, Login::None) => {}
            trusted => trusted?,
        }
        let is_safe = !matches!(request.method().as_str(), "PUT" | "DELETE" | "POST");
        // Some servers close each connection after an answer, and do not say so. What changes something is not sent
        // twice, and so not on a connection that may be closed.
        if !is_safe && !self.keeps.get() {
            self.open.take();
        }
        match self.try_send(request) {
            // A connection that the server closed meanwhile.
            Err((_, is_new)) if is_safe && !is_new => {
                self.try_send(request).map_err(|(error, _)| error)
            }
            answer => answer.map_err(|(error, _)| error),
        }
    }

    /// Returns an error with whether the connection was a new one.
    fn try_send(&self, request: &ClientRequest) -> Result<Answer<'_>, (SendError, bool)> {
        let address = request.address();
        let mut is_new = false;
        let kept = self.open.take();
        let kept =
            kept.filter(|(server, open)| server.is_same_server(address) && !open.is_closed());
        let sender = kept.map(|(_, open)| open);
        let answer = self.runtime.block_on(async {
            let ready = match sender {
                Some(mut open) => open.ready().await.is_ok().then_some(open),
                None => None,
            };
            let mut sender = match ready {
                Some(open) => open,
                None => {
                    is_new = true;
                    self.connect(address).await?
                }
            };
            let sent = timeout(ANSWER, sender.send_request(self.message(request))).await;
            let answer = sent
                .map_err(|_| self.unreachable(address, "it does not answer"))?
                .map_err(|error| self.unreachable(address, &error.to_string()))?;
            Ok((answer, sender))
        });
        *self.sent.borrow_mut() += 1;
        if !is_new {
            self.keeps.set(answer.is_ok());
        }
        let (answer, sender) = answer.map_err(|error| (error, is_new))?;
        self.open.replace(Some((address.clone(), sender)));
        let (head, incoming) = answer.into_parts();
        let body = Body {
            client: self,
            incoming,
            rest: Bytes::new(),
        };
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body: BufReader::new(body),
            address: address.clone(),
        })
    }

    fn message(&self, request: &ClientRequest) -> Request<Full<Bytes>> {
        let address = request.address();
        let body = Full::new(Bytes::copy_from_slice(request.body()));
        let mut message = Request::new(body);
        *message.method_mut() = request.method().clone();
        // A path in normal form is one of a URL.
        if let Ok(path) = address.path().parse() {
            *message.uri_mut() = path;
        }
        let headers = message.headers_mut();
        headers.clone_from(request.headers());
        let url = address.to_string();
        let host = url.split('/').nth(2).unwrap_or_default();
        if let Ok(host) = HeaderValue::from_str(host) {
            headers.insert(header::HOST, host);
        }
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("etui/", env!("CARGO_PKG_VERSION"))),
        );
        let credentials = match &self.login {
            Login::Basic { user, password } => Some(format!(
                "Basic {}",
                STANDARD.encode(format!("{user}:{password}"))
            )),
            Login::Bearer(token) => Some(format!("Bearer {token}")),
            Login::None => None,
        };
        if let Some(Ok(mut value)) = credentials.map(|text| HeaderValue::from_str(&text)) {
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        message
    }

    async fn connect(&self, address: &Address) -> Result<SendRequest<Full<Bytes>>, SendError> {
        let opened = timeout(CONNECT, self.open_stream(address)).await;
        let stream = opened.map_err(|_| self.unreachable(address, "no answer within 30 s"))??;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(address, &error.to_string()))?;
        // It runs while a request is waited for, and ends with the connection.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn open_stream(&self, address: &Address) -> Result<Box<dyn Stream>, SendError> {
        let failed = |error: io::Error| self.unreachable(address, &error.to_string());
        if let Some([program, arguments @ ..]) = self.command.as_deref() {
            let child = Command::new(program)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .map_err(|error| self.unreachable(address, &format!("{program}: {error}")))?;
            return Ok(Box::new(ChildStream::new(child).map_err(failed)?));
        }
        let tcp = TcpStream::connect((address.host().trim_matches(['[', ']']), address.port()))
            .await
            .map_err(failed)?;
        // Requests are small, and answers are waited for.
        let _ = tcp.set_nodelay(true);
        if !address.is_https() {
            return Ok(Box::new(tcp));
        }
        let name = ServerName::try_from(address.host().trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|error| self.unreachable(address, &error.to_string()))?;
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&self.tls));
        match connector.connect(name, tcp).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(match self.verifier.take_unknown() {
                Some((fingerprint, reason)) => SendError::UnknownCertificate {
                    server: address.host().to_owned(),
                    fingerprint,
                    reason,
                },
                None => failed(error),
            }),
        }
    }

    fn unreachable(&self, address: &Address, reason: &str) -> SendError {
        let server = match &self.command {
            Some(command) => command.join(" "),
            None => {
                let url = address.to_string();
                url.split('/').nth(2).unwrap_or_default().to_owned()
            }
        };
        SendError::Unreachable {
            server,
            reason: self.explained(address, reason),
        }
    }
}

impl HttpClient {
    /// Returns a reason in words that say what to try.
    fn explained(&self, address: &Address, reason: &str) -> String {
        let reason = reason.split(" (os error").next().unwrap_or_default();
        let no_answer = reason.starts_with("connection closed before message completed");
        if no_answer && self.command.is_some() {
            return "the program ends without an answer; are etui and etui-serve in the PATH there?"
                .to_owned();
        }
        if no_answer && !address.is_https() {
            return "it hangs up without an answer; does it want https://?".to_owned();
        }
        if reason.contains("InvalidContentType") {
            return "there is no TLS at this port; is it http://, or another port?".to_owned();
        }
        reason.to_owned()
    }
}

/// The pipes of a program as one stream.
struct ChildStream {
    _child: tokio::process::Child,
    pipes: tokio::io::Join<tokio::process::ChildStdout, tokio::process::ChildStdin>,
}

impl ChildStream {
    fn new(mut child: tokio::process::Child) -> io::Result<Self> {
        let (Some(out), Some(into)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Self {
            _child: child,
            pipes: tokio::io::join(out, into),
        })
    }
}

impl AsyncRead for ChildStream {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.pipes).poll_read(cx, buffer)
    }
}

impl AsyncWrite for ChildStream {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.pipes).poll_write(cx, bytes)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.pipes).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.pipes).poll_shutdown(cx)
    }
}

/// Takes certificates of the machine's authorities, and the one that a person accepted.
#[derive(Debug)]
struct Verifier {
    /// Read at the first certificate: reading them takes longer than a run that has nothing to do.
    roots: OnceLock<Arc<RootCertStore>>,
    accepted: Option<String>,
    /// The last one that was not taken, and why.
    unknown: Mutex<Option<(String, String)>>,
}

impl Verifier {
    fn new(accepted: Option<String>) -> Self {
        Self {
            roots: OnceLock::new(),
            accepted,
            unknown: Mutex::new(None),
        }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let read = || {
            let mut roots = RootCertStore::empty();
            // Files that cannot be read leave authorities out: their servers are then unknown, and named.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Arc::new(roots)
        };
        Arc::clone(self.roots.get_or_init(read))
    }

    fn take_unknown(&self) -> Option<(String, String)> {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.take()
    }
}

/// Returns the SHA-256 of a certificate in hexadecimal digits, in pairs.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let pairs: Vec<String> = digest.as_ref().iter().map(|b| format!("{b:02X}")).collect();
    pairs.join(":")
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let own = fingerprint(end_entity);
        if self.accepted.as_ref() == Some(&own) {
            return Ok(ServerCertVerified::assertion());
        }
        let provider = Arc::new(default_provider());
        let verified = WebPkiServerVerifier::builder_with_provider(self.roots(), provider)
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))
            .and_then(|webpki| {
                webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp, now)
            });
        if let Err(error) = &verified {
            let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
            *unknown = Some((own, error.to_string()));
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
