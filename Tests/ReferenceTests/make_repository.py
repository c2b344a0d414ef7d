#!/usr/bin/env python3
"""Makes a folder repository to test readers with. Written from Docs/Format.md alone; shares no code with any reader.

    make_repository.py OUT [--seed N] [--cheap-scrypt] [--big] [--race]

OUT (new) gets `repository/`, `passphrase.txt`, `key.bin`, `recovery.txt` and `expected.json`, which says what a reader
must find: every version with its id, time, size and SHA-256, members, tags. The same seed gives the same bytes (with
the same SQLite and zstd). `--cheap-scrypt`: N = 2^15. `--big`: a database of 141 MB, mostly zeros, whose map has
depth 3.
`--race`: two machines made the repository at once, one of them never pushed.
"""
import argparse, base64, hashlib, hmac, json, math, os, random, sqlite3, struct, sys, tempfile
from datetime import datetime, timezone

import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FORMAT = 1  # the version of sealed objects
PACK, MANIFEST, KEYRING, CONDEMNED, TOMBSTONE, ANNOTATION, CONFIGURATION = range(1, 8)
PAGE, BLOCK, NODE = 1, 2, 3
ZEROS = 0xFFFFFFFF
START = 1_750_000_000_000  # the time of the first version, ms


def u8(n): return struct.pack(">B", n)
def u16(n): return struct.pack(">H", n)
def u32(n): return struct.pack(">I", n)
def u64(n): return struct.pack(">Q", n)
def str16(text): return u16(len(text.encode())) + text.encode()
def sha(data): return hashlib.sha256(data).digest()
def mac(key, data): return hmac.digest(key, data, "sha256")
def hkdf(ikm, salt, info, n): return HKDF(algorithm=SHA256(), length=n, salt=salt, info=info).derive(ikm)
def extensions(*items): return u16(len(items)) + b"".join(u16(t) + u32(len(b)) + b for t, b in items)


def padded(length):
    """§4.6"""
    if length < 65536:
        return max(4096, 1 << (length - 1).bit_length())
    e = length.bit_length() - 1
    mask = (1 << (e - math.floor(math.log2(e)) - 1)) - 1
    return (length + mask) & ~mask


# §4.5

def number_at(data, at):
    """A SQLite varint: (value, bytes), or None where the data ends first."""
    value = 0
    for length in range(1, 10):
        if at + length > len(data):
            return None
        byte = data[at + length - 1]
        if length == 9:
            return value << 8 | byte, 9
        value = value << 7 | byte & 127
        if byte < 128:
            return value, length


def cell_end(kind, page, at):
    """Where the cell ends whose payload length, or rowid, begins at `at`; None where its varints do not end."""
    first = number_at(page, at)
    if first is None:
        return None
    payload, at = first[0], at + first[1]
    if kind == 5:
        return at
    start = at - first[1]
    if kind == 13:
        rowid = number_at(page, at)
        if rowid is None:
            return None
        at += rowid[1]
    used = len(page)
    x, m = used - 35 if kind == 13 else (used - 12) * 64 // 255 - 23, (used - 12) * 32 // 255 - 23
    if payload > x:
        k = m + (payload - m) % (used - 4)
        return at + 4 + (k if k <= x else m)
    return at + payload if kind == 2 else max(at + payload, start + 4)


def take_apart(page):
    """(layout, n, children, irregular, cells, literals) of a page; None for one that is literal."""
    kind, n, p = page[0], page[3] << 8 | page[4], len(page)
    front, link = (12, 4) if kind in (2, 5) else (8, 0)
    s = front + 2 * n
    if kind not in (2, 5, 10, 13) or n == 0 or s > p:
        return None
    places = [page[at] << 8 | page[at + 1] for at in range(front, s, 2)]
    ends = [cell_end(kind, page, o + link) for o in places]
    if any(o < s or end is None or end > p for o, end in zip(places, ends)):
        return None
    sizes = [end - o for o, end in zip(places, ends)]
    if s + sum(sizes) > p:
        return None
    content = page[5] << 8 | page[6]
    gap = range(s, content if s <= content <= p else s)
    used = any(page[gap.start:gap.stop])
    straight = [p - sum(sizes[:i + 1]) for i in range(n)]
    last_first = [p - sizes[-1] - sum(sizes[:i + 1]) for i in range(n - 1)] + [p - sizes[-1]]
    regular = not page[1] and not page[2] and not page[7] and content == min(places)
    irregular, taken = b"", set()
    if regular and places == straight:
        arrangement = 1
    elif regular and n > 1 and places == last_first:
        arrangement = 2
    else:
        arrangement, e, exceptions = 3, p, []
        for i in range(n):
            if places[i] == e - sizes[i]:
                e = places[i]
            elif i == n - 1 or places[i + 1] == e - sizes[i + 1]:
                exceptions.append((i, 0x8000, p - sizes[i] - places[i]))
            else:
                exceptions.append((i, 0, (e - sizes[i] - places[i]) % 65536))
                e = places[i]
        if len(exceptions) > 255 or 2 * len(exceptions) > n:
            return None
        before = [0] + [i for i, *_ in exceptions]
        irregular = page[1:3] + page[5:8] + u8(len(exceptions)) + b"".join(
            u16(stays | i - b) + u16(value) for (i, stays, value), b in zip(exceptions, before))
    for o, size in zip(places, sizes):
        span = set(range(o, o + size))
        if span & taken:
            return None
        taken |= span
    links = [int.from_bytes(page[o:o + 4], "big") for o in places] + [int.from_bytes(page[8:12], "big")]
    children = b"".join(u32((a - b) % (1 << 32)) for a, b in zip(links, [0] + links)) if link else b""
    rest = bytes(page[at] for at in range(s, p) if at not in taken and (used or at not in gap))
    cells = b"".join(page[o + link:end] for o, end in zip(places, ends))
    return kind | arrangement << 4 | used << 7, n, children, irregular, cells, rest


