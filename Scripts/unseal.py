#!/usr/bin/env python3
"""Read a Sealift repository without Sealift.

    unseal.py REPOSITORY --passphrase-file FILE list [--json]
    unseal.py REPOSITORY --passphrase-file FILE restore VERSION -o OUT [--no-companions] [--expect HEAD]
    unseal.py REPOSITORY --passphrase-file FILE check

REPOSITORY is a folder: a folder target itself, or a bucket or WebDAV collection fetched whole, names unchanged:

    aws s3 cp --recursive s3://bucket/prefix ./repository
    rclone copy remote:bucket/prefix ./repository

VERSION is an unambiguous prefix of an id that `list` prints, `latest`, or `NAME:latest`. `restore` writes the database
to OUT and what came with it into OUT.companions; neither may exist. All is verified before either gets its name.
With --no-companions it writes the database alone, where what came with it is damaged or has no room. --expect takes a head
code that a push printed, SEQUENCE-DIGITS, and refuses a repository that does not hold it: an older one was put in its
place. A database that was damaged when it was pushed comes back with exit code 13. `check` decodes one
file after the other into the folder for temporary files, which needs room for the largest: TMPDIR names another one.
Instead of a passphrase: --key-file FILE, or --recovery-key-file FILE with the 56 characters of the printed key.

It needs Python 3.9 or later, `cryptography` and `zstandard` (Debian: python3-cryptography, python3-zstandard).
It was written from Docs/Format.md alone; the sections below carry the numbers of that page, which says why.

Exit codes: 0 done, 1 failed, 2 usage, 12 wrong key, 13 verification failed, 14 no such version.
"""
import argparse, base64, contextlib, datetime, getpass, hashlib, hmac, itertools, json, os, re, secrets, shutil, struct, sys
import bisect, errno, stat, tempfile
from collections import Counter, OrderedDict, namedtuple

try:
    import zstandard
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError as error:
    sys.exit(f"unseal: {error}: install the Python packages cryptography and zstandard for {sys.executable}")


class Failure(Exception):
    """What went wrong, and of which class: those of Docs/Format.md, or `failed`, `usage`, `no such version`."""

    CODES = {"usage": 2, "wrong key": 12, "damaged": 13, "truncated": 13, "malformed": 13, "no such version": 14}

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message, self.code = kind, message, self.CODES.get(kind, 1)


class Refused(Failure):
    """An object is authentic, and of a later format or against the rules: whoever sealed it had the key."""


class Unreadable(Failure):
    """An object is there, and the disk does not give its bytes."""


def is_bad_sector(error):
    """Or bit rot that a file system sees."""
    return errno.errorcode.get(error.errno) in ("EIO", "EUCLEAN", "EBADMSG")


@contextlib.contextmanager
def reading(what):
    """A bad sector is the trouble of the object: others can be read."""
    try:
        yield
    except OSError as error:
        if not is_bad_sector(error):
            raise
        raise Unreadable("damaged", f"{what} cannot be read: {error.strerror}") from error


def may_be(right, path):
    """Whether a file, or a folder, lies there, as `right` tells by its mode. What the disk refuses to say may be one:
    whoever reads it meets the same, and what is there does not seem to be gone."""
    try:
        return right(os.stat(path).st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        if not is_bad_sector(error):
            raise
        return True


def entries(path, what):
    """The names in a folder, in order; none where there is none."""
    with reading(what):
        return sorted(os.listdir(path)) if may_be(stat.S_ISDIR, path) else []


def must(rule, message, kind="malformed"):
    if not rule:
        raise Failure(kind, message)


# ---------------------------------------------------------------------------------------------- 1. Conventions

class Reader:
    """Reads the fields of a structure one after the other; `what` names it in errors. Its bytes are authentic, or of a
    length that was checked: one that ends too early breaks the rules."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, count):
        must(count <= len(self.data) - self.at, f"{self.what} ends too early")
        self.at += count
        return bytes(self.data[self.at - count:self.at])

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return int.from_bytes(self.take(2), "big")

    def u32(self):
        return int.from_bytes(self.take(4), "big")

    def u64(self):
        return int.from_bytes(self.take(8), "big")

    def str16(self):
        return utf8(self.take(self.u16()), self.what)

    def version(self):
        """The `u8 0` that most structures begin with."""
        must(self.u8() == 0, f"{self.what} has a version that this reader does not know", "unsupported")
        return self

    def extensions(self):
        """§6.3: passes over what is optional, refuses what is critical."""
        last = -1
        for _ in range(self.u16()):
            kind, _ = self.u16(), self.take(self.u32())
            must(kind > last, f"the extensions of {self.what} are not ascending")
            must(kind < 0x8000, f"{self.what} has critical extension {kind:#06x}", "unsupported")
            last = kind

    def end(self):
        must(self.at == len(self.data), f"{self.what} goes on after its end")


def utf8(text, what):
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise Failure("malformed", f"a text in {what} is not UTF-8") from None


def sha256(data):
    return hashlib.sha256(data).digest()


def hkdf(ikm, salt, info, length):
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(ikm)


def plain(text):
    """A text from the repository, fit for a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def rfc3339(milliseconds):
    try:
        time = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)
        return time.isoformat(timespec="milliseconds") + "Z"
    except OverflowError:
        return f"{milliseconds} ms"


# ----------------------------------------------------------------------------------------------------- 2. Keys

class Keys:
    """The keys of one repository: the master key's, and what the keyring adds."""

    def __init__(self, repository, master):
        self.repository, self.master = repository, master
        self.roots, self.fingerprint, self.cuts = {}, None, []

    def of_kind(self, kind, epoch):
        if kind == KEYRING:
            return hkdf(self.master, self.repository, b"sealift keyring", 32)
        must(epoch in self.roots, f"no root key for epoch {epoch}", "damaged")
        return hkdf(self.roots[epoch], self.repository, b"sealift kind" + bytes([kind]), 32)


# ------------------------------------------------------------------------------------------------ 3. Key slots

SLOT_MAGIC = b"\x89SLKS\r\n\x1a"
PASSPHRASE, KEY_FILE, RECOVERY_KEY = 1, 2, 3
Secret = namedtuple("Secret", "derivation material")  # material: the passphrase's bytes, or secret 2 or 3 itself


def open_slot(slot, repository, secret):
    """The master key; None when the slot is another repository's or for another kind of secret."""
    field = Reader(slot, "the slot")
    must(len(slot) >= 176, "the slot is cut", "truncated")
    must(len(slot) == 176 and field.take(8) == SLOT_MAGIC, "not a key slot")
    if slot[16:32] != repository:
        return None  # whatever it asks for: anybody can put one there
    field.version()
    derivation, log_n, r, p = field.u8(), field.u8(), field.u8(), field.u8()
    must(not any(slot[13:16]) and not any(slot[72:96]), "the slot has bytes that should be zero")
    if derivation == PASSPHRASE:
        must(15 <= log_n <= 20 and 1 <= r <= 16 and 1 <= p <= 4, "the slot's scrypt parameters are out of bounds")
    else:
        must(derivation in (KEY_FILE, RECOVERY_KEY), f"the slot has derivation {derivation}", "unsupported")
        must(log_n == r == p == 0, "the slot has scrypt parameters without scrypt")
    if derivation != secret.derivation:
        return None
    material = secret.material
    if derivation == PASSPHRASE:
        memory = 128 * r * ((1 << log_n) + p + 2) + (1 << 20)
        must(memory < 1 << 31, "the slot's scrypt needs more memory than this Python can give it", "unsupported")
        try:
            material = hashlib.scrypt(material, salt=slot[32:64], n=1 << log_n, r=r, p=p, maxmem=memory, dklen=32)
        except (ValueError, MemoryError) as error:
            raise Failure("failed", f"the slot's scrypt needs {memory >> 20} MiB of memory: {error}") from None
    okm = hkdf(material, repository, b"sealift slot" + slot[:96], 64)
    must(hmac.compare_digest(okm[32:], slot[96:128]), "the secret does not fit the slot", "wrong key")
    try:
        return AESGCM(okm[:32]).decrypt(bytes(12), slot[128:], slot[:128])
    except InvalidTag:
        raise Failure("damaged", "the slot's sealed master key is not authentic") from None


def cost(slot):
    """What its scrypt takes, in blocks; nothing where it has none."""
    return (1 << min(slot[10], 63)) * slot[11] * slot[12]


def recovery_key(text):
    letters = re.sub(r"[\s-]", "", text).upper().translate(str.maketrans("018", "OIB"))
    must(re.fullmatch("[A-Z2-7]{56}", letters), "a recovery key has 56 letters and digits")
    key = base64.b32decode(letters)
    must(sha256(key[:32])[:3] == key[32:], "the recovery key has a typing error: its check does not fit")
    return key[:32]


# -------------------------------------------------------------------------------------------- 4. Sealed object

FORMAT = 1  # the version of sealed objects
MAGIC = b"\x89SLFT\r\n\x1a"
PACK, MANIFEST, KEYRING, CONDEMNED, TOMBSTONE, ANNOTATION, CONFIGURATION = range(1, 8)
PAGE, BLOCK, NODE = 1, 2, 3
RAW, ZSTD, DELTA, CELLS, CELL_DELTA = range(5)
SMALLEST, GREATEST = 4096, 67_108_864
Frame = namedtuple("Frame", "index offset sealed codec type lengths length id runs")
# lengths: of its units; length: their sum; id: its frame id; runs: (base name or None, frame, first unit, count)


