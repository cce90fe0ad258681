#!/usr/bin/python3
"""The core of a player: albums with covers, and a playlist that is played.

player.py [--once] [FILTER]    the playlist is FILTER (docs/src/filter-language.md), by album;
                               and played by $PLAYER, mpv by default; --once only prints it
"""
import mmap
import os
import struct
import subprocess
import sys

import dbus

NAME = "org.etui.Store1"
media = dbus.Interface(dbus.SessionBus().get_object(NAME, "/org/etui/Store1/media"), "org.etui.Media1")


def pages(method, query, **options):
    """Yields the values of all rows, a page of 500 at a time."""
    options, after = {"limit": 500, **options}, ""
    while True:
        rows, after, _ = method(query, {**options, "after": after})
        yield from ((number, *values) for number, _, values in rows)
        if not after:
            return


def covers(ids, size):
    """Returns the JPEG files of covers, by their ids."""
    ids, files = list(dict.fromkeys(ids)), {}
    for part in (ids[at : at + 4096] for at in range(0, len(ids), 4096)):
        file, _ = media.Covers(dbus.Array(part, signature="s"), size)
        with mmap.mmap(file.take(), 0, prot=mmap.PROT_READ) as data:
            at = 8
            for name in part:
                (length,) = struct.unpack_from("=I", data, at + 12)
                files[name] = data[at + 16 : at + 16 + length]
                at += 16 + length
    return files


def playlist(query):
    """Yields the tracks to play. A list of another kind takes this one's place."""
    for number, *track in pages(media.Tracks, query, columns=["uid", "title", "artist", "length"]):
        yield (media.Uris([number])[0], *track)


once = "--once" in sys.argv
query = next((word for word in sys.argv[1:] if word != "--once"), "")
albums = list(pages(media.Albums, "", columns=["name", "artist", "year", "members", "cover"]))
pictures = covers((album[-1] for album in albums), "small")
for _, name, artist, year, tracks, cover in albums:
    print(f"{artist}: {name} ({year or '?'}), {tracks} tracks, cover of {len(pictures[cover])} bytes")
for uri, uid, title, artist, seconds in playlist(query):
    print(f"{int(seconds) // 60}:{int(seconds) % 60:02} {title}, {artist}, {uri}")
    if not once:
        subprocess.run([*os.environ.get("PLAYER", "mpv --no-video").split(), uri], check=True)
        media.RecordPlay(uid, 0)
