//! The end of the service: idle, without a bus, or with the name taken.

use std::time::Duration;

use etui_dbus::{ServeError, ServeOptions, serve};
use etui_testkit::wait::wait_until;
use zbus::OwnedObjectPath;

use super::support::*;

#[test]
fn an_idle_service_ends_but_not_with_an_open_view() {
    // The view has to be there before the first end; a busy machine may need more time.
    let (service, client, view, idle) = [300, 3_000, 30_000]
        .into_iter()
        .find_map(|idle| {
            let idle = Duration::from_millis(idle);
            let service = Running::start_with(Some(idle));
            let client = service.client();
            let books: Vec<(String, OwnedObjectPath, String)> =
                client.store("Collections", &"contacts").ok()?;
            let (book, all) = (books[0].1.to_string(), ("", none()));
            let view: OwnedObjectPath = client.call(&book, COLLECTION, "OpenView", &all).ok()?;
            client.save(&book, &[card("a", "Ada", "")]);
            Some((service, client, view, idle))
        })
        .unwrap();
    std::thread::sleep(3 * idle);
    assert!(client.is_served());
    client
        .call::<_, ()>(view.as_str(), VIEW, "Close", &())
        .unwrap();
    wait_until("the service ends", || !client.is_served());
    service.thread.join().unwrap().unwrap();
    // It closed the store: one file, without a log.
    let dir = service.store.parent().unwrap();
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1);
}

#[test]
fn a_service_ends_with_its_bus() {
    let mut service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let _: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("", none()))
        .unwrap();
    service.bus.stop();
    wait_until("the service ends", || service.thread.is_finished());
    service.thread.join().unwrap().unwrap();
}

#[test]
fn a_second_service_is_refused() {
    let service = Running::start();
    let options = ServeOptions {
        store: service.store.clone(),
        options: etui::Options::default(),
        address: Some(service.bus.address().to_owned()),
        idle_exit: None,
        end_on_signals: false,
    };
    assert!(matches!(serve(options), Err(ServeError::NameTaken)));
}
