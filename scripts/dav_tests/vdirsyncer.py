"""vdirsyncer with khard and khal."""

import os
import shutil
import subprocess
import textwrap
import uuid

from . import dav
from .pytest_suite import run_pytest

VERSION = "0.21.0"
CLIENTS = (f"vdirsyncer=={VERSION}", "khard==0.22.0", "khal==0.14.1")
SUITE = ("pytest", "pytest-asyncio", "aioresponses", "hypothesis<7", "pytest-httpserver", "trustme", "requests")

# The suite asks a module with the name of a server for the arguments of a storage.
SERVER = """\
import os

import pytest


class ServerMixin:
    @pytest.fixture
    def get_storage_args(self, slow_create_collection, aio_connector):
        async def inner(collection="test"):
            args = {
                "url": os.environ["DAV_URL"],
                "username": os.environ["DAV_USER"],
                "password": os.environ["DAV_PASSWORD"],
                "connector": aio_connector,
            }
            if collection is not None:
                args = await slow_create_collection(self.storage_class, args, collection)
            return args

        return inner
"""


def run_vdirsyncer(server, packages, report, work, kept, chosen):
    """vdirsyncer: its tests of storages, then synchronisation with khard and khal"""
    python = python_of_clients(packages)
    suite(server, packages, report, work, kept, chosen, python)
    if chosen.only and chosen.only not in "end to end":
        return
    # Other runs against the same server leave theirs.
    mark = uuid.uuid4().hex[:8]
    other = server.dav()
    book, calendar = other.make_book(f"people-{mark}"), other.make_calendar(f"dates-{mark}")
    EndToEnd(server, work / "end-to-end", kept, python, book, calendar).run(report)
    if generated := server.import_generated(chosen.records):
        side = EndToEnd(server, work / "generated", kept, python, generated["book"], generated["calendar"])
        side.run_generated(report)


def python_of_clients(packages):
    return packages.python("venv-vdirsyncer", *CLIENTS, *SUITE)


def suite(server, packages, report, work, kept, chosen, python):
    tests = work / "suite" / "tests"
    shutil.copytree(packages.source("vdirsyncer", VERSION) / "tests", tests)
    module = tests / "storage" / "servers" / "tested"
    module.mkdir(parents=True)
    (module / "__init__.py").write_text(SERVER)
    environment = {
        "DAV_SERVER": "tested",
        "DAV_URL": server.url,
        "DAV_USER": server.user,
        "DAV_PASSWORD": server.password,
    }
    arguments = ["-o", "addopts=", "-o", "asyncio_mode=auto", "tests/storage/dav"]
    if chosen.only:
        arguments += ["-k", chosen.only]
    run_pytest(report, python, tests.parent, kept, arguments, environment)


