//! Cards for programs that know vCard 3.0 only: what they read, and what is lost.

use etui_vcard::Card;

fn convert(lines: &str) -> (String, Vec<String>) {
    let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:A B\r\n{lines}\r\nEND:VCARD\r\n");
    let converted = Card::parse(text).unwrap().convert_to_v3();
    let lines = converted.text.lines().filter(|line| {
        !["BEGIN", "END", "VERSION", "FN:A B", "N:"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    (lines.collect::<Vec<_>>().join(" "), converted.losses)
}

#[test]
fn old_programs_find_what_they_know() {
    for (lines, expected, losses) in [
        (
            "ANNIVERSARY:20111202",
            "item1.X-ABDATE:2011-12-02 item1.X-ABLabel:_$!<Anniversary>!$_ X-ANNIVERSARY:2011-12-02",
            &[][..],
        ),
        ("BDAY:--1210", "BDAY;X-APPLE-OMIT-YEAR=1604:1604-12-10", &[]),
        ("BDAY:19850410", "BDAY:1985-04-10", &[]),
        ("BDAY:1815", "", &["BDAY 1815"]),
        (
            "RELATED;VALUE=text;TYPE=spouse:Pat",
            "item1.X-ABRELATEDNAMES:Pat item1.X-ABLabel:_$!<Spouse>!$_",
            &[],
        ),
        (
            "RELATED;VALUE=text;TYPE=colleague:Pat",
            "item1.X-ABRELATEDNAMES:Pat item1.X-ABLabel:colleague",
            &[],
        ),
        ("GENDER:F", "X-GENDER:Female", &[]),
        ("GENDER:M;he\\, him", "X-GENDER:Male", &["GENDER words"]),
        ("KIND:group", "X-ADDRESSBOOKSERVER-KIND:group", &[]),
        (
            "MEMBER:urn:uuid:7",
            "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:7",
            &[],
        ),
        (
            "TEL;PREF=1;TYPE=cell;VALUE=uri:tel:+49-30-1234",
            "TEL;TYPE=cell,pref:+49-30-1234",
            &[],
        ),
        ("TEL;PID=1.1:1", "TEL:1", &["TEL PID"]),
        ("FN:Second", "", &["FN"]),
        // Groups of its own are not taken.
        (
            "item1.TEL:1\r\nANNIVERSARY:20111202",
            "item1.TEL:1 item2.X-ABDATE:2011-12-02 item2.X-ABLabel:_$!<Anniversary>!$_ X-ANNIVERSARY:2011-12-02",
            &[],
        ),
    ] {
        let (found, lost) = convert(lines);
        assert_eq!(
            (found.as_str(), lost.as_slice()),
            (
                expected,
                &losses.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..]
            ),
            "{lines}"
        );
    }
    let same = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nX-OWN:1\r\nEND:VCARD\r\n";
    assert_eq!(Card::parse(same).unwrap().convert_to_v3().text, same);
}
