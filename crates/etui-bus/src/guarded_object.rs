//! [`GuardedObject`]: an object on the bus whose calls are bounded, and answered even if one
//! panics.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use zbus::export::async_trait::async_trait;
use zbus::message::{Header, Message};
use zbus::names::{InterfaceName, MemberName};
use zbus::object_server::{DispatchResult, Interface, SignalEmitter};
use zbus::{BoxDBusError, Connection, ObjectServer, OwnedVariant, Variant, fdo};

use crate::call_limits::CallLimits;
use crate::guard::{HandlerPanic, catch_panic};

/// An interface of an object. Every call of a method waits until the limits let it run, and runs
/// until its reply is sent.
pub struct GuardedObject<I> {
    object: I,
    limits: Arc<CallLimits>,
    is_private: bool,
}

impl<I> GuardedObject<I> {
    /// Guards an object.
    pub fn new(object: I, limits: &Arc<CallLimits>) -> Self {
        Self {
            object,
            limits: Arc::clone(limits),
            is_private: false,
        }
    }

    /// Guards an object of one client. Its properties are only in replies, not in announcements, which
    /// everybody can read.
    pub fn private(object: I, limits: &Arc<CallLimits>) -> Self {
        let is_private = true;
        Self {
            is_private,
            ..Self::new(object, limits)
        }
    }

    /// The object.
    pub fn object(&self) -> &I {
        &self.object
    }
}

/// A call until its reply is sent.
type Work<'call> = Pin<Box<dyn Future<Output = Result<(), BoxDBusError>> + Send + 'call>>;

/// Runs a call as soon as the limits let it.
fn within_limits<'call>(
    limits: &'call CallLimits,
    call: &'call Message,
    work: Work<'call>,
) -> Work<'call> {
    Box::pin(async move {
        let admitted = limits.admit(call)?;
        let _turn = admitted.wait_for_turn().await;
        answer_panics(work).await?
    })
}

/// Runs a handler. A panic becomes an error.
async fn answer_panics<T>(
    mut work: Pin<Box<dyn Future<Output = T> + Send + '_>>,
) -> fdo::Result<T> {
    let answered =
        poll_fn(
            |cx| match catch_panic::<_, HandlerPanic>(|| Ok(work.as_mut().poll(cx))) {
                Ok(polled) => polled.map(Ok),
                Err(panic) => std::task::Poll::Ready(Err(panic)),
            },
        );
    answered
        .await
        .map_err(|panic| fdo::Error::Failed(panic.to_string()))
}

#[async_trait]
impl<I: Interface> Interface for GuardedObject<I> {
    fn name() -> InterfaceName<'static> {
        I::name()
    }

    fn spawn_tasks_for_methods(&self) -> bool {
        self.object.spawn_tasks_for_methods()
    }

    async fn get(
        &self,
        property: &str,
        server: &ObjectServer,
        connection: &Connection,
        header: Option<&Header<'_>>,
        emitter: &SignalEmitter<'_>,
    ) -> Option<Result<OwnedVariant, BoxDBusError>> {
        let value = self
            .object
            .get(property, server, connection, header, emitter);
        answer_panics(value)
            .await
            .unwrap_or_else(|e| Some(Err(e.into())))
    }

    async fn get_all(
        &self,
        server: &ObjectServer,
        connection: &Connection,
        header: Option<&Header<'_>>,
        emitter: &SignalEmitter<'_>,
    ) -> fdo::Result<HashMap<String, OwnedVariant>> {
        if self.is_private && header.is_none() {
            return Ok(HashMap::new());
        }
        answer_panics(self.object.get_all(server, connection, header, emitter)).await?
    }

    fn set<'call>(
        &'call self,
        property: &'call str,
        value: &'call Variant<'_>,
        server: &'call ObjectServer,
        connection: &'call Connection,
        header: Option<&'call Header<'_>>,
        emitter: &'call SignalEmitter<'_>,
    ) -> DispatchResult<'call> {
        self.object
            .set(property, value, server, connection, header, emitter)
    }

    async fn set_mut(
        &mut self,
        property: &str,
        value: &Variant<'_>,
        server: &ObjectServer,
        connection: &Connection,
        header: Option<&Header<'_>>,
        emitter: &SignalEmitter<'_>,
    ) -> Option<Result<(), BoxDBusError>> {
        self.object
            .set_mut(property, value, server, connection, header, emitter)
            .await
    }

    fn call<'call>(
        &'call self,
        server: &'call ObjectServer,
        connection: &'call Connection,
        call: &'call Message,
        method: MemberName<'call>,
    ) -> DispatchResult<'call> {
        match self.object.call(server, connection, call, method) {
            DispatchResult::Async(work) => {
                DispatchResult::Async(within_limits(&self.limits, call, work))
            }
            other => other,
        }
    }

    fn call_mut<'call>(
        &'call mut self,
        server: &'call ObjectServer,
        connection: &'call Connection,
        call: &'call Message,
        method: MemberName<'call>,
    ) -> DispatchResult<'call> {
        // Objects have no methods that need exclusive access: one call at a time would run.
        self.object.call_mut(server, connection, call, method)
    }

    fn introspect_to_writer(&self, writer: &mut dyn std::fmt::Write, level: usize) {
        self.object.introspect_to_writer(writer, level);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::os::unix::net::UnixStream;

    use zbus::connection::Builder;
    use zbus::{Guid, interface};

    use super::*;

    struct Fragile;

    #[interface(name = "org.example.Fragile")]
    impl Fragile {
        async fn fail(&self) {
            panic!("a defect");
        }

        async fn fail_later(&self) {
            zruntime::unblock(|| ()).await;
            panic!("a defect");
        }

        async fn add(&self, a: u32, b: u32) -> u32 {
            a + b
        }

        #[zbus(property)]
        fn value(&self) -> u32 {
            panic!("a defect");
        }
    }

    #[test]
    fn a_panic_is_answered_with_an_error_and_the_object_goes_on() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        zbus::block_on(async {
            let object = GuardedObject::new(Fragile, &CallLimits::new(1));
            let server = Builder::unix_stream(ours)
                .server(Guid::generate())
                .p2p()
                .serve_at("/", object);
            let runtime = zruntime::SharedRuntime::current().unwrap();
            let server = runtime.spawn("server", server.build());
            let client = Builder::unix_stream(theirs).p2p().build().await.unwrap();
            let _server = server.await.unwrap();
            let name = Some("org.example.Fragile");
            for _ in 0..2 {
                for method in ["Fail", "FailLater"] {
                    let call = client.call_method(None::<&str>, "/", name, method, &());
                    let error = call.await.unwrap_err();
                    assert!(error.to_string().contains("a defect"), "{method}: {error}");
                }
                let call = client.call_method(
                    None::<&str>,
                    "/",
                    Some("org.freedesktop.DBus.Properties"),
                    "Get",
                    &("org.example.Fragile", "Value"),
                );
                let error = call.await.unwrap_err();
                assert!(error.to_string().contains("a defect"), "{error}");
                let call = client.call_method(None::<&str>, "/", name, "Add", &(1_u32, 2_u32));
                let sum: u32 = call.await.unwrap().body().deserialize().unwrap();
                assert_eq!(sum, 3);
            }
        });
    }
}
