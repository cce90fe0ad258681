"""Runs within a session bus of its own, by Debian's Python: Evolution Data Server as a client. Prints results."""

import contextlib
import os
import sys
import threading
import time
import uuid

import gi

gi.require_version("EDataServer", "1.2")
gi.require_version("EBook", "1.2")
gi.require_version("EBookContacts", "1.2")
gi.require_version("ECal", "2.0")
gi.require_version("ICalGLib", "3.0")

from gi.repository import EBook, EBookContacts, ECal, EDataServer, GLib, ICalGLib  # noqa: E402

from dav_tests import dav  # noqa: E402
from dav_tests.client_report import Skipped, Steps, serve, wait_for  # noqa: E402
from dav_tests.command import Command  # noqa: E402
from dav_tests.dav import ODD_UID  # noqa: E402
from dav_tests.proxy import Proxy  # noqa: E402
from dav_tests.server import free_port  # noqa: E402

WAIT = 60
# Opening returns before the server has answered.
NO_WAIT = 0xFFFFFFFF


def make_source(registry, kind, name, server, path):
    """Writes an account's source, and returns it when the registry has it."""
    extension, backend = {
        "book": (EDataServer.SOURCE_EXTENSION_ADDRESS_BOOK, "carddav"),
        "calendar": (EDataServer.SOURCE_EXTENSION_CALENDAR, "caldav"),
    }[kind]
    source = EDataServer.Source.new_with_uid(f"{name}-{uuid.uuid4().hex[:6]}", None)
    source.set_display_name(name)
    source.set_parent("carddav-stub" if kind == "book" else "caldav-stub")
    source.get_extension(extension).set_backend_name(backend)
    authentication = source.get_extension(EDataServer.SOURCE_EXTENSION_AUTHENTICATION)
    authentication.set_host(server.host)
    authentication.set_port(server.port)
    authentication.set_user(os.environ["DAV_USER"])
    authentication.set_method("plain/password")
    source.get_extension(EDataServer.SOURCE_EXTENSION_SECURITY).set_method("none")
    webdav = source.get_extension(EDataServer.SOURCE_EXTENSION_WEBDAV_BACKEND)
    webdav.set_resource_path(path)
    webdav.set_display_name(name)
    source.get_extension(EDataServer.SOURCE_EXTENSION_OFFLINE).set_stay_synchronized(True)
    source.get_extension(EDataServer.SOURCE_EXTENSION_REFRESH).set_enabled(False)
    registry.commit_source_sync(source, None)
    return wait_for("the source", lambda: registry.ref_source(source.get_uid()), WAIT)


def credentials(password=None):
    named = EDataServer.NamedParameters()
    named.set("username", os.environ["DAV_USER"])
    named.set("password", password or os.environ["DAV_PASSWORD"])
    return named


def authenticate(source, password):
    """Gives the password when the backend asks for it."""
    connected = EDataServer.SourceConnectionStatus.CONNECTED
    for _ in range(WAIT):
        if source.get_connection_status() == connected:
            return
        source.invoke_authenticate_sync(credentials(password), None)
        for _ in range(20):
            if source.get_connection_status() == connected:
                return
            time.sleep(0.05)
    raise AssertionError(f"not connected: {source.get_connection_status()}")


class Book:
    """The address book in EDS and on the server."""

    def __init__(self, registry, server):
        self.dav = server
        self.mark = uuid.uuid4().hex[:8]
        self.path = server.make_book(f"eds-people-{self.mark}")
        self.registry = registry
        self.client = None
        self.password = None

    def open(self, server=None):
        source = make_source(self.registry, "book", "people", server or self.dav, self.path)
        self.client = EBook.BookClient.connect_sync(source, NO_WAIT, None)
        self.source = source
        authenticate(source, self.password)
        wait_for("an opened book", self.client.is_opened, WAIT)

    def open_path(self, path):
        self.path = path
        self.open()

    def sync(self):
        self.refresh()
        time.sleep(0.3)

    def refresh(self):
        if self.source.get_connection_status() != EDataServer.SourceConnectionStatus.CONNECTED:
            authenticate(self.source, self.password)
        self.client.refresh_sync(None)

    def names(self):
        query = '(contains "x-evolution-any-field" "")'
        found, contacts = self.client.get_contacts_sync(query, None)
        return {contact.get_property("full-name"): contact for contact in contacts}

    def count(self):
        return len(self.client.get_contacts_uids_sync('(contains "x-evolution-any-field" "")', None)[1])

    def new(self, name):
        return dav.card(name)

    def add(self, name, uid=None):
        contact = EBookContacts.Contact.new_from_vcard(dav.card(name, uid))
        self.client.add_contact_sync(contact, 0, None)

    def change(self, old, new, flags=0):
        contact = self.names()[old]
        contact.set_property("full-name", new)
        self.client.modify_contact_sync(contact, EBookContacts.BookOperationFlags(flags), None)

    def remove(self, name):
        self.client.remove_contact_sync(self.names()[name], 0, None)

    suffix = "vcf"
    conflict_fail = EBookContacts.BookOperationFlags.CONFLICT_FAIL


