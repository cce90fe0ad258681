"""Evolution Data Server as a client."""

from .client_process import run_client, session_bus, told
from .kept_texts import check_kept_texts

# Seconds for all of its tests.
TIMEOUT = 900
PACKAGES = (
    "evolution-data-server",
    "python3-gi",
    "gir1.2-ebook-1.2",
    "gir1.2-ecal-2.0",
    "gir1.2-edataserver-1.2",
    "dbus",
)


def run_eds(server, packages, report, work, kept, chosen):
    """GNOME: Evolution Data Server as a client of address book and calendar"""
    command, environment = prepare_eds(packages, work, told(server, chosen, kept))
    run_client(report, command, environment, kept / "eds.log", TIMEOUT)
    overwritten = {"book": ("Nine here", "Nine there"), "calendar": ("Nine here", "Nine there")}
    check_kept_texts(server, report, chosen, overwritten, ["Ten here"])


def prepare_eds(packages, work, told):
    """Returns a command and its environment, with a home and a session bus of its own."""
    packages.debian(*PACKAGES)
    folders = {f"XDG_{kind}_HOME": work / kind.lower() for kind in ("DATA", "CACHE", "CONFIG")}
    folders |= {"HOME": work / "home", "XDG_RUNTIME_DIR": work / "run", "TMPDIR": work / "tmp"}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    environment = {
        **told,
        "GIO_USE_VFS": "local",
        "GSETTINGS_BACKEND": "memory",
        **{name: str(folder) for name, folder in folders.items()},
    }
    # Debian's own Python has the bindings.
    command = [*session_bus(work, "org.gnome.evolution.*"), "/usr/bin/python3", "-m", "dav_tests.eds_client"]
    return command, environment
