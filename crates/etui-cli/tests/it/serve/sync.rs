//! `etui sync`, over the pipes that ssh would give.

use std::os::unix::fs::PermissionsExt;

use crate::harness::{TestHome, session};

/// A program in place of ssh, which runs the command here, on the store of the other computer.
const SSH: &str =
    "#!/bin/sh\n[ \"$1\" = -- ] || exit 9\nshift 2\nETUI_STORE=$HOME/desktop.etui exec \"$@\"\n";

fn home_of_two_computers() -> TestHome {
    let home = TestHome::new();
    let ssh = home.path("ssh");
    std::fs::write(&ssh, SSH).unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (store, name) in [("laptop", "Ada Laptop"), ("desktop", "Bo Desktop")] {
        let line = format!("etui --store {store}.etui -q contacts add '{name}'");
        let (text, code) = home.run(&format!(
            "etui --store {store}.etui -q init --locale en --region none; {line}"
        ));
        assert_eq!(code, Some(0), "{text}");
    }
    home
}

#[test]
fn two_computers_are_in_step() {
    let home = home_of_two_computers();
    session!(home, [
        "export ETUI_SSH=$HOME/ssh ETUI_STORE=laptop.etui; etui sync add ssh://desktop",
        "etui --store laptop.etui contacts list",
        "etui --store desktop.etui -q contacts remove 'Ada'",
        "export ETUI_SSH=$HOME/ssh ETUI_STORE=laptop.etui; etui sync --dry-run; etui sync; etui sync",
        "etui --store laptop.etui contacts list",
        "etui --store laptop.etui sync status | sed 's/20..-..-.. ..:../WHEN/'",
        "etui --store laptop.etui sync remove desk",
        "etui --store laptop.etui sync remove desktop",
        "etui --store laptop.etui sync",
    ], @r#"
    $ export ETUI_SSH=$HOME/ssh ETUI_STORE=laptop.etui; etui sync add ssh://desktop
    Added the account desktop

        HERE  KIND          ON THE SERVER
    Contacts  address book  /dav/addressbooks/1/
    Calendar  calendar      /dav/calendars/2/
    desktop, Contacts: 1 added here, 1 sent
    desktop, Calendar: in step
    $ etui --store laptop.etui contacts list
    #  Name        Organisation  Phone  E-mail
    2  Bo Desktop
    1  Ada Laptop
    $ etui --store desktop.etui -q contacts remove 'Ada'
    $ export ETUI_SSH=$HOME/ssh ETUI_STORE=laptop.etui; etui sync --dry-run; etui sync; etui sync
    desktop, Contacts: 0 to fetch, 0 to send, 1 to remove here
    desktop, Calendar: in step
    desktop, Contacts: 1 moved to the trash here
    desktop, Calendar: in step
    desktop, Contacts: in step
    desktop, Calendar: in step
    $ etui --store laptop.etui contacts list
    #  Name        Organisation  Phone  E-mail
    2  Bo Desktop
    $ etui --store laptop.etui sync status | sed 's/20..-..-.. ..:../WHEN/'
    ACCOUNT  HERE      KIND          LAST IN STEP      REFUSED
    desktop  Contacts  address book  WHEN  0
    desktop  Calendar  calendar      WHEN  0
    $ etui --store laptop.etui sync remove desk
    error: there is no account named "desk" (there are: desktop)
    [exit 4]
    $ etui --store laptop.etui sync remove desktop
    Removed the account desktop; its records stay, here and on the server
    $ etui --store laptop.etui sync
    error: there are no accounts; add one: etui sync add URL
    [exit 4]
    "#);
}
