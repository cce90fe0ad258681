"""Thunderbird without a screen."""

import os
from pathlib import Path

from .client_process import run_client

PREFERENCES = {
    "app.update.enabled": False,
    "browser.dom.window.dump.enabled": True,
    "calendar.loglevel": "Debug",
    "calendar.debug.log": True,
    "carddav.setup.loglevel": "Debug",
    "carddav.sync.loglevel": "Debug",
    "datareporting.policy.dataSubmissionEnabled": False,
    "devtools.console.stdout.chrome": True,
    "extensions.update.enabled": False,
    "mail.provider.suppress_dialog_on_startup": True,
    "mail.shell.checkDefaultClient": False,
    "mail.spotlight.firstRunDone": True,
    "mail.winsearch.firstRunDone": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "signon.rememberSignons": True,
    "toolkit.telemetry.enabled": False,
}

# Seconds for all of its tests.
TIMEOUT = 540


def run_thunderbird(server, packages, report, work, kept, chosen):
    """Thunderbird without a screen: address book and calendar"""
    packages.debian("thunderbird")
    python = packages.python("venv-thunderbird", "marionette_driver==3.7.1")
    profile = work / "profile"
    home = work / "home"
    profile.mkdir()
    home.mkdir()
    lines = [f"user_pref({quote(name)}, {quote(value)});\n" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(work),
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MOZ_HEADLESS": "1",
        "DAV_URL": server.url,
        "DAV_USER": server.user,
        "DAV_PASSWORD": server.password,
        "DAV_ONLY": chosen.only or "",
        "DAV_KEPT": str(kept),
        "DAV_PROFILE": str(profile),
    }
    command = [str(python), "-m", "dav_tests.thunderbird_client"]
    run_client(report, command, environment, kept / "thunderbird.log", TIMEOUT)


def quote(value):
    """Returns a value as JavaScript."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


