//! The object `CalendarView`.

use std::sync::Arc;

use zbus::interface;
use zbus::object_server::SignalEmitter;

use super::view::ViewState;
use crate::error::EdsError;

/// The object of a view.
pub(super) struct CalendarView(pub(super) Arc<ViewState>);

#[interface(
    name = "org.gnome.evolution.dataserver.CalendarView",
    introspection_docs = false
)]
impl CalendarView {
    async fn start(&self) -> Result<(), EdsError> {
        self.0.start();
        Ok(())
    }

    async fn stop(&self) -> Result<(), EdsError> {
        self.0.stop();
        Ok(())
    }

    async fn set_flags(&self, flags: u32) -> Result<(), EdsError> {
        self.0.set_flags(flags);
        Ok(())
    }

    async fn set_fields_of_interest(&self, only_fields: Vec<String>) -> Result<(), EdsError> {
        self.0.set_properties(only_fields);
        Ok(())
    }

    async fn dispose(&self) -> Result<(), EdsError> {
        // The object is removed after this call, which borrows it.
        zruntime::spawn(drop_view(self.0.clone())).detach();
        Ok(())
    }

    #[zbus(signal)]
    async fn objects_added(emitter: &SignalEmitter<'_>, objects: Vec<String>) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn objects_modified(
        emitter: &SignalEmitter<'_>,
        objects: Vec<String>,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn objects_removed(emitter: &SignalEmitter<'_>, uids: Vec<String>) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn progress(emitter: &SignalEmitter<'_>, percent: u32, message: &str)
    -> zbus::Result<()>;

    #[zbus(signal)]
    async fn complete(
        emitter: &SignalEmitter<'_>,
        error_name: &str,
        error_message: &str,
    ) -> zbus::Result<()>;
}

/// Ends a view: `Dispose`, or its owner left the bus.
pub(super) async fn drop_view(view: Arc<ViewState>) {
    view.stop();
    view.opened.server.remove_owned(&view.channel.path);
    view.opened
        .views()
        .retain(|other| !Arc::ptr_eq(other, &view));
    let objects = view.opened.server.connection.object_server();
    let _ = objects
        .remove::<CalendarView, _>(view.channel.path.as_str())
        .await;
}
