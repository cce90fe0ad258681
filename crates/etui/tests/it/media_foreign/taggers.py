"""Writes files in the habits of taggers and prints what mutagen and TagLib read from them.

usage: taggers.py BASES OUT      BASES: one untagged file of each format

A line for each value: the reader, the file's name, a name of a Vorbis comment, the value, separated by tabs.
"""
import os
import shutil
import struct
import sys

from mutagen.aiff import AIFF
from mutagen.apev2 import APEv2, APETextValue
from mutagen.flac import FLAC
from mutagen.id3 import ID3, TALB, TCOM, TCON, TDRC, TIT2, TPE1, TPE2, TPOS, TRCK, TXXX, POPM
from mutagen.mp4 import MP4
from mutagen.oggopus import OggOpus
from mutagen.wave import WAVE
import taglib

bases, out = sys.argv[1:]

# Title, artists, album, album artist, genres, date, track, total.
TEXTS = [
    ("Low", ["David Bowie"], "Low", "David Bowie", ["Rock"], "1977", "1", "11"),
    ("Grüße", ["Jürgen Müller"], "Lieder", "Jürgen Müller", ["Folk", "Pop"], "1999-05-04", "03", "12"),
    ("夜明け", ["山田"], "朝", "山田", ["J-Pop"], "2004", "7", ""),
    ("Ночь", ["Анна", "Борис"], "День", "", ["Рок"], "2011-02", "10", "10"),
    ("AC/DC; live", ["AC/DC"], "A & B", "Various Artists", ["Hard Rock"], "1980", "2", "9"),
    ("emoji 😀", ["Ann feat. Ben"], "Odd \u2019 quote", "Ann", [], "2020", "5", "5"),
    ("a = b", ["Ann", "Ben", "Cid"], "Many", "Ann", ["Jazz", "Blues", "Soul"], "2021", "4", "8"),
    ("  blanks  ", ["Solo"], "Spaces", "", ["Pop"], "2022", "1", "1"),
    ("é" * 200, ["Long"], "L" * 300, "Long", ["Pop"], "2023", "6", "7"),
    ("التحرير", ["فيروز"], "بيروت", "فيروز", ["Arabic"], "1966", "8", "9"),
]


def path(name, extension):
    to = os.path.join(out, f"{name}.{extension}")
    shutil.copy(os.path.join(bases, f"base.{extension}"), to)
    return to


def frames(encoding, text, joined):
    """The frames of a tag; joined: artists in one text, for taggers that know no lists."""
    title, artists, album, albumartist, genres, date, track, total = text
    made = [
        TIT2(encoding=encoding, text=[title]),
        TPE1(encoding=encoding, text=["; ".join(artists)] if joined else artists),
        TALB(encoding=encoding, text=[album]),
        TRCK(encoding=0, text=[f"{track}/{total}" if total else track]),
        TPOS(encoding=0, text=["1/2"]),
        TDRC(encoding=0, text=[date]),
    ]
    if albumartist:
        made.append(TPE2(encoding=encoding, text=[albumartist]))
    if genres:
        made.append(TCON(encoding=encoding, text=genres))
    return made


def fits(encoding, text):
    try:
        str(text).encode("latin-1")
        return True
    except UnicodeEncodeError:
        return encoding != 0


def old_tag(text):
    """A tag of version 2.2, which mutagen reads and does not write."""
    title, artists, album, albumartist, genres, date, track, total = text
    body = b""
    values = [(b"TT2", title), (b"TP1", artists[0]), (b"TAL", album), (b"TRK", track), (b"TYE", date[:4])]
    if albumartist:
        values.append((b"TP2", albumartist))
    for name, value in values:
        content = b"\x01" + value.encode("utf-16") + b"\0\0"
        body += name + struct.pack(">I", len(content))[1:] + content
    size = len(body)
    safe = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x02\x00\x00" + safe + body