class Sealed:
    """An opened object: its frames' records and its meta. `read(offset, count)` gives its bytes."""

    def __init__(self, keys, name, head, length, directory_length, read):
        kind_key = keys.of_kind(head[10], int.from_bytes(head[12:16], "big"))
        okm = hkdf(kind_key, head[32:64], b"sealift object" + head, 76)
        self.name, self.kind, self.read = name, head[10], read
        self.aead, self.commitment, self.nonce = AESGCM(okm[:32]), okm[32:64], okm[64:]
        self.directory_at, self.directory_length = length - 4 - directory_length, directory_length
        must(128 <= self.directory_at, f"{name} has no room for its directory", "truncated")
        must(27 <= directory_length, f"{name} does not say where its directory is", "damaged")

    @classmethod
    def whole(cls, keys, kind, data):
        """§4.1: opens an object of which all bytes are at hand."""
        name = sha256(data).hex()
        must(SMALLEST <= len(data) <= GREATEST, f"{name} has {len(data)} bytes",
             "truncated" if len(data) < SMALLEST else "malformed")
        must(data[:8] == MAGIC, f"{name} is not a sealed object", "damaged")
        must(data[8] == FORMAT and data[9] == 1 and 1 <= data[10] <= 7 and data[11] == 0,
             f"{name} has version {data[8]}, AEAD {data[9]}, kind {data[10]}, KEM {data[11]}", "unsupported")
        must(data[10] == kind, f"{name} is of kind {data[10]} where {kind} belongs", "damaged")
        must(data[16:32] == keys.repository, f"{name} belongs to another repository", "damaged")
        epoch = int.from_bytes(data[12:16], "big")
        must((epoch == 0) == (kind == KEYRING), f"{name} has an epoch that its kind cannot have", "damaged")
        self = cls(keys, name, data[:96], len(data), int.from_bytes(data[-4:], "big"), lambda at, n: data[at:at + n])
        must(hmac.compare_digest(self.commitment, data[96:128]), f"the commitment of {name} does not fit",
             "wrong key" if kind == KEYRING else "damaged")
        self.epoch = epoch
        try:
            must(not any(data[64:96]), f"the header of {name} has bytes that should be zero")
            return self.open_directory()
        except Failure as failure:
            # Between header and directory anybody can add bytes.
            if failure.kind == "unsupported" or failure.kind == "malformed" and self.directory_at == 128:
                raise Refused(failure.kind, failure.message) from failure
            raise

    def open_frame(self, i, final, at, sealed_length, plaintext_length, codec, frame_id):
        """§4.2: reads, authenticates and decrypts; does not decompress."""
        sealed = self.read(at, sealed_length)
        must(len(sealed) == sealed_length, f"{self.name} ends within a frame", "truncated")
        mask = struct.pack(">B7xI", final, i)
        nonce = bytes(a ^ b for a, b in zip(self.nonce, mask))
        try:
            return self.aead.decrypt(nonce, sealed, struct.pack(">IBIB", i, final, plaintext_length, codec) + frame_id)
        except InvalidTag:
            part = "the directory" if final else f"frame {i}"
            raise Failure("damaged", f"{part} of {self.name} is not authentic") from None

    def open_directory(self):
        """§4.3"""
        plaintext = self.open_frame(0xFFFFFFFF, 1, self.directory_at, self.directory_length,
                                    self.directory_length - 16, 0, bytes(32))
        field = Reader(plaintext, f"the directory of {self.name}").version()
        bases = [field.take(32) for _ in range(field.u16())]
        self.frames, self.depths, at = [], [], 128
        count = field.u32()
        must(28 * count <= len(plaintext) - field.at, f"the directory of {self.name} counts more frames than it holds")
        for index in range(count):
            self.frames.append(self.frame_record(field, index, at, bases))
            at += self.frames[-1].sealed
        must(at == self.directory_at, f"the frames of {self.name} do not end where its directory begins")
        self.meta = field.take(field.u32())
        must(not any(plaintext[field.at:]), f"the padding of {self.name} is not zero")
        used = {base for frame in self.frames for base, *_ in frame.runs if base}
        must(len(bases) == len(used), f"the base packs of {self.name} are not distinct and used")
        must(not self.frames or self.kind in (PACK, MANIFEST), f"{self.name} has frames that its kind cannot have")
        must(not self.meta or self.kind != PACK, f"the pack {self.name} has meta")
        return self

    def frame_record(self, field, index, at, bases):
        what = f"frame {index} of {self.name}"
        sealed, codec, kind, count, each = field.u32(), field.u8(), field.u8(), field.u16(), field.u32()
        must(codec <= CELL_DELTA, f"{what} has codec {codec}", "unsupported")
        must(kind in (PAGE, BLOCK, NODE), f"{what} has unit type {kind}", "unsupported")
        must(kind == PAGE or codec in (RAW, ZSTD) or (kind, codec) == (BLOCK, DELTA),
             f"{what} has a codec that its type of units cannot have")
        must(count >= 1 and sealed >= 17, f"{what} is empty")
        lengths = [each] * count if each else [field.u32() for _ in range(count)]
        must(each or len(set(lengths)) > 1, f"{what} lists lengths that do not differ")
        if kind == PAGE:
            must(each in PAGE_SIZES, f"{what} has pages of {each} bytes")
        must(1 <= min(lengths) and max(lengths) <= 65536 and sum(lengths) <= 262_144, f"{what} has impossible lengths")
        must(codec != RAW or sealed == sum(lengths) + 16, f"{what} is stored with another length than its units have")
        frame_id, runs = b"", []
        if codec not in (DELTA, CELL_DELTA):
            frame_id = sha256(field.take(16 * count))
        else:
            frame_id = field.take(32)
            for _ in range(field.u16()):
                base, frame, first, units = field.u16(), field.u32(), field.u16(), field.u16()
                must(base < len(bases) or base == 0xFFFF and frame < index, f"{what} has a base that does not exist")
                must(units >= 1, f"{what} has an empty run")
                runs.append((None if base == 0xFFFF else bases[base], frame, first, units))
            must(runs, f"{what} is a delta without a base")
            must(len({run[:2] for run in runs}) <= 64, f"{what} has more than 64 base frames")
        self.depths.append(self.own_depth(what, kind, lengths, runs))
        return Frame(index, at, sealed, codec, kind, lengths, sum(lengths), frame_id, runs)

    def own_depth(self, what, kind, lengths, runs):
        """§4.4: the depth of a frame as far as this object tells; what lies in other packs is checked with them."""
        for base, number, first, count in runs:
            if base is None:
                check_base(what, kind, lengths, self.frames[number], first, count)
        depth = max((1 + (self.depths[number] if base is None else 0) for base, number, *_ in runs), default=0)
        must(depth <= 8, f"{what} needs more than 8 deltas")
        must(kind != PAGE or lengths[0] * sum(run[3] for run in runs) <= 1_048_576, f"{what} has more than 1 MiB of bases")
        return depth


def check_base(what, kind, lengths, base, first, count):
    """§4.4: that a run names units of a frame that those of another may rest on."""
    must(first + count <= len(base.lengths), f"{what} has a base that does not exist")
    must(base.type == kind and (kind != PAGE or base.lengths[0] == lengths[0]),
         f"{what} has a base of another type or page size")


PAGE_SIZES = [512 << k for k in range(8)]


def expand(data, frame, prefix):
    """§4.4: the units of a frame, joined, from what its seal held. `prefix`: its base units, joined."""
    if frame.codec == RAW:
        return data
    if frame.codec in (ZSTD, DELTA):
        return unzstd(data, frame.length, frame.length, prefix)
    size, count = frame.lengths[0], len(frame.lengths)
    form = unzstd(data, 1, frame.length + count, form_of(prefix, size) if frame.codec == CELL_DELTA else b"")
    return pages_of(form, count, size)


def unzstd(data, least, most, prefix):
    """§4.4: one zstd frame of so many bytes once decompressed, with a raw prefix or none."""
    try:
        must(data[:4] == b"\x28\xb5\x2f\xfd", "a frame does not hold zstd")
        facts, at, last = zstandard.get_frame_parameters(data), zstandard.frame_header_size(data), 0
        length = facts.content_size
        must(least <= length <= most, "a zstd frame does not state the length of its units")
        must(data[4] & 3 == 0, "a zstd frame has a dictionary id")
        must(facts.window_size <= 1 << 21, "a zstd frame has too large a window")
        while not last:
            must(at + 3 <= len(data), "a zstd frame ends too early")
            block = int.from_bytes(data[at:at + 3], "little")
            last, at = block & 1, at + 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        must(at + (4 if data[4] & 4 else 0) == len(data), "a zstd frame does not end where its data ends")
        base = zstandard.ZstdCompressionDict(prefix, dict_type=zstandard.DICT_TYPE_RAWCONTENT) if prefix else None
        result = zstandard.ZstdDecompressor(dict_data=base).decompress(data, max_output_size=length)
    except zstandard.ZstdError as error:
        raise Failure("malformed", f"a frame cannot be decompressed ({error})") from None
    must(len(result) == length, "a zstd frame has another length than it states")
    return result


def fingerprint(keys, kind, unit):
    return hmac.digest(keys.fingerprint, struct.pack(">BI", kind, len(unit)) + unit, "sha256")[:16]


# ------------------------------------------------------------------------------------- 4.5 Cell form of pages

INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
STRAIGHT, LAST_FIRST, IRREGULAR = 1, 2, 3


def varint(data, at):
    """SQLite's: its value, and where it ends. IndexError where the data ends first."""
    value = 0
    for i in range(at, at + 8):
        value = value << 7 | data[i] & 0x7F
        if data[i] < 0x80:
            return value, i + 1
    return value << 8 | data[at + 8], at + 9


def cell_length(kind, data, at, size):
    """How long the cell at `at` is, without its child pointer. IndexError where the data ends within its varints."""
    payload, end = varint(data, at)
    if kind == INTERIOR_TABLE:
        return end - at
    if kind == LEAF_TABLE:
        _, end = varint(data, end)
    most = size - 35 if kind == LEAF_TABLE else (size - 12) * 64 // 255 - 23
    if payload > most:
        least = (size - 12) * 32 // 255 - 23
        local = least + (payload - least) % (size - 4)
        payload = (local if local <= most else least) + 4
    return max(end - at + payload, 1 if kind == INTERIOR_INDEX else 4)


class Tree:
    """A b-tree page of `size` bytes that is taken apart, or will be: its cells, how they lie, and what lies between."""

    def __init__(self, kind, count, size):
        self.kind, self.count, self.size = kind, count, size
        self.child = 4 if kind in (INTERIOR_INDEX, INTERIOR_TABLE) else 0  # bytes of a child pointer
        self.pointers = 12 if self.child else 8
        self.start = self.pointers + 2 * count  # the end of the cell pointers
        self.head = bytes(5)  # bytes 1, 2, 5, 6, 7 of the page
        self.exceptions, self.children, self.cells, self.offsets = {}, [], [], []  # of cells: without child pointers

    def lengths(self):
        return [len(cell) + self.child for cell in self.cells]

    def lay_out(self, arrangement):
        """Where the cells lie, by the table of arrangements."""
        lengths, end, offsets = self.lengths(), self.size, []
        last = self.size - lengths[-1]
        for i, length in enumerate(lengths):
            stays, value = self.exceptions.get(i, (False, None))
            if arrangement == LAST_FIRST:
                offset = last if i == self.count - 1 else (last if i == 0 else end) - length
            elif stays:
                offset = self.size - length - value
            else:
                offset = end - length if value is None else (end - length - value) % 65536
            end = end if stays else offset
            offsets.append(offset)
        return offsets

    def covered(self):
        """One byte for each of the page: 1 where a cell lies. None where cells overlap or do not fit."""
        covered = bytearray(self.size)
        for offset, length in zip(self.offsets, self.lengths()):
            if not self.start <= offset <= self.size - length or covered.find(1, offset, offset + length) >= 0:
                return None
            covered[offset:offset + length] = b"\1" * length
        return covered

    def holes(self, covered, gap_is_used):
        """The bytes that `literals` holds, as slices."""
        end = int.from_bytes(self.head[2:4], "big")
        if self.start <= end <= self.size and not gap_is_used:
            covered[self.start:end] = b"\1" * (end - self.start)
        return [slice(*hole.span()) for hole in re.compile(b"\0+").finditer(covered, self.start)]

    def page(self, arrangement, gap_is_used, literals):
        """The page put together."""
        must(arrangement != LAST_FIRST or self.count >= 2, "a page of one cell has no cell before its last")
        self.offsets = self.lay_out(arrangement)
        if arrangement != IRREGULAR:
            self.head = bytes(2) + struct.pack(">H", min(self.offsets) & 0xFFFF) + bytes(1)
        covered = self.covered()
        must(covered is not None, "cells overlap, or do not fit into their page")
        page = bytearray(self.size)
        page[:8] = struct.pack(">B2sH3s", self.kind, self.head[:2], self.count, self.head[2:])
        page[self.pointers:self.start] = struct.pack(f">{self.count}H", *self.offsets)
        for i, (offset, cell) in enumerate(zip(self.offsets, self.cells)):
            if self.child:
                page[offset:offset + 4] = struct.pack(">I", self.children[i])
            page[offset + self.child:offset + self.child + len(cell)] = cell
        if self.child:
            page[8:12] = struct.pack(">I", self.children[-1])
        for hole in self.holes(covered, gap_is_used):
            page[hole] = literals.take(hole.stop - hole.start)
        return page


