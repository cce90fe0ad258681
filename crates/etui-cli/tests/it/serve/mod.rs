//! `etui serve` over HTTP: help, devices, mistakes. `process` has the server itself.

mod announce;
mod iphone;
mod process;
mod sync;

use crate::harness::{TestHome, session};
use crate::terminal::TerminalSession;

/// A home with people and the file `hide`, a script of sed that hides passwords, times and fingerprints, which differ in each run.
fn home_of_devices() -> TestHome {
    let home = TestHome::with_people();
    let script = "s/[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){6}/PASSWORD/g\n\
                  s/20[0-9]{2}-[0-9-]+ [0-9:]+/YYYY-MM-DD HH:MM/g\n\
                  s/20[0-9T:-]+[+][0-9:]+/TIME/g\n\
                  s/[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){6}/SECRET/g\n\
                  s/([0-9A-F]{2}:){31}[0-9A-F]{2}/FINGERPRINT/g\n";
    std::fs::write(home.path("hide"), script).unwrap();
    home
}

#[test]
fn help_teaches() {
    let home = TestHome::new();
    session!(home, ["etui serve --help"], @"
    $ etui serve --help
    Serve the store to phones and other devices

    Serves CardDAV, CalDAV and a web page over HTTP. Creates the store if there is none. Other commands
    work meanwhile. Each request is a line on standard error, without names or paths of records.

    Usage: etui serve [OPTIONS]
           etui serve <COMMAND>

    Commands:
      add-device     Make a password for a device, with which it may use the store
      devices        List the devices that have a password
      change-device  Change the rights of a device, which keeps its password
      remove-device  Remove a device: its password is refused from now on [alias: rm-device]
      add-person     Add a person to a directory of stores
      people         List the people of a directory of stores, their devices, and what they share
      share          Share an address book or calendar with another person of the same directory
      unshare        Share an address book or calendar no longer
      shares         List the address books and calendars that are shared with others, and by them

    Options:
          --listen <ADDR:PORT>
              Address and port, or a port of 127.0.0.1; can be repeated [default: 127.0.0.1:5233,
              without --unix]

          --unix <PATH>
              Unix socket, for a reverse proxy on this machine

          --tls
              Encrypt with a certificate of its own, for the home network; devices ask whether to trust
              it

          --cert <FILE>
              Encrypt with this certificate (PEM, with those of the authorities in between)

          --key <FILE>
              Private key of the certificate (PEM)

          --behind-proxy
              A reverse proxy in front encrypts, and adds the client to X-Forwarded-For

          --announce
              Announce the server in the local network (mDNS, by Avahi)

          --stdio
              Serve whoever started it over standard input and output: for etui sync add ssh://HOST

          --users <DIR>
              Serve all stores in a directory: NAME.etui is that of the user NAME

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --store <PATH>
              Store file [default: etui/personal.etui in your data directory] [env: ETUI_STORE]

          --addressbook <NAME>
              Address book [default: the first one; for list, find and show: all]

          --json
              Print JSON, one object per line

          --color <WHEN>
              Use colour; auto: on a terminal, unless NO_COLOR is set
              
              [default: auto]
              [possible values: auto, always, never]

      -q, --quiet
              Print only the requested data

    Examples:
      etui serve add-device Phone         make a password for your phone
      etui serve                          serve your store on http://127.0.0.1:5233/, until Ctrl-C
      etui serve --tls --listen 0.0.0.0:5233
                                          to your network, with a certificate of its own
      etui serve --listen 0.0.0.0:5233 --cert fullchain.pem --key privkey.pem
                                          ... with your certificate, read again when it changes
      etui serve --unix /run/etui/serve.sock --behind-proxy
                                          behind a reverse proxy on this machine
      etui serve --users /srv/family      ada.etui is the store of the user ada, bob.etui that of bob
      etui serve devices                  list the devices that have a password
      etui --store /srv/family/ada.etui serve share Family --with bob --write
                                          bob sees ada's calendar Family, and may change it

    Phones, Thunderbird and GNOME find contacts and calendars by the address alone (CardDAV, CalDAV).
    In a browser it shows today's agenda and a search. The book has the steps for each program
    (phone.md), and recipes for nginx, Caddy, Apache and tunnels (server.md).
    ");
    session!(home, ["etui serve add-device --help | sed '/^Global/,/^$/d'"], @"
    $ etui serve add-device --help | sed '/^Global/,/^$/d'
    Make a password for a device, with which it may use the store

    Usage: etui serve add-device [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, as it is listed and logged

    Options:
          --url <URL>          Address at which the device reaches `etui serve` [default:
                               http://127.0.0.1:5233/]
          --iphone             Offer a profile for iPhone, iPad or Mac: once, for ten minutes, at an
                               address that the server answers
          --profile <FILE>     Write the profile to a file instead, for AirDrop or a Mac; it has the
                               password
          --read-only          It may read, and not change anything
          --only <COLLECTION>  It sees only the address book or calendar of this name; can be repeated
          --read <COLLECTION>  It may read, and not change, the address book or calendar of this name;
                               can be repeated
      -h, --help               Print help

    Examples:
      etui serve add-device Laptop                 for programs on this machine
      etui serve add-device Phone --url https://dav.example.org
                                                   with a QR code for DAVx5
      etui serve add-device Phone --iphone --url https://192.168.1.20:5233
                                                   with a profile for iPhone, iPad and Mac
      etui serve add-device Frame --read-only --only Family
                                                   sees only the collection Family
      etui serve add-device Work --read Family     may change all but Family
      etui --store family/ada.etui serve add-device Phone
                                                   for a store that `etui serve --users family` serves

    The password is shown once; the store keeps a hash of it. Each device gets its own, so that a lost
    one is removed by itself. On the device enter address, user and password; it finds the rest.
    ");
    session!(home, ["etui serve devices --help | sed '/^Global/,/^$/d'"], @"
    $ etui serve devices --help | sed '/^Global/,/^$/d'
    List the devices that have a password

    Usage: etui serve devices [OPTIONS]

    Options:
      -h, --help  Print help

    Examples:
      etui serve devices
      etui serve devices --json
      etui serve remove-device Phone       if it is lost

    The time of use is recorded once a day.
    ");
    session!(home, ["etui serve remove-device --help | sed '/^Global/,/^$/d'"], @"
    $ etui serve remove-device --help | sed '/^Global/,/^$/d'
    Remove a device: its password is refused from now on

    Usage: etui serve remove-device [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, as `devices` lists it

    Options:
      -h, --help  Print help

    Examples:
      etui serve remove-device Phone
      etui serve add-device Phone          give it a new password

    The password is refused from the next request on, also by a running server. The data on the device
    stay there.
    ");
}

#[test]
fn devices_are_added_listed_and_removed() {
    let home = home_of_devices();
    session!(home, [
        "etui serve devices",
        "etui serve add-device Laptop | sed -Ef hide",
        "etui serve add-device Phone --url https://dav.example.org | sed -Ef hide",
        "etui serve add-device Frame --read-only --only Calendar --json | sed -Ef hide",
        "etui serve devices | sed -Ef hide",
        "etui serve devices --json | sed -Ef hide",
        "etui serve remove-device Laptop",
        "etui serve remove-device Laptop",
        "etui serve remove-device Frame --json | sed -Ef hide",
        "etui -q serve remove-device Phone",
        "etui serve remove-device Phone",
        "etui check",
    ], @r#"
    $ etui serve devices
    No device yet. Add one: etui serve add-device Phone
    $ etui serve add-device Laptop | sed -Ef hide
    Added the device Laptop

      Address   http://127.0.0.1:5233/
      User      personal
      Password  PASSWORD

    The password is shown only now. This address is for programs on this machine; for others give
    theirs with --url.
    $ etui serve add-device Phone --url https://dav.example.org | sed -Ef hide
    Added the device Phone

      Address   https://dav.example.org/
      User      personal
      Password  PASSWORD

    The password is shown only now. On a terminal there is a QR code too; `--json` has its text, `link`.
    $ etui serve add-device Frame --read-only --only Calendar --json | sed -Ef hide
    {"name":"Frame","read_only":true,"only":["Calendar"],"read":[],"address":"http://127.0.0.1:5233/","user":"personal","password":"PASSWORD","link":"caldav://personal:PASSWORD@127.0.0.1:5233/"}
    $ etui serve devices | sed -Ef hide
    Device  Access  Collections  Added             Last seen
    Laptop  write   all          YYYY-MM-DD HH:MM  never
    Phone   write   all          YYYY-MM-DD HH:MM  never
    Frame   read    Calendar     YYYY-MM-DD HH:MM  never
    $ etui serve devices --json | sed -Ef hide
    {"name":"Laptop","read_only":false,"only":null,"read":[],"added":"TIME","last_seen":null}
    {"name":"Phone","read_only":false,"only":null,"read":[],"added":"TIME","last_seen":null}
    {"name":"Frame","read_only":true,"only":["Calendar"],"read":[],"added":"TIME","last_seen":null}
    $ etui serve remove-device Laptop
    Removed the device Laptop; its password is refused from now on
    $ etui serve remove-device Laptop
    error: there is no device named "Laptop" (there are: Phone, Frame)
    [exit 4]
    $ etui serve remove-device Frame --json | sed -Ef hide
    {"name":"Frame","read_only":true,"only":["Calendar"],"read":[],"added":"TIME","last_seen":null}
    $ etui -q serve remove-device Phone
    $ etui serve remove-device Phone
    error: there is no device named "Phone", nor any other; add it: etui serve add-device Phone
    [exit 4]
    $ etui check
    The store is intact: 4 contacts, 0 in the trash.
    "#);
}

#[test]
fn mistakes_are_explained() {
    let home = TestHome::with_people();
    session!(home, [
        "etui -q serve add-device Phone >password && wc -l <password",
        "etui serve add-device Phone",
        "etui serve add-device ''",
        "etui serve add-device Frame --only Work",
        "etui serve add-device Phone2 --url dav.example.org",
        "etui serve --listen 0.0.0.0:0",
        "etui serve --listen nowhere",
        "etui serve --cert a.pem",
        "etui serve --cert a.pem --key a.pem --listen 0",
        "etui serve --users nowhere --listen 0",
        "etui serve --tls devices",
        "etui serve devices --json | wc -l",
    ], @r#"
    $ etui -q serve add-device Phone >password && wc -l <password
    3
    $ etui serve add-device Phone
    error: a device named "Phone" exists already; remove it first, or choose another name
    [exit 1]
    $ etui serve add-device ''
    error: "" cannot be the name of a device: use 1 to 100 characters, no line breaks or other control characters, and no blanks at the ends
    [exit 2]
    $ etui serve add-device Frame --only Work
    error: there is no address book or calendar named "Work" (there are: Contacts, Calendar)
    [exit 4]
    $ etui serve add-device Phone2 --url dav.example.org
    error: invalid value 'dav.example.org' for '--url <URL>': write it like https://dav.example.org/

    For more information, try '--help'.
    [exit 2]
    $ etui serve --listen 0.0.0.0:0
    error: passwords would be sent to 0.0.0.0:0 unencrypted: add --tls, or --cert and --key, or listen on 127.0.0.1 only; if a reverse proxy in front encrypts, add --behind-proxy
    [exit 2]
    $ etui serve --listen nowhere
    error: invalid value 'nowhere' for '--listen <ADDR:PORT>': write an address and a port, such as 0.0.0.0:5233 or [::]:5233

    For more information, try '--help'.
    [exit 2]
    $ etui serve --cert a.pem
    error: the following required arguments were not provided:
      --key <FILE>

    Usage: etui serve --cert <FILE> --key <FILE>

    For more information, try '--help'.
    [exit 2]
    $ etui serve --cert a.pem --key a.pem --listen 0
    error: a.pem: No such file or directory
    [exit 1]
    $ etui serve --users nowhere --listen 0
    error: nowhere: No such file or directory
    [exit 1]
    $ etui serve --tls devices
    error: the subcommand 'devices' cannot be used with '--tls'

    Usage: etui serve [OPTIONS]
           etui serve <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ etui serve devices --json | wc -l
    1
    "#);
}

#[test]
fn a_code_for_a_camera_is_on_the_terminal() {
    let home = TestHome::new();
    let args = [
        "serve",
        "add-device",
        "Phone",
        "--url",
        "https://dav.example.org",
    ];
    let mut session = TerminalSession::start(&home, (80, 50), &args, "true");
    session.sees("The password is shown only now.");
    session.child.wait().unwrap();
    let text = session.raw_output();
    assert!(text.contains("\x1b[38;5;16;48;5;231m"), "{text}");
    assert!(text.contains("scan this"), "{text}");
}

#[test]
fn services_are_other_programs() {
    let home = TestHome::with_people();
    // A value may be the name of a command.
    session!(home, [
        "etui --store serve serve devices",
        "etui --quiet --store=calendar calendar --calendar remind remind --once",
        "mkdir alone && cp $(command -v etui) alone/",
        "PATH=/bin alone/etui serve devices",
        "PATH=/bin alone/etui calendar remind --json",
    ], @r#"
    $ etui --store serve serve devices
    error: serve: there is no store here (`etui init` makes one)
    [exit 6]
    $ etui --quiet --store=calendar calendar --calendar remind remind --once
    error: calendar: there is no store here (`etui init` makes one)
    [exit 6]
    $ mkdir alone && cp $(command -v etui) alone/
    $ PATH=/bin alone/etui serve devices
    error: this needs the program `etui-serve`, which is neither beside this one nor in PATH; install the package etui-serve, or `cargo install --locked --path crates/etui-serve`
    [exit 1]
    $ PATH=/bin alone/etui calendar remind --json
    {"error":{"kind":"failed","message":"this needs the program `etui-session`, which is neither beside this one nor in PATH; install the package etui-session, or `cargo install --locked --path crates/etui-session`"}}
    [exit 1]
    "#);
}
