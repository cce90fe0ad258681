"""What a device overwrote, or was refused, is kept by etui."""

GROUPS = {"book": "contacts", "calendar": "calendar"}


def check_kept_texts(server, report, chosen, overwritten, refused):
    """`overwritten` has the name that a record has now, and the one that was overwritten, by kind.

    `refused` has names in texts that the server refused.
    """
    if server.name != "etui" or chosen.only:
        return
    for kind, (now, before) in overwritten.items():
        with report.step(f"{kind}: the overwritten text is in the history"):
            texts = server.versions(GROUPS[kind], now)
            assert any(before in text for text in texts), texts
    with report.step("the refused texts are among the conflicts"):
        texts = server.refused_texts()
        for name in refused:
            assert any(name in text for text in texts), texts
