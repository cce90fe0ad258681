"""Servers: `etui serve`, Radicale, or one that runs already."""

import base64
import http.client
import json
import os
import socket
import subprocess
import time

from .dav import Dav


class NotStarted(Exception):
    """A server did not start."""


class RunningServer:
    """A server that somebody else started."""

    name = "other"

    def __init__(self, url, user, password):
        self.url, self.user, self.password = url, user, password

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def dav(self):
        """Returns a client of its own, as another device has."""
        return Dav(self.url, self.user, self.password)

    def import_generated(self, count):
        """Fills an address book and a calendar with odd records of every kind, and returns their paths.

        None where that cannot be done.
        """

    def add_reader(self):
        """Returns the password of a device that may only read, or None."""


class OwnServer(RunningServer):
    """A server of our own, with data of its own in a folder."""

    def __init__(self, folder):
        super().__init__(None, "ada", "secret")
        self.folder = folder
        self.process = None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"

    def start(self, command, **options):
        self.log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, **options)
        for _ in range(200):
            if self.process.poll() is not None:
                break
            if answers(self.port, self.user, self.password):
                return
            time.sleep(0.1)
        self.stop()
        text = (self.folder / "server.log").read_text(errors="replace")
        raise NotStarted(f"`{' '.join(map(str, command))}` does not answer:\n{text[-600:]}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def __exit__(self, *error):
        self.stop()


class EtuiServer(OwnServer):
    name = "etui"

    def __init__(self, program, folder):
        super().__init__(folder)
        self.program = program
        self.store = folder / "store.etui"

    def etui(self, *arguments):
        """Runs a command of etui on the store and returns what it printed."""
        answer = subprocess.run(
            [self.program, *arguments, "--store", self.store], capture_output=True, text=True, check=False
        )
        if answer.returncode != 0:
            raise NotStarted(f"`etui {' '.join(arguments)}` failed: {answer.stderr or answer.stdout}")
        return answer.stdout

    def __enter__(self):
        if not os.access(self.program, os.X_OK):
            raise NotStarted(f"{self.program} is missing; build it with `cargo build`, or name it by --program")
        device = json.loads(self.etui("serve", "add-device", "tests", "--json"))
        self.user, self.password = device["user"], device["password"]
        self.start([self.program, "serve", "--store", self.store, "--listen", f"127.0.0.1:{self.port}"])
        return self

    def import_generated(self, count):
        files = [self.folder / "people.vcf", self.folder / "dates.ics"]
        self.etui("generate", "--count", str(count), "--output", str(files[0]), "--force")
        self.etui("generate", "--calendar", str(count), "--output", str(files[1]), "--force")
        self.etui("import", *map(str, files))
        client = self.dav()
        calendars, books = client.homes()
        found = {}
        for kind, home in (("calendar", calendars), ("book", books)):
            full = {path: len(client.list(path)) for path in client.collections(home)}
            found[kind] = max(full, key=full.get)
        return found

    def add_reader(self):
        return json.loads(self.etui("serve", "add-device", "reader", "--read-only", "--json"))["password"]

    def versions(self, group, name):
        """Returns the texts that a record had, by the command for its kind (contacts or calendar)."""
        found = json.loads(self.etui(group, "find", name, "--json").splitlines()[0])
        identity = str(found["id"])
        known = [json.loads(line) for line in self.etui(group, "history", identity, "--json").splitlines()]
        source = "--vcard" if group == "contacts" else "--ics"
        return [self.etui(group, "history", identity, "--show", str(one["version"]), source) for one in known]

    def refused_texts(self):
        """Returns the texts that `etui conflicts` shows."""
        listed = [json.loads(line) for line in self.etui("conflicts", "--json").splitlines()]
        return [self.etui("conflicts", "show", str(conflict["conflict"]), "--text") for conflict in listed]


class EtuiFamily(OwnServer):
    """A directory of stores, one for each user, with a device each; `users` has the passwords."""

    name = "etui"

    def __init__(self, program, folder, names):
        super().__init__(folder)
        self.program = program
        self.stores = folder / "family"
        self.users = dict.fromkeys(names)

    def __enter__(self):
        self.stores.mkdir()
        for name in self.users:
            command = [self.program, "--store", self.stores / f"{name}.etui", "serve", "add-device", "tests", "--json"]
            added = subprocess.run(command, capture_output=True, text=True, check=True)
            self.users[name] = json.loads(added.stdout)["password"]
        (self.user, self.password), *_ = self.users.items()
        self.start([self.program, "serve", "--users", self.stores, "--listen", f"127.0.0.1:{self.port}"])
        return self


class RadicaleServer(OwnServer):
    name = "radicale"

    def __init__(self, packages, folder):
        super().__init__(folder)
        self.python = packages.python("venv-radicale", "radicale==3.9.0")

    def __enter__(self):
        (self.folder / "users").write_text(f"{self.user}:{self.password}\n")
        settings = {
            "server-hosts": f"127.0.0.1:{self.port}",
            "auth-type": "htpasswd",
            "auth-htpasswd-filename": self.folder / "users",
            "auth-htpasswd-encryption": "plain",
            "storage-filesystem-folder": self.folder / "collections",
            "web-type": "none",
        }
        options = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
        self.start([self.python, "-m", "radicale", "--config", "", *options])
        return self


def free_port():
    """Returns a port above 20000 that nothing listens on."""
    for port in range(20000 + os.getpid() % 20000, 65000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise NotStarted("no free port")


def answers(port, user, password):
    credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("OPTIONS", "/", headers={"Authorization": f"Basic {credentials}"})
        return connection.getresponse().status < 500
    except OSError:
        return False
    finally:
        connection.close()
