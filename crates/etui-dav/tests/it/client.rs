//! What a client makes of the answers of servers. The answers are written after their public documentation and after
//! reports of their users.

use etui_dav::client::{
    Address, AddressError, AnswerError, AnswerLimits, ClientRequest, CollectionItem, Discovery,
    DiscoveryError, DiscoveryStep, Multistatus, PutCondition, RemoteCollection, RemoteKind,
    Response, failure_reason, list_members, multiget, normal_path, put, read_multistatus,
    sync_collection,
};
use etui_dav::xml::XmlError;

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

/// Wraps responses in a 207.
fn multistatus(inner: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><d:multistatus xmlns:d=\"DAV:\" \
         xmlns:card=\"urn:ietf:params:xml:ns:carddav\" xmlns:cal=\"urn:ietf:params:xml:ns:caldav\" \
         xmlns:cs=\"http://calendarserver.org/ns/\" xmlns:ic=\"http://apple.com/ns/ical/\">{inner}</d:multistatus>"
    )
}

fn response(href: &str, properties: &str) -> String {
    format!(
        "<d:response><d:href>{href}</d:href><d:propstat><d:prop>{properties}</d:prop>\
         <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    )
}

fn read(body: &str) -> (Vec<Response>, Result<Multistatus, AnswerError>) {
    let mut all = Vec::new();
    let limits = AnswerLimits::default();
    let found = read_multistatus(body.as_bytes(), &limits, &mut |one| all.push(one));
    (all, found)
}

fn items(collection: &Address, body: &str) -> Vec<CollectionItem> {
    let (responses, found) = read(body);
    found.unwrap();
    responses
        .iter()
        .filter_map(|one| CollectionItem::of(collection, one))
        .collect()
}

fn body(request: &ClientRequest) -> String {
    String::from_utf8(request.body().to_vec()).unwrap()
}

#[test]
fn addresses_are_compared_in_one_form() {
    for (text, expected) in [
        ("dav.example.org", "https://dav.example.org/"),
        ("HTTPS://DAV.example.org:443/a", "https://dav.example.org/a"),
        ("http://localhost:5232/a b/", "address"),
        ("https://[::1]:8443/x", "https://[::1]:8443/x"),
        ("ftp://example.org/", "address"),
        ("https://", "address"),
        ("https://ada:secret@example.org/", "password"),
        ("https://example.org:x/", "address"),
        ("https://ada:pa secret@example.org/", "password"),
        ("https://ada:pa/secret@example.org/", "password"),
    ] {
        let found = Address::parse(text).map_or_else(|e| e.to_string(), |a| a.to_string());
        assert!(
            found == expected || found.contains(expected),
            "{text}: {found}"
        );
        assert!(!found.contains("secret"));
    }
    for (href, expected) in [
        ("/ada/b%40x/%7e1.vcf", "https://a.example/ada/b@x/~1.vcf"),
        ("x y.ics", "https://a.example/home/x%20y.ics"),
        (
            "https://a.example/home/ü.ics",
            "https://a.example/home/%C3%BC.ics",
        ),
        ("//b.example/x", "https://b.example/x"),
        ("../../../x", "https://a.example/x"),
        ("./x.vcf", "https://a.example/home/x.vcf"),
        ("a/b/..", "https://a.example/home/a/"),
        (
            "/x?a\r\nX-Evil: 1",
            "https://a.example/x?a%0D%0AX-Evil:%201",
        ),
    ] {
        let found = address("https://a.example/home/").resolve(href).unwrap();
        assert_eq!(found.to_string(), expected);
    }
    assert_eq!(normal_path("/a%2Fb"), normal_path("/a%2fb"));
    assert_ne!(normal_path("/a%2Fb"), normal_path("/a/b"));
}

#[test]
fn credentials_stay_where_the_person_sends_them() {
    for (given, other, is_trusted) in [
        (
            "https://contacts.icloud.com/",
            "https://p12-contacts.icloud.com:443/1/",
            true,
        ),
        (
            "https://contacts.icloud.com/",
            "https://p12-contacts.icloud.com.evil.example/",
            false,
        ),
        (
            "https://contacts.icloud.com/",
            "https://evilicloud.com/",
            false,
        ),
        (
            "https://contacts.icloud.com/",
            "http://p12-contacts.icloud.com/",
            false,
        ),
        (
            "https://dav.example.org/",
            "https://dav.example.org/x/",
            true,
        ),
        (
            "https://dav.example.org/",
            "http://dav.example.org/x/",
            false,
        ),
        (
            "https://dav.example.org/",
            "https://dav.example.org:8443/",
            false,
        ),
        (
            "https://dav.example.org/",
            "https://www.example.org/",
            false,
        ),
        ("http://dav.example.org/", "https://dav.example.org/", true),
        ("http://localhost:5232/", "https://localhost:5233/", false),
    ] {
        let found = address(given).trusts(&address(other));
        assert_eq!(found.is_ok(), is_trusted, "{given} -> {other}: {found:?}");
    }
}

/// Answers the requests of a discovery as servers do: the path, then a status or a body.
fn discover(
    given: &str,
    answer: impl Fn(&ClientRequest) -> Result<String, (u16, Option<&'static str>)>,
) -> (Vec<String>, Result<Vec<RemoteCollection>, DiscoveryError>) {
    let mut discovery = Discovery::new(address(given));
    let mut asked = Vec::new();
    loop {
        let request = match discovery.step() {
            Ok(DiscoveryStep::Send(request)) => request,
            Ok(DiscoveryStep::Done(found)) => return (asked, Ok(found)),
            Err(error) => return (asked, Err(error)),
        };
        asked.push(request.address().to_string());
        match answer(&request) {
            Ok(body) => discovery.answered(&read(&body).0),
            Err((_, Some(location))) => discovery.redirected(location),
            Err((status, None)) => discovery.refused(status),
        }
    }
}

const BOOK: &str = "<d:resourcetype><d:collection/><card:addressbook/></d:resourcetype>\
    <d:displayname>Contacts</d:displayname><d:sync-token>t1</d:sync-token><cs:getctag>c1</cs:getctag>";

#[test]
fn an_account_of_icloud_is_found_on_its_numbered_host() {
    let (asked, found) = discover("https://contacts.icloud.com/", |request| {
        let at = request.address();
        Ok(match (at.host(), at.path()) {
            ("contacts.icloud.com", "/") => multistatus(&response(
                "/",
                "<d:current-user-principal><d:href>/123/principal/</d:href></d:current-user-principal>",
            )),
            ("contacts.icloud.com", "/123/principal/") => multistatus(&response(
                "/123/principal/",
                "<card:addressbook-home-set><d:href>https://p42-contacts.icloud.com:443/123/carddavhome/</d:href>\
                 </card:addressbook-home-set>",
            )),
            ("p42-contacts.icloud.com", _) => multistatus(
                &(response(
                    "/123/carddavhome/",
                    "<d:resourcetype><d:collection/></d:resourcetype>",
                ) + &response("/123/carddavhome/card/", BOOK)),
            ),
            _ => return Err((404, None)),
        })
    });
    let found = found.unwrap();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert_eq!(
        found[0].address.to_string(),
        "https://p42-contacts.icloud.com/123/carddavhome/card/"
    );
    assert_eq!(
        (found[0].kind, found[0].name.as_str()),
        (RemoteKind::Contacts, "Contacts")
    );
    assert_eq!(
        (found[0].sync_token.as_deref(), found[0].ctag.as_deref()),
        (Some("t1"), Some("c1"))
    );
}

#[test]
fn an_account_of_nextcloud_is_found_from_the_host() {
    let home = "<card:addressbook-home-set><d:href>/remote.php/dav/addressbooks/users/ada/</d:href></card:addressbook-home-set>\
        <cal:calendar-home-set><d:href>/remote.php/dav/calendars/ada/</d:href></cal:calendar-home-set>";
    let calendar = "<d:resourcetype><d:collection/><cal:calendar/></d:resourcetype>\
        <cal:supported-calendar-component-set><cal:comp name=\"VEVENT\"/></cal:supported-calendar-component-set>\
        <d:current-user-privilege-set><d:privilege><d:read/></d:privilege></d:current-user-privilege-set>\
        <ic:calendar-color>#0082c9</ic:calendar-color>";
    let (_, found) = discover("cloud.example.org", |request| {
        match request.address().path() {
            "/" => Err((405, None)),
            "/.well-known/caldav" | "/.well-known/carddav" => Err((301, Some("/remote.php/dav/"))),
            "/remote.php/dav/" => Ok(multistatus(&response(
                "/remote.php/dav/",
                "<d:current-user-principal><d:href>/remote.php/dav/principals/users/ada/</d:href></d:current-user-principal>",
            ))),
            "/remote.php/dav/principals/users/ada/" => Ok(multistatus(&response("/x/", home))),
            "/remote.php/dav/addressbooks/users/ada/" => Ok(multistatus(&response(
                "/remote.php/dav/addressbooks/users/ada/contacts/",
                BOOK,
            ))),
            "/remote.php/dav/calendars/ada/" => Ok(multistatus(&response(
                "/remote.php/dav/calendars/ada/feiertage/",
                calendar,
            ))),
            _ => Err((404, None)),
        }
    });
    let found = found.unwrap();
    assert_eq!(found.len(), 2);
    let calendar = &found[1];
    assert_eq!(
        (calendar.name.as_str(), calendar.is_writable),
        ("feiertage", false)
    );
    assert_eq!(
        (&calendar.components[..], calendar.color.as_deref()),
        (&["VEVENT".to_owned()][..], Some("#0082c9"))
    );
}

#[test]
fn contacts_and_calendars_may_have_services_of_their_own() {
    let (_, found) = discover("https://dav.example.org/", |request| {
        match request.address().path() {
            "/.well-known/carddav" => Ok(multistatus(&response(
                "/.well-known/carddav",
                "<card:addressbook-home-set><d:href>/card/</d:href><d:href>https://other.example/</d:href>\
             </card:addressbook-home-set>",
            ))),
            "/.well-known/caldav" => Ok(multistatus(&response(
                "/.well-known/caldav",
                "<cal:calendar-home-set><d:href>/cal/</d:href></cal:calendar-home-set>",
            ))),
            "/card/" => Ok(multistatus(&response("/card/1/", BOOK))),
            "/cal/" => Ok(multistatus(&response(
                "/cal/1/",
                "<d:resourcetype><d:collection/><cal:calendar/></d:resourcetype>",
            ))),
            _ => Err((404, None)),
        }
    });
    let kinds: Vec<_> = found.unwrap().iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [RemoteKind::Calendar, RemoteKind::Contacts]);
}

#[test]
fn one_answer_may_be_of_several_resources() {
    let book = address("https://a.example/b/");
    let body = multistatus(
        "<d:response><d:href>/b/1.vcf</d:href><d:href>/b/2.vcf</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>\
         <d:response><d:href>/b/3.vcf</d:href><d:status>404</d:status></d:response>",
    );
    let found: Vec<_> = items(&book, &body)
        .iter()
        .map(|item| item.failure)
        .collect();
    assert_eq!(found, [Some(404), Some(404), Some(500)]);
}

#[test]
fn an_address_that_is_no_account_says_what_to_do() {
    let (_, found) = discover("https://example.org/", |_| Err((404, None)));
    assert!(
        found
            .unwrap_err()
            .to_string()
            .contains("give the address that the provider names")
    );
    let (asked, found) = discover("https://example.org/", |_| Err((401, None)));
    assert!(
        found
            .unwrap_err()
            .to_string()
            .contains("does not take this user and password")
    );
    assert_eq!(asked.len(), 1);
    let (_, found) = discover("https://example.org/", |_| {
        Err((302, Some("https://evil.example/")))
    });
    assert!(matches!(
        found,
        Err(DiscoveryError::Address(AddressError::OtherHost { .. }))
    ));
    let (_, found) = discover("https://example.org/", |_| {
        Err((302, Some("http://example.org/")))
    });
    assert!(matches!(
        found,
        Err(DiscoveryError::Address(AddressError::NotSecure { .. }))
    ));
    // From one address to the next.
    let (asked, found) = discover("https://example.org/", |request| {
        let to: &'static str = format!("{}x", request.address().path()).leak();
        Err((302, Some(to)))
    });
    assert!(matches!(found, Err(DiscoveryError::TooManySteps(_))) && asked.len() < 40);
}

#[test]
fn changes_of_a_collection_are_told_apart() {
    let book = address("https://a.example/b%40x/");
    let body = multistatus(
        &(response(
            "/b%40x/",
            "<d:getetag>\"c\"</d:getetag><d:resourcetype><d:collection/></d:resourcetype>",
        ) + &response("/b@x/1.vcf", "<d:getetag>\"1\"</d:getetag>")
            + &response("https://a.example/b@x/2%20.vcf", "<d:getetag>2</d:getetag>")
            + &response("/other/3.vcf", "<d:getetag>\"3\"</d:getetag>")
            + &response("/b@x/sub/4.vcf", "<d:getetag>\"4\"</d:getetag>")
            + "<d:response><d:href>/b@x/5.vcf</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>"
            + "<d:response><d:href>/b@x/6.vcf</d:href><d:status>HTTP/1.1 403 Forbidden</d:status>\
               <d:responsedescription>no</d:responsedescription></d:response>"
            + "<d:sync-token>http://a/2</d:sync-token>"),
    );
    let found: Vec<_> = items(&book, &body)
        .into_iter()
        .map(|item| {
            (
                item.is_gone(),
                item.failure,
                item.reason,
                item.etag.unwrap_or_default(),
                item.href,
            )
        })
        .collect();
    let expected = [
        (
            false,
            None,
            None,
            "\"1\"".to_owned(),
            "/b@x/1.vcf".to_owned(),
        ),
        (
            false,
            None,
            None,
            "2".to_owned(),
            "/b@x/2%20.vcf".to_owned(),
        ),
        (
            true,
            Some(404),
            None,
            String::new(),
            "/b@x/5.vcf".to_owned(),
        ),
        (
            false,
            Some(403),
            Some("no".to_owned()),
            String::new(),
            "/b@x/6.vcf".to_owned(),
        ),
    ];
    assert_eq!(found, expected);
    assert_eq!(
        read(&body).1.unwrap().sync_token.as_deref(),
        Some("http://a/2")
    );
}

#[test]
fn a_cut_listing_says_so() {
    // Nextcloud and etui: 507 for the collection, with a token to go on from.
    let book = address("https://a.example/b/");
    let body = multistatus(
        &(response("/b/1.vcf", "<d:getetag>\"1\"</d:getetag>")
            + "<d:response><d:href>/b/</d:href><d:status>HTTP/1.1 507 Insufficient Storage</d:status></d:response>\
               <d:sync-token>t2</d:sync-token>"),
    );
    let (responses, found) = read(&body);
    assert_eq!(found.unwrap().sync_token.as_deref(), Some("t2"));
    assert!(responses.iter().any(|one| one.is_cut(&book)));
    // A body that ends in the middle is an error, and what came before is not the whole.
    let (responses, found) = read(&body[..body.len() - 40]);
    assert_eq!(responses.len(), 2);
    assert!(matches!(found, Err(AnswerError::Xml(_))));
}

#[test]
fn texts_come_back_byte_for_byte() {
    let book = address("https://a.example/b/");
    let body = multistatus(&response(
        "/b/1.vcf",
        "<d:getetag>W/\"1\"</d:getetag><card:address-data>BEGIN:VCARD&#13;\nFN:A &amp; B&#13;\nEND:VCARD&#13;\n</card:address-data>",
    ));
    let found = items(&book, &body);
    assert_eq!(
        found[0].text.as_deref(),
        Some("BEGIN:VCARD\r\nFN:A & B\r\nEND:VCARD\r\n")
    );
}

#[test]
fn hostile_answers_are_refused() {
    let bomb = format!(
        "<!DOCTYPE x [<!ENTITY a \"{}\">]><multistatus xmlns=\"DAV:\">&a;</multistatus>",
        "a".repeat(100)
    );
    assert!(matches!(
        read(&bomb).1,
        Err(AnswerError::Xml(XmlError::Doctype(_)))
    ));
    assert!(
        matches!(read("<html><body>Log in</body></html>").1, Err(AnswerError::OtherDocument(name)) if name == "html")
    );
    assert!(matches!(read("").1, Err(AnswerError::Xml(XmlError::Empty))));
    assert!(matches!(read("Please log in").1, Err(AnswerError::Xml(_))));
    let deep = multistatus(&"<d:response>".repeat(1000));
    assert!(matches!(
        read(&deep).1,
        Err(AnswerError::Xml(XmlError::TooDeep { .. }))
    ));
    let wide = multistatus(&format!("<d:response>{}", "<d:a/>".repeat(200_000)));
    assert!(matches!(
        read(&wide).1,
        Err(AnswerError::Xml(XmlError::TooMany { .. }))
    ));

    // What is said of one resource is held in memory, up to a limit.
    let long = multistatus(&format!("<d:response><d:href>{}", "a".repeat(40 << 20)));
    assert_eq!(
        read(&long).1,
        Err(AnswerError::Xml(XmlError::TooLong(32 << 20)))
    );
    let comment = multistatus(&format!("<!--{}-->", "a".repeat(40 << 20)));
    assert_eq!(
        read(&comment).1,
        Err(AnswerError::Xml(XmlError::TooLong(32 << 20)))
    );

    // An endless answer is read up to a limit, and held one resource at a time.
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let text = b"<response><href>/b/1</href></response>";
            for byte in out.iter_mut() {
                let at = self.0 as usize;
                *byte = match at.checked_sub(26) {
                    None => b"<multistatus xmlns=\"DAV:\">"[at],
                    Some(at) => text[at % text.len()],
                };
                self.0 += 1;
            }
            Ok(out.len())
        }
    }
    let limits = AnswerLimits {
        max_bytes: 1 << 20,
        max_responses: 1000,
        ..AnswerLimits::default()
    };
    let mut count = 0;
    let body = std::io::BufReader::new(Endless(0));
    let found = read_multistatus(body, &limits, &mut |_| count += 1);
    assert_eq!(found, Err(AnswerError::Xml(XmlError::TooLong(1 << 20))));
    assert_eq!(count, 1000);
}