def pages_of(form, count, size):
    """The pages that a cell form stands for, joined."""
    field = Reader(form, "a cell form")
    layouts = field.take(count)
    taken = [layout for layout in layouts if layout]
    must(all(l & 15 in (2, 5, 10, 13) and l >> 4 & 3 and not l & 0x40 for l in taken), "a page has an unknown layout")
    counts = [256 * high + low for high, low in zip(field.take(len(taken)), field.take(len(taken)))]
    trees = [Tree(layout & 15, count, size) for layout, count in zip(taken, counts)]
    must(all(tree.count >= 1 and tree.start <= size for tree in trees), "a page has an impossible number of cells")
    for tree in (tree for tree in trees if tree.child):
        steps = struct.iter_unpack(">I", field.take(4 * (tree.count + 1)))
        tree.children = [child & 0xFFFFFFFF for child in itertools.accumulate(step for step, in steps)]
    for tree in (tree for tree, layout in zip(trees, taken) if layout >> 4 & 3 == IRREGULAR):
        tree.head, cell = field.take(5), 0
        for number in range(field.u8()):
            step, value = field.u16(), field.u16()
            cell += step & 0x7FFF
            must(cell < tree.count and (number == 0 or step & 0x7FFF), "a page has exceptions that do not ascend")
            tree.exceptions[cell] = (step >= 0x8000, value)
    for tree in trees:
        room = size - tree.start
        for _ in range(tree.count):
            try:
                tree.cells.append(field.take(cell_length(tree.kind, form, field.at, size)))
            except IndexError:
                raise Failure("malformed", "a cell form ends too early") from None
            room -= len(tree.cells[-1]) + tree.child
            must(room >= 0, "cells do not fit into their page")
    pages, trees = [], iter(trees)
    for layout in layouts:
        pages.append(next(trees).page(layout >> 4 & 3, layout & 0x80, field) if layout else field.take(size))
    field.end()
    return b"".join(pages)


def find_cells(page):
    """Rules 1 and 2 of what a prefix takes apart: the page's cells; None when it stays literal."""
    kind, count = page[0], int.from_bytes(page[3:5], "big")
    tree = Tree(kind, count, len(page))
    if kind not in (2, 5, 10, 13) or count == 0 or tree.start > len(page):
        return None
    tree.head, total = page[1:3] + page[5:8], tree.start
    tree.offsets = list(struct.unpack_from(f">{count}H", page, tree.pointers))
    for offset in tree.offsets:
        try:
            begin = offset + tree.child
            end = begin + cell_length(kind, page, begin, len(page))
        except IndexError:
            return None
        total += end - offset
        if offset < tree.start or end > len(page) or total > len(page):
            return None
        tree.cells.append(page[begin:end])
        if tree.child:
            tree.children.append(int.from_bytes(page[offset:begin], "big"))
    if tree.child:
        tree.children.append(int.from_bytes(page[8:12], "big"))
    return tree


def arrange(tree):
    """Rule 3: the arrangement of a page, its exceptions noted; None when the page stays literal."""
    if not any(tree.head[:2]) and not tree.head[4]:
        for arrangement in (STRAIGHT, LAST_FIRST)[:tree.count]:
            if tree.offsets == tree.lay_out(arrangement) and struct.pack(">H", min(tree.offsets)) == tree.head[2:4]:
                return arrangement
    end, lengths = tree.size, tree.lengths()
    for i, (offset, length) in enumerate(zip(tree.offsets, lengths)):
        stays = offset != end - length and (i + 1 == tree.count or tree.offsets[i + 1] == end - lengths[i + 1])
        if offset != end - length:
            tree.exceptions[i] = (stays, tree.size - length - offset if stays else (end - length - offset) % 65536)
        end = end if stays else offset
    fits = len(tree.exceptions) <= 255 and 2 * len(tree.exceptions) <= tree.count
    return IRREGULAR if fits and tree.covered() is not None else None


def form_of(pages, size):
    """The cell form of base pages, which are the prefix of a frame of codec 4."""
    layouts, high, low, children, irregular, cells, literals = columns = [bytearray() for _ in range(7)]
    for at in range(0, len(pages), size):
        page = pages[at:at + size]
        tree = find_cells(page)
        arrangement = tree and arrange(tree)
        if not arrangement:
            layouts.append(0)
            literals += page
            continue
        end = int.from_bytes(page[5:7], "big")
        gap_is_used = any(page[tree.start:end]) and end <= size
        layouts.append(tree.kind | arrangement << 4 | gap_is_used << 7)
        high.append(tree.count >> 8)
        low.append(tree.count & 255)
        for child, before in zip(tree.children, [0] + tree.children):
            children += struct.pack(">I", child - before & 0xFFFFFFFF)
        if arrangement == IRREGULAR:
            irregular += tree.head + bytes([len(tree.exceptions)])
            for (i, (stays, value)), before in zip(tree.exceptions.items(), [0, *tree.exceptions]):
                irregular += struct.pack(">HH", stays << 15 | i - before, value)
        cells += b"".join(tree.cells)
        literals += b"".join(page[hole] for hole in tree.holes(tree.covered(), gap_is_used))
    return b"".join(columns)


# ----------------------------------------------------------------------------------------------- 5. Repository

# grave: something is lost or forged, not only left over. sequence and revision: of the manifest that it is about
Problem = namedtuple("Problem", "text chain sequence grave revision")


class Folder:
    """What lies below a folder, and what is wrong with it."""

    def __init__(self, root):
        self.root, self.problems = root, []

    def problem(self, text, chain=None, sequence=0, grave=True, revision=None):
        self.problems.append(Problem(text, chain, sequence, grave, revision))

    def ease(self, does_harm, since=0):
        """Problems that do no harm after all stay named."""
        self.problems[since:] = [p if does_harm(p) else p._replace(grave=False) for p in self.problems[since:]]

    def names(self, folder, pattern, folders=False):
        """The names in a folder that follow the pattern, in order. Whatever else lies there is not ours."""
        path, right = os.path.join(self.root, folder), stat.S_ISDIR if folders else stat.S_ISREG
        found = [name for name in entries(path, f"{folder}/") if re.fullmatch(pattern, name, re.ASCII)]
        return [name for name in found if may_be(right, os.path.join(path, name))]

    def names_left(self, folder, pattern, folders=False):
        """The same of a folder without which others can be read: that the disk does not give it is a problem."""
        try:
            return self.names(folder, pattern, folders)
        except Unreadable as failure:
            self.problem(f"{folder}/: {failure}", folder.partition("/")[2] or None)
            return []

    def bytes_of(self, folder, name):
        """The object, when it is what its name says; None when it is a PUT that never ended."""
        path, (length, digest) = os.path.join(self.root, folder, name), name.split("-")[-2:]
        with reading(f"{folder}/{name}"):
            size = os.path.getsize(path)
        if size != int(length):
            return self.problem(f"passed over {folder}/{name}: it was never sent whole", grave=False)
        with reading(f"{folder}/{name}"), open(path, "rb") as file:
            data = file.read()
        must(sha256(data).hex() == digest, f"{folder}/{name} does not have the bytes of its name", "damaged")
        return data


class Slots(Folder):
    """§3: the key slots of all repositories in a folder."""

    def __init__(self, root):
        super().__init__(root)
        self.found, self.failures, self.unreadable, refused = [], [], [], {}
        for name in self.names("keys", r"[1-9][0-9]{0,11}-176-[0-9a-f]{64}"):
            try:
                slot = self.bytes_of("keys", name)
                if slot:
                    self.found.append((name, slot))
            except Unreadable as failure:
                refused.setdefault(name[-64:], failure)
                self.problem(f"keys/{name}: {failure}")
            except Failure as failure:  # one damaged slot must not keep the others from opening
                self.failures.append(failure)
                self.problem(f"keys/{name}: {failure}")
        # One that cannot be read may be the one that is meant; one whose other copy was read is tried as any.
        read = {name[-64:] for name, _ in self.found}
        self.unread = [failure for digest, failure in refused.items() if digest not in read]
        # Anybody can put a slot there that takes long: those that ask for least come first, and of these the youngest.
        self.found.sort(key=lambda slot: (cost(slot[1]), -int(slot[0].split("-")[0])))

    def open(self, repositories, secret):
        """Of these repositories those that open. Behind one that has versions no slot is tried that asks for more: a dear
        one of another repository is most likely planted."""
        opened, closed, most, refused = [], set(repositories), None, {}
        for name, slot in self.found:
            repository = slot[16:32] if slot[:8] == SLOT_MAGIC else None
            if most is not None and cost(slot) > most:
                break
            if repository and repository not in closed:
                continue
            try:
                master = open_slot(slot, repository, secret)
                if master is None:
                    continue
            except Failure as failure:
                self.failures.append(failure)
                if failure.kind != "wrong key":
                    text = f"keys/{name}: {failure}"
                    refused.setdefault(repository, []).append(Problem(text, None, 0, True, None))
                continue
            closed.remove(repository)
            problems = self.problems + refused.get(None, []) + refused.get(repository, [])
            if sum(other == slot for _, other in self.found) > 1:
                problems = [p._replace(grave=False) for p in problems]  # what opens has two copies
            try:
                opened.append(Repository(self.root, repository, master, problems))
            except Failure as failure:
                self.unreadable.append(failure)
                continue
            if most is None and opened[-1].versions:
                most = cost(slot)
        return opened