def cell_form(pages, keep=()):
    """The cell form of pages; those whose numbers are in `keep` stay literal, as an encoder of a frame may choose."""
    parts = [None if i in keep else take_apart(page) for i, page in enumerate(pages)]
    trees = [part for part in parts if part]
    layouts = bytes(part[0] if part else 0 for part in parts)
    high, low = bytes(tree[1] >> 8 for tree in trees), bytes(tree[1] & 255 for tree in trees)
    streams = [b"".join(tree[at] for tree in trees) for at in (2, 3, 4)]
    literals = b"".join(part[5] if part else page for part, page in zip(parts, pages))
    return layouts + high + low + b"".join(streams) + literals


class Frame:
    """Units to be sealed together. `runs`: (base pack name or None for this object, frame, first unit, count)."""

    def __init__(self, kind, units, codec=1, runs=(), prefix=b"", depth=0):
        self.kind, self.units, self.codec = kind, units, codec
        self.runs, self.prefix, self.depth = list(runs), prefix, depth

    def packed(self):
        plain, prefix = b"".join(self.units), self.prefix
        if self.codec == 0:
            return plain
        if self.codec >= 3:
            plain, size = cell_form(self.units, keep=range(5, len(self.units), 7)), len(self.units[0])
            prefix = cell_form([prefix[at:at + size] for at in range(0, len(prefix), size)])
        raw = zstandard.DICT_TYPE_RAWCONTENT
        base = zstandard.ZstdCompressionDict(prefix, dict_type=raw) if prefix else None
        return zstandard.ZstdCompressor(level=3, dict_data=base, write_dict_id=False).compress(plain)


