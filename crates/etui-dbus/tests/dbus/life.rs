//! The end of the service: idle, without a bus, or with the name taken.

use std::time::Duration;

use etui_dbus::{ServeError, ServeOptions, serve};
use zbus::OwnedObjectPath;

use super::support::*;

#[test]
fn an_idle_service_ends_but_not_with_an_open_view() {
    let service = Running::start_with(Some(Duration::from_millis(300)));
    let client = service.client();
    let book = client.collection("contacts");
    let view: OwnedObjectPath = client
        .call(&book, COLLECTION, "OpenView", &("", none()))
        .unwrap();
    client.save(&book, &[card("a", "Ada", "")]);
    std::thread::sleep(Duration::from_millis(900));
    assert!(client.is_served());
    client
        .call::<_, ()>(view.as_str(), VIEW, "Close", &())
        .unwrap();
    wait_until(|| !client.is_served());
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
    wait_until(|| service.thread.is_finished());
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
