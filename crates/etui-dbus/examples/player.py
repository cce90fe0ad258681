#!/usr/bin/python3
"""The core of a player: albums with covers, and a playlist that is played.

player.py [--once] [PLAYLIST]    PLAYLIST: its name, or a filter (docs/src/filter-language.md), by album;
                                 played by $PLAYER, mpv by default; --once only prints it
"""
import mmap
import os
import struct
import subprocess
import sys

import dbus

library = dbus.SessionBus().get_object("org.etui.Store1", "/org/etui/Store1/media")
media, playlists = (dbus.Interface(library, "org.etui." + name) for name in ("Media1", "Playlists1"))


def pages(method, query, **options):
    """Yields the values of all rows, a page of 500 at a time."""
    after = None
    while after != "":
        rows, after, _ = method(query, {"limit": 500, **options, "after": after or ""})
        yield from ((number, *values) for number, _, values in rows)


def covers(ids, size):
    """Returns the JPEG files of covers, by their ids."""
    ids, files = [*dict.fromkeys(ids)], {}
    for part in (ids[at : at + 4096] for at in range(0, len(ids), 4096)):
        file, _ = media.Covers(dbus.Array(part, signature="s"), size)
        with mmap.mmap(file.take(), 0, prot=mmap.PROT_READ) as data:
            at = 8
            for name in part:
                (length,) = struct.unpack_from("=I", data, at + 12)
                files[name] = data[at + 16 : at + 16 + length]
                at += 16 + length
    return files


def tracks(query):
    """Yields title, artist, seconds, UID and URI of what is to be played."""
    if query in (name for name, _, _ in playlists.List()):
        entries = playlists.Entries(query, 0, 0)[0]
        yield from ((e[3], e[4], e[6], e[1], e[7]) for e in entries if e[2] != "missing")
    else:
        for number, *track in pages(media.Tracks, query, columns=["title", "artist", "length", "uid"]):
            yield (*track, media.Uris([number])[0])


albums = list(pages(media.Albums, "", columns=["name", "artist", "year", "members", "cover"]))
pictures = covers((album[-1] for album in albums), "small")
for _, name, artist, year, count, cover in albums:
    print(f"{artist}: {name} ({year or '?'}), {count} tracks, cover of {len(pictures[cover])} bytes")
for title, artist, seconds, uid, uri in tracks(next((word for word in sys.argv[1:] if word != "--once"), "")):
    print(f"{int(seconds) // 60}:{int(seconds) % 60:02} {title}, {artist}, {uri}")
    if "--once" not in sys.argv:
        subprocess.run([*os.environ.get("PLAYER", "mpv --no-video").split(), uri], check=True)
        uid and media.RecordPlay(uid, 0)