class Forge:
    """The keys of a repository and the folder that it is written to. Fields may be bent to make hostile objects."""

    def __init__(self, root, seed=1, log_n=17):
        self.root, self.dice, self.log_n = root, random.Random(seed), log_n
        self.id, self.master, self.chain_key, self.fingerprint_key, self.hedge_key = (
            self.dice.randbytes(n) for n in (16, 32, 32, 32, 32))
        self.roots = {1: self.dice.randbytes(32)}
        self.epoch = 1

    def put(self, path, data):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def fingerprint(self, kind, unit):
        return mac(self.fingerprint_key, u8(kind) + u32(len(unit)) + unit)[:16]

    # §3, §5

    def slot(self, n, derivation, secret):
        cost = (self.log_n, 8, 1) if derivation == 1 else (0, 0, 0)
        salt = self.dice.randbytes(32)
        head = b"\x89SLKS\r\n\x1a" + bytes([0, derivation, *cost]) + bytes(3) + self.id + salt + u64(START) + bytes(24)
        if derivation == 1:
            secret = hashlib.scrypt(secret, salt=salt, n=1 << cost[0], r=8, p=1, maxmem=1 << 29, dklen=32)
        okm = hkdf(secret, self.id, b"sealift slot" + head, 64)
        slot = head + okm[32:]
        slot += AESGCM(okm[:32]).encrypt(bytes(12), self.master, slot)
        assert len(slot) == 176
        self.put(f"keys/{n}-176-{sha(slot).hex()}", slot)

    def repository_file(self):
        data = b"\x89SLRP\r\n\x1a" + bytes(8) + self.id + bytes(32)
        self.put(f"repo/{self.id.hex()}-64-{sha(data).hex()}", data)

    def keyring(self, n, cuts=()):
        roots = b"".join(u32(epoch) + root for epoch, root in sorted(self.roots.items()))
        meta = (u8(0) + u32(self.epoch) + u16(len(self.roots)) + roots
                + self.chain_key + self.fingerprint_key + self.hedge_key
                + u32(len(cuts)) + b"".join(u32(e) + c + u64(s) + h for e, c, s, h in cuts))
        self.numbered("keyring", n, self.seal(KEYRING, meta=meta))

    def configuration(self, n, features=0, algorithms=(1, 1, 1)):
        meta = u8(0) + u64(features) + bytes(algorithms) + u64(START) + extensions((7, b"read past this"))
        self.numbered("config", n, self.seal(CONFIGURATION, meta=meta))

    def numbered(self, folder, n, data):
        self.put(f"{folder}/{n}-{len(data)}-{sha(data).hex()}", data)

    def named(self, folder, data):
        self.put(f"{folder}/{len(data)}-{sha(data).hex()}", data)
        return sha(data).hex()

    # §4

    def seal(self, kind, frames=(), bases=(), meta=b"", epoch=None, bend_directory=lambda d: d):
        """The bytes of an object. `bend_directory` makes a hostile one: authentic but against the rules."""
        epoch = 0 if kind == KEYRING else epoch or self.epoch
        packed = [frame.packed() for frame in frames]
        directory = u8(0) + u16(len(bases)) + b"".join(bases) + u32(len(frames))
        ids = []
        for frame, data in zip(frames, packed):
            lengths = [len(unit) for unit in frame.units]
            prints = b"".join(self.fingerprint(frame.kind, unit) for unit in frame.units)
            ids.append(sha(prints))
            directory += u32(len(data) + 16) + u8(frame.codec) + u8(frame.kind) + u16(len(lengths))
            same = len(set(lengths)) == 1
            directory += u32(lengths[0]) if same else u32(0) + b"".join(u32(n) for n in lengths)
            if frame.codec not in (2, 4):
                directory += prints
            else:
                directory += ids[-1] + u16(len(frame.runs)) + b"".join(
                    u16(0xFFFF if base is None else list(bases).index(base)) + u32(f) + u16(first) + u16(count)
                    for base, f, first, count in frame.runs)
        directory = bend_directory(directory + u32(len(meta)) + meta)
        length = 128 + sum(len(data) + 16 for data in packed) + len(directory) + 16 + 4
        directory += bytes(padded(length) - length)
        jobs = [(i, 0, sum(map(len, f.units)), f.codec, ids[i], packed[i]) for i, f in enumerate(frames)]
        jobs.append((0xFFFFFFFF, 1, len(directory), 0, bytes(32), directory))
        aads = [u32(i) + u8(final) + u32(plain) + u8(codec) + name for i, final, plain, codec, name, _ in jobs]
        transcript = b"".join(u32(len(a)) + a + u64(len(job[5])) + job[5] for a, job in zip(aads, jobs))
        salt = mac(self.hedge_key, self.dice.randbytes(32) + sha(transcript))
        header = b"\x89SLFT\r\n\x1a" + bytes([FORMAT, 1, kind, 0]) + u32(epoch) + self.id + salt + bytes(32)
        kind_key = (hkdf(self.master, self.id, b"sealift keyring", 32) if kind == KEYRING
                    else hkdf(self.roots[epoch], self.id, b"sealift kind" + u8(kind), 32))
        okm = hkdf(kind_key, header[32:64], b"sealift object" + header, 76)
        sealed = []
        for aad, (i, final, *_, data) in zip(aads, jobs):
            nonce = bytes(a ^ b for a, b in zip(okm[64:], u8(final) + bytes(7) + u32(i)))
            sealed.append(AESGCM(okm[:32]).encrypt(nonce, data, aad))
        return header + okm[32:64] + b"".join(sealed) + u32(len(sealed[-1]))


class Place:
    """Where a unit lies."""

    def __init__(self, number, frame, unit, depth=0):
        self.number, self.frame, self.unit, self.depth = number, frame, unit, depth

    def location(self):
        return u32(self.number) + u32(self.frame) + u16(self.unit)


