"""Runs where marionette_driver is installed: Thunderbird as a client. Prints results."""

import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

from marionette_driver.marionette import Marionette

from dav_tests import dav
from dav_tests.client_report import Steps, serve, wait_for
from dav_tests.command import Command
from dav_tests.dav import ODD_UID
from dav_tests.proxy import Proxy
from dav_tests.server import free_port

WAIT = 60
# It writes the records of a calendar one by one.
LONG_WAIT = 240
LIBRARY = Path(__file__).with_name("thunderbird.js").read_text(encoding="utf-8")


class Thunderbird:
    def __init__(self, profile):
        port = free_port()
        with open(Path(profile) / "user.js", "a", encoding="utf-8") as settings:
            settings.write(f'user_pref("marionette.port", {port});\n')
        command = ["thunderbird", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote"]
        self.process = subprocess.Popen([*command, "--profile", profile], stdout=sys.stderr, stderr=sys.stderr)
        self.marionette = Marionette("127.0.0.1", port=port, startup_timeout=120)
        self.marionette.raise_for_port(timeout=120)
        self.marionette.start_session()
        self.marionette.set_context("chrome")
        self.marionette.timeout.script = 120

    def call(self, body, *arguments):
        """Runs the body of an async function after the library; returns what it returns."""
        script = f"""{LIBRARY}
            const given = [...arguments];
            const done = given.pop();
            (async (...a) => {{ {body} }})(...given).then(
                value => done({{ value: value === undefined ? null : value }}),
                error => done({{ error: `${{error}} ${{error.stack || ""}}` }})
            );"""
        answer = self.marionette.execute_async_script(script, script_args=list(arguments), sandbox="system")
        if "error" in answer:
            raise AssertionError(answer["error"][:800])
        return answer["value"]

    def quit(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Book:
    kind = "book"
    suffix = "vcf"
    new = staticmethod(dav.card)

    def __init__(self, thunderbird, server):
        self.thunderbird, self.dav = thunderbird, server
        self.mark = uuid.uuid4().hex[:8]
        self.path = server.make_book(f"tb-people-{self.mark}")

    def found(self, url, password=None):
        return self.thunderbird.call("return findBooks(...a);", url, USER, password or PASSWORD)

    def open(self, url):
        self.id = self.thunderbird.call("return newBook(...a);", f"People {self.mark}", url, USER)
        self.thunderbird.call("await book(a[0]).fetchAllFromServer();", self.id)

    def open_path(self, path):
        self.path = path
        self.open(f"{URL.rstrip('/')}{path}")

    def sync(self):
        self.thunderbird.call("await book(a[0]).syncWithServer();", self.id)

    def names(self):
        return self.thunderbird.call("return cardNames(a[0]);", self.id)

    def add(self, name, uid=None):
        self.thunderbird.call("addCard(...a);", self.id, dav.card(name, uid))

    def change(self, old, new):
        self.thunderbird.call("changeCard(...a);", self.id, old, new)

    def count(self):
        return len(self.names())

    def remove(self, name):
        self.thunderbird.call("removeCard(...a);", self.id, name)


class Calendar:
    kind = "calendar"
    suffix = "ics"
    new = staticmethod(dav.event)

    def __init__(self, thunderbird, server):
        self.thunderbird, self.dav = thunderbird, server
        self.mark = uuid.uuid4().hex[:8]
        self.path = server.make_calendar(f"tb-dates-{self.mark}")

    def found(self, url, password=None):
        return self.thunderbird.call("return findCalendars(...a);", url, USER, password or PASSWORD)

    def open(self, url):
        self.id = self.thunderbird.call("return newCalendar(...a);", f"Dates {self.mark}", url, USER)

    def open_path(self, path):
        self.path = path
        self.open(f"{URL.rstrip('/')}{path}")

    def sync(self):
        self.thunderbird.call("cal.manager.getCalendarById(a[0]).refresh();", self.id)
        time.sleep(0.5)

    def names(self):
        return self.thunderbird.call("return (await events(a[0])).map(event => event.title);", self.id)

    def add(self, name, uid=None):
        body = "await cal.manager.getCalendarById(a[0]).addItem(new CalEvent(a[1]));"
        text = dav.event(name, uid)
        event = text[text.index("BEGIN:VEVENT") : text.index("END:VCALENDAR")]
        self.thunderbird.call(body, self.id, event)

    def change(self, old, new):
        self.thunderbird.call("await changeEvent(...a);", self.id, old, new)

    def count(self):
        return len(self.names())

    def remove(self, name):
        body = "await cal.manager.getCalendarById(a[0]).deleteItem(await findEvent(...a));"
        self.thunderbird.call(body, self.id, name)


def run_side(steps, side):
    server, kind, path, suffix = side.dav, side.kind, side.path, side.suffix
    origin = URL.rstrip("/")

    def there(part):
        return server.find(path, part)

    def arrives(what, check):
        wait_for(what, check, WAIT)

    def until(what, check):
        """Synchronises until Thunderbird has what the other side did."""

        def look():
            side.sync()
            return check(side.names())

        wait_for(what, look, WAIT)

    with steps.step(f"{kind}: found by the server's address"):
        found = side.found(URL)
        assert any(entry["url"] == f"{origin}{path}" for entry in found), found
        assert not any(entry.get("isReadOnly") for entry in found), found

    with steps.step(f"{kind}: first listing"):
        for number in range(120):
            server.put(f"{path}first{number}.{suffix}", side.new(f"First {number}."))
        side.open(f"{origin}{path}")
        wanted = sorted(f"First {number}." for number in range(120))
        until("120 records", lambda names: sorted(names) == wanted)

    with steps.step(f"{kind}: nothing changed"):
        before = server.list(path)
        side.sync()
        assert sorted(side.names()) == wanted and server.list(path) == before

    with steps.step(f"{kind}: add"):
        side.add("Added here")
        arrives("the added record on the server", lambda: there("Added here"))
        until("it stays", lambda names: names.count("Added here") == 1)

    with steps.step(f"{kind}: change"):
        side.change("Added here", "Changed here")
        arrives("the change on the server", lambda: there("Changed here") and not there("Added here"))
        until("it stays", lambda names: names.count("Changed here") == 1)

    with steps.step(f"{kind}: change again"):
        side.change("Changed here", "Changed again")
        arrives("the change on the server", lambda: there("Changed again") and not there("Changed here"))

    with steps.step(f"{kind}: another device adds"):
        server.put(f"{path}another.{suffix}", side.new("Added there"))
        until("the other's record", lambda names: "Added there" in names)

    with steps.step(f"{kind}: another device changes"):
        other = there("Added there")
        server.put(other, server.get(other).replace("Added there", "Changed there"))
        until("the other's change", lambda names: "Changed there" in names and "Added there" not in names)

    with steps.step(f"{kind}: change of what another device made"):
        side.change("Changed there", "Changed by both")
        arrives("the change on the server", lambda: there("Changed by both"))

    with steps.step(f"{kind}: another device removes"):
        server.delete(f"{path}first7.{suffix}")
        until("the removal", lambda names: "First 7." not in names)

    with steps.step(f"{kind}: remove"):
        side.remove("First 8.")
        arrives("the removal on the server", lambda: not there("First 8."))
        until("it stays", lambda names: "First 8." not in names)

    if kind == "calendar":
        with steps.step(f"{kind}: conflict, this side overwrites"):
            side.thunderbird.call("answerConflicts(true);")
            change_on_both_sides(side, 9)
            until("the winner", lambda names: "9 here" in names)
            arrives("it on the server", lambda: "9 here" in server.get(f"{path}first9.{suffix}"))
        with steps.step(f"{kind}: conflict, the server's text is taken"):
            side.thunderbird.call("answerConflicts(false);")
            change_on_both_sides(side, 10)
            until("the winner", lambda names: "10 there" in names)
            assert "10 there" in server.get(f"{path}first10.{suffix}")
    else:
        with steps.step(f"{kind}: conflict, this side overwrites"):
            # Thunderbird sends cards without a condition.
            change_on_both_sides(side, 9)
            arrives("it on the server", lambda: "9 here" in server.get(f"{path}first9.{suffix}"))
            until("the winner", lambda names: "9 here" in names and "9 there" not in names)

    with steps.step(f"{kind}: an odd UID, whose characters a URL may or must escape"):
        side.add("Odd here", uid=ODD_UID)
        arrives("it on the server", lambda: there("Odd here"))
        until("it stays one", lambda names: names.count("Odd here") == 1)
        side.change("Odd here", "Odd again")
        arrives("the change on the server", lambda: there("Odd again"))
        until("it stays one", lambda names: names.count("Odd again") == 1)
        other = there("Odd again")
        server.put(other, server.get(other).replace("Odd again", "Odd there"))
        until("the other's change", lambda names: "Odd there" in names and "Odd again" not in names)
        assert side.count() == len(server.list(path)), f"{side.count()} here, {len(server.list(path))} there"
        server.delete(other)
        until("it is gone", lambda names: "Odd there" not in names)

    if command := Command.of_environment(kind, path):
        with steps.step(f"{kind}: the command adds and changes"):
            command.add("By command")
            until("what the command added", lambda names: "By command" in names)
            command.change("By command", "By command twice")
            until("what the command changed", lambda names: "By command twice" in names and "By command" not in names)

        with steps.step(f"{kind}: change of what the command added, nothing of it is lost"):
            side.change("By command twice", "By both")
            arrives("the change in the store", lambda: command.find("By both"))
            text = server.get(there("By both"))
            assert "X-HOBBY" in text and "chess" in text, text

        with steps.step(f"{kind}: the command removes"):
            command.remove("By both")
            until("the removal", lambda names: "By both" not in names)

    with steps.step(f"{kind}: in the end both sides have the same"):
        until("as many", lambda names: len(names) == len(set(names)) == len(server.list(path)))


def change_on_both_sides(side, number):
    other = f"{side.path}first{number}.{side.suffix}"
    side.dav.put(other, side.dav.get(other).replace(f"First {number}.", f"{number} there"))
    side.change(f"First {number}.", f"{number} here")


def run_generated(steps, side):
    """Records of every odd kind: vCard 2.1 and 4.0, folded and encoded lines, unknown properties."""
    path = os.environ.get(f"DAV_GENERATED_{side.kind.upper()}")
    if not path:
        return
    with steps.step(f"{side.kind}: generated records of every kind are listed"):
        # Thunderbird has no journals.
        kinds = ("BEGIN:VCARD", "BEGIN:VEVENT", "BEGIN:VTODO")
        texts = side.dav.texts(path).values()
        listed = sum(any(kind in text for kind in kinds) for text in texts)
        side.open(f"{URL.rstrip('/')}{path}")

        def look():
            side.sync()
            steps.note(f"{side.kind}: {len(side.names())} of {listed}")
            return len(side.names()) == listed

        wait_for(f"{listed} records", look, LONG_WAIT)


def run_reader(steps, side):
    """A device that may only read."""
    password = os.environ["DAV_READER"]
    if not password:
        return
    server = side.dav
    # Thunderbird keeps one password for a user of an origin: the proxy is another origin.
    with Proxy(server.host, server.port, free_port(), f"{KEPT}/{side.kind}-reader.http") as proxy:
        with steps.step(f"{side.kind}: a device that may only read"):
            save_login(side.thunderbird, proxy.url, password)
            server.put(f"{side.path}first1.{side.suffix}", side.new("First 1."))
            found = [entry for entry in side.found(proxy.url, password) if entry["url"].endswith(side.path)]
            assert len(found) == 1 and found[0].get("isReadOnly", True), found
            side.open(f"{proxy.url.rstrip('/')}{side.path}")

            def look():
                side.sync()
                return side.names() == ["First 1."]

            wait_for("the record", look, WAIT)


def run_spoilt_token(steps, side):
    """A token that the server never gave: Thunderbird lists anew."""
    server, path, suffix = side.dav, side.path, side.suffix
    with Proxy(server.host, server.port, free_port(), f"{KEPT}/{side.kind}-token.http") as proxy:
        with steps.step(f"{side.kind}: a refused token"):
            save_login(side.thunderbird, proxy.url)
            for number in range(5):
                server.put(f"{path}first{number}.{suffix}", side.new(f"First {number}."))
            side.open(f"{proxy.url.rstrip('/')}{path}")

            def until(what, check):
                def look():
                    problem = None
                    try:
                        side.sync()
                    except AssertionError as error:
                        problem = error
                    if not check(set(side.names())):
                        if problem:
                            steps.note(f"{side.kind}: {problem}")
                        return False
                    return True

                wait_for(what, look, WAIT)

            until("5 records", lambda names: len(names) == 5)
            proxy.spoils = True
            server.put(f"{path}another.{suffix}", side.new("Added there"))
            server.delete(f"{path}first3.{suffix}")
            wanted = {"First 0.", "First 1.", "First 2.", "First 4.", "Added there"}
            until("the other's changes", lambda names: names == wanted)
            assert proxy.spoilt, "no token was sent"
            steps.note(f"{side.kind}: a spoilt token was answered {proxy.refused}")
            proxy.spoils = False
            server.put(f"{path}last.{suffix}", side.new("Added last"))
            until("what was added after it", lambda names: names == wanted | {"Added last"})


def save_login(thunderbird, url, password=None):
    """Stores the password as Thunderbird does: for the server and its realm."""
    asked = dav.Dav(url, USER, "wrong").request("PROPFIND", "/", headers={"Depth": "0"})
    realm = re.search(r'realm="([^"]*)"', asked.headers["www-authenticate"]).group(1)
    thunderbird.call("await saveLogin(...a);", url.rstrip("/"), realm, USER, password or PASSWORD)


URL, USER, PASSWORD = (os.environ[name] for name in ("DAV_URL", "DAV_USER", "DAV_PASSWORD"))
KEPT = os.environ["DAV_KEPT"]


def main():
    steps = Steps()
    thunderbird = Thunderbird(os.environ["DAV_PROFILE"])
    try:
        save_login(thunderbird, URL)
        server = dav.Dav(URL, USER, PASSWORD)
        if sys.argv[1:]:
            make = {"book": lambda: Book(thunderbird, server), "calendar": lambda: Calendar(thunderbird, server)}
            serve(sys.argv[1:], make)
            return
        for kind in (Book, Calendar):
            if os.environ["DAV_ONLY"] in kind.kind:
                run_side(steps, kind(thunderbird, server))
                run_spoilt_token(steps, kind(thunderbird, server))
                run_reader(steps, kind(thunderbird, server))
                run_generated(steps, kind(thunderbird, server))
    finally:
        thunderbird.quit()


if __name__ == "__main__":
    main()
