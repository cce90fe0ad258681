"""The command `etui` beside the server, on the same store."""

import json
import os
import subprocess


class Command:
    """Adds, changes and removes records of one collection; `group` is contacts or calendar."""

    def __init__(self, program, store, kind, collection):
        self.program, self.store = program, store
        self.group = "contacts" if kind == "book" else "calendar"
        self.name_option = ("--addressbook" if kind == "book" else "--calendar", collection)

    @classmethod
    def of_environment(cls, kind, path):
        """Returns the command for a collection that was made under the name in its path, None with another server."""
        if not os.environ["DAV_STORE"]:
            return None
        name = path.rstrip("/").rpartition("/")[2]
        return cls(os.environ["DAV_PROGRAM"], os.environ["DAV_STORE"], kind, name)

    def run(self, *arguments):
        command = [self.program, "--store", self.store, self.group, *arguments, *self.name_option, "--json"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise AssertionError(f"`etui {' '.join(arguments)}` failed: {answer.stderr or answer.stdout}")
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def listed(self):
        """Returns the number of each record, by its name."""
        key = "name" if self.group == "contacts" else "title"
        return {record[key]: str(record["id"]) for record in self.run("list")}

    def names(self):
        return list(self.listed())

    def find(self, name):
        """Returns the number of the record with a name, None if there is none."""
        return self.listed().get(name)

    def add(self, name):
        if self.group == "contacts":
            self.run("add", "--name", name, "--email", "command@example.org", "--set", "X-HOBBY=chess")
        else:
            self.run("add", name, "--start", "2030-01-07 10:00", "--duration", "1h", "--set", "X-HOBBY=chess")

    def change(self, old, new):
        setting = ("--set", f"FN={new}") if self.group == "contacts" else ("--title", new)
        self.run("edit", self.find(old), *setting)

    def remove(self, name):
        self.run("remove", self.find(name))