class Calendar:
    """The calendar in EDS and on the server."""

    def __init__(self, registry, server):
        self.dav = server
        self.mark = uuid.uuid4().hex[:8]
        self.path = server.make_calendar(f"eds-dates-{self.mark}")
        self.registry = registry
        self.client = None
        self.password = None

    def open(self, server=None):
        source = make_source(self.registry, "calendar", "dates", server or self.dav, self.path)
        self.client = ECal.Client.connect_sync(source, ECal.ClientSourceType.EVENTS, NO_WAIT, None)
        self.source = source
        authenticate(source, self.password)
        wait_for("an opened calendar", self.client.is_opened, WAIT)

    def open_path(self, path):
        self.path = path
        self.open()

    def sync(self):
        self.refresh()
        time.sleep(0.3)

    def refresh(self):
        if self.source.get_connection_status() != EDataServer.SourceConnectionStatus.CONNECTED:
            authenticate(self.source, self.password)
        self.client.refresh_sync(None)

    def names(self):
        found, components = self.client.get_object_list_sync("#t", None)
        return {component.get_summary(): component for component in components}

    def count(self):
        return len({component.get_uid() for component in self.client.get_object_list_sync("#t", None)[1]})

    def new(self, name):
        return dav.event(name)

    def add(self, name, uid=None):
        text = dav.event(name, uid).partition("BEGIN:VEVENT")[2].partition("END:VEVENT")[0]
        component = ICalGLib.Component.new_from_string(f"BEGIN:VEVENT{text}END:VEVENT\r\n")
        self.client.create_object_sync(component, 0, None)

    def change(self, old, new, flags=0):
        component = self.names()[old]
        component.set_summary(new)
        self.client.modify_object_sync(component, ECal.ObjModType.ALL, ECal.OperationFlags(flags), None)

    def remove(self, name):
        uid = self.names()[name].get_uid()
        self.client.remove_object_sync(uid, None, ECal.ObjModType.ALL, 0, None)

    suffix = "ics"
    conflict_fail = ECal.OperationFlags.CONFLICT_FAIL


