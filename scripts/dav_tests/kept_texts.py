"""What a device overwrote, or was refused, is kept by etui."""

from .client_report import Skipped

GROUPS = {"book": "contacts", "calendar": "calendar"}


def check_kept_texts(server, report, overwritten):
    """`overwritten` has the name that a record has now, and the one that was overwritten, by kind."""
    if server.name != "etui":
        return
    for kind, (now, before) in overwritten.items():
        with report.step(f"{kind}: the overwritten text is in the history"):
            texts = server.versions(GROUPS[kind], now)
            assert any(before in text for text in texts), texts
    with report.step("the refused text is among the conflicts"):
        refused = server.refused()
        if refused is None:
            raise Skipped("there is no command `etui conflicts` yet")
        assert refused
