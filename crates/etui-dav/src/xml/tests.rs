//! Tests of reading and writing XML.

use super::{Element, Limits, Namespace, Writer, XmlError};

fn parse(document: &str) -> Result<Element, XmlError> {
    Element::parse(document.as_bytes(), &Limits::default())
}

fn write(work: impl FnOnce(&mut Writer<'_>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    work(&mut writer).unwrap();
    writer.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn namespaces_follow_their_declarations() {
    let root = parse(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <propfind xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
          <!-- a comment --> <prop><C:calendar-data/><x xmlns="urn:x"><y/></x><getetag></getetag>
          <bare xmlns=""/></prop>
        </propfind>"#,
    )
    .unwrap();
    assert!(root.is(&Namespace::Dav, "propfind"));
    let prop = root.child(&Namespace::Dav, "prop").unwrap();
    let names: Vec<(&str, &str)> = prop
        .children
        .iter()
        .map(|child| (child.ns.uri(), child.name.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("urn:ietf:params:xml:ns:caldav", "calendar-data"),
            ("urn:x", "x"),
            ("DAV:", "getetag"),
            ("", "bare")
        ]
    );
    assert_eq!(prop.children[1].children[0].ns, Namespace::of("urn:x"));
}

#[test]
fn text_is_resolved() {
    let root = parse("<a>x &lt;&#13;&#xA;&#x1F600;<![CDATA[<&]]>\r\ny\rz<b/>tail</a>").unwrap();
    assert_eq!(root.text, "x <\r\n\u{1F600}<&\ny\nz");
    assert_eq!(root.children[0].tail, "tail");
    let root =
        parse("<a b='1 &amp; &quot;2&quot;\n' xml:lang='de' xmlns:n='urn:n' n:c='3'/>").unwrap();
    assert_eq!(root.attribute("b"), Some("1 & \"2\" "));
    assert_eq!(root.attribute("xml:lang"), Some("de"));
    assert_eq!(root.attribute("{urn:n}c"), Some("3"));
}

#[test]
fn attacks_are_refused() {
    let bomb = "<!DOCTYPE a [<!ENTITY x \"xxxx\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>";
    assert!(matches!(parse(bomb), Err(XmlError::Doctype(0))));
    assert!(matches!(
        parse("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"),
        Err(XmlError::Doctype(0))
    ));
    assert!(matches!(parse("<a>&y;</a>"), Err(XmlError::Entity { .. })));
    assert!(matches!(parse("<a>&#0;</a>"), Err(XmlError::Entity { .. })));
    assert!(matches!(
        parse("<a b='&#xD800;'/>"),
        Err(XmlError::Entity { .. })
    ));
    assert!(matches!(
        parse("<a>&#+9;</a>"),
        Err(XmlError::Entity { .. })
    ));

    let deep = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
    assert!(parse(&deep(32)).is_ok());
    assert!(matches!(
        parse(&deep(33)),
        Err(XmlError::TooDeep { limit: 32, .. })
    ));
    let wide = |n: usize| format!("<a>{}</a>", "<b/>".repeat(n));
    assert!(parse(&wide(99_999)).is_ok());
    assert!(matches!(
        parse(&wide(100_000)),
        Err(XmlError::TooMany { .. })
    ));
    let many: String = (0..33).map(|n| format!(" a{n}=''")).collect();
    assert!(matches!(
        parse(&format!("<a{many}/>")),
        Err(XmlError::TooMany { .. })
    ));
    let uri = "x".repeat(1025);
    assert!(matches!(
        parse(&format!("<a xmlns='{uri}'/>")),
        Err(XmlError::TooMany { .. })
    ));
    let limits = Limits {
        max_bytes: 10,
        ..Limits::default()
    };
    assert_eq!(
        Element::parse(b"<a>1234567</a>", &limits),
        Err(XmlError::TooLong(10))
    );
}

#[test]
fn malformed_documents_are_refused() {
    for bad in [
        "",
        "  ",
        "text",
        "<a>",
        "</a>",
        "<a></b>",
        "<a><b></a></b>",
        "<a/><b/>",
        "<a/>x",
        "<a b='1' b='2'/>",
        "<a b=1/>",
        "<a b/>",
        "<p:a/>",
        "<a p:b='1'/>",
        "<1/>",
        "<a:/>",
        "<:a/>",
        "<a:b:c xmlns:a='x'/>",
        "<a\"b/>",
        "<a>&</a>",
        "<a b='&'/>",
        "<a b='<'/>",
        "<a>\u{1}</a>",
        "<a b='\u{1}'/>",
        "<a xmlns:x=''/>",
        "<a xmlns:xml='urn:x'/>",
        "<?xml version='1.0' encoding='utf-16'?><a/>",
        "<a",
        "<a><![CDATA[",
        "<!--",
    ] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
    assert!(matches!(
        Element::parse(b"<a>\xff</a>", &Limits::default()),
        Err(XmlError::Encoding(3))
    ));
    assert!(parse("\u{feff}<a/>").is_ok());
}

#[test]
fn the_root_declares_the_prefixes() {
    let other = Namespace::of("urn:x\"&");
    let text = write(|w| {
        w.declaration()?;
        w.open(&Namespace::Dav, "multistatus")?;
        w.empty(&Namespace::CalDav, "a")?;
        w.open(&other, "b")?;
        w.empty_with(&other, "c", &[("version", "\"<4>\n\"")])?;
        w.leaf(&Namespace::of(""), "d", "1")
    });
    assert_eq!(
        text,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<d:multistatus xmlns:d=\"DAV:\" \
         xmlns:c=\"urn:ietf:params:xml:ns:caldav\" xmlns:card=\"urn:ietf:params:xml:ns:carddav\" \
         xmlns:cs=\"http://calendarserver.org/ns/\" xmlns:ic=\"http://apple.com/ns/ical/\"><c:a/>\
         <x:b xmlns:x=\"urn:x&quot;&amp;\"><x:c xmlns:x=\"urn:x&quot;&amp;\" \
         version=\"&quot;&lt;4&gt;&#10;&quot;\"/><d>1</d></x:b></d:multistatus>"
    );
}

#[test]
fn text_survives_a_parser() {
    let card = "BEGIN:VCARD\r\nFN:A & <B>\r\n\tNOTE:]]>\r\nEND:VCARD\r\n";
    let text = write(|w| w.leaf(&Namespace::Dav, "prop", card));
    assert_eq!(parse(&text).unwrap().text, card);
    let text = write(|w| w.leaf(&Namespace::Dav, "prop", "a\0b\u{b}c\u{ffff}d\u{fffe}"));
    assert_eq!(
        parse(&text).unwrap().text,
        "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}"
    );
}

#[test]
fn an_element_is_written_as_it_was_read() {
    let document = "<n:a xmlns:n='urn:n' k='v' xml:lang='en' n:l='w'>one<b>two</b>three<d:c xmlns:d='DAV:'/> </n:a>";
    let read = parse(document).unwrap();
    let written = write(|w| w.element(&read));
    assert_eq!(parse(&written).unwrap(), read, "{written}");
}

proptest::proptest! {
    /// No input makes the parser panic, and an element that it reads is written and read again.
    #[test]
    fn any_document_is_read_or_refused(document in "(<[/a-c:!?\\[]*|[a-c='\"&;#x0-9 \\]>/]|\\PC|[\\x00-\\x1f]){0,60}") {
        if let Ok(read) = parse(&document) {
            let written = write(|w| w.element(&read));
            let mut again = parse(&written).unwrap();
            again.tail.clone_from(&read.tail);
            proptest::prop_assert_eq!(again, read);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = Element::parse(&bytes, &Limits::default());
    }
}