def run_kind(steps, kind, side):
    server = side.dav

    def there(part):
        return server.find(side.path, part)

    def until(what, check):
        """Refreshes until EDS has what the other side did."""

        def look():
            side.refresh()
            time.sleep(0.3)
            return check(side.names())

        return wait_for(what, look, WAIT)

    with steps.step(f"{kind}: first listing"):
        for number in range(120):
            server.put(f"{side.path}first{number}.{side.suffix}", side.new(f"First {number}."))
        side.open()
        wanted = {f"First {number}." for number in range(120)}
        until("120 records", lambda names: set(names) == wanted)

    with steps.step(f"{kind}: add"):
        side.add("Added here")
        wait_for("the added record on the server", lambda: there("Added here"), WAIT)
        assert "Added here" in side.names()

    with steps.step(f"{kind}: change"):
        side.change("Added here", "Changed here")
        wait_for("the change on the server", lambda: there("Changed here") and not there("Added here"), WAIT)

    with steps.step(f"{kind}: change again"):
        side.change("Changed here", "Changed again")
        wait_for("the change on the server", lambda: there("Changed again") and not there("Changed here"), WAIT)

    with steps.step(f"{kind}: another device adds"):
        server.put(f"{side.path}another.{side.suffix}", side.new("Added there"))
        until("the other's record", lambda names: "Added there" in names)

    with steps.step(f"{kind}: another device changes"):
        path = there("Added there")
        server.put(path, server.get(path).replace("Added there", "Changed there"))
        until("the other's change", lambda names: "Changed there" in names and "Added there" not in names)

    with steps.step(f"{kind}: change of what another device made"):
        side.change("Changed there", "Changed by both")
        wait_for("the change on the server", lambda: there("Changed by both"), WAIT)

    with steps.step(f"{kind}: another device removes"):
        server.delete(f"{side.path}first7.{side.suffix}")
        until("the removal", lambda names: "First 7." not in names)

    with steps.step(f"{kind}: remove"):
        side.remove("First 8.")
        wait_for("the removal on the server", lambda: not there("First 8."), WAIT)

    with steps.step(f"{kind}: conflict, this side overwrites"):
        path = f"{side.path}first9.{side.suffix}"
        server.put(path, server.get(path).replace("First 9.", "Nine there"))
        side.change("First 9.", "Nine here")
        assert "Nine here" in server.get(path)
        until("this side's text", lambda names: "Nine here" in names and "Nine there" not in names)

    with steps.step(f"{kind}: conflict, this side is refused"):
        path = f"{side.path}first10.{side.suffix}"
        server.put(path, server.get(path).replace("First 10.", "Ten there"))
        try:
            side.change("First 10.", "Ten here", side.conflict_fail)
        except GLib.Error as error:
            steps.note(f"{kind}: EDS said: {error.message}")
        else:
            raise AssertionError("the change was not refused")
        assert "Ten there" in server.get(path)
        until("the other's text", lambda names: "Ten there" in names)

    with steps.step(f"{kind}: an odd UID, whose characters a URL may or must escape"):
        side.add("Odd here", uid=ODD_UID)
        wait_for("it on the server", lambda: there("Odd here"), WAIT)
        until("it stays one", lambda names: "Odd here" in names)
        side.change("Odd here", "Odd again")
        wait_for("the change on the server", lambda: there("Odd again"), WAIT)
        until("it stays one", lambda names: "Odd again" in names)
        other = there("Odd again")
        server.put(other, server.get(other).replace("Odd again", "Odd there"))
        until("the other's change", lambda names: "Odd there" in names and "Odd again" not in names)
        assert side.count() == len(server.list(side.path)), f"{side.count()} here, {len(server.list(side.path))} there"
        server.delete(other)
        until("it is gone", lambda names: "Odd there" not in names)

    if command := Command.of_environment(kind, side.path):
        with steps.step(f"{kind}: the command adds and changes"):
            command.add("By command")
            until("what the command added", lambda names: "By command" in names)
            command.change("By command", "By command twice")
            until("what the command changed", lambda names: "By command twice" in names and "By command" not in names)

        with steps.step(f"{kind}: change of what the command added, nothing of it is lost"):
            side.change("By command twice", "By both")
            wait_for("the change in the store", lambda: command.find("By both"), WAIT)
            text = server.get(there("By both"))
            assert "X-HOBBY" in text and "chess" in text, text

        with steps.step(f"{kind}: the command removes"):
            command.remove("By both")
            until("the removal", lambda names: "By both" not in names)

    with steps.step(f"{kind}: everything is the same after listing anew"):
        until("the same records", lambda names: len(names) == len(server.list(side.path)))


def run_generated(steps, kind, side):
    """Records of every odd kind: vCard 2.1 and 4.0, folded and encoded lines, unknown properties."""
    path = os.environ.get(f"DAV_GENERATED_{kind.upper()}")
    if not path:
        return
    with steps.step(f"{kind}: generated records of every kind are listed"):
        side.path = path
        side.open()
        listed = sum("BEGIN:VEVENT" in text or kind == "book" for text in side.dav.texts(path).values())

        def look():
            side.refresh()
            time.sleep(0.3)
            steps.note(f"{kind}: {side.count()} of {listed}")
            return side.count() == listed

        wait_for(f"{listed} records", look, WAIT)


