//! `org.etui.View1`: a filter whose changes are followed.

use std::sync::Arc;

use zbus::interface;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;

use crate::collection::ListCalls;
use crate::error::{ErrorKind, StoreError};
use crate::rows::WireRow;
use crate::service::{ClientId, Endpoint};
use crate::view::{PulledChanges, WireChange};

/// A view of one client.
pub(crate) struct ViewObject {
    pub(crate) endpoint: Endpoint,
    pub(crate) client: ClientId,
    pub(crate) calls: Arc<dyn ListCalls>,
    pub(crate) filter: String,
    pub(crate) number: u64,
}

impl ViewObject {
    /// Fails if a call is of another client: it would take the changes that this one waits for.
    fn expect_own(&self, header: &Header<'_>) -> Result<(), StoreError> {
        match self.endpoint.client(header) == self.client {
            true => Ok(()),
            false => Err(StoreError::new(
                ErrorKind::NotFound,
                "this view belongs to another program; open one with OpenView",
            )),
        }
    }
}

#[interface(name = "org.etui.View1")]
impl ViewObject {
    /// The filter, as it was given to OpenView.
    #[zbus(property(emits_changed_signal = "const"))]
    fn filter(&self, #[zbus(header)] header: Option<Header<'_>>) -> Result<String, StoreError> {
        header.map_or(Ok(()), |header| self.expect_own(&header))?;
        Ok(self.filter.clone())
    }

    /// The number of matching records. Not announced by PropertiesChanged: read it after Ready.
    #[zbus(property(emits_changed_signal = "false"))]
    async fn count(&self, #[zbus(header)] header: Option<Header<'_>>) -> Result<u64, StoreError> {
        header.map_or(Ok(()), |header| self.expect_own(&header))?;
        let (calls, filter) = (Arc::clone(&self.calls), self.filter.clone());
        let count =
            move |service: &crate::service::Service| calls.count_matching(service.store(), &filter);
        self.endpoint.answer_on_worker(count).await
    }

    /// Returns a page of the matching records in list order, and the changes since the view was
    /// last read, up to exactly the state of the page. A change is `added`, `changed` or `removed`
    /// and the record; a single `reset` means: the changes are not known, load every page again.
    #[zbus(out_args("changes", "rows"))]
    async fn load(
        &self,
        offset: u64,
        limit: u64,
        columns: Vec<String>,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(Vec<WireChange>, Vec<WireRow>), StoreError> {
        self.expect_own(&header)?;
        let number = self.number;
        let load = move |service: &crate::service::Service| {
            let views = service.views()?;
            let (changes, rows) = views.load_page(number, (offset, limit), columns)?;
            let reset = || vec![("reset".to_owned(), (0, String::new(), Vec::new()))];
            Ok((changes.unwrap_or_else(reset), rows))
        };
        self.endpoint.answer_on_worker(load).await
    }

    /// Returns the changes since the view was last read, each record once, and `reset`: if it is
    /// true, the changes are not known or too many, and every page is to be loaded again.
    #[zbus(out_args("changes", "reset"))]
    async fn changes(
        &self,
        columns: Vec<String>,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(Vec<WireChange>, bool), StoreError> {
        self.expect_own(&header)?;
        let number = self.number;
        let pull = move |service: &crate::service::Service| {
            let changes: PulledChanges = service.views()?.pull_changes(number, columns)?;
            let reset = changes.is_none();
            Ok((changes.unwrap_or_default(), reset))
        };
        self.endpoint.answer_on_worker(pull).await
    }

    /// Closes the view. The same happens when its client leaves the bus.
    async fn close(&self, #[zbus(header)] header: Header<'_>) -> Result<(), StoreError> {
        self.expect_own(&header)?;
        self.endpoint.answer(|_| Ok(()))?;
        if let Some(path) = header.path() {
            self.endpoint.service.close_object(path.as_str()).await;
        }
        Ok(())
    }

    /// There may be something to ask for. Sent once, and again only after Changes or Load.
    #[zbus(signal)]
    pub(crate) async fn ready(emitter: &SignalEmitter<'_>) -> zbus::Result<()>;
}