class Repository(Folder):
    """The objects of one repository id in a folder, and all its versions, as far as they are authentic."""

    def __init__(self, root, repository, master, problems):
        super().__init__(root)
        self.problems += problems
        self.keys = Keys(repository, master)
        self.open_keyring(Reader(self.newest("keyring", KEYRING).meta, "the keyring").version())
        configuration = self.newest("config", CONFIGURATION)
        if configuration is not None:
            self.open_configuration(Reader(configuration.meta, "the configuration").version())
        self.versions, self.ranges = [], {}  # ranges: of the tombstones of each chain
        for chain in self.names("versions", r"[0-9a-f]{32}", folders=True):
            self.read_chain(chain)

    def authentic(self, folder, kind, pattern, failures=None, whole=None):
        """Every authentic object of a kind in a folder, as (name, object). What is not is noted as a problem. `failures`:
        gets them by name; `whole`: the digests of those that have the bytes of their names, whosever they are."""
        names = self.names_left if "/" in folder else self.names  # of one chain others can be read
        for name in names(folder, pattern + r"(0|[1-9][0-9]{0,9})-[0-9a-f]{64}"):
            if int(name.split("-")[-2]) > GREATEST:
                continue  # no object is as long: it is nobody's
            sequence, revision = (int(n) for n in name.split("-")[:2]) if kind == MANIFEST else (0, None)
            try:
                data = self.bytes_of(folder, name)
                if data is not None and whole is not None:
                    whole.add(name[-64:])
                if data is None or data[16:32] != self.keys.repository and "/" not in folder:
                    continue  # two machines made the repository at once: the other one's keyring or configuration
                yield name, Sealed.whole(self.keys, kind, data)
            except Failure as failure:
                self.problem(f"{folder}/{name}: {failure}", folder.partition("/")[2], sequence, revision=revision)
                if failures is not None:
                    failures[name] = failure

    def newest(self, folder, kind):
        """Of keyrings or configurations the one that counts: authentic, of the highest number, of the greater name. Where
        that one must not be read nothing older takes its place. None where there is no configuration, and none claims to be
        later: all else is authentic by the keyring, and read as if the configuration asked for nothing."""
        failures, whole, before = {}, set(), len(self.problems)
        found = [(int(name.split("-")[0]), name, sealed)
                 for name, sealed in self.authentic(folder, kind, r"[1-9][0-9]{0,11}-", failures, whole)]
        counting = found + [(int(name.split("-")[0]), name, failure) for name, failure in failures.items()
                            if isinstance(failure, Refused)]
        if not counting and kind == CONFIGURATION:
            later = next((failure for failure in failures.values() if failure.kind == "unsupported"), None)
            if later:
                raise later
            return self.problem("config/: no configuration of the repository can be read: whether a newer sealift has set"
                                " there what this reader does not know cannot be told")
        if not counting:
            unreadable = (failure for failure in failures.values() if isinstance(failure, Unreadable))
            raise next(unreadable, Failure("damaged", f"{folder}/ has nothing that was sent whole"))
        unread = self.unread_keyrings(failures, counting, whole) if kind == KEYRING else []
        newest = max(counting + unread, key=lambda item: item[:2])[2]
        if isinstance(newest, Failure):
            raise newest
        if sum(sealed.name == newest.name for *_, sealed in found) > 1:
            self.ease(lambda problem: False, before)  # of what counts there are two copies
        return newest

    def unread_keyrings(self, failures, counting, whole):
        """§5: those that cannot be read, each as the copy that stands in for it, or as its failure where there is none: an
        older one in its place would bring back keys that were retired."""
        copies = {name[-64:]: item for _, name, item in counting}
        strange = whole - copies.keys()
        return [(int(name.split("-")[0]), name, copies.get(name[-64:], failure)) for name, failure in failures.items()
                if isinstance(failure, Unreadable) and name[-64:] not in strange]

    def open_keyring(self, field):
        """§5.1"""
        current, last = field.u32(), 0
        for _ in range(field.u16()):
            epoch = field.u32()
            must(epoch > last, "the keyring's epochs are not ascending")
            self.keys.roots[epoch], last = field.take(32), epoch
        must(current in self.keys.roots, "the keyring lacks its current epoch")
        _, self.keys.fingerprint, _ = field.take(32), field.take(32), field.take(32)
        self.keys.cuts = [(field.u32(), field.take(16).hex(), field.u64(), field.take(32)) for _ in range(field.u32())]
        field.end()

    def open_configuration(self, field):
        """§5.2"""
        must(field.u64() == 0, "the repository uses features that this reader does not know", "unsupported")
        must(field.take(3) == b"\1\1\1", "the repository uses algorithms that this reader does not know", "unsupported")
        field.u64()
        field.extensions()
        field.end()

    def genuine(self, chain, epoch, sequence, core_hash):
        """§5.1: False beyond a cut of the keyring, or at it with another core hash."""
        cuts = [cut for cut in self.keys.cuts if cut[1] == chain and epoch <= cut[0]]
        return all(sequence < cut[2] or (sequence, core_hash) == cut[2:] for cut in cuts)

    def opened(self, outline):
        """A manifest again, with all that it says: of thousands only outlines are held."""
        folder = f"versions/{outline.chain}"
        data = self.bytes_of(folder, outline.name)
        must(data is not None, f"{folder}/{outline.name} is not whole any more", "damaged")
        sealed = Sealed.whole(self.keys, MANIFEST, data)
        return Manifest(sealed, outline.chain, outline.sequence, outline.revision)

    def is_whole(self, manifest):
        """§6.2: whether every pack that a manifest needs is there, with its length."""
        try:
            version = Version(self, manifest)
            for entry in version.by_name.values():
                version.path(entry)
            return True
        except Failure:
            return False

    def that_counts(self, revisions):
        """§6.2: of one version's revisions the highest that is whole; where none is, the highest."""
        if len(revisions) == 1:
            return revisions[0]
        revisions = sorted(revisions, key=lambda m: (m.revision, m.digest), reverse=True)
        return next((m for m in revisions if self.is_whole(m)), revisions[0])

    def read_chain(self, chain):
        """§9.2: the versions of a chain, each by the revision that counts, with tombstones and annotations."""
        revisions, unread_of, before = {}, Counter(), len(self.problems)
        for name, sealed in self.authentic(f"versions/{chain}", MANIFEST, r"(?!0{12})[0-9]{12}-[0-9]{4}-"):
            sequence, revision = (int(part) for part in name.split("-")[:2])
            try:
                manifest = Manifest(sealed, chain, sequence, revision).outline(name)
                if manifest.complete and self.genuine(chain, sealed.epoch, sequence, manifest.id):
                    revisions.setdefault((sequence, manifest.id), []).append(manifest)
                elif manifest.complete:
                    text = f"passed over versions/{chain}/{name}: malformed: beyond the keyring's cut"
                    self.problem(text, grave=False)
                else:
                    unread_of[sequence, revision] += 1
            except Failure as failure:
                self.problem(f"versions/{chain}/{name}: {failure}", chain, sequence, revision=revision)
        unread_of.update((p.sequence, p.revision) for p in self.problems[before:] if p.grave)
        unread = {problem.sequence for problem in self.problems if problem.grave and problem.chain == chain}
        versions = [self.that_counts(found) for found in revisions.values()]
        self.ease(lambda p: not self.is_replaced(p, unread_of[p.sequence, p.revision], revisions), before)
        tombstones = self.read_tombstones(chain)
        self.ranges[chain] = [r for _, ranges in tombstones for r in ranges]
        self.check_hash_chain(chain, versions, self.ranges[chain], unread)
        self.read_annotations(chain, {(v.sequence, v.id): v for v in versions})
        for version in versions:
            version.forgotten = any(covers(chain, r, version) for name, ranges in tombstones
                                    for r in ranges if name not in version.taken_back)
        self.versions += versions

    @staticmethod
    def is_replaced(problem, count, revisions):
        """§6.2: of each version with a higher revision one manifest of each number is no damage.
        count: of this number, those that cannot be read, and partial ones."""
        later = [found for (sequence, _), found in revisions.items() if sequence == problem.sequence
                 and any(m.revision > problem.revision for m in found)
                 and all(m.revision != problem.revision for m in found)]
        return 0 < count <= len(later)

    def check_hash_chain(self, chain, versions, ranges, unread):
        """§6.2: what versions and ranges name as the one before them must be there, without a hole. Where a manifest cannot
        be read, and nothing else says what stood there, is damage and no hole: any hash fits."""
        ids = {}
        for v in versions:
            ids.setdefault(v.sequence, set()).add(v.id)
        forks = {s for s, found in ids.items() if len(found) > 1}
        fits = links(chain, ids, ranges)
        named = {(v.sequence, v.previous) for v in versions} | {(r[0], r[2]) for r in ranges}
        forks |= {first - 1 for first, previous in named if not fits(first, previous)}
        for sequence in sorted(forks):
            self.problem(f"chain {chain} is forked or forged at sequence {sequence}", chain, sequence)
        expected = 1
        places = [(v.sequence, v.sequence) for v in versions] + [r[:2] for r in ranges] + [(s, s) for s in unread]
        for first, last in sorted(places):
            if first > expected:
                self.problem(f"chain {chain} lacks sequences {expected} to {first - 1}", chain, first - 1)
            expected = max(expected, last + 1)

    # ----------------------------------------------------------------------------------------- 8. Other kinds
    # Condemned records (§8.1) matter to writers, and here to `check` only.

    def read_tombstones(self, chain):
        """(name, ranges) of each"""
        tombstones = []
        for name, sealed in self.authentic(f"tomb/{chain}", TOMBSTONE, ""):
            with self.noting(f"tomb/{chain}/{name}", chain):
                found = tombstone_body(sealed.meta, chain)
                genuine = [r for r in found if self.genuine(chain, sealed.epoch, r[1], r[3])]
                tombstones.append((name.split("-")[1], genuine))
        return tombstones

    def read_annotations(self, chain, versions):
        notes = []
        for name, sealed in self.authentic(f"notes/{chain}", ANNOTATION, ""):
            with self.noting(f"notes/{chain}/{name}", chain, harmless="unsupported"):
                sequence, core_hash, time, entries = annotation_body(sealed.meta, chain)
                must(self.genuine(chain, sealed.epoch, sequence, core_hash), "it is beyond the keyring's cut")
                texts = annotation_texts(entries)
                notes.append((time, name.split("-")[1], versions.get((sequence, core_hash)), texts))
        for _, _, version, texts in sorted((n for n in notes if n[2]), key=lambda n: n[:2]):
            for kind, text in texts:
                version.annotate(kind, text)

    @contextlib.contextmanager
    def noting(self, what, chain, harmless=None):
        """Of a kind that is harmless nothing is lost: what a later program says beside versions is passed over."""
        try:
            yield
        except Failure as failure:
            self.problem(f"{what}: {failure}", chain, grave=failure.kind != harmless)