#[test]
fn the_reason_of_a_refusal_is_the_servers() {
    for (body, expected) in [
        (
            "<d:error xmlns:d=\"DAV:\" xmlns:s=\"http://sabredav.org/ns\"><s:exception>Sabre\\DAV\\Exception</s:exception>\
             <s:message>Validation error in vCard: FN is missing</s:message></d:error>",
            Some("Validation error in vCard: FN is missing"),
        ),
        (
            "<error xmlns=\"DAV:\"><C:no-uid-conflict xmlns:C=\"x\"/></error>",
            Some("no-uid-conflict"),
        ),
        ("<html><p>Too   large</p>", Some("Too large")),
        ("quota\u{1b}[31m exceeded\n", Some("quota [31m exceeded")),
        ("", None),
    ] {
        assert_eq!(failure_reason(body.as_bytes()).as_deref(), expected);
    }
    let long = failure_reason("ü".repeat(10_000).as_bytes()).unwrap();
    assert!(long.len() < 310 && long.ends_with("..."));
}

#[test]
fn requests_are_those_of_the_standards() {
    let book = address("https://a.example/b/");
    let listing = list_members(&book);
    assert_eq!(
        (listing.method().as_str(), &listing.headers()["depth"]),
        ("PROPFIND", &"1".parse::<http::HeaderValue>().unwrap())
    );
    let changes = body(&sync_collection(&book, Some("a&b")));
    assert!(
        changes.contains("<d:sync-token>a&amp;b</d:sync-token>")
            && changes.contains("<d:sync-level>1</d:sync-level>")
    );
    let texts = body(&multiget(
        &book,
        RemoteKind::Calendar,
        &["/b/1.ics", "/b/2.ics"],
    ));
    assert!(texts.contains("<c:calendar-data/>") && texts.contains("<d:href>/b/2.ics</d:href>"));
    let new = put(
        &book,
        RemoteKind::Contacts,
        b"x".to_vec(),
        PutCondition::New,
    );
    assert_eq!(new.headers()["if-none-match"], "*");
    // An entity tag that cannot be sent is met by nothing.
    let odd = put(
        &book,
        RemoteKind::Contacts,
        b"x".to_vec(),
        PutCondition::Unchanged("a\nb"),
    );
    assert_eq!(odd.headers()["if-match"], "\"\"");
}
