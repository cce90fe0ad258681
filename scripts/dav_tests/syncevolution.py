"""SyncEvolution."""

import os
import subprocess
import uuid

from . import dav

PACKAGES = ("syncevolution", "syncevolution-common", "syncevolution-http")
TIMEOUT = 180


def run_syncevolution(server, packages, report, work, kept, chosen):
    """SyncEvolution: items of address book and calendar, and synchronisation with folders"""
    packages.debian(*PACKAGES)
    for store, kind in (("addressbook", Book), ("calendar", Calendar)):
        if (chosen.only or "") in kind.kind:
            Side(store, kind, server, work, kept).run(report)


class Book:
    kind, backend, local_format = "book", "carddav", "text/vcard"
    suffix = "vcf"
    new = staticmethod(dav.card)

    @staticmethod
    def make(server, name):
        return server.make_book(name)


class Calendar:
    kind, backend, local_format = "calendar", "caldav", "text/calendar"
    suffix = "ics"
    new = staticmethod(dav.event)

    @staticmethod
    def make(server, name):
        return server.make_calendar(name)


class Side:
    """A collection on the server and a folder of files."""

    def __init__(self, store, kind, server, work, kept):
        self.store, self.kind, self.work = store, kind, work / kind.kind
        self.server, self.dav = server, server.dav()
        self.path = kind.make(self.dav, f"se-{kind.kind}-{uuid.uuid4().hex[:8]}")
        self.url = f"{server.url.rstrip('/')}{self.path}"
        self.folder = self.work / "files"
        for name in ("home", "config", "data", "cache", "run", "files"):
            (self.work / name).mkdir(parents=True, mode=0o700)
        self.log = kept / f"{kind.kind}.log"

    def call(self, *arguments, given=None, accepted=(0,)):
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.work / "home"),
            "XDG_CONFIG_HOME": str(self.work / "config"),
            "XDG_DATA_HOME": str(self.work / "data"),
            "XDG_CACHE_HOME": str(self.work / "cache"),
            "XDG_RUNTIME_DIR": str(self.work / "run"),
        }
        answer = subprocess.run(
            ["dbus-run-session", "--", "syncevolution", "--daemon=no", *arguments],
            env=environment,
            input=given or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
        shown = " ".join(arguments).replace(self.server.password, "...")
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"$ syncevolution {shown}\n{answer.stdout}{answer.stderr}exit {answer.returncode}\n")
        if answer.returncode not in accepted:
            raise AssertionError(f"exit {answer.returncode}: {(answer.stdout + answer.stderr)[-600:]}")
        return answer.stdout

    def configure(self):
        account = [f"username={self.server.user}", f"password={self.server.password}", "keyring=no"]
        self.call(
            "--configure",
            *("--template", "WebDAV", f"syncURL={self.server.url}", *account, "preventSlowSync=0"),
            *(f"backend={self.kind.backend}", f"database={self.url}", "target-config@server", self.store),
        )
        self.call(
            "--configure",
            *("--template", "SyncEvolution_Client", "syncURL=local://@server", "username=", "password="),
            *("keyring=no", "preventSlowSync=0", "backend=file", f"database=file://{self.folder}"),
            *(f"databaseFormat={self.kind.local_format}", "folder", self.store),
        )

    def sync(self, *options):
        return self.call(*options, "folder", self.store)

    def here(self, part):
        """Returns the file whose text has a part."""
        found = [path for path in self.folder.iterdir() if part in path.read_text()]
        assert len(found) <= 1, found
        return found[0] if found else None

    def there(self, part):
        return self.dav.find(self.path, part)

    def run(self, report):
        kind, path, suffix = self.kind.kind, self.path, self.kind.suffix
        target = ("target-config@server", self.store)

        def put(name, text):
            self.dav.put(f"{path}{name}.{suffix}", text)

        def replace_there(old, new):
            found = self.there(old)
            self.dav.put(found, self.dav.get(found).replace(old, new))

        with report.step(f"{kind}: found by the server's address"):
            self.configure()
            printed = self.call(
                *("--print-databases", f"backend={self.kind.backend}", f"username={self.server.user}"),
                *(f"password={self.server.password}", f"syncURL={self.server.url}"),
            )
            assert path.rstrip("/") in printed, printed

        with report.step(f"{kind}: items are listed"):
            for number in range(30):
                put(f"first{number}", self.kind.new(f"First {number}."))
            printed = self.call("--print-items", *target)
            # It writes names with escapes of its own.
            assert all(f"first{number}%2e{suffix}" in printed for number in range(30)), printed

        with report.step(f"{kind}: an item is exported"):
            printed = self.call("--export", "-", *target, f"first3.{suffix}")
            assert "First 3." in printed, printed

        with report.step(f"{kind}: an item is imported"):
            new = self.work / f"new.{suffix}"
            new.write_text(self.kind.new("Imported here"), newline="")
            self.call("--delimiter", "none", "--import", str(new), *target)
            assert self.there("Imported here")

        with report.step(f"{kind}: an item is updated"):
            found = self.there("Imported here")
            changed = self.work / f"changed.{suffix}"
            changed.write_text(self.dav.get(found).replace("Imported here", "Updated here"), newline="")
            self.call("--delimiter", "none", "--update", str(changed), *target, found.rpartition("/")[2])
            assert self.there("Updated here") and not self.there("Imported here")

        with report.step(f"{kind}: an item is deleted"):
            self.call("--delete-items", *target, f"first4.{suffix}")
            assert not self.there("First 4.")

        with report.step(f"{kind}: first synchronisation"):
            self.sync("--sync", "slow")
            assert len(list(self.folder.iterdir())) == len(self.dav.list(path)) == 30
            assert self.here("Updated here") and self.here("First 29.")

        with report.step(f"{kind}: added here and there"):
            (self.folder / "added").write_text(self.kind.new("Added here"), newline="")
            put("added", self.kind.new("Added there"))
            self.sync()
            assert self.there("Added here") and self.here("Added there")

        with report.step(f"{kind}: changed here and there"):
            for old, new in (("First 5.", "Changed here"), ("Added here", "Again here")):
                file = self.here(old)
                file.write_text(file.read_text().replace(old, new))
            replace_there("First 6.", "Changed there")
            self.sync()
            assert self.there("Changed here") and self.here("Changed there") and self.there("Again here")
            assert not self.there("First 5.") and not self.here("First 6.") and not self.there("Added here")

        with report.step(f"{kind}: removed here and there"):
            self.here("First 7.").unlink()
            self.dav.delete(f"{path}first8.{suffix}")
            self.sync()
            assert not self.there("First 7.") and not self.here("First 8.")

        with report.step(f"{kind}: changed on both sides"):
            file = self.here("First 9.")
            file.write_text(file.read_text().replace("First 9.", "Nine here"))
            replace_there("First 9.", "Nine there")
            self.sync()
            assert self.here("Nine") and self.there("Nine")
            assert bool(self.here("Nine here")) == bool(self.there("Nine here"))

        with report.step(f"{kind}: in the end both sides have the same"):
            self.sync()
            assert len(list(self.folder.iterdir())) == len(self.dav.list(path))
