"""All clients on one address book and one calendar."""

import contextlib
import json
import random
import re
import subprocess
import threading
import uuid

from . import dav
from .client_process import end_group, told
from .client_report import wait_for
from .command import Command
from .eds import prepare_eds
from .thunderbird import prepare_thunderbird
from .vdirsyncer import EndToEnd, python_of_clients

ROUNDS = 8
SEED = 24
# Seconds for an answer of a client, and for its synchronisation.
ANSWER = 120
WAIT = 90


def run_together(server, packages, report, work, kept, chosen):
    """All of them at once on one address book and one calendar: each sees what the others changed"""
    other = server.dav()
    mark = uuid.uuid4().hex[:8]
    paths = {"book": other.make_book(f"people-{mark}"), "calendar": other.make_calendar(f"dates-{mark}")}
    environment = told(server, chosen, kept)
    clients = {}
    try:
        for name, prepare in (("thunderbird", prepare_thunderbird), ("eds", prepare_eds)):
            folder = work / name
            folder.mkdir()
            command, own = prepare(packages, folder, environment)
            clients[name] = Program(command, own, paths, kept / f"{name}.log")
        clients["vdirsyncer"] = Vdirsyncer(server, work / "vdirsyncer", kept, packages, paths)
        clients["http"] = Http(other, paths)
        if server.name == "etui":
            clients["command"] = EtuiCommand(server, paths)
        for kind in paths:
            Rounds(kind, clients, report).run()
    finally:
        for client in clients.values():
            client.close()


class Rounds:
    """In a round each client adds a record, changes one and removes one; then all are to have the same."""

    def __init__(self, kind, clients, report):
        self.kind, self.clients, self.report = kind, clients, report
        self.random = random.Random(f"{SEED} {kind}")
        self.names = set()

    def run(self):
        for number in range(1, ROUNDS + 1):
            with self.report.step(f"{self.kind}: round {number}, each client has what the others did"):
                self.act(number)
                for name, client in self.clients.items():
                    self.synchronise(name, client)

    def act(self, number):
        untouched = sorted(self.names)
        self.random.shuffle(untouched)
        order = sorted(self.clients)
        self.random.shuffle(order)
        for name in order:
            client = self.clients[name]
            added = f"{number} by {name}"
            client.call(self.kind, "add", added)
            self.names.add(added)
            if len(untouched) > len(order):
                old = untouched.pop()
                client.call(self.kind, "change", old, f"{old} {name}")
                self.names.remove(old)
                self.names.add(f"{old} {name}")
            if len(untouched) > 2 * len(order):
                gone = untouched.pop()
                client.call(self.kind, "remove", gone)
                self.names.remove(gone)
            # What vdirsyncer's files have is sent at its next synchronisation.
            client.call(self.kind, "sync")

    def synchronise(self, name, client):
        seen = None

        def is_same():
            nonlocal seen
            client.call(self.kind, "sync")
            seen = sorted(client.call(self.kind, "names"))
            return seen == sorted(self.names)

        try:
            wait_for(f"{name} with the same records", is_same, WAIT)
        except AssertionError as error:
            lacks, extra = self.names - set(seen), set(seen) - self.names
            raise AssertionError(f"{error}; it lacks {sorted(lacks)}, and has {sorted(extra)} beyond") from error


class Program:
    """A client in a process of its own, told what to do by lines."""

    def __init__(self, command, environment, paths, log):
        self.log = open(log, "ab")
        self.process = subprocess.Popen(
            [*command, *(f"{kind}={path}" for kind, path in paths.items())],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )
        self.read()

    def read(self):
        timer = threading.Timer(ANSWER, self.kill)
        timer.start()
        try:
            # A program that it started may print lines of its own.
            for line in self.process.stdout:
                if line.startswith("{"):
                    answer = json.loads(line)
                    break
            else:
                raise AssertionError(f"the client ended, or did not answer within {ANSWER} s")
        finally:
            timer.cancel()
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def call(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.read()

    def kill(self):
        end_group(self.process)

    def close(self):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.process.stdin.close()
            self.process.wait(20)
        self.kill()
        self.log.close()


class Vdirsyncer:
    """vdirsyncer and its folders."""

    def __init__(self, server, work, kept, packages, paths):
        work.mkdir()
        self.paths = paths
        python = python_of_clients(packages)
        self.sides = EndToEnd(server, work / "sides", kept, python, paths["book"], paths["calendar"])
        self.sides.resolve("b wins", is_synchronised=False)
        self.sides.call("vdirsyncer", "discover", given="y\n" * 4)

    def call(self, kind, action, *names):
        path = self.paths[kind]
        new, key = (dav.card, "FN") if kind == "book" else (dav.event, "SUMMARY")
        match action:
            case "sync":
                self.sides.sync()
            case "names":
                texts = [file.read_text() for file in self.sides.folders[path].iterdir()]
                return [re.search(rf"^{key}:(.*)$", text, re.MULTILINE).group(1).strip() for text in texts]
            case "add":
                suffix = "vcf" if kind == "book" else "ics"
                (self.sides.folders[path] / f"{uuid.uuid4()}.{suffix}").write_text(new(names[0]), newline="")
            case _:
                self.sides.sync()
                file = self.sides.here(path, f"\n{key}:{names[0]}\n")
                if action == "remove":
                    file.unlink()
                else:
                    file.write_text(file.read_text().replace(f"\n{key}:{names[0]}\n", f"\n{key}:{names[1]}\n"))
        return None

    def close(self):
        pass


class Http:
    """Requests without a client."""

    def __init__(self, client, paths):
        self.dav, self.paths = client, paths

    def call(self, kind, action, *names):
        path = self.paths[kind]
        new, key = (dav.card, "FN") if kind == "book" else (dav.event, "SUMMARY")
        match action:
            case "names":
                texts = self.dav.texts(path).values()
                return [re.search(rf"^{key}:(.*?)\r?$", text, re.MULTILINE).group(1) for text in texts]
            case "add":
                self.dav.put(f"{path}{uuid.uuid4()}.{'vcf' if kind == 'book' else 'ics'}", new(names[0]))
            case "change":
                found = self.dav.find(path, f"\n{key}:{names[0]}\r\n")
                text = self.dav.get(found).replace(f"\n{key}:{names[0]}\r\n", f"\n{key}:{names[1]}\r\n")
                self.dav.put(found, text)
            case "remove":
                self.dav.delete(self.dav.find(path, f"\n{key}:{names[0]}\r\n"))
        return None

    def close(self):
        pass


class EtuiCommand:
    """The command beside the server."""

    def __init__(self, server, paths):
        self.commands = {
            kind: Command(server.program, server.store, kind, path.rstrip("/").rpartition("/")[2])
            for kind, path in paths.items()
        }

    def call(self, kind, action, *names):
        if action != "sync":
            return getattr(self.commands[kind], action)(*names)
        return None

    def close(self):
        pass
