"""python-caldav's integration tests, and caldav-server-tester."""

import json
import os
import shutil
import subprocess

from .pytest_suite import run_pytest

VERSION = "3.6.0"
TESTER = "1.7.0"
CLIENTS = (f"caldav=={VERSION}", f"caldav-server-tester=={TESTER}")
SUITE = (
    *("pytest", "pytest-asyncio", "vobject", "manuel", "proxy.py", "tzlocal"),
    *("pyfakefs", "httpx", "httpxyz", "pyyaml"),
)

# What the server does not do, in the words of caldav's compatibility_hints.py. All else is expected.
FEATURES = {
    "etui": {
        # No invitations, no search for other people. A person's own addresses are told.
        "scheduling": {"support": "unsupported"},
        "scheduling.mailbox": {"support": "unsupported"},
        "scheduling.calendar-user-address-set": {"support": "full"},
        "principal-search": {"support": "unsupported"},
    },
    "radicale": "radicale",
    "other": {},
}


# What caldav expects of a server about which it knows nothing.
DEFAULTS = """
import json
from caldav.compatibility_hints import FeatureSet
print(json.dumps({name: known.get("default", {}).get("support") for name, known in FeatureSet.FEATURES.items()}))
"""


def run_caldav(server, packages, report, work, kept, chosen):
    """python-caldav: its integration tests, and caldav-server-tester"""
    python = packages.python("venv-caldav", *CLIENTS, *SUITE)
    source = packages.source("caldav", VERSION)
    tests = work / "suite" / "tests"
    shutil.copytree(source / "tests", tests)
    shutil.copy(source / "pyproject.toml", tests.parent)
    servers = {
        "test-servers": {
            "Tested": {
                "type": "external",
                "enabled": True,
                "url": server.url,
                "username": server.user,
                "password": server.password,
                "features": FEATURES[server.name],
            }
        }
    }
    # JSON is YAML.
    (tests / "caldav_test_servers.yaml").write_text(json.dumps(servers))
    home = work / "home"
    home.mkdir()
    environment = {
        "HOME": str(home),
        "TMPDIR": str(work),
        "PYTHON_CALDAV_TEST_EMBEDDED": "0",
        "PYTHON_CALDAV_TEST_DOCKER": "0",
    }
    names = "Tested" + (f" and {chosen.only}" if chosen.only else "")
    arguments = ["-o", "addopts=", "-W", "ignore", "-k", names]
    arguments += ["tests/test_caldav.py", "tests/test_async_integration.py"]
    run_pytest(report, python, tests.parent, kept, arguments, environment)
    if not chosen.only or chosen.only in "server-tester":
        check_features(server, python, report, work, kept, environment)


def check_features(server, python, report, work, kept, environment):
    """Runs caldav-server-tester. A feature that is less than what caldav takes for granted is a failure."""
    environment = {**os.environ, **environment}
    command = [
        python.parent / "caldav-server-tester",
        *("--caldav-url", server.url, "--caldav-username", server.user, "--caldav-password", server.password),
        *("--format", "json"),
    ]
    options = {"cwd": work, "env": environment, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "check": False}
    with open(kept / "server-tester.log", "wb") as log:
        answer = subprocess.run(command, stderr=log, timeout=1200, **options)
    (kept / "server-tester.json").write_bytes(answer.stdout)
    defaults = subprocess.run([python, "-c", DEFAULTS], timeout=60, **options).stdout
    try:
        features, defaults = json.loads(answer.stdout), json.loads(defaults)
    except ValueError:
        report.fail("server-tester", answer.stdout[-500:].decode(errors="replace"))
        return
    for name, found in sorted(features.get("features", features).items()):
        support = found.get("support") if isinstance(found, dict) else found
        if support in ("full", "quirk", None):
            report.ok(f"server-tester {name}")
        elif support == "unknown" or support == defaults.get(name):
            reason = "not found out" if support == "unknown" else f"{support}, as caldav expects of any server"
            report.skip(f"server-tester {name}", reason)
        else:
            report.fail(f"server-tester {name}", json.dumps(found))
