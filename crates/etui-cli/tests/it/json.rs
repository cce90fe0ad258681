//! JSON, as `docs/src/scripts.md` promises it.

use crate::harness::{TestHome, session};

#[test]
fn lists_are_lines() {
    let home = TestHome::with_people();
    session!(home, [
        "etui --json contacts list",
        "etui contacts find mull --json",
        "etui contacts show bob anna --json",
        "etui export --json eve",
        "etui addressbooks --json",
        "etui contacts find zz --json",
    ], @r#"
    $ etui --json contacts list
    {"id":2,"name":"Bob Öst","organization":"","phone":"","email":"bob@example.com","addressbook":"Contacts"}
    {"id":1,"name":"Anna Müller","organization":"Example GmbH","phone":"0171 39200 02","email":"anna.mueller@example.org","addressbook":"Contacts"}
    {"id":4,"name":"Norbert Nobody","organization":"","phone":"","email":"","addressbook":"Contacts"}
    {"id":3,"name":"Eve \u001b[31mTrouble\u009b2J","organization":"","phone":"+1 202 555 0143","email":"","addressbook":"Contacts"}
    $ etui contacts find mull --json
    {"id":1,"name":"Anna Müller","organization":"Example GmbH","phone":"0171 39200 02","email":"anna.mueller@example.org","addressbook":"Contacts"}
    $ etui contacts show bob anna --json
    {"id":2,"uid":"bob","etag":"e9344b3fa64cdfe8819b49d2bcc02b2e","version":"4.0","name":"Bob Öst","name_parts":{"family":"","given":"","additional":"","prefix":"","suffix":""},"nicknames":[],"organization":null,"organizations":[],"title":null,"phones":[],"emails":[{"value":"bob@example.com","types":["home"],"preferred":false,"label":null}],"urls":[],"addresses":[],"birthday":"--02-29","categories":[],"note":"likes tea, no milk\nand cake","photo":{"media_type":"image/png","bytes":8,"uri":null},"properties":[{"group":null,"name":"UID","value":"bob"},{"group":null,"name":"FN","value":"Bob Öst"},{"group":null,"name":"EMAIL","value":"bob@example.com"},{"group":null,"name":"BDAY","value":"--02-29"},{"group":null,"name":"NOTE","value":"likes tea, no milk\nand cake"},{"group":null,"name":"X-HOBBY","value":"chess"},{"group":null,"name":"PHOTO","value":"(image/png, 8 bytes)"}]}
    {"id":1,"uid":"anna","etag":"2c820871f0cfae89f1e09047d1946c54","version":"3.0","name":"Anna Müller","name_parts":{"family":"Müller","given":"Anna","additional":"","prefix":"","suffix":""},"nicknames":[],"organization":"Example GmbH","organizations":[{"name":"Example GmbH","units":["Sales"]}],"title":null,"phones":[{"value":"0171 39200 02","types":["cell"],"preferred":true,"label":null,"e164":null},{"value":"+49 30 23125 001","types":["work"],"preferred":false,"label":null,"e164":"+493023125001"}],"emails":[{"value":"anna.mueller@example.org","types":[],"preferred":false,"label":null}],"urls":[],"addresses":[],"birthday":null,"categories":[],"note":null,"photo":null,"properties":[{"group":null,"name":"UID","value":"anna"},{"group":null,"name":"N","value":"Müller;Anna;;;"},{"group":null,"name":"FN","value":"Anna Müller"},{"group":null,"name":"ORG","value":"Example GmbH;Sales"},{"group":null,"name":"TEL","value":"+49 30 23125 001"},{"group":null,"name":"TEL","value":"0171 39200 02"},{"group":null,"name":"EMAIL","value":"anna.mueller@example.org"}]}
    $ etui export --json eve
    {"id":3,"uid":"eve","etag":"4383b53427be5a2e9a4bc23dcfec9f25","version":"3.0","name":"Eve \u001b[31mTrouble\u009b2J","name_parts":{"family":"Trouble","given":"Eve","additional":"","prefix":"","suffix":""},"nicknames":[],"organization":null,"organizations":[],"title":null,"phones":[{"value":"+1 202 555 0143","types":[],"preferred":false,"label":null,"e164":"+12025550143"}],"emails":[],"urls":[],"addresses":[],"birthday":null,"categories":[],"note":null,"photo":null,"properties":[{"group":null,"name":"UID","value":"eve"},{"group":null,"name":"N","value":"Trouble;Eve;;;"},{"group":null,"name":"FN","value":"Eve \u001b[31mTrouble\u009b2J"},{"group":null,"name":"TEL","value":"+1 202 555 0143"}]}
    $ etui addressbooks --json
    {"name":"Contacts","contacts":4}
    $ etui contacts find zz --json
    {"error":{"kind":"not_found","message":"no contact matches: zz"}}
    [exit 4]
    "#);
}

#[test]
fn changes_tell_what_they_did() {
    let home = TestHome::new();
    session!(home, [
        "etui --json contacts add --name Ada --set uid=ada",
        "etui --json contacts edit ada --set note=x",
        "etui --json contacts edit ada --set note=x",
        "etui --json contacts remove ada",
        "etui --json contacts restore --list",
        "etui --json contacts restore ada",
    ], @r#"
    $ etui --json contacts add --name Ada --set uid=ada
    {"id":1,"uid":"ada","etag":"9940cca1d82b614f7a2375123af53cc2","name":"Ada","outcome":"added"}
    $ etui --json contacts edit ada --set note=x
    {"id":1,"uid":"ada","etag":"f4baeca3eedea6cf30f7647292b6cede","name":"Ada","outcome":"changed"}
    $ etui --json contacts edit ada --set note=x
    {"id":1,"uid":"ada","etag":"f4baeca3eedea6cf30f7647292b6cede","name":"Ada","outcome":"unchanged"}
    $ etui --json contacts remove ada
    {"id":1,"uid":"ada","etag":null,"name":"Ada","outcome":"removed"}
    $ etui --json contacts restore --list
    {"id":1,"name":"Ada","organization":"","phone":"","email":""}
    $ etui --json contacts restore ada
    {"id":1,"uid":"ada","etag":"f4baeca3eedea6cf30f7647292b6cede","name":"Ada","outcome":"added","action":"restored"}
    "#);
}

#[test]
fn stores_and_files() {
    let home = TestHome::new();
    session!(home, [
        "etui --json init --locale de-DE",
        "etui --json import people.vcf",
        "(cat people.vcf; echo more) | etui --json import -",
        "etui --json check",
        "etui --json stats | tr ',' '\\n' | grep -v bytes",
        "etui --json backup copy.etui | sed 's/:[0-9]*}/:N}/'",
        "etui --json restore copy.etui --to other.etui | sed 's/:[0-9]*}/:N}/'",
    ], @r#"
    $ etui --json init --locale de-DE
    {"path":"~/.local/share/etui/personal.etui","locale":"de-DE","region":"DE"}
    $ etui --json import people.vcf
    {"added":4,"changed":0,"unchanged":0,"older":0,"proposals":0,"refused":0,"removed":0,"files":[{"file":"people.vcf","kind":"contacts","calendar":null,"bytes":590,"added":4,"changed":0,"unchanged":0,"older":0,"proposals":0,"refused":0,"removed":0,"refusals":[],"warned":0,"warnings":[],"charset":null,"kept":[],"skipped":[]}],"unread":[]}
    $ (cat people.vcf; echo more) | etui --json import -
    {"added":0,"changed":0,"unchanged":4,"older":0,"proposals":0,"refused":1,"removed":0,"files":[{"file":"-","kind":"contacts","calendar":null,"bytes":595,"added":0,"changed":0,"unchanged":4,"older":0,"proposals":0,"refused":1,"removed":0,"refusals":[{"line":33,"last_line":33,"reason":"this text belongs to no record; remove it, or put BEGIN and END lines around it","excerpt":"more"}],"warned":0,"warnings":[],"charset":null,"kept":[],"skipped":[]}],"unread":[]}
    {"error":{"kind":"refused","message":"1 piece was rejected; the rest was imported"}}
    [exit 3]
    $ etui --json check
    {"clean":true,"repaired":false,"contacts":4,"entries":0,"media":0,"removed":0,"problems":[],"write_queue":[]}
    $ etui --json stats | tr ',' '\n' | grep -v bytes
    {"path":"~/.local/share/etui/personal.etui"
    "address_books":[{"name":"Contacts"
    "contacts":4}]
    "calendars":[{"name":"Calendar"
    "entries":0}]
    "removed":0
    "changes":4
    "pending_terms":0
    "pending_trigrams":0
    "locale":"de-DE"
    "region":"DE"
    "schema_version":1
    "ofd_locks":true}
    $ etui --json backup copy.etui | sed 's/:[0-9]*}/:N}/'
    {"path":"copy.etui","bytes":N}
    $ etui --json restore copy.etui --to other.etui | sed 's/:[0-9]*}/:N}/'
    {"path":"other.etui","bytes":N}
    "#);
}

#[test]
fn errors_are_objects() {
    let home = TestHome::new();
    session!(home, [
        "etui --json contacts list",
        "etui --json contacts lst",
        "etui --json --store people.vcf stats",
        "etui --json import nothing.vcf",
    ], @r#"
    $ etui --json contacts list
    {"error":{"kind":"no_store","message":"~/.local/share/etui/personal.etui: there is no store here (`etui init` makes one)"}}
    [exit 6]
    $ etui --json contacts lst
    {"error":{"kind":"usage","message":"unrecognized subcommand 'lst'\n\n  tip: a similar subcommand exists: 'list'\n\nUsage: etui contacts [OPTIONS] <COMMAND>\n\nFor more information, try '--help'."}}
    [exit 2]
    $ etui --json --store people.vcf stats
    {"error":{"kind":"not_a_store","message":"people.vcf: this is not a database file; it was left untouched"}}
    [exit 6]
    $ etui --json import nothing.vcf
    {"error":{"kind":"io","message":"nothing.vcf: No such file or directory"}}
    [exit 1]
    "#);
}