files = []
for number, text in enumerate(TEXTS):
    title, artists, album, albumartist, genres, date, track, total = text
    # ID3: encodings and versions; 2.3 has no lists of artists and no UTF-8.
    for version in (3, 4):
        for encoding in (0, 1, 2, 3):
            if not fits(encoding, text) or (version == 3 and encoding > 1):
                continue
            for extension in ("mp3", "wav", "aiff"):
                if extension != "mp3" and encoding != 1:
                    continue
                to = path(f"id3-2{version}-{encoding}-{number}", extension)
                if extension == "mp3":
                    tag = ID3()
                    [tag.add(frame) for frame in frames(encoding, text, version == 3)]
                    tag.save(to, v2_version=version, v1=2 if number % 2 else 0)
                else:
                    file = WAVE(to) if extension == "wav" else AIFF(to)
                    file.add_tags()
                    [file.tags.add(frame) for frame in frames(encoding, text, version == 3)]
                    file.save(v2_version=version)
                files.append(to)
    to = path(f"id3-22-{number}", "mp3")
    with open(to, "rb+") as file:
        sound = file.read()
        file.seek(0)
        file.write(old_tag(text) + sound)
    files.append(to)
    # An APE tag alone, as of mp3gain and foobar2000.
    to = path(f"ape-{number}", "mp3")
    tag = APEv2()
    tag["Title"], tag["Artist"], tag["Album"] = title, artists, album
    tag["Year"], tag["Track"] = date, f"{track}/{total}" if total else track
    if genres:
        tag["Genre"] = genres
    if albumartist:
        tag["Album Artist"] = albumartist
    tag.save(to)
    files.append(to)
    # Vorbis comments: names in both cases, totals in three ways, the album artist in two.
    for habit in range(4):
        for extension, kind in (("flac", FLAC), ("opus", OggOpus)):
            to = path(f"vorbis-{habit}-{number}", extension)
            file = kind(to)
            if file.tags is None:
                file.add_tags()
            file["title" if habit else "TITLE"] = title
            file["artist"], file["album"], file["date"] = artists, album, date
            if genres:
                file["genre"] = genres
            if albumartist:
                file["album artist" if habit >= 2 else "albumartist"] = albumartist
            if habit == 0 and total:
                file["tracknumber"] = f"{track}/{total}"
            else:
                file["tracknumber"] = track
                if total:
                    file["totaltracks" if habit == 1 else "tracktotal"] = total
            file.save()
            files.append(to)
    to = path(f"mp4-{number}", "m4a")
    file = MP4(to)
    file["\xa9nam"], file["\xa9ART"], file["\xa9alb"], file["\xa9day"] = title, artists, album, date
    file["trkn"] = [(int(track), int(total or 0))]
    if genres:
        file["\xa9gen"] = genres
    if albumartist:
        file["aART"] = albumartist
    file.save()
    files.append(to)


NAMES = {"TIT2": "TITLE", "TPE1": "ARTIST", "TALB": "ALBUM", "TPE2": "ALBUMARTIST", "TDRC": "DATE"}
ATOMS = {"\xa9nam": "TITLE", "\xa9ART": "ARTIST", "\xa9alb": "ALBUM", "aART": "ALBUMARTIST", "\xa9day": "DATE",
         "\xa9gen": "GENRE"}
ITEMS = {"title": "TITLE", "artist": "ARTIST", "album": "ALBUM", "albumartist": "ALBUMARTIST",
         "album artist": "ALBUMARTIST", "date": "DATE", "year": "DATE", "genre": "GENRE"}


def numbers(text, number, total):
    first, _, all_ = str(text).partition("/")
    return [(number, first)] + ([(total, all_)] if all_ else [])


def of_id3(tag):
    for name, to in NAMES.items():
        for value in tag[name].text if name in tag else []:
            yield to, str(value)
    for value in tag["TRCK"].text if "TRCK" in tag else []:
        yield from numbers(value, "TRACKNUMBER", "TRACKTOTAL")
    for value in tag["TCON"].genres if "TCON" in tag else []:
        for genre in value.split("/"):
            yield "GENRE", genre


def of_items(tag):
    for name, values in tag.items():
        name = name.lower()
        for value in values:
            if name in ITEMS:
                yield ITEMS[name], str(value)
            elif name in ("tracknumber", "track"):
                yield from numbers(value, "TRACKNUMBER", "TRACKTOTAL")
            elif name in ("tracktotal", "totaltracks"):
                yield "TRACKTOTAL", str(value)


def of_mp4(tag):
    for atom, to in ATOMS.items():
        for value in tag.get(atom, []):
            yield to, value
    for number, total in tag.get("trkn", []):
        yield "TRACKNUMBER", str(number)
        if total:
            yield "TRACKTOTAL", str(total)


def read(to):
    if to.endswith(".m4a"):
        return of_mp4(MP4(to).tags)
    if to.endswith(".flac"):
        return of_items(FLAC(to).tags)
    if to.endswith(".opus"):
        return of_items(OggOpus(to).tags)
    if to.endswith(".wav"):
        return of_id3(WAVE(to).tags)
    if to.endswith(".aiff"):
        return of_id3(AIFF(to).tags)
    if os.path.basename(to).startswith("ape"):
        return of_items({name: list(value) for name, value in APEv2(to).items()})
    return of_id3(ID3(to))


def of_taglib(to):
    file = taglib.File(to)
    values = list(of_items(file.tags))
    file.close()
    for name, value in values:
        # As of mutagen, a list in one text: version 2.3 has no other.
        is_list = name == "GENRE" and os.path.basename(to).startswith("id3")
        for part in value.split("/") if is_list else [value]:
            yield name, part


for to in files:
    for reader, values in (("mutagen", read(to)), ("TagLib", of_taglib(to))):
        for name, value in values:
            # etui drops blanks around a value, and a year's dashes stay as they are.
            value = value.strip()
            if value:
                print(reader, os.path.basename(to), name, value, sep="\t")