def condemned_body(meta, chain):
    """§8.1: names of packs and manifests"""
    field = Reader(meta, "the condemned record").version()
    must(field.take(16).hex() == chain, "the condemned record is another chain's")
    field.u64()
    named = [(field.u8(), field.take(32)) for _ in range(field.u32())]
    must(all(kind == 1 for kind, _ in named), "the condemned record has another type", "unsupported")
    field.end()
    return [name for _, name in named]


def tombstone_body(meta, chain):
    """§8.2: ranges (first, last, previous core hash of first, core hash of last)"""
    field = Reader(meta, "the tombstone").version()
    must(field.take(16).hex() == chain, "the tombstone is another chain's")
    field.u64()
    found = [(field.u64(), field.u64(), field.take(32), field.take(32)) for _ in range(field.u32())]
    field.end()
    must(all(1 <= r[0] <= r[1] for r in found), "the tombstone has an impossible range")
    must(all(a[1] + 1 < b[0] for a, b in zip(found, found[1:])), "the tombstone's ranges are not ascending")
    return found


def annotation_body(meta, chain):
    """§8.3: (sequence, core hash, time, entries)"""
    field = Reader(meta, "the annotation").version()
    must(field.take(16).hex() == chain, "the annotation is another chain's")
    sequence, core_hash, time = field.u64(), field.take(32), field.u64()
    must(sequence >= 1, "the annotation is said of version 0")
    entries = [(field.u8(), field.take(field.u32())) for _ in range(field.u16())]
    field.end()
    return sequence, core_hash, time, entries


def annotation_texts(entries):
    """§8.3: the entries, those of types 1 to 3 as text"""
    must(all(1 <= kind <= 8 for kind, _ in entries), "the annotation has another type", "unsupported")
    return [(kind, utf8(text, "the annotation") if kind <= 3 else text) for kind, text in entries]


def unknown(chain, sequence):
    """§6.2: what a version names as previous core hash whose writer could not read the manifest at this sequence."""
    return sha256(f"unreadable {chain} {sequence}".encode())


def links(chain, ids, ranges):
    """§6.2: a function that tells whether what stands at a sequence may name a hash as that of the one before it. `ids`: of
    the versions at each sequence."""
    ends, firsts = {}, sorted(r[0] for r in ranges)
    for _, last, _, core_hash in ranges:
        ends.setdefault(last, set()).add(core_hash)
    reach = list(itertools.accumulate((r[1] for r in sorted(ranges, key=lambda r: r[0])), max))

    def fits(first, previous):
        before, nobody_knows = first - 1, unknown(chain, first - 1)
        if before == 0:
            return not any(previous)
        begun = bisect.bisect_right(firsts, before)
        end = reach[begun - 1] if begun else 0  # of the ranges that begin there or before
        if before not in ids and end < before:
            return True  # a hole, or a manifest that cannot be read
        known = ids.get(before, set()) | ends.get(before, set())
        return end > before or previous in known | {nobody_knows} or nobody_knows in ends.get(before, set())
    return fits


def covers(chain, a_range, version):
    """§8.2: whether a tombstone's range forgets a version; at its end only the one that it names, if it could."""
    first, last, _, core_hash = a_range
    at_end = version.sequence == last and core_hash in (version.id, unknown(chain, last))
    return first <= version.sequence < last or at_end


def slot_owners(folder):
    """The repositories that key slots are bound to."""
    owners = set()
    for name in entries(folder, "keys/"):
        right = re.fullmatch(r"[1-9][0-9]{0,11}-176-[0-9a-f]{64}", name, re.ASCII)
        if right and may_be(stat.S_ISREG, os.path.join(folder, name)):
            with contextlib.suppress(Unreadable), reading(name), open(os.path.join(folder, name), "rb") as file:
                head = file.read(32)
                if head[:8] == SLOT_MAGIC and len(head) == 32:
                    owners.add(head[16:32])
    return owners


def repository_files(folder):
    """The repositories that files name, and what is wrong with others. Anybody can put a file there: those count where
    nothing else opens."""
    known, strangers = set(), []
    try:
        names = entries(folder, "repo/")
    except Unreadable as failure:
        return known, [failure]
    for name in names:
        path = os.path.join(folder, name)
        try:
            match = re.fullmatch(r"([0-9a-f]{32})-64-([0-9a-f]{64})", name, re.ASCII)
            if not match or not may_be(stat.S_ISREG, path):
                continue
            with reading(f"repo/{name}"):
                is_whole = os.path.getsize(path) == 64
            if is_whole:
                with reading(f"repo/{name}"), open(path, "rb") as file:
                    data = file.read()
                must(sha256(data).hex() == match[2], f"repo/{name} does not have the bytes of its name", "damaged")
                must(data[:8] == b"\x89SLRP\r\n\x1a", f"repo/{name} is not a repository file")
                must(data[8] == 0, f"the repository has format {data[8]}", "unsupported")
                must(not any(data[9:16]) and not any(data[32:]), f"repo/{name} has bytes that should be zero")
                must(data[16:32].hex() == match[1], f"repo/{name} is another repository's")
                known.add(data[16:32])
        except Failure as failure:
            strangers.append(failure)
    return known, strangers


def without_file(root, slots, found, known):
    """Of the repositories that slots alone lead to those that lost their file: what has no version of its own, beside a
    file or versions of others, is what an init left that was interrupted."""
    if all(repository.versions for repository in found):
        return found
    claimed, is_any = set(), False
    for chain in slots.names("versions", r"[0-9a-f]{32}", folders=True):
        for name in slots.names(f"versions/{chain}", r"[0-9]{12}-[0-9]{4}-(0|[1-9][0-9]{0,9})-[0-9a-f]{64}"):
            is_any, what = True, f"versions/{chain}/{name}"
            try:
                with reading(what), open(os.path.join(root, what), "rb") as file:
                    head = file.read(32)
                if head[:8] == MAGIC:
                    claimed.add(head[16:32])  # damaged further on, it was one of them
            except Unreadable as failure:
                slots.unread.append(failure)
    return [repository for repository in found if repository.keys.repository in claimed or not known and not is_any]


def open_repository(root, secret):
    """§9.1: of several repositories the one whose slot opens and that has versions. Files say which there are; where
    none of those opens, the slots do, of those that have versions."""
    folder, owners = os.path.join(root, "repo"), slot_owners(os.path.join(root, "keys"))
    must(may_be(stat.S_ISDIR, folder) or owners, f"there is no Sealift repository in {root}", "failed")
    known, strangers = repository_files(folder)
    slots = Slots(root)
    opened = slots.open(known, secret) or without_file(root, slots, slots.open(owners - known, secret), known)
    if slots.unreadable and not any(repository.versions for repository in opened):
        # The key opens it, so nobody planted it; its versions must not seem to be gone.
        raise min(slots.unreadable, key=lambda failure: failure.kind != "unsupported")
    if len(opened) > 1:
        opened.sort(key=lambda repository: repository.keys.repository)
        opened = [repository for repository in opened if repository.versions] or opened[:1]
        must(len(opened) == 1, "two repositories with versions lie in this folder", "failed")
    if not opened:
        failures = slots.unread + sorted(slots.failures, key=lambda failure: failure.kind != "wrong key")
        if known or owners:
            failures.append(Failure("wrong key", "the repository has no key slot for this kind of secret"))
        raise (failures + strangers + [Failure("damaged", "no file in repo/ was ever sent whole")])[0]
    return opened[0]


# ------------------------------------------------------------------------------------------------- 6. Manifest

IMAGE, FILE, FOLDER, LINK = 1, 2, 3, 4
Member = namedtuple("Member", "type path mode modified unit_type unit_size units length digest sha256 target")


class Manifest:
    """What a version is (its core) and where its content lies (its body)."""

    def __init__(self, sealed, chain, sequence, revision):
        self.sealed, self.chain, self.sequence, self.revision = sealed, chain, sequence, revision
        field = Reader(sealed.meta, "the manifest's body").version()
        state = field.u8()
        must(state in (1, 2), f"the manifest has state {state}", "unsupported")
        self.complete = state == 1
        must((field.take(16).hex(), field.u64(), field.u32()) == (chain, sequence, revision),
             "the manifest's chain, sequence or revision is not that of its name")
        core = field.take(field.u32())
        must(bool(core) == self.complete, "the manifest's core does not go with its state")
        self.members = []
        if core:
            self.id = sha256(core)
            self.read_core(Reader(core, "the version's core").version())
        self.decoded, self.fetched, self.new_bytes, self.next_pack = field.u64(), field.u64(), field.u64(), field.u32()
        self.tags, self.note, self.pinned = [field.str16() for _ in range(field.u16())], field.str16(), False
        self.taken_back = set()  # names of tombstones that do not count for it
        self.found_damaged, self.drill_passed = None, None
        self.leaves = [self.leaf_reference(field) for _ in range(field.u32())]
        self.maps = [(field.u8(), location(field)) for _ in range(field.u32())]
        numbers = [entry.number for entry, *_ in self.leaves if entry] + [place.number for _, place in self.maps]
        must(1 <= self.next_pack <= 0xFFFFFFFE and all(number < self.next_pack for number in numbers),
             "the manifest's next pack number is not the greatest")
        field.extensions()
        field.end()
        self.stored = [member for member in self.members if member.type in (IMAGE, FILE)]
        must(len(self.maps) == len(self.stored), "the manifest does not have one map for each member with content")
        for member, (depth, root) in zip(self.stored, self.maps):
            must(depth == least_depth(member.units) and (depth or root == (0, 0, 0)),
                 "a map has another depth than its member needs")

    def read_core(self, field):
        """§6.1"""
        must((field.take(16).hex(), field.u64()) == (self.chain, self.sequence),
             "the core's chain or sequence is not that of the manifest")
        self.previous, self.time, self.host, self.database = field.take(32), field.u64(), field.str16(), field.str16()
        for name in (self.host, self.database):
            must(name and "\0" not in name, "the version's host or database has an impossible name")
        must(self.sequence >= 1, "the version has sequence 0")
        must((self.sequence == 1) != any(self.previous), "the version's previous core hash does not go with its sequence")
        method, self.flags, count = field.u8(), field.u32(), field.u32()
        must(1 <= method <= 4, f"the version was made by method {method}", "unsupported")
        must(self.flags < 8, "the version has flags of a newer format", "unsupported")
        must(1 <= count <= 1_000_000, f"the version has {count} members")
        self.members = [read_member(field) for _ in range(count)]
        field.extensions()
        field.end()
        must(self.members[0].type == (IMAGE if method <= 2 else FILE), "the version's first member is not its database")
        must("/" not in self.members[0].path, "the path of the version's database is more than a file name")
        must(not any(m.type == IMAGE for m in self.members[1:]), "the version has more than one database")
        types = {m.path: m.type for m in self.members}
        must(len(types) == count, "two members of the version have one path")
        for path in types:
            above = (path[:at] for at, letter in enumerate(path) if letter == "/")
            must(all(types.get(p, FOLDER) == FOLDER for p in above), "a member lies below one that is not a folder")

    @staticmethod
    def leaf_reference(field):
        """(pack entry or None for this object, frame, unit)"""
        place = field.u8()
        must(place <= 1, f"a pack table leaf lies in place {place}")
        return (pack_entry(field) if place else None, field.u32(), field.u16())

    def annotate(self, kind, text):
        """§8.3: 1 add tag, 2 remove tag, 3 note, 4 pin, 5 unpin, 6 drill result, 7 found damaged, 8 unforget"""
        if kind == 1:
            self.tags += [text] if text not in self.tags else []
        elif kind == 2:
            self.tags = [tag for tag in self.tags if tag != text]
        elif kind == 3:
            self.note = text
        elif kind in (4, 5):
            self.pinned = kind == 4
        elif kind == 6 and text[:1] in (b"\0", b"\1"):
            self.drill_passed = text[0] == 0
        elif kind == 7:
            self.found_damaged = text.decode(errors="replace") or None
        elif kind == 8:
            self.taken_back |= {text[at:at + 32].hex() for at in range(0, len(text) - 31, 32)}

    def outline(self, name):
        """What has to be held of every version. It is opened again when more is wanted (`Repository.opened`)."""
        self.name, self.digest, self.count = name, self.sealed.name, len(self.members)
        self.size = self.members[0].length if self.members else 0
        del self.sealed, self.members, self.leaves, self.maps, self.stored
        return self


