"""Results of tests as lines, printed by a program of its own; Report.take() reads them."""

import contextlib
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


def wait_for(what, check, seconds):
    """Returns what `check` returns once it is true."""
    end = time.monotonic() + seconds
    while True:
        if found := check():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.2)
