"""Results of tests as lines, printed by a program of its own; Report.take() reads them."""

import contextlib
import json
import sys
import time
import traceback


class Skipped(Exception):
    """A test that means nothing here, with the reason."""


class Steps:
    @contextlib.contextmanager
    def step(self, name):
        try:
            yield
        except Skipped as reason:
            print(f"skipped\t{name}\t{reason}", flush=True)
        except Exception as error:
            traceback.print_exc()
            frames = traceback.extract_tb(error.__traceback__)
            where = next((f for f in reversed(frames) if "dav_tests" in f.filename), frames[-1])
            detail = f"{where.line}\n{type(error).__name__}: {error}".replace("\n", "\\n")
            print(f"FAILED\t{name}\t{detail}", flush=True)
        else:
            print(f"ok\t{name}", flush=True)

    def note(self, text):
        print(f"# {text}", file=sys.stderr, flush=True)


def serve(paths, make):
    """Does what lines on standard input say, for one side of each kind; answers are lines.

    `paths` are KIND=PATH of collections; `make` has a function for each kind.
    """
    sides = {}
    for pair in paths:
        kind, _, path = pair.partition("=")
        sides[kind] = make[kind]()
        sides[kind].open_path(path)
    print(json.dumps({"value": "ready"}), flush=True)
    for line in sys.stdin:
        kind, action, *arguments = json.loads(line)
        try:
            value = getattr(sides[kind], action)(*arguments)
            print(json.dumps({"value": list(value) if action == "names" else None}), flush=True)
        except Exception as error:
            traceback.print_exc()
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


def wait_for(what, check, seconds):
    """Returns what `check` returns once it is true."""
    end = time.monotonic() + seconds
    while True:
        if found := check():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.2)