def least_depth(units):
    """§7.2: of a map that holds so many units."""
    depth = 1 if units else 0
    while depth and units > 1024 * 256 ** (depth - 1):
        depth += 1
    return depth


def read_member(field):
    kind, path, mode, modified = field.u8(), field.str16(), field.u32(), field.u64()
    must(1 <= kind <= 4, f"a member is of type {kind}", "unsupported")
    must(len(path.encode()) <= 4096 and "\0" not in path and not {"", ".", ".."} & set(path.split("/")),
         "a member's path is not a safe relative path")
    must(mode <= 0o7777, "a member's mode is more than permission bits")
    unit_type = unit_size = units = length = 0
    digest = sha = b""
    if kind in (IMAGE, FILE):
        unit_type, unit_size, units, length = field.u8(), field.u32(), field.u64(), field.u64()
        digest, sha = field.take(32), field.take(32)
        must(unit_type in (PAGE, BLOCK, NODE), f"a member has unit type {unit_type}", "unsupported")
        must(units < 1 << 32, "a member has too many units")
        if kind == IMAGE:
            must(unit_type == PAGE and unit_size in PAGE_SIZES and units * unit_size == length,
                 "the database's page size, pages and length do not agree")
        else:
            must(unit_type == BLOCK and unit_size == 65536 and units == -(-length // 65536),
                 "a file's block size, blocks and length do not agree")
    target = field.str16() if kind == LINK else ""
    must(bool(target) == (kind == LINK) and "\0" not in target, "a link has an impossible target")
    return Member(kind, path, mode, modified, unit_type, unit_size, units, length, digest, sha, target)


# -------------------------------------------------------------------------------------- 7. Nodes and locations

THE_MANIFEST, NOT_USED, ZEROS = 0, 0xFFFFFFFE, 0xFFFFFFFF
Location = namedtuple("Location", "number frame unit")
Entry = namedtuple("Entry", "number name length directory_length epoch salt")
Piece = namedtuple("Piece", "start count number frame first")  # a member's units from start on: a frame's from first on


def location(field):
    return Location(field.u32(), field.u32(), field.u16())


def pack_entry(field):
    """§7.3"""
    entry = (field.u32(), field.take(32), field.u32(), field.u32())
    must(field.take(3) == bytes([FORMAT, 1, 0]), "a pack has a version, AEAD or KEM that this reader does not know", "unsupported")
    must(field.u8() == 0, "a pack entry has a byte that should be zero")
    must(SMALLEST <= entry[2] <= GREATEST and 27 <= entry[3] <= entry[2] - 132, "a pack entry has an impossible length")
    must(1 <= entry[0] <= 0xFFFFFFFD, "a pack entry has an impossible number")
    epoch = field.u32()
    must(epoch >= 1, "a pack entry has epoch 0")
    return Entry(*entry, epoch, field.take(32))


def map_leaf(field):
    """§7.1: runs (pack number, frame, first unit, count)"""
    runs = [(field.u32(), field.u32(), field.u16(), field.u16()) for _ in range(field.u16())]
    for number, frame, first, count in runs:
        must(count >= 1, "a map leaf covers another number of units")
        must(number != NOT_USED, f"pack number {number} is not in the pack table")
        must(number != ZEROS or frame == first == 0, "a run of zeros has a place")
        must(number == ZEROS or first + count <= 65536, "a run of a map leaf has more units than a frame can have")
    must(1 <= sum(run[3] for run in runs) <= 1024, "a map leaf covers another number of units")
    field.end()
    return runs


def map_branch(field):
    """§7.2: (level, locations of children)"""
    level, children = field.u8(), [location(field) for _ in range(field.u16())]
    must(1 <= level <= 3, "a map branch has another level than its place")
    must(1 <= len(children) <= 256, "a map branch has another number of children")
    must(all(child.number < NOT_USED for child in children), "a child of a map branch is not in the pack table")
    field.end()
    return level, children


def table_leaf(field, last=0):
    """§7.3: entries, of numbers above `last`"""
    count = field.u16()
    must(1 <= count <= 512, "a pack table leaf has no entries or more than 512")
    entries = [pack_entry(field) for _ in range(count)]
    numbers = [last] + [entry.number for entry in entries]
    must(all(a < b for a, b in zip(numbers, numbers[1:])), "the pack table's numbers are not ascending")
    field.end()
    return entries


class Version:
    """Reads the content of one version: nodes, packs, frames, units."""

    CACHED_FRAMES = 512  # decoded, at most 256 KiB each

    def __init__(self, repository, manifest):
        manifest = manifest if hasattr(manifest, "sealed") else repository.opened(manifest)
        self.keys, self.manifest = repository.keys, manifest
        self.folder = os.path.join(repository.root, "packs", manifest.chain)
        self.packs, self.decoded, self.depths = {}, OrderedDict(), {}
        self.fingerprints = {}  # (object, frame) → those of its units, joined; of frames that were decoded
        self.by_name = {entry.name: entry for entry, *_ in manifest.leaves if entry}
        self.table = {}
        self.table = self.read_table()
        self.bases = {entry.name: entry for entry in self.table.values()}
        self.by_name.update(self.bases)

    def read_table(self):
        table, last = {}, 0
        for entry, frame, unit in self.manifest.leaves:
            field = self.node(self.pack(entry.name) if entry else self.manifest.sealed, frame, unit, 3)
            entries = table_leaf(field, last)
            table.update((entry.number, entry) for entry in entries)
            last = entries[-1].number
            must(last < self.manifest.next_pack, "the pack table's numbers are not ascending")
        must(len({entry.name for entry in table.values()}) == len(table), "the pack table names a pack twice")
        return table

    def object(self, number):
        if number == THE_MANIFEST:
            return self.manifest.sealed
        must(number in self.table, f"pack number {number} is not in the pack table")
        return self.pack(self.table[number].name)

    def path(self, entry):
        """The file of a pack, which is there with the length that its entry says."""
        path = os.path.join(self.folder, entry.name.hex())
        must(may_be(stat.S_ISREG, path), f"the pack {entry.name.hex()} is missing", "damaged")
        with reading(f"packs/{self.manifest.chain}/{entry.name.hex()}"):
            size = os.path.getsize(path)
        must(size == entry.length, f"the pack {entry.name.hex()} has another length", "damaged")
        return path

    def pack(self, name):
        """A pack by its name, through its entry: header and other frames are not needed."""
        if name not in self.packs:
            entry = self.by_name[name]
            path = self.path(entry)

            def read(at, count):
                with reading(f"packs/{self.manifest.chain}/{name.hex()}"), open(path, "rb") as file:
                    file.seek(at)
                    return file.read(count)

            head = (MAGIC + bytes([FORMAT, 1, PACK, 0]) + struct.pack(">I", entry.epoch)
                    + self.keys.repository + entry.salt + bytes(32))
            sealed = Sealed(self.keys, name.hex(), head, entry.length, entry.directory_length, read)
            must(read(entry.length - 4, 4) == struct.pack(">I", entry.directory_length),
                 f"the pack {name.hex()} has a directory of another length", "damaged")
            self.packs[name] = sealed.open_directory()
        return self.packs[name]

    def frame(self, sealed, index):
        must(index < len(sealed.frames), f"{sealed.name} has no frame {index}")
        return sealed.frames[index]

    def base(self, sealed, run):
        """§7.3: a pack of the table; one that only leaf references name holds nothing but parts of it."""
        if run[0] is None:
            return sealed
        must(run[0] in self.bases, f"the base pack {run[0].hex()} is not in the pack table")
        return self.pack(run[0])

    def depth(self, sealed, index, above=0):
        """§4.4: how many deltas lie below each other, refused above 8."""
        frame, key = self.frame(sealed, index), (sealed.name, index)
        if key not in self.depths:
            must(not frame.runs or above < 8, f"frame {index} of {sealed.name} needs more than 8 deltas")
            below = (self.depth(self.base(sealed, run), run[1], above + 1) for run in frame.runs)
            self.depths[key] = max((1 + depth for depth in below), default=0)
        must(self.depths[key] + above <= 8, f"frame {index} of {sealed.name} needs more than 8 deltas")
        return self.depths[key]

    def decode(self, sealed, index):
        """The units of a frame, joined, proved by their fingerprints."""
        key = (sealed.name, index)
        if key in self.decoded:
            self.decoded.move_to_end(key)
            return self.decoded[key]
        self.depth(sealed, index)
        frame = self.frame(sealed, index)
        for base, number, first, count in frame.runs:
            other = self.frame(self.base(sealed, (base,)), number)
            check_base(f"frame {index} of {sealed.name}", frame.type, frame.lengths, other, first, count)
        sizes = (sum(self.frame(self.base(sealed, r), r[1]).lengths[r[2]:r[2] + r[3]]) for r in frame.runs)
        must(sum(sizes) <= 1_048_576, f"frame {index} of {sealed.name} has more than 1 MiB of bases")
        prefix = b"".join(self.units(self.base(sealed, r), *r[1:]) for r in frame.runs)
        data = sealed.open_frame(index, 0, frame.offset, frame.sealed, frame.length, frame.codec, frame.id)
        data = expand(data, frame, prefix)
        ends = list(itertools.accumulate(frame.lengths))
        units = (data[end - length:end] for end, length in zip(ends, frame.lengths))
        fingerprints = b"".join(fingerprint(self.keys, frame.type, unit) for unit in units)
        must(len(data) == ends[-1] and sha256(fingerprints) == frame.id,
             f"a unit of frame {index} of {sealed.name} has another fingerprint", "damaged")
        self.decoded[key], self.fingerprints[key] = data, fingerprints
        if len(self.decoded) > self.CACHED_FRAMES:
            self.decoded.popitem(last=False)
        return data

    def units(self, sealed, index, first, count):
        frame = self.frame(sealed, index)
        must(first + count <= len(frame.lengths), f"frame {index} of {sealed.name} has no unit {first + count - 1}")
        start = sum(frame.lengths[:first])
        return self.decode(sealed, index)[start:start + sum(frame.lengths[first:first + count])]

    def node(self, sealed, index, unit, kind):
        must(self.frame(sealed, index).type == NODE, f"frame {index} of {sealed.name} does not hold nodes")
        field = Reader(self.units(sealed, index, unit, 1), f"a node in {sealed.name}")
        found = field.u8()
        must(found == kind, f"a node in {sealed.name} is of type {found} where {kind} belongs")
        return field

    def pieces(self, member, depth, root):
        """§7.1, §7.2: where the units of a member lie, in order."""
        return list(self.walk(root, depth - 1, 0, member.units)) if depth else []

    def walk(self, place, level, start, end):
        field = self.node(self.object(place.number), place.frame, place.unit, 2 if level else 1)
        if level == 0:
            for number, frame, first, count in map_leaf(field):
                must(count <= end - start, "a map leaf covers another number of units")
                yield Piece(start, count, number, frame, first)
                start += count
            must(start == end, "a map leaf covers another number of units")
        else:
            (found, children), span = map_branch(field), 1024 * 256 ** (level - 1)
            must(found == level, "a map branch has another level than its place")
            must(len(children) == -(-(end - start) // span), "a map branch has another number of children")
            for child in children:
                yield from self.walk(child, level - 1, start, min(start + span, end))
                start += span

    # ------------------------------------------------------------------------------- 9. Reading a version, in order

    def write(self, member, a_map, file):
        """§9.5: writes a member into an empty file, frame by frame, then verifies the whole."""
        pieces, name = self.pieces(member, *a_map), plain(member.path)
        file.truncate(member.length)
        for piece in sorted((p for p in pieces if p.number != ZEROS), key=lambda p: (p.number, p.frame)):
            sealed = self.object(piece.number)
            frame = self.frame(sealed, piece.frame)
            data = self.units(sealed, piece.frame, piece.first, piece.count)
            starts = range(piece.start * member.unit_size, member.length, member.unit_size)[:piece.count]
            lengths = [min(member.unit_size, member.length - start) for start in starts]
            must(frame.type == member.unit_type and frame.lengths[piece.first:piece.first + piece.count] == lengths,
                 f"a unit of {name} is of another type or length than its map says")
            file.seek(piece.start * member.unit_size)
            file.write(data)
        digest = hashlib.sha256()
        for piece in pieces:
            if piece.number == ZEROS:
                digest.update(self.fingerprints_of_zeros(member, piece))
            else:
                first, last = 16 * piece.first, 16 * (piece.first + piece.count)
                digest.update(self.fingerprints[self.object(piece.number).name, piece.frame][first:last])
        must(digest.digest() == member.digest, f"the image digest of {name} does not fit", "damaged")
        file.seek(0)
        whole = hashlib.sha256()
        for chunk in iter(lambda: file.read(1 << 20), b""):
            whole.update(chunk)
        must(whole.digest() == member.sha256, f"the SHA-256 of {name} does not fit", "damaged")

    def fingerprints_of_zeros(self, member, piece):
        last = min(member.unit_size, member.length - (piece.start + piece.count - 1) * member.unit_size)
        full = fingerprint(self.keys, member.unit_type, bytes(member.unit_size)) if piece.count > 1 else b""
        return full * (piece.count - 1) + fingerprint(self.keys, member.unit_type, bytes(last))


def restore(version, out, alone=False):
    """Writes the database to `out` and, unless it is restored `alone`, the companions to `out`.companions; names them
    when all is verified."""
    companions = out + ".companions"
    members = version.manifest.members[:1] if alone else version.manifest.members
    for path in (out, *([] if alone else [companions]), out + "-wal", out + "-shm", out + "-journal"):
        must(not os.path.lexists(path), f"{path} exists", "failed")
    mark = f".unseal-{secrets.token_hex(6)}"
    folder, image = companions + mark, out + mark
    try:
        maps = dict(zip((m.path for m in version.manifest.stored), version.manifest.maps))
        create(version, members[0], maps, image)
        if members[1:]:
            with hinting_at_companions():
                os.mkdir(folder, 0o700)
                extract(version, members[1:], maps, folder)
            os.mkdir(companions, 0o700)  # refuses what came to be there meanwhile; rename replaces an empty folder only
        try:
            give_name(image, out)  # refuses, too
        except (Failure, OSError):
            if members[1:]:
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(companions)
            raise
        if members[1:]:
            os.rename(folder, companions)
    finally:
        for inner, _, _ in os.walk(folder):
            os.chmod(inner, 0o700)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(image)


@contextlib.contextmanager
def hinting_at_companions():
    """What fails here leaves a database that is whole."""
    hint = "the database itself is whole: --no-companions restores it alone"
    try:
        yield
    except Failure as failure:
        raise Failure(failure.kind, f"{failure.message}; {hint}") from failure
    except OSError as error:
        raise Failure("failed", f"{error}; {hint}") from error


def give_name(path, new):
    """By a link, which replaces nothing; where a file system has none (vfat, exFAT, SMB), by a rename after a look."""
    try:
        os.link(path, new)
    except FileExistsError:
        raise
    except OSError:
        must(not os.path.lexists(new), f"{new} exists", "failed")
        os.rename(path, new)


def create(version, member, maps, path):
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w+b") as file:
        version.write(member, maps[member.path], file)
        file.flush()
        os.fsync(file.fileno())
    # An image belongs to whoever restores it, as with the program: it stays 0600.
    if member.type != IMAGE:
        finish(member, path)


def extract(version, members, maps, folder):
    """The folder is new and ours, and links come last: there is nothing to follow. Folders' modes and times come
    when they are full, the deepest first."""
    folders, made = [m for m in members if m.type == FOLDER], {""}
    for member in (m for m in members if m.type == FILE):
        make_folders(folder, os.path.dirname(member.path), made)
        with refusing_two_names(member.path):
            create(version, member, maps, os.path.join(folder, member.path))
    for member in folders:
        make_folders(folder, member.path, made)
    for member in (m for m in members if m.type == LINK):
        make_folders(folder, os.path.dirname(member.path), made)
        with refusing_two_names(member.path):
            os.symlink(member.target, os.path.join(folder, member.path))
        give_time(member, os.path.join(folder, member.path))
    for member in sorted(folders, key=lambda m: -m.path.count("/")):
        finish(member, os.path.join(folder, member.path))


def make_folders(root, path, made):
    """This folder and those above it. What stands there, and was not `made` by this very path, is another one's."""
    if path not in made:
        make_folders(root, os.path.dirname(path), made)
        with refusing_two_names(path):
            os.mkdir(os.path.join(root, path), 0o700)
        made.add(path)


@contextlib.contextmanager
def refusing_two_names(path):
    """Paths that differ in case only, or in how a letter is composed: two folders would become one."""
    try:
        yield
    except FileExistsError as error:
        raise Failure("failed", f"{path} exists: this file system takes two names for one") from error


def finish(member, path):
    """Permission bits (never set-user-id and the like) and time of modification."""
    os.chmod(path, member.mode & 0o777)
    give_time(member, path)


def give_time(member, path):
    """It is no loss where a file system keeps none, or a system none of links."""
    with contextlib.suppress(OverflowError, OSError, NotImplementedError):
        os.utime(path, ns=(member.modified * 1_000_000,) * 2, follow_symlinks=member.type != LINK)


# ------------------------------------------------------------------------------------------------ Command line

def prefixes(versions):
    """By id, its shortest unambiguous prefix, of at least 8 digits: of a sorted list only neighbours are alike."""
    ids = sorted({v.id.hex() for v in versions})
    alike = [len(os.path.commonprefix(pair)) for pair in zip(ids, ids[1:])]
    return {bytes.fromhex(own): own[:max(8, before + 1, after + 1)]
            for own, before, after in zip(ids, [0] + alike, alike + [0])}


def command_list(repository, options):
    versions = sorted(repository.versions, key=lambda v: (v.time, v.sequence))
    if options.json:
        rows = [{"id": v.id.hex(), "database": v.database, "host": v.host, "time": rfc3339(v.time), "size": v.size,
                 "sequence": v.sequence, "revision": v.revision, "chain": v.chain, "members": v.count,
                 "tags": v.tags, "note": v.note, "pinned": v.pinned, "forgotten": v.forgotten,
                 "damaged": bool(v.flags & 1), "notCheckable": bool(v.flags & 2),
                 "foundDamaged": v.found_damaged, "drillPassed": v.drill_passed} for v in versions]
        problems = [problem.text for problem in repository.problems]
        identity = repository.keys.repository.hex()
        print(json.dumps({"format": FORMAT, "repository": identity, "versions": rows, "problems": problems}))
    else:
        form = f"format {FORMAT}"
        print(f"repository {repository.keys.repository.hex()}, {form}, {len(versions)} versions")
        several, short = len({v.host for v in versions}) > 1, prefixes(versions)
        for v in versions:
            marks = ["found damaged"] * (v.found_damaged is not None) + ["damaged source"] * (v.flags & 1)
            marks += ["drill failed"] * (v.drill_passed is False)
            marks += ["forgotten"] * v.forgotten + ["pinned"] * v.pinned + v.tags
            columns = [short[v.id], str(v.sequence), rfc3339(v.time), plain(v.database), str(v.size), plain(", ".join(marks))]
            columns[4:4] = [plain(v.host)] if several else []
            print("  ".join(columns).rstrip())
    return 13 if any(problem.grave for problem in repository.problems) else 0


def choose(repository, text):
    """VERSION: an id's prefix, `latest`, `NAME:latest`."""
    if text != "latest" and not text.endswith(":latest"):
        must(re.fullmatch("[0-9a-fA-F]{1,64}", text), f"{text} is not a version", "usage")
        found = [v for v in repository.versions if v.id.hex().startswith(text.lower())]
        must(found, f"{text} is in no list", "no such version")
        must(len(found) == 1, f"{text} is the beginning of {len(found)} ids", "usage")
        return found[0]
    name = text[:-len(":latest")] if ":" in text else None
    found = [v for v in repository.versions if (name is None or v.database == name) and not v.forgotten]
    # A chain of which nothing can be read may be anybody's.
    chains = {v.chain for v in repository.versions}
    lost = [p for p in repository.problems if p.grave and p.chain and p.chain not in chains]
    if not found or name is None or any(is_unlisted(p) for p in lost):
        texts = "; ".join(p.text for p in lost)
        must(not lost, f"what is the latest cannot be told, choose one by its id: {texts}", "damaged")
    must(found, f"there is no version of {name or 'any database'}", "no such version")
    demand_one(text, name, found, repository.versions)
    newest = max(found, key=lambda v: v.sequence)
    grave = [p for p in repository.problems if p.grave and p.chain == newest.chain]
    later = [p.text for p in grave if p.sequence > newest.sequence or is_unlisted(p)]
    later += [v.id.hex() for v in found if v.sequence == newest.sequence and v.id != newest.id]
    must(not later, f"the latest version cannot be told, choose one by its id: {'; '.join(later)}", "damaged")
    return newest


def is_unlisted(problem):
    """Of a chain's folder that the disk does not give: whatever is in it, versions or what forgets them, is not known."""
    return re.match(rf"[a-z]+/{problem.chain}/: ", problem.text)


def demand_one(text, name, found, versions):
    """Refuses what fits several databases, or one name of several hosts, and says what each is called."""
    newest = {}
    for v in found:
        if v.chain not in newest or newest[v.chain].sequence < v.sequence:
            newest[v.chain] = v
    each = sorted(newest.values(), key=lambda v: (v.database, v.host, v.chain))
    short = prefixes(versions)
    listed = ", ".join(f"{short[v.id]} (the newest of {plain(v.database)} of {plain(v.host)})" for v in each)
    way = "use an id" if name is not None else "use NAME:latest or an id"
    must(len(each) == 1, f"{text} fits several databases, {way}: {listed}", "usage")


def command_restore(repository, options):
    outline = choose(repository, options.version)
    if options.expect:
        demand_head(repository, outline.chain, options.expect)
    version = Version(repository, outline)
    manifest = version.manifest
    restore(version, options.output, options.no_companions)
    if options.no_companions and manifest.members[1:]:
        files = [m for m in manifest.members[1:] if m.type != FOLDER]
        size = sum(m.length for m in files if m.type == FILE)
        what = f"{len(files)} companion file{'s' * (len(files) != 1)}, {size} bytes"
        print(f"unseal: {what}, left out as asked", file=sys.stderr)
        if os.path.lexists(options.output + ".companions"):
            print(f"unseal: {options.output}.companions was there before, and is not of this version", file=sys.stderr)
    print(f"restored {prefixes(repository.versions)[manifest.id]} of {rfc3339(manifest.time)} to {options.output}")
    if manifest.members[1:] and not options.no_companions:
        tell_companions(manifest, options.output)
    if manifest.flags & 2:
        print("unseal: SQLite could not check it when it was pushed", file=sys.stderr)
    if manifest.flags & 1:
        print("unseal: SQLite found it damaged when it was pushed: `list` shows other versions", file=sys.stderr)
    return 13 if manifest.flags & 1 else 0


def tell_companions(manifest, out):
    """Where they are, and where Core Data looks for what is too large for a row: it opens a store without that folder, and
    makes an empty one."""
    folder = out + ".companions"
    print(f"unseal: its companions are in {folder}", file=sys.stderr)
    support = support_folder(manifest.members[0].path)
    if any(member.path == support for member in manifest.members[1:]):
        place = os.path.join(os.path.dirname(out), support_folder(out))
        print(f"unseal: move {folder}/{support} to {place} before an application opens the store", file=sys.stderr)


def support_folder(store):
    """The name of the folder with a Core Data store's external files: .app_SUPPORT of app.sqlite."""
    stem, _, extension = os.path.basename(store).rpartition(".")
    return f".{stem if stem and extension else os.path.basename(store)}_SUPPORT"


def demand_head(repository, chain, code):
    """§6.2: refuses a chain that does not hold the version of a head code, or what was forgotten up to it."""
    match = re.fullmatch(r"([1-9][0-9]{0,19})-([0-9a-fA-F]{16})", code)
    must(match, f"{code} is no head code, such as 12-0123456789abcdef", "usage")
    sequence, start = int(match[1]), match[2].lower()
    versions = [v for v in repository.versions if v.chain == chain]
    grave = [p for p in repository.problems if p.grave and p.chain == chain]
    must(max(v.sequence for v in versions) >= sequence, f"nothing is as new as the head {code}", "damaged")
    broken = [p.text for p in grave if p.text.startswith(f"chain {chain} ")]
    must(not broken, f"the chain cannot be followed to the head {code}: {'; '.join(broken)}", "damaged")
    counting = max((v.sequence for v in versions if not v.forgotten), default=0)
    must(counting >= sequence or any(p.sequence > counting for p in grave),
         f"all from the head {code} on was forgotten, and nothing newer is there", "damaged")
    there = [v.id for v in versions if v.sequence == sequence]
    there = there or [r[3] for r in repository.ranges[chain] if r[1] == sequence]
    must(any(known.hex().startswith(start) for known in there),
         f"the version of the head {code} is not there, nor what was forgotten up to it", "damaged")


def command_check(repository, options):
    """Reads everything: all that every version needs, and all bytes of all packs."""
    failed, unread = [problem.text for problem in repository.problems if problem.grave], []
    print(f"unseal: each file is decoded into {tempfile.gettempdir()} (TMPDIR) and removed again", file=sys.stderr)
    for outline in repository.versions:
        try:
            version = Version(repository, outline)
            for member, a_map in zip(version.manifest.stored, version.manifest.maps):
                with tempfile.TemporaryFile() as file:
                    version.write(member, a_map, file)
            print(f"{outline.id.hex()}  sound{' (damaged source)' * (outline.flags & 1)}")
        except Failure as failure:
            failed.append(f"version {outline.id.hex()}: {failure}")
        except OSError as error:
            # It says nothing of the version: this machine has no room, or cannot read.
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            hint = ": name a folder with more room in TMPDIR" if full else ""
            unread.append(f"version {outline.id.hex()} was not read: {error}{hint}")
            print(f"unseal: {unread[-1]}", file=sys.stderr)
    packs, before = 0, len(repository.problems)
    for chain in repository.names_left("packs", r"[0-9a-f]{32}", folders=True):
        for name in repository.names_left(f"packs/{chain}", r"[0-9a-f]{64}"):
            try:
                path = os.path.join(repository.root, "packs", chain, name)
                with reading(f"packs/{chain}/{name}"), open(path, "rb") as file:
                    data = file.read(GREATEST + 1)
                must(sha256(data).hex() == name, "it does not have the bytes of its name", "damaged")
                Sealed.whole(repository.keys, PACK, data)
                packs += 1
            except Failure as failure:
                failed.append(f"packs/{chain}/{name}: {failure}")
    for chain in repository.names_left("gone", r"[0-9a-f]{32}", folders=True):
        for name, sealed in repository.authentic(f"gone/{chain}", CONDEMNED, ""):
            with repository.noting(f"gone/{chain}/{name}", chain):
                condemned_body(sealed.meta, chain)
    failed += [problem.text for problem in repository.problems[before:] if problem.grave]
    print(f"{len(repository.versions)} versions and {packs} packs read, {len(failed)} problems")
    must(not failed, "; ".join(failed + unread), "damaged")
    must(not unread, "; ".join(unread), "failed")
    return 0


def read_secret(options):
    if options.key_file:
        with open(options.key_file, "rb") as file:
            content = file.read()
        must(len(content) >= 32, "a key file has at least 32 bytes", "usage")
        return Secret(KEY_FILE, sha256(content))
    if options.recovery_key_file:
        with open(options.recovery_key_file, encoding="utf-8", errors="replace") as file:
            text = file.read()
        try:
            return Secret(RECOVERY_KEY, recovery_key(text))
        except Failure as failure:
            failure.code = 12  # malformed by its class; for whoever typed it, the wrong key
            raise
    if options.passphrase_file:
        with open(options.passphrase_file, "rb") as file:
            content = file.read()
        return Secret(PASSPHRASE, content[:-1] if content.endswith(b"\n") else content)
    must(sys.stdin.isatty(), "name a secret: --passphrase-file, --key-file or --recovery-key-file", "usage")
    return Secret(PASSPHRASE, getpass.getpass("passphrase: ").encode())


def arguments():
    parser = argparse.ArgumentParser(description="Read a Sealift repository without Sealift.")
    parser.add_argument("repository", help="folder that holds the repository")
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--passphrase-file", metavar="FILE")
    secret.add_argument("--key-file", metavar="FILE")
    secret.add_argument("--recovery-key-file", metavar="FILE")
    parser.add_argument("--debug", action="store_true", help="show where an error comes from")
    commands = parser.add_subparsers(required=True, metavar="list | restore | check")
    listing = commands.add_parser("list", help="print one line for each version")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=command_list)
    restoring = commands.add_parser("restore", help="write a version's database and companions")
    restoring.add_argument("version", help="beginning of an id, latest, or NAME:latest")
    restoring.add_argument("-o", "--output", metavar="OUT", required=True)
    restoring.add_argument("--expect", metavar="HEAD", help="a head code that the repository must hold")
    restoring.add_argument("--no-companions", action="store_true", help="the database alone")
    restoring.set_defaults(run=command_restore)
    needs = "read and verify everything; TMPDIR (/tmp) needs room for the largest file"
    commands.add_parser("check", help=needs, description=needs).set_defaults(run=command_check)
    return parser


def main(argv=None):
    options = arguments().parse_args(argv)
    try:
        repository = open_repository(options.repository, read_secret(options))
        for problem in repository.problems:
            print(f"unseal: {plain(problem.text)}", file=sys.stderr)
        return options.run(repository, options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if options.debug:
            raise
        print(f"unseal: {error if isinstance(error, (Failure, OSError)) else f'failed: {error!r}'}", file=sys.stderr)
        return error.code if isinstance(error, Failure) else 1


if __name__ == "__main__":
    sys.exit(main())