class Chain:
    """Pushes versions of one database."""

    def __init__(self, forge, database, host="harbour", fork=0):
        self.forge, self.database, self.host = forge, database, host
        self.id = mac(forge.chain_key, host.encode() + b"\0" + database.encode() + b"\0" + u32(fork))[:16]
        self.known, self.entries, self.names = {}, {}, {}  # fingerprint → Place; number → entry; number → pack name
        self.next_pack, self.sequence, self.previous = 1, 0, bytes(32)
        self.image, self.table_leaf, self.versions = {}, None, []
        self.turn = 0  # counts frames of pages
        self.directories = {}  # number → length of the directory frame
        self.facts = {}  # (number, frame) → (plaintext length, sealed length, bases as (number, frame))

    # Packs

    @staticmethod
    def bases(frames):
        """The names of all packs that frames rest on, each once."""
        return list(dict.fromkeys(run[0] for frame in frames for run in frame.runs if run[0] is not None))

    def pack(self, frames):
        """Seals frames into a pack; their units can be referenced from then on. Gives its number."""
        data = self.forge.seal(PACK, frames, self.bases(frames))
        self.forge.put(f"packs/{self.id.hex()}/{sha(data).hex()}", data)
        number, self.next_pack = self.next_pack, self.next_pack + 1
        self.names[number] = sha(data)
        self.directories[number] = int.from_bytes(data[-4:], "big")
        self.entries[number] = (u32(number) + sha(data) + u32(len(data)) + data[-4:] + bytes([FORMAT, 1, 0, 0])
                                + u32(self.forge.epoch) + data[32:64])
        self.remember(number, frames)
        return number, len(data)

    def remember(self, number, frames):
        numbers = {name: n for n, name in self.names.items()}
        for f, frame in enumerate(frames):
            bases = [(number if base is None else numbers[base], at) for base, at, *_ in frame.runs]
            self.facts[number, f] = (sum(map(len, frame.units)), len(frame.packed()) + 16, bases)
            for u, unit in enumerate(frame.units):
                self.known[self.forge.fingerprint(frame.kind, unit)] = Place(number, f, u, frame.depth)

    def data_frames(self, kind, units, size):
        """Frames for new units, given as (unit, the unit that was at its place before or None). Pages in turn as they
        are and in the form of cells."""
        frames, per_frame = [], max(1, min(16, 262_144 // size))

        def form(codec):
            self.turn += kind == PAGE
            return codec + 2 if kind == PAGE and self.turn % 2 else codec
        for at in range(0, len(units), per_frame):
            some = units[at:at + per_frame]
            places = [self.known.get(self.forge.fingerprint(kind, old)) if old else None for _, old in some]
            based = [(place, old) for place, (_, old) in zip(places, some)
                     if place and place.number and place.depth < 8]
            if based and all(place or not old for place, (_, old) in zip(places, some)):
                runs = [(self.names[p.number], p.frame, p.unit, 1) for p, _ in based]
                frame = Frame(kind, [u for u, _ in some], form(2), runs, b"".join(old for _, old in based),
                              1 + max(p.depth for p, _ in based))
            elif frames and len(frames) % 3 == 2:  # the frame before is the base: in this object
                last = frames[-1]
                count = len(last.units) if kind == PAGE else 1
                frame = Frame(kind, [u for u, _ in some], form(2), [(None, len(frames) - 1, 0, count)],
                              b"".join(last.units[:count]), 1 + last.depth)
                frame = frame if frame.depth <= 8 else Frame(kind, [u for u, _ in some])
            else:
                frame = Frame(kind, [u for u, _ in some], 0 if len(frames) % 4 == 3 else form(1))
            frames.append(frame)
        return frames

    def rider(self, kind, unit, old, frames):
        """A frame of one unit for a manifest: a delta on the pack that has what was there before, or on the rider
        before it, or whole."""
        place = self.known.get(self.forge.fingerprint(kind, old)) if old else None
        self.turn += 1
        codec = 4 if kind == PAGE and self.turn % 2 else 2
        if place and place.number and place.depth < 8:
            return Frame(kind, [unit], codec, [(self.names[place.number], place.frame, place.unit, 1)], old,
                         place.depth + 1)
        last = frames[-1] if frames else None
        if kind == PAGE and last and last.kind == PAGE and last.depth < 8 and len(last.units[0]) == len(unit):
            return Frame(kind, [unit], codec, [(None, len(frames) - 1, 0, 1)], last.units[0], last.depth + 1)
        return Frame(kind, [unit], 3 if kind == PAGE else 1)

    # Maps

    def map_nodes(self, places, node):
        """§7.1, §7.2: the depth of the map of a member, and its root. `node(bytes)` stores one and gives its Place."""
        if not places:
            return 0, Place(0, 0, 0)
        level = []
        for at in range(0, len(places), 1024):
            runs = []
            for place in places[at:at + 1024]:
                last = runs[-1] if runs else None
                if last and last[0] == place.number and (place.number == ZEROS or (
                        last[1] == place.frame and last[2] + last[3] == place.unit)):
                    last[3] += 1
                else:
                    runs.append([place.number, place.frame, place.unit, 1])
            level.append(node(u8(1) + u16(len(runs)) + b"".join(struct.pack(">IIHH", *run) for run in runs)))
        depth = 1
        while len(level) > 1:
            groups = [level[at:at + 256] for at in range(0, len(level), 256)]
            level = [node(u8(2) + u8(depth) + u16(len(group)) + b"".join(place.location() for place in group))
                     for group in groups]
            depth += 1
        return depth, level[0]

    # Versions

    def push(self, members, method=1, flags=0, riders=False, nodes_in_pack=False, tags=(), note="", revision_of=None):
        """Members: dicts with type, path, mode, modified and content or target. Gives what expected.json says."""
        forge, page = self.forge, None
        if revision_of is None:
            self.sequence += 1
        time = START + 86_400_000 * self.sequence
        frames, new_bytes, stored = [], 0, []
        for member in members:
            if member["type"] > 2:
                continue
            kind, size = BLOCK, 65536
            if member["type"] == 1:  # SQLite writes a page size of 65,536 as 1
                kind, size = PAGE, int.from_bytes(member["content"][16:18], "big")
                size = 65536 if size == 1 else size
            units = [member["content"][at:at + size] for at in range(0, len(member["content"]), size)]
            stored.append((member, kind, size, units))
        here = {}  # fingerprint → Place among the riders
        for member, kind, size, units in stored:
            before = self.image.get(member["path"], [])
            new, seen = [], set()
            for i, unit in enumerate(units):
                name = forge.fingerprint(kind, unit)
                fresh = name not in self.known or revision_of is not None
                if any(unit) and fresh and name not in here and name not in seen:
                    seen.add(name)
                    new.append((unit, before[i] if i < len(before) else None))
            if not new:
                pass
            elif riders:
                for unit, old in new:
                    here[forge.fingerprint(kind, unit)] = Place(0, len(frames), 0)
                    frames.append(self.rider(kind, unit, old, frames))
            elif kind == BLOCK:  # the last, shorter block gets a frame with others: lengths that differ
                new_bytes += self.pack(self.data_frames(kind, new, 65536))[1]
            else:
                new_bytes += self.pack(self.data_frames(kind, new, size))[1]
        node_frames = []

        def node(data):
            name = forge.fingerprint(NODE, data)
            if name in self.known:
                needed.append(self.known[name])
                return self.known[name]
            node_frames.append(Frame(NODE, [data], 0 if len(data) < 100 else 1))
            self.known[name] = Place(0 if not nodes_in_pack else self.next_pack, len(node_frames) - 1 + base, 0)
            volatile.append(name)
            needed.append(self.known[name])
            return self.known[name]

        base, volatile, needed, maps = 0 if nodes_in_pack else len(frames), [], [], []
        for member, kind, size, units in stored:
            names = [forge.fingerprint(kind, unit) for unit in units]
            places = [here.get(n) or self.known.get(n) if any(u) else Place(ZEROS, 0, 0) for n, u in zip(names, units)]
            maps.append(self.map_nodes(places, node))
            needed += places
            member["digest"] = sha(b"".join(names))
            self.image[member["path"]] = units
        if nodes_in_pack and node_frames:
            # levels are built bottom up, so a branch refers to leaves of the very pack that it lies in
            new_bytes += self.pack(node_frames)[1]
        else:
            frames += node_frames
        leaves, leaf_frames = self.pack_table(nodes_in_pack)
        if leaf_frames:
            leaves = [u8(0) + u32(len(frames) + i) + u16(0) for i in range(len(leaf_frames))]
            frames += leaf_frames
        core = self.core(members, stored, time, method, flags) if revision_of is None else revision_of["core"]
        revision = 0 if revision_of is None else revision_of["revision"] + 1
        in_table = [Place(self.table_leaf[2], 0, 0)] if leaves and leaves[0][0] == 1 else []
        decoded, fetched = self.cost(needed + in_table, frames)
        body = (u8(0) + u8(1) + self.id + u64(self.sequence) + u32(revision) + u32(len(core)) + core
                + u64(decoded) + u64(fetched) + u64(new_bytes) + u32(self.next_pack)
                + u16(len(tags)) + b"".join(str16(t) for t in tags) + str16(note)
                + u32(len(leaves)) + b"".join(leaves)
                + u32(len(maps)) + b"".join(u8(d) + p.location() for d, p in maps)
                + extensions((1, b"optional"), (0x7FFF, b"")))
        self.put_manifest(body, frames, self.sequence, revision)
        if not nodes_in_pack:
            for name in volatile:
                del self.known[name]
        self.previous = sha(core)
        version = self.expected(members, core, time, revision, list(tags), note)
        if revision_of is not None:
            self.versions.remove(revision_of)
        self.versions.append(version)
        return version

    def cost(self, places, frames):
        """§6.2, bytes decoded and fetched: every frame that is needed counts once, those of the manifest, nodes, pack
        table and bases among them; fetched are frames and directory frames of packs, not the manifest."""
        needed, waiting = set(), {(p.number, p.frame) for p in places if p.number not in (0, ZEROS)}
        while waiting:
            key = waiting.pop()
            needed.add(key)
            waiting |= {base for base in self.facts[key][2] if base in self.facts} - needed
        decoded = sum(len(unit) for frame in frames for unit in frame.units) + sum(self.facts[key][0] for key in needed)
        directories = sum(self.directories[number] for number in {number for number, _ in needed})
        return decoded, sum(self.facts[key][1] for key in needed) + directories

    def put_manifest(self, body, frames, sequence, revision, epoch=None):
        data = self.forge.seal(MANIFEST, frames, self.bases(frames), meta=body, epoch=epoch)
        self.forge.put(f"versions/{self.id.hex()}/{sequence:012}-{revision:04}-{len(data)}-{sha(data).hex()}", data)
        return data

    def pack_table(self, in_pack):
        """Leaf references, and frames of leaves unless the table lies in a pack, of this version or one before."""
        entries = [self.entries[n] for n in sorted(self.entries)]
        if not entries:
            return [], []
        groups = [entries[at:at + 8] for at in range(0, len(entries), 8)]
        leaf_bytes = [u8(3) + u16(len(group)) + b"".join(group) for group in groups]
        if in_pack:
            number, _ = self.pack([Frame(NODE, leaf_bytes, 1)])
            entry = self.entries.pop(number)  # no unit of a member lies there: not in the table
            self.table_leaf = (leaf_bytes, [u8(1) + entry + u32(0) + u16(i) for i in range(len(leaf_bytes))], number)
            return self.table_leaf[1], []
        if self.table_leaf and self.table_leaf[0] == leaf_bytes:
            return self.table_leaf[1], []
        return [None], [Frame(NODE, [leaf], 1) for leaf in leaf_bytes]

    def core(self, members, stored, time, method, flags):
        about = {id(member): (kind, size, units) for member, kind, size, units in stored}
        core = (u8(0) + self.id + u64(self.sequence) + self.previous + u64(time) + str16(self.host)
                + str16(self.database) + u8(method) + u32(flags) + u32(len(members)))
        for member in members:
            core += u8(member["type"]) + str16(member["path"]) + u32(member["mode"]) + u64(member["modified"])
            if id(member) in about:
                kind, size, units = about[id(member)]
                core += (u8(kind) + u32(size) + u64(len(units)) + u64(len(member["content"])) + member["digest"]
                         + sha(member["content"]))
            elif member["type"] == 4:
                core += str16(member["target"])
        return core + extensions((2, b"passed over"))

    def expected(self, members, core, time, revision, tags, note):
        facts = []
        for m in members:
            fact = {"type": m["type"], "path": m["path"], "mode": m["mode"], "modified": m["modified"]}
            if "content" in m:
                fact.update(size=len(m["content"]), sha256=sha(m["content"]).hex())
            facts.append({**fact, **({"target": m["target"]} if "target" in m else {})})
        return {"id": sha(core).hex(), "database": self.database, "host": self.host, "chain": self.id.hex(),
                "sequence": self.sequence, "revision": revision, "time": rfc3339(time), "milliseconds": time,
                "size": facts[0]["size"], "sha256": facts[0]["sha256"], "members": facts, "tags": tags, "note": note,
                "pinned": False, "forgotten": False, "core": core}

    def partial(self):
        """A partial manifest of the next sequence: it only lists packs."""
        leaf = u8(3) + u16(1) + self.entries[max(self.entries)]
        body = (u8(0) + u8(2) + self.id + u64(self.sequence + 1) + u32(0) + u32(0) + u64(0) * 3 + u32(self.next_pack)
                + u16(0) + str16("") + u32(1) + u8(0) + u32(0) + u16(0) + u32(0) + extensions())
        self.put_manifest(body, [Frame(NODE, [leaf], 0)], self.sequence + 1, 0)

    # §8

    def annotate(self, version, time, *entries):
        texts = [(kind, text if isinstance(text, bytes) else text.encode()) for kind, text in entries]
        meta = (u8(0) + self.id + u64(version["sequence"]) + bytes.fromhex(version["id"]) + u64(time)
                + u16(len(entries)) + b"".join(u8(kind) + u32(len(text)) + text for kind, text in texts))
        self.forge.named(f"notes/{self.id.hex()}", self.forge.seal(ANNOTATION, meta=meta))

    def forget(self, *ranges, delete=True, core_hash=None, previous=None):
        """`core_hash`: named in the place of that of a range's last version, `previous`: of the one before its first."""
        by_sequence = {v["sequence"]: v for v in self.versions}
        ids = {s: bytes.fromhex(v["id"]) for s, v in by_sequence.items()}
        meta = u8(0) + self.id + u64(START) + u32(len(ranges)) + b"".join(
            u64(a) + u64(b) + (previous or ids.get(a - 1, bytes(32))) + (core_hash or ids[b]) for a, b in ranges)
        tombstone = self.forge.named(f"tomb/{self.id.hex()}", self.forge.seal(TOMBSTONE, meta=meta))
        folder = os.path.join(self.forge.root, "versions", self.id.hex())
        for name in sorted(os.listdir(folder)):
            if delete and any(a <= int(name[:12]) <= b for a, b in ranges):
                os.remove(os.path.join(folder, name))
        gone = [v for v in self.versions if any(a <= v["sequence"] <= b for a, b in ranges)]
        for version in gone:
            version["forgotten"] = True
            if delete:
                self.versions.remove(version)
        return tombstone

    def condemn(self, *names):
        meta = u8(0) + self.id + u64(START) + u32(len(names)) + b"".join(u8(1) + name for name in names)
        self.forge.named(f"gone/{self.id.hex()}", self.forge.seal(CONDEMNED, meta=meta))


def rfc3339(milliseconds):
    time = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
    return time.strftime("%Y-%m-%dT%H:%M:%S") + f".{milliseconds % 1000:03}Z"


def recovery_text(key):
    letters = base64.b32encode(key + sha(key)[:3]).decode()
    return "-".join(letters[at:at + 4] for at in range(0, 56, 4))


# Databases

class Database:
    """An SQLite database that changes, and its vacuumed image."""

    def __init__(self, page_size):
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.execute(f"PRAGMA page_size={page_size}")
        self.folder = tempfile.TemporaryDirectory()

    def __call__(self, *statements):
        for statement in statements:
            self.db.execute(*statement) if isinstance(statement, tuple) else self.db.execute(statement)
        path = os.path.join(self.folder.name, "image")
        self.db.execute("VACUUM INTO ?", (path,))
        with open(path, "rb") as file:
            image = file.read()
        os.remove(path)
        return image

    def __del__(self):
        self.db.close()
        self.folder.cleanup()


def zeroed_database(free_bytes):
    """A database of 512-byte pages most of which are free and zeroed, as the method `pages` leaves them. (A trunk page
    of the free list is u32 next trunk, u32 count, count × u32 leaf.)"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image")
        db = sqlite3.connect(path, isolation_level=None)
        for sql in ("PRAGMA page_size=512", "PRAGMA journal_mode=off", "PRAGMA synchronous=off", "CREATE TABLE a(b)",
                    f"INSERT INTO a VALUES(zeroblob({free_bytes}))", "DELETE FROM a", "INSERT INTO a VALUES('kept')"):
            db.execute(sql)
        db.close()
        with open(path, "rb") as file:
            image = bytearray(file.read())
    trunk = int.from_bytes(image[32:36], "big")
    while trunk:
        at = (trunk - 1) * 512
        trunk, count = struct.unpack(">II", image[at:at + 8])
        for leaf in struct.unpack(f">{count}I", image[at + 8:at + 8 + 4 * count]):
            image[(leaf - 1) * 512:leaf * 512] = bytes(512)
    return bytes(image)


def database_member(image, path="app.db", modified=START):
    return {"type": 1, "path": path, "mode": 0o600, "modified": modified, "content": image}


def make(out, seed=1, log_n=17, big=False, race=False):
    """Writes the repository and gives (forge, chains by name, expected)."""
    os.makedirs(out)
    forge = Forge(os.path.join(out, "repository"), seed, log_n)
    dice = forge.dice
    passphrase, key_file, recovery = "correct horse bätterie", dice.randbytes(100), dice.randbytes(32)
    forge.repository_file()
    forge.slot(1, 1, passphrase.encode())
    forge.slot(2, 2, sha(key_file))
    forge.slot(3, 3, recovery)
    forge.keyring(1)
    forge.configuration(1)
    chains = {name: Chain(forge, name) for name in ("accounts", "photos", "ledger", "sparse", "riders")}

    accounts, db = chains["accounts"], Database(1024)
    image = db("CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT, balance INT)", "CREATE INDEX b ON a(name)",
               *(("INSERT INTO a VALUES(?,?,?)", (i, dice.randbytes(12).hex(), 0)) for i in range(900)))
    accounts.push([database_member(image)], tags=["first"], note="the first one")
    for step in range(2, 10):  # each on the one before: the last has depth 8
        if step == 8:
            cut = bytes.fromhex(accounts.versions[-1]["id"])
            forge.roots[2], forge.epoch = dice.randbytes(32), 2
            forge.keyring(2, [(1, accounts.id, 7, cut)])
        image = db(("UPDATE a SET balance=? WHERE id%100=3", (step * 1_000_003,)))
        accounts.push([database_member(image)], method=2 if step % 2 else 1)
    image = db("UPDATE a SET balance=balance+1 WHERE id=500")
    tenth = accounts.push([database_member(image)], riders=True, tags=["weekly", "small"])
    image = db("DELETE FROM a WHERE id BETWEEN 200 AND 260")
    accounts.push([database_member(image)], nodes_in_pack=True)
    image = db("UPDATE a SET balance=7 WHERE id=1")
    accounts.push([database_member(image)], riders=True)  # the pack table lies in the pack of the version before
    image = db("UPDATE a SET name='moved' WHERE id%50=0")
    twice = accounts.push([database_member(image)], flags=2)
    accounts.push([database_member(image)], revision_of=twice)
    accounts.partial()
    accounts.forget((3, 4), (6, 6))
    accounts.annotate(tenth, START + 10, (1, "kept"), (2, "weekly"), (3, "a note"), (4, ""))
    accounts.annotate(tenth, START + 5, (3, "an earlier note"), (2, "kept"))
    accounts.annotate(tenth, START + 11, (6, "drill passed"))
    tenth.update(tags=["small", "kept"], note="a note", pinned=True)
    accounts.condemn(dice.randbytes(32), dice.randbytes(32))
    forge.put(f"versions/{accounts.id.hex()}/{99:012}-0000-8192-{'0' * 64}", b"cut off")
    forge.put("tmp/left over", b"never read")

    photos, db = chains["photos"], Database(4096)
    picture = b"\x37\xa4\x30\xec" + dice.randbytes(65532)  # begins like a dictionary of zstd
    picture += bytes(65536) + dice.randbytes(65536) + b"the last block" * 900
    external = ".app_SUPPORT/_EXTERNAL_DATA"

    def companions(picture):
        return [{"type": 3, "path": ".app_SUPPORT", "mode": 0o750, "modified": START},
                {"type": 3, "path": external, "mode": 0o500, "modified": START},
                {"type": 2, "path": f"{external}/B2D1", "mode": 0o640, "modified": START + 1234, "content": picture},
                {"type": 2, "path": f"{external}/empty", "mode": 0o444, "modified": START, "content": b""},
                {"type": 2, "path": "zeros", "mode": 0o600, "modified": START, "content": b"x" + bytes(70000)},
                {"type": 2, "path": "Über uns/naïve 📷.txt", "mode": 0o600, "modified": START, "content": b"short"},
                {"type": 4, "path": "link", "mode": 0o777, "modified": START, "target": "/etc/passwd"},
                {"type": 4, "path": f"{external}/up", "mode": 0o777, "modified": START, "target": "../../.."}]

    image = db("CREATE TABLE p(id INTEGER PRIMARY KEY, file TEXT)", "INSERT INTO p VALUES(1,'B2D1')")
    photos.push([database_member(image), *companions(picture)])
    image = db(*(("INSERT INTO p VALUES(?,?)", (i, dice.randbytes(40).hex())) for i in range(2, 900)))
    photos.push([database_member(image), *companions(picture[:9] + b"changed" + picture[16:])], nodes_in_pack=True)

    blob = dice.randbytes(200_000)
    chains["ledger"].push([{"type": 2, "path": "ledger.bin", "mode": 0o600, "modified": START, "content": blob}],
                          method=3, flags=2)
    chains["sparse"].push([database_member(zeroed_database(140_000_000 if big else 700_000))], method=2,
                          tags=["deep map" if big else "map of two levels"])
    riders, db = chains["riders"], Database(1024)
    image = db("CREATE TABLE r(a INTEGER PRIMARY KEY, b TEXT)", "CREATE INDEX s ON r(b)",
               *(("INSERT INTO r VALUES(?,?)", (i, dice.randbytes(15).hex())) for i in range(600)))
    riders.push([database_member(image)])
    image = db(("UPDATE r SET b=? WHERE a%150=3", (dice.randbytes(15).hex(),)),
               *(("INSERT INTO r VALUES(?,?)", (i, dice.randbytes(15).hex())) for i in range(600, 680)))
    riders.push([database_member(image)], riders=True)  # deltas on pages of a pack, and on each other
    if race:
        other = Forge(forge.root, seed + 1000, log_n)
        other.repository_file()
        other.slot(1, 1, passphrase.encode())
        other.slot(2, 2, sha(key_file))
        other.keyring(3)
        other.configuration(1)
    for name, content in (("passphrase.txt", passphrase.encode() + b"\n"), ("key.bin", key_file),
                          ("recovery.txt", recovery_text(recovery).encode() + b"\n")):
        with open(os.path.join(out, name), "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(content)
    versions = [version for chain in chains.values() for version in chain.versions]
    versions = [{key: value for key, value in version.items() if key != "core"} for version in versions]
    expected = {"repository": forge.id.hex(), "format": FORMAT, "passphrase": passphrase, "passphraseFile": "passphrase.txt",
                "keyFile": "key.bin", "recoveryKey": recovery_text(recovery), "recoveryKeyFile": "recovery.txt",
                "latest": {name: chain.versions[-1]["id"] for name, chain in chains.items()}, "versions": versions}
    with open(os.path.join(out, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1, ensure_ascii=False)
    return forge, chains, expected


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cheap-scrypt", action="store_true")
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--race", action="store_true")
    options = parser.parse_args()
    made = make(options.out, options.seed, 15 if options.cheap_scrypt else 17, options.big, options.race)[2]
    print(f"{len(made['versions'])} versions in {options.out}/repository")
