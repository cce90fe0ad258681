"""Thunderbird without a screen."""

from .client_process import run_client, told
from .kept_texts import check_kept_texts

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
TIMEOUT = 1200


def run_thunderbird(server, packages, report, work, kept, chosen):
    """Thunderbird without a screen: address book and calendar"""
    command, environment = prepare_thunderbird(packages, work, told(server, chosen, kept))
    run_client(report, command, environment, kept / "thunderbird.log", TIMEOUT)
    # It sends cards without a condition, so that none is refused.
    overwritten = {"book": ("9 here", "9 there"), "calendar": ("9 here", "9 there")}
    check_kept_texts(server, report, chosen, overwritten, ["10 here"])


def prepare_thunderbird(packages, work, told):
    """Returns a command and its environment, with a profile of its own."""
    packages.debian("thunderbird")
    python = packages.python("venv-thunderbird", "marionette_driver==3.7.1")
    profile = work / "profile"
    home = work / "home"
    profile.mkdir()
    home.mkdir()
    lines = [f"user_pref({quote(name)}, {quote(value)});\n" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    environment = {
        **told,
        "HOME": str(home),
        "TMPDIR": str(work),
        "MOZ_HEADLESS": "1",
        "DAV_PROFILE": str(profile),
    }
    command = [str(python), "-m", "dav_tests.thunderbird_client"]
    return command, environment


def quote(value):
    """Returns a value as JavaScript."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
