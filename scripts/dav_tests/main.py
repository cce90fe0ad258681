"""The command line of scripts/dav-tests."""

import argparse
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from .differences import Differences
from .packages import Missing, Packages
from .parts import PARTS
from .report import Report
from .server import EtuiServer, NotStarted, RadicaleServer, RunningServer

ROOT = Path(__file__).resolve().parents[2]
DIFFERENCES = ROOT / "scripts" / "dav-tests.differences"

DESCRIPTION = """\
Runs real clients and their makers' suites against `etui serve`: a server of its own on a port of the
loopback address, with a store and a device of its own for each part. Prints each test's result, then a
table. Fails if a test failed that scripts/dav-tests.differences does not name with the reason.

Parts, all by default:

"""

EPILOG = """\
Needed is Python 3.11 with venv and pip. The rest comes from PyPI (into FOLDER/venv-PART, and FOLDER/sources
for suites) and, where root may run apt-get, from Debian: thunderbird; evolution-data-server, python3-gi,
gir1.2-ebook-1.2, gir1.2-ecal-2.0, gir1.2-edataserver-1.2, dbus; syncevolution, -common, -http. Else a part
is skipped and says what it needs. tsdav needs Node.js and npm. CalDAVTester is in no registry: unpack it yourself, it needs Python 2.7.

    scripts/dav-tests                           everything
    scripts/dav-tests vdirsyncer eds            two parts
    scripts/dav-tests thunderbird --only book   its address book alone
    scripts/dav-tests --radicale eds            the script itself, tried with Radicale
    scripts/dav-tests --url http://127.0.0.1:5232/ --user ada --password secret caldav
"""


def parse_arguments(arguments):
    parts = "\n".join(f"    {name:<14} {part.__doc__.strip().splitlines()[0]}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/dav-tests",
        description=DESCRIPTION + parts,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="what is run (all)")
    parser.add_argument(
        "--program",
        type=Path,
        default=ROOT / "target" / "debug" / "etui",
        help="the program etui (target/debug/etui; build it with `cargo build -p etui-cli -p etui-serve`)",
    )
    parser.add_argument("--radicale", action="store_true", help="run against Radicale instead")
    parser.add_argument("--url", help="run against a server that runs already; with --user and --password")
    parser.add_argument("--user")
    parser.add_argument("--password")
    parser.add_argument(
        "--only", metavar="TEXT", help="of suites, tests whose name contains TEXT; of clients, `book` or `calendar`"
    )
    parser.add_argument(
        "--records",
        type=int,
        default=600,
        metavar="N",
        help="generated contacts and calendar entries that clients list (600)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / "target" / "dav-tests",
        help="where packages, sources and the output of tests are kept (target/dav-tests)",
    )
    parser.add_argument(
        "--caldavtester",
        type=Path,
        metavar="FOLDER",
        help="an unpacked CalDAVTester (CalConnect's or Apple's), for the part caldavtester",
    )
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if chosen.url and not (chosen.user and chosen.password):
        parser.error("--url needs --user and --password")
    return chosen


def start_server(chosen, packages, folder):
    if chosen.url:
        return RunningServer(chosen.url, chosen.user, chosen.password)
    if chosen.radicale:
        return RadicaleServer(packages, folder)
    return EtuiServer(chosen.program, folder)


def main(arguments=None):
    chosen = parse_arguments(arguments)
    sys.stdout.reconfigure(line_buffering=True)
    # So that servers and clients end with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    packages = Packages(chosen.folder)
    output = chosen.folder / "output"
    output.mkdir(parents=True, exist_ok=True)
    lock = open(output / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SystemExit(f"error: another run has {output}; wait for its end, or take another --folder") from None
    report = Report(Differences.read(DIFFERENCES))
    for name in chosen.parts or PARTS:
        kept = output / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        report.begin(name)
        # Sockets have short paths.
        work = Path(tempfile.mkdtemp(prefix="dav-tests-"))
        try:
            with start_server(chosen, packages, kept) as server:
                PARTS[name](server, packages, report, work, kept, chosen)
        except Missing as missing:
            report.skip("everything", str(missing))
        except NotStarted as error:
            report.fail("everything", str(error))
        finally:
            shutil.rmtree(work, ignore_errors=True)
    print(f"What servers and clients printed is in {os.path.relpath(output)}.")
    return report.finish(is_whole=not chosen.only and not chosen.url and not chosen.radicale)