class EndToEnd:
    """One address book and one calendar, on the server and in folders that khard and khal read."""

    def __init__(self, server, work, kept, python, book, calendar):
        self.bin = python.parent
        self.work = work
        self.log = kept / f"{work.name}.log"
        self.dav = server.dav()
        self.book, self.calendar = book, calendar
        self.folders = {
            path: self.work / kind / path.rstrip("/").rpartition("/")[2]
            for kind, path in (("people", book), ("dates", calendar))
        }
        for folder in self.folders.values():
            folder.mkdir(parents=True)
        (self.work / "home").mkdir()
        self.write_configuration(server)

    def write_configuration(self, server, resolution=""):
        pairs = []
        for name, kind, path in (("people", "carddav", self.book), ("dates", "caldav", self.calendar)):
            folder = self.folders[path]
            suffix = ".vcf" if kind == "carddav" else ".ics"
            pairs.append(f"""
                [pair {name}]
                a = "{name}_here"
                b = "{name}_there"
                collections = ["{folder.name}"]
                {resolution}

                [storage {name}_here]
                type = "filesystem"
                path = "{folder.parent}"
                fileext = "{suffix}"

                [storage {name}_there]
                type = "{kind}"
                url = "{server.url}"
                username = "{server.user}"
                password = "{server.password}"
                """)
        general = f'[general]\nstatus_path = "{self.work}/status"\n'
        (self.work / "vdirsyncer").write_text(general + "".join(map(textwrap.dedent, pairs)))
        (self.work / "khard").write_text(
            f"[addressbooks]\n[[people]]\npath = {self.folders[self.book]}\n"
            "[general]\ndebug = no\n[contact table]\ndisplay = formatted_name\n"
        )
        (self.work / "khal").write_text(
            f"[calendars]\n[[dates]]\npath = {self.folders[self.calendar]}\n"
            f"[sqlite]\npath = {self.work}/khal.db\n"
            "[default]\ndefault_calendar = dates\n"
            "[locale]\ntimeformat = %H:%M\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\n"
            "datetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\nlocal_timezone = UTC\n"
            "default_timezone = UTC\n"
        )

    def call(self, program, *arguments, fails=False, given=None):
        option = {"vdirsyncer": "--config", "khard": "--config", "khal": "--config"}[program]
        home = {"HOME": str(self.work / "home"), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        answer = subprocess.run(
            [self.bin / program, option, self.work / program, *arguments],
            input=given or "",
            capture_output=True,
            text=True,
            env={**os.environ, **home},
            timeout=120,
            check=False,
        )
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"$ {program} {' '.join(map(str, arguments))}\n{answer.stdout}{answer.stderr}")
        printed = answer.stdout + answer.stderr
        if (answer.returncode != 0) != fails:
            raise AssertionError(f"{program} {arguments[0]} exited {answer.returncode}: {printed[-600:]}")
        return printed

    def sync(self, **options):
        return self.call("vdirsyncer", "sync", **options)

    def people(self):
        return self.call("khard", "list", "--parsable")

    def dates(self):
        return self.call("khal", "list", "2030-01-01", "2030-02-01", "--format", "{title}")

    def here(self, collection, part):
        """Returns the file whose text has a part."""
        found = [path for path in self.folders[collection].iterdir() if part in path.read_text()]
        assert len(found) <= 1, found
        return found[0] if found else None

    def replace_here(self, collection, old, new):
        path = self.here(collection, old)
        path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))

    def replace_there(self, collection, old, new):
        path = self.dav.find(collection, old)
        self.dav.put(path, self.dav.get(path).replace(old, new))

    def run(self, report):
        book, calendar = self.book, self.calendar
        with report.step("end to end: first sync, khard and khal list what the server has"):
            for number in range(30):
                self.dav.put(f"{book}person{number}.vcf", dav.card(f"Person{number} Example"))
                self.dav.put(f"{calendar}date{number}.ics", dav.event(f"Date {number}."))
            self.call("vdirsyncer", "discover", given="y\n" * 4)
            self.sync()
            people, dates = self.people(), self.dates()
            assert all(f"Person{number} Example" in people for number in range(30)), people
            assert all(f"Date {number}." in dates for number in range(30)), dates
            assert {len(list(folder.iterdir())) for folder in self.folders.values()} == {30}

        with report.step("end to end: nothing changed, nothing is sent"):
            before = self.dav.list(book), self.dav.list(calendar)
            printed = self.sync()
            assert "Copying" not in printed and "Deleting" not in printed, printed
            assert before == (self.dav.list(book), self.dav.list(calendar))

        with report.step("end to end: added with khard and khal"):
            template = "First name: Grace\nLast name: Sample\nPhone:\n    cell: +49 30 5550199\n"
            self.call("khard", "new", "--input", "-", "--addressbook", "people", given=template)
            self.call("khal", "new", "2030-01-20", "10:00", "11:00", "Added here")
            self.sync()
            assert self.dav.find(book, "Grace Sample") and self.dav.find(calendar, "Added here")

        with report.step("end to end: changed with khard, and in khal's file"):
            changed = self.work / "changed.yaml"
            changed.write_text("Formatted name: Grace Changed\nFirst name: Grace\nLast name: Changed\n")
            self.call("khard", "edit", "--input", changed, "--addressbook", "people", "Grace Sample", given="y\n")
            self.replace_here(calendar, "SUMMARY:Added here", "SUMMARY:Changed here")
            self.sync()
            assert self.dav.find(book, "Grace Changed") and not self.dav.find(book, "Grace Sample")
            assert self.dav.find(calendar, "Changed here") and not self.dav.find(calendar, "Added here")

        with report.step("end to end: another device adds, changes and removes"):
            self.dav.put(f"{book}another.vcf", dav.card("Another Device"))
            self.dav.put(f"{calendar}another.ics", dav.event("Another date"))
            self.replace_there(book, "Person1 Example", "Person1 Elsewhere")
            self.replace_there(calendar, "Date 1.", "Date elsewhere")
            self.dav.delete(f"{book}person2.vcf")
            self.dav.delete(f"{calendar}date2.ics")
            self.sync()
            people, dates = self.people(), self.dates()
            assert "Another Device" in people and "Person1 Elsewhere" in people, people
            assert "Another date" in dates and "Date elsewhere" in dates, dates
            assert "Person2 Example" not in people and "Date 2." not in dates

        with report.step("end to end: removed with khard, and khal's file"):
            self.call("khard", "remove", "--force", "Person3 Example")
            self.here(calendar, "Date 3.").unlink()
            self.sync()
            assert f"{book}person3.vcf" not in self.dav.list(book)
            assert f"{calendar}date3.ics" not in self.dav.list(calendar)

        with report.step("end to end: a conflict is told and changes nothing"):
            for collection, name in ((book, "Person4 Example"), (calendar, "Date 4.")):
                self.replace_here(collection, name, f"{name} here")
                self.replace_there(collection, name, f"{name} there")
            printed = self.sync(fails=True)
            assert "conflict" in printed.lower(), printed
            for collection, name in ((book, "Person4 Example"), (calendar, "Date 4.")):
                assert self.here(collection, f"{name} here") and self.dav.find(collection, f"{name} there")

        with report.step("end to end: a conflict that the server wins"):
            self.resolve("b wins")
            for collection, name in ((book, "Person4 Example"), (calendar, "Date 4.")):
                assert self.here(collection, f"{name} there") and not self.here(collection, f"{name} here")

        with report.step("end to end: a conflict that this side wins"):
            for collection, name in ((book, "Person5 Example"), (calendar, "Date 5.")):
                self.replace_here(collection, name, f"{name} here")
                self.replace_there(collection, name, f"{name} there")
            self.resolve("a wins")
            for collection, name in ((book, "Person5 Example"), (calendar, "Date 5.")):
                assert self.dav.find(collection, f"{name} here") and not self.dav.find(collection, f"{name} there")

        with report.step("end to end: removed here and changed there is brought back"):
            self.call("khard", "remove", "--force", "Person6 Example")
            self.replace_there(book, "Person6 Example", "Person6 Kept")
            self.sync()
            assert "Person6 Kept" in self.people()

        with report.step("end to end: both sides have the same texts"):
            for collection in (book, calendar):
                for path, text in self.dav.texts(collection).items():
                    uid = next(line for line in text.splitlines() if line.startswith("UID"))
                    assert self.here(collection, uid).read_text().split() == text.split(), path

    def run_generated(self, report):
        book, calendar = self.book, self.calendar
        names = {collection: set(self.dav.list(collection)) for collection in (book, calendar)}

        with report.step("generated records of every kind: first sync"):
            self.call("vdirsyncer", "discover", given="y\n" * 4)
            self.sync()
            for collection, listed in names.items():
                files = list(self.folders[collection].iterdir())
                assert len(files) == len(listed), f"{len(files)} files of {len(listed)} records"

        with report.step("generated records of every kind: nothing changed, nothing is sent"):
            printed = self.sync()
            assert "Copying" not in printed and "Deleting" not in printed, printed[-800:]

        with report.step("generated records of every kind: khard and khal list them"):
            assert len(self.people().splitlines()) > 0.8 * len(names[book])
            self.call("khal", "list", "2026-01-01", "2026-02-01")

        with report.step("generated records of every kind: changed here"):
            changed = 0
            for path in list(self.folders[book].iterdir())[:50]:
                text = path.read_text()
                if "\nFN:" in text:
                    path.write_text(text.replace("\nFN:", "\nFN:Changed "))
                    changed += 1
            self.sync()
            texts = self.dav.texts(book)
            assert sum("FN:Changed " in text for text in texts.values()) == changed > 0
            assert set(texts) == names[book]
            # What the server answers to 3.0 out of 4.0 is taken over once.
            self.sync()
            printed = self.sync()
            assert "Copying" not in printed and "Deleting" not in printed, printed[-800:]

    def resolve(self, side, is_synchronised=True):
        path = self.work / "vdirsyncer"
        text = path.read_text()
        chosen = f'conflict_resolution = "{side}"'
        before = [line for line in text.splitlines() if "conflict_resolution" not in line]
        lines = [f"{line}\n{chosen}" if line.startswith("collections") else line for line in before]
        path.write_text("\n".join(lines) + "\n")
        if is_synchronised:
            self.sync()