def run_reader(steps, kind, make, registry, server):
    """A device that may only read."""
    if not os.environ["DAV_READER"]:
        return
    with steps.step(f"{kind}: a device that may only read"):
        side = make(registry, server)
        server.put(f"{side.path}first1.{side.suffix}", side.new("First 1."))
        side.password = os.environ["DAV_READER"]
        side.open()
        wait_for("read-only", lambda: side.client.is_readonly(), WAIT)
        side.refresh()
        wait_for("the record", lambda: "First 1." in side.names(), WAIT)
        try:
            side.add("Added here")
        except GLib.Error as error:
            steps.note(f"{kind}: EDS said: {error.message}")
        else:
            raise AssertionError("adding was not refused")


def run_discovery(steps, kind, side):
    """How GNOME adds an account: by the server's address."""
    with steps.step(f"{kind}: found by the server's address"):
        source = EDataServer.Source.new(None, None)
        webdav = source.get_extension(EDataServer.SOURCE_EXTENSION_WEBDAV_BACKEND)
        authentication = source.get_extension(EDataServer.SOURCE_EXTENSION_AUTHENTICATION)
        authentication.set_host(side.dav.host)
        authentication.set_port(side.dav.port)
        authentication.set_user(os.environ["DAV_USER"])
        authentication.set_method("plain/password")
        source.get_extension(EDataServer.SOURCE_EXTENSION_SECURITY).set_method("none")
        webdav.set_resource_path("/")
        supports = EDataServer.WebDAVDiscoverSupports
        wanted = supports.CONTACTS if kind == "book" else supports.EVENTS
        answer = EDataServer.webdav_discover_sources_sync(source, None, int(wanted), credentials(), None)
        found = [entry.href for entry in answer.out_discovered_sources]
        assert any(href.rstrip("/").endswith(side.path.rstrip("/")) for href in found), found


def run_spoilt_token(steps, kind, side):
    """A token that the server never gave: the client lists anew."""
    server = side.dav
    with Proxy(server.host, server.port, free_port(), f"{os.environ['DAV_KEPT']}/{kind}-token.http") as proxy:
        with steps.step(f"{kind}: a refused token"):
            for number in range(5):
                server.put(f"{side.path}first{number}.{side.suffix}", side.new(f"First {number}."))
            side.open(dav.Dav(proxy.url, os.environ["DAV_USER"], os.environ["DAV_PASSWORD"]))

            def until(what, check):
                def look():
                    with contextlib.suppress(GLib.Error):
                        side.refresh()
                    time.sleep(0.5)
                    return check(set(side.names()))

                wait_for(what, look, WAIT)

            until("5 records", lambda names: len(names) == 5)
            proxy.spoils = True
            server.put(f"{side.path}another.{side.suffix}", side.new("Added there"))
            server.delete(f"{side.path}first3.{side.suffix}")
            wanted = {"First 0.", "First 1.", "First 2.", "First 4.", "Added there"}
            until("the other's changes", lambda names: names == wanted)
            if not proxy.spoilt:
                raise Skipped("this version of Evolution Data Server sends no tokens")
            steps.note(f"{kind}: a spoilt token was answered {proxy.refused}")
            proxy.spoils = False
            server.put(f"{side.path}last.{side.suffix}", side.new("Added last"))
            until("what was added after it", lambda names: names == wanted | {"Added last"})


def work(steps):
    server = dav.Dav(os.environ["DAV_URL"], os.environ["DAV_USER"], os.environ["DAV_PASSWORD"])
    registry = EDataServer.SourceRegistry.new_sync(None)
    if sys.argv[1:]:
        make = {"book": lambda: Book(registry, server), "calendar": lambda: Calendar(registry, server)}
        serve(sys.argv[1:], make)
        return
    for kind, make in (("book", Book), ("calendar", Calendar)):
        if os.environ["DAV_ONLY"] in kind:
            side = make(registry, server)
            run_discovery(steps, kind, side)
            run_kind(steps, kind, side)
            run_spoilt_token(steps, kind, make(registry, server))
            run_reader(steps, kind, make, registry, server)
            run_generated(steps, kind, make(registry, server))


def main():
    steps = Steps()
    loop = GLib.MainLoop()

    def run():
        try:
            work(steps)
        finally:
            loop.quit()

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    loop.run()
    worker.join()


if __name__ == "__main__":
    main()
