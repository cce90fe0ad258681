//! How clients find principal, homes and collections.

use crate::support::Served;

/// The first request of DAVx5, at the address that a person entered.
const DAVX5_PRINCIPAL: &str = r#"<?xml version='1.0' encoding='UTF-8' ?><propfind xmlns="DAV:" xmlns:CAL="urn:ietf:params:xml:ns:caldav" xmlns:CARD="urn:ietf:params:xml:ns:carddav"><prop><resourcetype /><displayname /><current-user-principal /><CARD:addressbook-home-set /><CARD:addressbook-description /></prop></propfind>"#;

#[test]
fn davx5_finds_the_principal_anywhere() {
    let served = Served::new();
    for path in [
        "/",
        "/dav/",
        "/dav",
        "/dav/me/",
        "/dav/addressbooks/",
        "/dav/calendars/2/",
    ] {
        let answer = served
            .request("PROPFIND", path)
            .header("depth", "0")
            .body(DAVX5_PRINCIPAL);
        let principal = answer.find("current-user-principal").unwrap();
        assert_eq!(principal.children[0].text, "/dav/me/", "{path}");
    }
    let answer = served
        .request("PROPFIND", "/dav/")
        .header("depth", "0")
        .body(DAVX5_PRINCIPAL);
    assert_eq!(
        answer.lines(),
        "207
/dav/
  HTTP/1.1 200 OK
    d:resourcetype
      d:collection
    d:displayname etui
    d:current-user-principal
      d:href /dav/me/
    card:addressbook-home-set
      d:href /dav/addressbooks/
  HTTP/1.1 404 Not Found
    card:addressbook-description
"
    );
}
