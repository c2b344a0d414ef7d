#!/usr/bin/env python3
"""Scripts/unseal.py against repositories that make_repository.py forged: right results, and no wrong ones.

    python3 Tests/ReferenceTests/unseal_test.py
"""
import contextlib, errno, hashlib, importlib.util, io, json, os, random, shutil, stat, struct, subprocess, sys, tempfile
import unittest
from unittest import mock

import make_repository as maker

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Scripts", "unseal.py")
spec = importlib.util.spec_from_file_location("unseal", SCRIPT)
unseal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unseal)


def run(*arguments):
    """unseal.py in this process: exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = unseal.main(list(arguments))
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


@contextlib.contextmanager
def little_memory():
    """Scrypt has no more than honest slots need; tells with what N it was asked for."""
    asked, scrypt = [], hashlib.scrypt

    def counted(*arguments, n, **words):
        asked.append(n)
        if n > 1 << 17:
            raise ValueError("memory limit exceeded")
        return scrypt(*arguments, n=n, **words)

    with mock.patch.object(hashlib, "scrypt", counted):
        yield asked


@contextlib.contextmanager
def bad_sectors(*paths, error=errno.EIO, blind=False):
    """What lies there can be opened, and no byte of it be read; `blind`: nor is it told what it is."""
    def refusing(function):
        def asked(path, *arguments, **words):
            if blind and path in paths:
                raise OSError(error, os.strerror(error), path)
            return function(path, *arguments, **words)
        return asked

    def opened(path, *arguments, **words):
        if path not in paths:
            return open(path, *arguments, **words)
        file = mock.MagicMock()
        file.__enter__.return_value.read.side_effect = OSError(error, os.strerror(error))
        file.__exit__.return_value = False
        return file

    with mock.patch.object(unseal, "open", opened, create=True), \
            mock.patch.object(os, "stat", refusing(os.stat)), mock.patch.object(os, "listdir", refusing(os.listdir)):
        yield


def digest(path):
    return hashlib.sha256(read(path)).hexdigest()


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(self.remove)

    def remove(self):
        for folder, _, _ in os.walk(self.scratch):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.scratch)

    def path(self, name):
        return os.path.join(self.scratch, name)


class Reading(Scratch):
    """What is sound is read, with each kind of secret."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.made = os.path.join(cls.folder.name, "made")
        cls.forge, cls.chains, cls.expected = maker.make(cls.made, seed=3, log_n=15, big=True, race=True)
        cls.root = os.path.join(cls.made, "repository")
        cls.secrets = [("--passphrase-file", os.path.join(cls.made, "passphrase.txt")),
                       ("--key-file", os.path.join(cls.made, "key.bin")),
                       ("--recovery-key-file", os.path.join(cls.made, "recovery.txt"))]
        cls.key = cls.secrets[1]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def unseal(self, *arguments):
        return run(self.root, *self.key, *arguments)

    def test_list_says_what_was_pushed_with_every_kind_of_secret(self):
        for secret in self.secrets:
            code, out, err = run(self.root, *secret, "list", "--json")
            self.assertEqual(code, 0, err)
            document = json.loads(out)
            self.assertEqual((document["format"], document["repository"]), (maker.FORMAT, self.expected["repository"]))
            keys = ("id", "database", "host", "chain", "sequence", "revision", "time", "size", "note", "pinned",
                    "forgotten")
            facts = {tuple(v[k] for k in keys) + tuple(v["tags"]) for v in document["versions"]}
            self.assertEqual(facts, {tuple(v[k] for k in keys) + tuple(v["tags"]) for v in self.expected["versions"]})

    def test_list_for_people_has_one_line_for_each_version_and_names_the_format(self):
        lines = self.unseal("list")[1].splitlines()
        self.assertIn(f"format {maker.FORMAT}", lines[0])
        self.assertEqual(len(lines), 1 + len(self.expected["versions"]))
        for version in self.expected["versions"]:
            self.assertTrue(any(l.startswith(version["id"][:8]) and version["time"] in l for l in lines))

    def test_every_version_restores_bit_for_bit_with_its_companions(self):
        for number, version in enumerate(self.expected["versions"]):
            out = self.path(str(number))
            code, _, err = self.unseal("restore", version["id"][:10], "-o", out)
            self.assertEqual(code, 0, err)
            self.assertEqual(digest(out), version["sha256"])
            first = version["members"][0]
            mode = 0o600 if first["type"] == 1 else first["mode"]
            self.assertEqual(stat.S_IMODE(os.stat(out).st_mode), mode)
            self.assertEqual(os.stat(out).st_mtime_ns == first["modified"] * 1_000_000, first["type"] == 2)
            self.check_companions(out + ".companions", version["members"][1:])
            self.assertEqual(f"companions are in {out}.companions" in err, len(version["members"]) > 1, err)
            if any(member["path"] == ".app_SUPPORT" for member in version["members"]):
                place = self.path(f".{number}_SUPPORT")
                self.assertIn(f"move {out}.companions/.app_SUPPORT to {place} before", err)

    def test_the_folder_of_external_files_is_named_after_the_store(self):
        for store, name in (("a/app.sqlite", "app"), ("a.b/app", "app"), (".app", ".app"), ("app.", "app."), ("a.b.c", "a.b")):
            self.assertEqual(unseal.support_folder(store), f".{name}_SUPPORT")

    def check_companions(self, folder, members):
        self.assertEqual(os.path.isdir(folder), bool(members))
        for member in members:
            path = os.path.join(folder, member["path"])
            facts = os.lstat(path)
            self.assertEqual(facts.st_mtime_ns, member["modified"] * 1_000_000)
            if member["type"] == 4:
                self.assertEqual(os.readlink(path), member["target"])
                continue
            self.assertEqual(stat.S_IMODE(facts.st_mode), member["mode"])
            self.assertEqual(stat.S_ISDIR(facts.st_mode), member["type"] == 3)
            if member["type"] == 2:
                self.assertEqual(digest(path), member["sha256"])

    def test_latest_of_a_name_is_the_end_of_its_chain(self):
        for name, version in self.expected["latest"].items():
            code, out, err = self.unseal("restore", f"{name}:latest", "-o", self.path(name))
            self.assertEqual((code, version[:8] in out), (0, True), err)

    def test_latest_of_several_databases_and_too_short_a_prefix_are_refused(self):
        self.assertEqual(self.unseal("restore", "latest", "-o", self.path("x"))[0], 2)
        firsts = [v["id"][0] for v in self.expected["versions"]]
        ambiguous = next(f for f in firsts if firsts.count(f) > 1)
        self.assertEqual(self.unseal("restore", ambiguous, "-o", self.path("x"))[0], 2)

    def test_a_repository_file_that_was_lost_hides_nothing(self):
        before = self.unseal("list")
        os.rename(os.path.join(self.root, "repo"), self.path("repo"))
        try:
            self.assertEqual(self.unseal("list"), before)
            self.assertEqual(run(os.path.join(self.root, "packs"), *self.key, "list")[0], 1)
        finally:
            os.rename(self.path("repo"), os.path.join(self.root, "repo"))

    def test_check_reads_everything(self):
        code, out, err = self.unseal("check")
        self.assertEqual(code, 0, err)
        self.assertIn(f"{len(self.expected['versions'])} versions", out)

    def test_the_repository_has_what_it_is_meant_to_exercise(self):
        found, depth, deepest = set(), 0, 0
        repository = unseal.open_repository(self.root, unseal.read_secret(unseal.arguments().parse_args(
            [self.root, *self.key, "list"])))
        for outline in repository.versions:
            manifest = repository.opened(outline)
            version = unseal.Version(repository, manifest)
            deepest = max([deepest] + [d for d, _ in manifest.maps])
            found |= {"table in a pack" for entry, *_ in manifest.leaves if entry}
            found |= {"riders" for f in manifest.sealed.frames if f.type != unseal.NODE}
            found |= {"deltas in a manifest" for f in manifest.sealed.frames if f.runs}
            found |= {f"base of a rider in {'a pack' if run[0] else 'this object'}"
                      for f in manifest.sealed.frames for run in f.runs}
            found |= {"second revision" for _ in range(manifest.revision)}
            for member, (levels, root) in zip(manifest.stored, manifest.maps):
                found |= {"nodes in a pack" for _ in range(1) if root.number and levels}
                for piece in version.pieces(member, levels, root):
                    found |= {"zeros"} if piece.number == unseal.ZEROS else set()
                    if piece.number != unseal.ZEROS:
                        sealed = version.object(piece.number)
                        frame = sealed.frames[piece.frame]
                        depth = max(depth, version.depth(sealed, piece.frame))
                        found |= {("codec", frame.codec, frame.type)}
                        found |= {"base in this object" for run in frame.runs if run[0] is None}
                        found |= {"lengths that differ" for _ in range(1) if len(set(frame.lengths)) > 1}
                        for run in frame.runs:
                            base = version.units(version.base(sealed, run), *run[1:])
                            found |= {"a prefix like a dictionary"} if base[:4] == b"\x37\xa4\x30\xec" else set()
        self.assertEqual((depth, deepest), (8, 3))
        self.assertLessEqual({"table in a pack", "riders", "second revision", "nodes in a pack", "zeros",
                              "base in this object", "lengths that differ", "a prefix like a dictionary",
                              "deltas in a manifest", "base of a rider in this object", "base of a rider in a pack",
                              *(("codec", *pair) for pair in ((0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (2, 2)))},
                             found)

    def test_a_target_that_exists_is_refused_and_left_alone(self):
        version = self.expected["latest"]["photos"]
        for suffix in ("", "-wal", "-journal", ".companions"):
            out = self.path("there" + suffix)
            write(out, b"mine")
            code, _, err = self.unseal("restore", version, "-o", self.path("there"))
            self.assertEqual((code, os.listdir(self.scratch), read(out)), (1, ["there" + suffix], b"mine"), err)
            os.remove(out)

    def test_exit_codes(self):
        write(self.path("wrong"), b"wrong")
        code, _, err = run(self.root, "--passphrase-file", self.path("wrong"), "list")
        self.assertEqual((code, "wrong key" in err), (12, True), err)
        self.assertEqual(self.unseal("restore", "0" * 20, "-o", self.path("x"))[0], 14)
        self.assertEqual(self.unseal("restore", "nobody:latest", "-o", self.path("x"))[0], 14)
        self.assertEqual(self.unseal("restore", "../x", "-o", self.path("x"))[0], 2)
        self.assertEqual(self.unseal("restore")[0], 2)
        self.assertEqual(run(self.scratch, *self.key, "list")[0], 1)
        done = subprocess.run([sys.executable, SCRIPT, self.scratch, *self.key, "list"], capture_output=True, text=True)
        self.assertEqual((done.returncode, "Traceback" in done.stderr), (1, False))

    def test_a_recovery_key_is_read_as_people_write_it_and_refused_with_a_typing_error(self):
        text = self.expected["recoveryKey"]
        sloppy = text.lower().replace("-", " ").replace("o", "0").replace("i", "1").replace("b", "8")
        self.assertEqual(unseal.recovery_key(sloppy), unseal.recovery_key(text))
        wrong = text[:10] + ("A" if text[10] != "A" else "C") + text[11:]
        with self.assertRaisesRegex(unseal.Failure, "malformed: the recovery key has a typing error"):
            unseal.recovery_key(wrong)
        write(self.path("typed"), wrong.encode())
        code, _, err = run(self.root, "--recovery-key-file", self.path("typed"), "list")
        self.assertEqual((code, "typing error" in err), (12, True), err)


class Hostile(Scratch):
    """A server, a disk or an enemy changed something: an error or the right bytes, never others."""

    def setUp(self):
        super().setUp()
        self.forge = maker.Forge(self.path("repository"), seed=5, log_n=15)
        forge, dice = self.forge, self.forge.dice
        forge.repository_file()
        forge.slot(1, 2, maker.sha(b"k" * 32))
        forge.slot(2, 1, b"pass")
        forge.keyring(1)
        forge.configuration(1)
        for name, content in (("key", b"k" * 32), ("pass", b"pass")):
            write(self.path(name), content)
        self.root, self.key = forge.root, ("--key-file", self.path("key"))
        self.chain = maker.Chain(forge, "app")
        db = maker.Database(512)
        image = db("CREATE TABLE a(b)", *(("INSERT INTO a VALUES(?)", (dice.randbytes(40),)) for _ in range(400)))
        companion = {"type": 2, "path": "note", "mode": 0o600, "modified": 0, "content": dice.randbytes(3000)}
        self.chain.push([maker.database_member(image), companion])
        image = db(("UPDATE a SET b=? WHERE rowid%40=1", (dice.randbytes(40),)))
        self.chain.push([maker.database_member(image), companion], nodes_in_pack=True)
        image = db(("UPDATE a SET b=? WHERE rowid=7", (dice.randbytes(40),)))
        last = self.chain.push([maker.database_member(image), companion], riders=True)
        self.chain.forget((1, 1))
        self.chain.annotate(last, 1, (1, "tag"))
        self.chain.condemn(bytes(32))
        self.versions = {v["id"]: v for v in self.chain.versions}
        self.files = sorted(os.path.join(f, n) for f, _, names in os.walk(self.root) for n in names)

    def outcome(self, key=None):
        """How many versions restored; fails when one restored wrongly, or when a list or message is not a clean one."""
        right = 0
        code, out, err = run(self.root, *(key or self.key), "list", "--json")
        self.assertNotIn("Error(", err)
        if out:
            document = json.loads(out)
            self.assertLessEqual({v["id"] for v in document["versions"]}, set(self.versions))
            for v in document["versions"]:
                self.assertEqual((v["time"], v["size"]), tuple(self.versions[v["id"]][k] for k in ("time", "size")))
        else:
            self.assertIn(code, (1, 12, 13), err)
        for identity, version in self.versions.items():
            target = self.path("out")
            code, _, err = run(self.root, *(key or self.key), "restore", identity, "-o", target)
            self.assertNotIn("Error(", err)
            if code == 0:
                right += 1
                self.assertEqual(digest(target), version["sha256"])
                self.assertEqual(digest(target + ".companions/note"), version["members"][1]["sha256"])
                os.remove(target)
                shutil.rmtree(target + ".companions")
            else:
                self.assertIn(code, (1, 12, 13, 14), err)
            self.assertEqual([n for n in os.listdir(self.scratch) if n.startswith("out")], [])
        return right

    def changed(self, path, content):
        """The outcome with a file of other content, which is put back."""
        before = read(path)
        write(path, content)
        try:
            return self.outcome(("--passphrase-file", self.path("pass")) if "/keys/2-" in path else None)
        finally:
            write(path, before)

    def test_sound_first(self):
        self.assertEqual(self.outcome(), 2)
        self.assertEqual(run(self.root, *self.key, "check")[0], 0)

    def test_zeros_in_front_of_a_length_make_a_name_nobodys(self):
        name = f"{len(self.versions) + 1:012}-9999-04096-{'a' * 64}"
        write(os.path.join(self.root, "versions", self.chain.id.hex(), name), bytes(4096))
        self.assertEqual(self.outcome(), 2)
        self.assertEqual(run(self.root, *self.key, "check")[0], 0)

    def test_a_length_that_no_object_has_makes_a_name_nobodys(self):
        chain, count = self.chain.id.hex(), len(self.versions) + 1
        for start in (f"versions/{chain}/{count:012}-0000-", "keyring/9-", "config/9-", f"tomb/{chain}/", f"notes/{chain}/"):
            path = os.path.join(self.root, f"{start}{(1 << 26) + 1}-{'a' * 64}")
            write(path, b"")
            os.truncate(path, (1 << 26) + 1)
            code, _, err = run(self.root, *self.key, "list")
            self.assertEqual((code, os.path.basename(path) in err), (0, False), err)
        self.assertEqual(run(self.root, *self.key, "check")[0], 0)

    def test_flips_and_cuts_of_every_file(self):
        dice, refused = random.Random(7), 0
        for path in self.files:
            content = read(path)
            places = [0, 8, 9, 10, 11, 13, 20, 40, 70, 100, len(content) - 1, len(content) - 3]
            for place in places + [dice.randrange(len(content)) for _ in range(12)]:
                bent = bytearray(content)
                bent[place % len(content)] ^= 1 << dice.randrange(8)
                refused += self.changed(path, bytes(bent)) < 2
            for cut in (0, 1, 127, 128, len(content) // 2, len(content) - 1):
                refused += self.changed(path, content[:cut]) < 2
            refused += self.changed(path, content + b"\0") < 2
        self.assertGreater(refused, len(self.files) * 10)

    def test_the_same_with_names_that_fit(self):
        """A flip under a name that fits the flipped bytes: now it is the authentication that must refuse."""
        dice, accepted = random.Random(8), 0
        for path in (p for p in self.files if "/packs/" not in p):
            content = read(path)
            for _ in range(20):
                bent = bytearray(content)
                bent[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
                name = path[:-64] + hashlib.sha256(bent).hexdigest()
                os.rename(path, self.path("aside"))
                write(name, bent)
                self.outcome()
                code, out, err = run(self.root, *self.key, "check")
                kind = os.path.basename(os.path.dirname(path))
                accepted += code == 0 and "/keys/" not in path and "/repo/" not in path
                os.remove(name)
                os.rename(self.path("aside"), path)
        self.assertEqual(accepted, 0)

    def test_every_flip_of_a_pack_is_found_by_check(self):
        dice = random.Random(9)
        for path in (p for p in self.files if "/packs/" in p):
            content = read(path)
            for place in [8, 100, 128, len(content) - 1] + [dice.randrange(len(content)) for _ in range(6)]:
                bent = bytearray(content)
                bent[place] ^= 1 << dice.randrange(8)
                write(path, bent)
                self.assertEqual(run(self.root, *self.key, "check")[0], 13)
            write(path, content)

    def test_swaps_and_deletions(self):
        for a in self.files:
            content = read(a)
            for b in (b for b in self.files if b != a and os.path.dirname(b) == os.path.dirname(a)):
                self.changed(b, content)
            os.rename(a, self.path("aside"))
            self.outcome()
            os.rename(self.path("aside"), a)

    def test_a_replay_under_another_sequence_or_revision_is_refused(self):
        for path in (p for p in self.files if "/versions/" in p):
            folder, name = os.path.split(path)
            for other in ("000000000009" + name[12:], name[:13] + "0003" + name[17:]):
                shutil.copy(path, os.path.join(folder, other))
                code, out, err = run(self.root, *self.key, "list", "--json")
                self.assertEqual((code, len(json.loads(out)["versions"])), (13, 2), err)
                os.remove(os.path.join(folder, other))

    def test_latest_is_refused_when_the_newest_is_damaged_and_a_hole_is_named(self):
        newest = max(p for p in self.files if "/versions/" in p)
        content = bytearray(read(newest))
        content[500] ^= 1
        write(newest, content)
        code, _, err = run(self.root, *self.key, "restore", "latest", "-o", self.path("out"))
        self.assertEqual((code, os.path.lexists(self.path("out"))), (13, False), err)
        self.assertIn("damaged: versions/", err)
        self.assertIn("does not have the bytes of its name", err)
        tomb = next(p for p in self.files if "/tomb/" in p)
        os.remove(tomb)
        code, _, err = run(self.root, *self.key, "list")
        self.assertEqual((code, "lacks sequences 1 to 1" in err), (13, True), err)

    # Authentic, and against the rules

    def refused(self, kind, text, version=None):
        version = version or self.chain.versions[-1]
        code, _, err = run(self.root, *self.key, "restore", version["id"], "-o", self.path("out"))
        listing = run(self.root, *self.key, "list")[2]
        self.assertIn(code, (1, 12, 13, 14), err)
        self.assertIn(text, err + listing)
        self.assertIn(kind + ":", err + listing)
        self.assertFalse(os.path.lexists(self.path("out")))

    def test_unsafe_members_are_refused(self):
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        for path in ("../x", "/etc/x", "a//b", "a/./b", "", "a/..", "a\0b", "x" * 4097):
            member = {"type": 2, "path": path, "mode": 0o600, "modified": 0, "content": b"x"}
            self.refused("malformed", "safe relative path", self.chain.push([image, member]))
            self.chain.versions.pop()
        below = dict(image, path="sub/app.db")
        self.refused("malformed", "more than a file name", self.chain.push([below]))
        self.chain.versions.pop()
        twice = {"type": 3, "path": "a", "mode": 0o700, "modified": 0}
        self.refused("malformed", "one path", self.chain.push([image, twice, dict(twice)]))
        bits = {"type": 3, "path": "a", "mode": 0o17777, "modified": 0}
        self.refused("malformed", "permission bits", self.chain.push([image, bits]))

    def test_a_file_below_a_link_is_not_written_through_it(self):
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        os.mkdir(self.path("elsewhere"))
        link = {"type": 4, "path": "a", "mode": 0o777, "modified": 0, "target": self.path("elsewhere")}
        inside = {"type": 2, "path": "a/b", "mode": 0o600, "modified": 0, "content": b"x"}
        file = {"type": 2, "path": "a", "mode": 0o600, "modified": 0, "content": b"y"}
        for order in ([link, inside], [inside, link], [file, inside]):
            self.refused("malformed", "lies below one", self.chain.push([image, *order]))
            self.assertEqual(os.listdir(self.path("elsewhere")), [])

    def test_members_whose_names_a_file_system_takes_for_one_are_not_merged(self):
        def folded(path):
            # What the test's own folder is called is not the file system's to fold.
            before, mark, behind = path.partition(".companions")
            return before + mark + behind.lower()

        def folding(function):
            def called(path, *arguments, **words):
                return function(folded(path) if isinstance(path, str) else path, *arguments, **words)
            return called

        def link(target, path):
            return symlink(target, folded(path))

        symlink, mode = os.symlink, {"mode": 0o700, "modified": 0}
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))

        def file(path):
            return {"type": 2, "path": path, "content": path.encode(), **mode}

        def folder(path):
            return {"type": 3, "path": path, **mode}

        def away(path):
            return {"type": 4, "path": path, "target": "x", **mode}

        cases = ([file("att/Ab/x"), file("att/ab/y")], [file("F"), file("f")], [folder("F"), folder("f")],
                 [file("a"), folder("A/b")], [away("l"), away("L")], [file("att/ab/x"), folder("att/ab"), file("att/y")])
        for case, members in enumerate(cases):
            identity = self.chain.push([image, *members])["id"]
            with contextlib.ExitStack() as stack:
                for name in ("open", "mkdir", "stat", "chmod", "utime"):
                    stack.enter_context(mock.patch.object(os, name, folding(getattr(os, name))))
                stack.enter_context(mock.patch.object(os, "symlink", link))
                code, _, err = run(self.root, *self.key, "restore", identity, "-o", self.path("out"))
            merged = case < 5
            self.assertEqual((code, "takes two names for one" in err), (1, True) if merged else (0, False), err)
            self.assertEqual(os.path.lexists(self.path("out")), not merged)

    def push_frames(self, frames, bases=(), **bend):
        """A version whose one page comes from the first unit of the last of these frames."""
        chain, seal = self.chain, self.forge.seal
        self.forge.seal = lambda kind, frames=(), bases=(), meta=b"": seal(
            kind, frames, bases, meta, **(bend if kind == maker.PACK else {}))
        number, _ = chain.pack(frames)
        self.forge.seal = seal
        chain.known[self.forge.fingerprint(1, frames[-1].units[0])] = maker.Place(number, len(frames) - 1, 0)
        return chain.push([maker.database_member(frames[-1].units[0])])

    def page(self, tag):
        image = bytearray(maker.Database(512)("PRAGMA user_version=%d" % tag))
        return bytes(image) if len(image) == 512 else bytes(image[:512])

    def test_deltas_beyond_the_limits_are_refused(self):
        def tower(height):
            frames = [maker.Frame(1, [self.page(height * 100)])]
            for i in range(1, height + 1):
                page, below = self.page(height * 100 + i), frames[-1].units[0]
                frames.append(maker.Frame(1, [page], 2, [(None, i - 1, 0, 1)], below))
            return frames
        eight = self.push_frames(tower(8))
        code, _, err = run(self.root, *self.key, "restore", eight["id"], "-o", self.path("eight"))
        self.assertEqual((code, digest(self.path("eight"))), (0, eight["sha256"]), err)
        self.refused("malformed", "more than 8 deltas", self.push_frames(tower(9)))
        wide = [maker.Frame(1, [self.page(2000 + i)]) for i in range(65)]
        for n, fits in ((64, True), (65, False)):
            runs = [(None, i, 0, 1) for i in range(n)]
            top = maker.Frame(1, [self.page(3000 + n)], 2, runs, b"".join(f.units[0] for f in wide[:n]))
            version = self.push_frames(wide + [top])
            if fits:
                self.assertEqual(run(self.root, *self.key, "restore", version["id"], "-o", self.path("wide"))[0], 0)
            else:
                self.refused("malformed", "64 base frames", version)

    def test_bases_of_another_kind_or_too_large_are_refused(self):
        page = self.page(60)
        for base in (maker.Frame(2, [bytes(511) + b"x"]), maker.Frame(1, [bytes(1023) + b"x"])):
            top = maker.Frame(1, [page], 2, [(None, 0, 0, 1)], base.units[0])
            self.refused("malformed", "another type or page size", self.push_frames([base, top]))
        page = maker.Database(65536)("PRAGMA user_version=61", "CREATE TABLE g(h)")[:65536]
        bases = [maker.Frame(1, [bytes([i, j]) * 32768 for j in range(4)]) for i in range(5)]
        for frames, last in ((4, 4), (5, 1)):
            runs = [(None, i, 0, 4) for i in range(4)] + [(None, i, 0, last) for i in range(4, frames)]
            prefix = b"".join(bases[i].units[j] for _, i, _, count in runs for j in range(count))
            version = self.push_frames(bases + [maker.Frame(1, [page], 2, runs, prefix)])
            if frames == 4:
                self.assertEqual(run(self.root, *self.key, "restore", version["id"], "-o", self.path("fits"))[0], 0)
                self.chain.known.pop(self.forge.fingerprint(1, page))
            else:
                self.refused("malformed", "more than 1 MiB", version)

    def test_a_unit_of_another_type_than_its_member_is_refused(self):
        self.refused("malformed", "another type or length", self.push_frames([maker.Frame(2, [self.page(65)])]))

    def test_a_delta_on_itself_or_a_later_frame_is_refused(self):
        base, top = maker.Frame(1, [self.page(1)]), self.page(2)
        for at in (1, 2, 7):
            frames = [base, maker.Frame(1, [top], 2, [(None, at, 0, 1)], base.units[0])]
            self.refused("malformed", "base that does not exist", self.push_frames(frames))

    def test_directories_against_the_rules_are_refused(self):
        frame = maker.Frame(1, [self.page(50)])
        cases = [("unsupported", "version", lambda d: b"\1" + d[1:]),
                 ("malformed", "padding", lambda d: d + b"\0\1"),
                 ("unsupported", "codec 5", lambda d: d[:11] + b"\5" + d[12:]),
                 ("unsupported", "unit type 9", lambda d: d[:12] + b"\x09" + d[13:]),
                 ("malformed", "do not end where", lambda d: d[:10] + bytes([d[10] ^ 1]) + d[11:]),
                 ("malformed", "ends too early", lambda d: d[:-4] + b"\xff\xff\xff\xff"),
                 ("damaged", "not authentic", lambda d: d[:19] + bytes([d[19] ^ 1]) + d[20:]),
                 ("malformed", "has meta", lambda d: d[:-4] + b"\0\0\0\1\0"),
                 ("malformed", "counts more frames", lambda d: d[:3] + b"\xff" + d[4:])]
        for number, (kind, text, bend) in enumerate(cases):
            frame = maker.Frame(1, [self.page(50 + number)])
            with self.subTest(text):
                self.refused(kind, text, self.push_frames([frame], bend_directory=bend))

    def test_zstd_against_the_rules_is_refused(self):
        import zstandard
        dice, page = random.Random(1), self.page(70)

        class Bent(maker.Frame):
            def packed(frame):
                return frame.bytes
        plain = zstandard.ZstdCompressor()
        wide = zstandard.ZstdCompressionParameters(window_log=22, write_content_size=True)
        bare = zstandard.ZstdCompressor(write_content_size=False)
        named = zstandard.ZstdCompressionDict(dice.randbytes(0) + page * 3, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        stream = zstandard.ZstdCompressor(compression_params=wide).compressobj(size=512)
        cases = {"goes on": (plain.compress(page) + b"\0", "does not end where"),
                 "two frames": (plain.compress(page) * 2, "does not end where"),
                 "another length": (plain.compress(page + b"x"), "does not state the length"),
                 "no length": (bare.compress(page), "does not state the length"),
                 "skippable": (b"\x50\x2a\x4d\x18\x04\0\0\0abcd", "does not hold zstd"),
                 "junk": (b"\x28\xb5\x2f\xfd" + b"\xff" * 40, ""),
                 "needs a prefix": (zstandard.ZstdCompressor(dict_data=named).compress(page), ""),
                 "other bytes": (plain.compress(page[:-1] + b"x"), "another fingerprint"),
                 "cut": (plain.compress(page)[:-2], "")}
        head = b"\x28\xb5\x2f\xfd" + bytes([0x40]) + bytes([(22 - 10) << 3]) + struct.pack("<H", 512 - 256)
        cases["large window"] = (head + struct.pack("<I", 512 << 3 | 1)[:3] + page, "too large a window")
        head = b"\x28\xb5\x2f\xfd" + bytes([0x41]) + bytes([(17 - 10) << 3]) + b"\x05" + struct.pack("<H", 512 - 256)
        cases["dictionary id"] = (head + struct.pack("<I", 512 << 3 | 1)[:3] + page, "dictionary id")
        for name, (data, text) in cases.items():
            with self.subTest(name):
                self.chain.known.pop(self.forge.fingerprint(1, page), None)
                frame = Bent(1, [page])
                frame.bytes = data
                self.refused("damaged" if "fingerprint" in text else "malformed", text, self.push_frames([frame]))
        head = b"\x28\xb5\x2f\xfd" + bytes([0x40]) + bytes([(21 - 10) << 3]) + struct.pack("<H", 512 - 256)
        frame = Bent(1, [page])
        frame.bytes = head + struct.pack("<I", 512 << 3 | 1)[:3] + page
        version = self.push_frames([frame])
        self.assertEqual(run(self.root, *self.key, "restore", version["id"], "-o", self.path("window"))[0], 0)

    def test_content_with_other_digests_than_its_core_is_refused(self):
        image, other = maker.database_member(self.page(80)), hashlib.sha256(b"other").digest()
        core = self.chain.core
        cases = ("SHA-256", lambda: maker.sha(image["content"])), ("image digest", lambda: image["digest"])
        for text, right in cases:
            self.chain.core = lambda *arguments: core(*arguments).replace(right(), other)
            version = self.chain.push([image])
            self.refused("damaged", text, version)
            code, _, err = run(self.root, *self.key, "check")
            self.assertEqual((code, version["id"] in err, text in err), (13, True, True), err)

    def test_nodes_against_the_rules_are_refused(self):
        """Each case bends the one map leaf, branch or table leaf of a version of riders."""
        def flat(data):
            return data[:1] + b"\0\0" + data[3:]
        cases = [("another number of units", 1, lambda n: n[:-1] + bytes([n[-1] - 1])),
                 ("goes on after", 1, lambda n: n + b"\0"),
                 ("another number of units", 1, flat),
                 ("ends too early", 1, lambda n: n[:-1]),
                 ("of type 7", 1, lambda n: b"\7" + n[1:]),
                 ("not in the pack table", 1, lambda n: n[:3] + b"\xff\xff\xff\xfe" + n[7:]),
                 ("has a place", 1, lambda n: n[:3] + b"\xff\xff\xff\xff" + n[7:11] + b"\0\1" + n[13:]),
                 ("has no frame", 1, lambda n: n[:7] + b"\0\0\1\0" + n[11:]),
                 ("impossible number", 3, lambda n: n[:3] + bytes(4) + n[7:]),
                 ("epoch 0", 3, lambda n: n[:51] + bytes(4) + n[55:]),
                 ("not ascending", 3, lambda n: n[:3] + b"\0\0\xff\xff" + n[7:]),
                 ("impossible length", 3, lambda n: n[:43] + b"\xff" + n[44:]),
                 ("AEAD", 3, lambda n: n[:48] + b"\2" + n[49:]),
                 ("no entries", 3, flat)]
        frame, db = maker.Frame, maker.Database(512)
        db("CREATE TABLE e(f)")
        for number, (text, kind, bend) in enumerate(cases):
            image = maker.database_member(db("PRAGMA user_version=%d" % (7000 + number)))

            def bent(unit_type, units, *others, **named):
                units = [bend(unit) if unit_type == 3 and unit[0] == kind else unit for unit in units]
                return frame(unit_type, units, *others, **named)
            maker.Frame, self.chain.table_leaf = bent, None
            version = self.chain.push([image], riders=True)
            maker.Frame = frame
            with self.subTest(text, number=number):
                self.refused("", text, version)

    def test_critical_extensions_features_and_headers_are_unsupported(self):
        before = maker.extensions
        maker.extensions = lambda *items: before(*items, (0x8001, b""))
        version = self.chain.push([maker.database_member(self.page(90))])
        maker.extensions = before
        self.refused("unsupported", "critical extension", version)
        for at, value in ((8, 1), (9, 2), (10, 8), (11, 1)):
            forge_seal = self.forge.seal(maker.TOMBSTONE, meta=b"x" * 40)
            bent = bytearray(forge_seal)
            bent[at] = value
            name = self.forge.named(f"tomb/{self.chain.id.hex()}", bytes(bent))
            self.assertIn("unsupported", run(self.root, *self.key, "list")[2])
            os.remove(os.path.join(self.root, "tomb", self.chain.id.hex(), f"{len(bent)}-{name}"))
        self.forge.configuration(2, features=1)
        self.assertEqual(run(self.root, *self.key, "list")[0], 1)

    def test_cores_and_bodies_against_the_rules_are_refused(self):
        def push(tag, **bent):
            before = {name: getattr(self.chain, name) for name in bent}
            vars(self.chain).update(bent)
            version = self.chain.push([maker.database_member(self.page(tag))], riders=True)
            vars(self.chain).update(before)
            return version
        self.refused("malformed", "impossible name", push(100, host=""))
        self.refused("malformed", "impossible name", push(101, database="a\0b"))
        self.refused("malformed", "does not go with its sequence", push(102, previous=bytes(32)))
        self.refused("malformed", "next pack number", push(103, next_pack=1))
        self.refused("malformed", "next pack number", push(104, next_pack=0))
        core, units = self.chain.core, b"\1" + maker.u32(512)
        for unit_type, kind, text in ((4, "unsupported", "unit type 4"), (2, "malformed", "do not agree")):
            with self.subTest(unit_type):
                self.chain.core = lambda *arguments: core(*arguments).replace(units, bytes([unit_type]) + units[1:])
                self.refused(kind, text, push(105 + unit_type))
                self.chain.core = core

    def test_a_pack_table_that_names_a_pack_twice_is_refused(self):
        number, again = max(self.chain.entries), self.chain.next_pack
        self.chain.entries[again] = maker.u32(again) + self.chain.entries[number][4:]
        self.chain.next_pack += 1
        version = self.chain.push([maker.database_member(self.page(105))], riders=True)
        self.refused("malformed", "names a pack twice", version)

    def test_an_annotation_of_another_type_is_passed_over(self):
        last = self.chain.versions[-1]
        self.chain.annotate(last, 5, (1, "not this"), (9, "new"))
        code, out, err = run(self.root, *self.key, "list", "--json")
        self.assertEqual(code, 0)
        self.assertIn("unsupported: the annotation has another type", err)
        self.assertEqual([v["tags"] for v in json.loads(out)["versions"] if v["id"] == last["id"]], [["tag"]])

    def test_a_tag_that_is_there_keeps_its_place(self):
        last = self.chain.versions[-1]
        cases = (1, "new", ["tag", "new"]), (1, "tag", ["tag", "new"]), (2, "tag", ["new"])
        for time, (kind, tag, tags) in enumerate(cases):
            self.chain.annotate(last, 2 + time, (kind, tag))
            self.assertEqual(self.listed(last)["tags"], tags)

    def test_what_was_found_damaged_and_drills_that_failed_are_marked(self):
        last = self.chain.versions[-1]
        cases = ((7, "page 3"), "found damaged", "page 3", None), ((6, b"\1no rows"), "drill failed", "page 3", False), \
            ((7, b""), "drill failed", None, False), ((6, b"\0"), None, None, True), ((6, b"odd"), None, None, True)
        for time, (said, mark, damaged, passed) in enumerate(cases):
            self.chain.annotate(last, 20 + time, said)
            listed = self.listed(last)
            self.assertEqual((listed["foundDamaged"], listed["drillPassed"]), (damaged, passed))
            line = next(l for l in run(self.root, *self.key, "list")[1].splitlines() if l.startswith(last["id"][:8]))
            self.assertEqual([m for m in ("found damaged", "drill failed") if m in line][-1:], [mark] if mark else [])

    def test_a_list_needs_no_packs(self):
        listed = run(self.root, *self.key, "list", "--json")
        shutil.rmtree(os.path.join(self.root, "packs"))
        self.assertEqual(run(self.root, *self.key, "list", "--json"), listed)

    def test_an_annotation_that_names_another_sequence_for_its_version_says_nothing(self):
        last = self.chain.versions[-1]
        for sequence, code in ((1, 0), (0, 13)):
            self.chain.annotate(dict(last, sequence=sequence), 5, (1, "not this"), (4, b""))
            found, _, err = run(self.root, *self.key, "list")
            self.assertEqual((found, "malformed: the annotation is said of version 0" in err), (code, code == 13), err)
            self.assertEqual((self.listed(last)["tags"], self.listed(last)["pinned"]), (["tag"], False))

    def test_a_version_taken_back_from_its_tombstone_is_not_forgotten(self):
        last = self.chain.versions[-1]
        names = [self.chain.forget((last["sequence"], last["sequence"]), delete=False) for _ in range(2)]

        def forgotten():
            versions = json.loads(run(self.root, *self.key, "list", "--json")[1])["versions"]
            return [v["forgotten"] for v in versions if v["id"] == last["id"]]
        self.assertEqual(forgotten(), [True])
        self.chain.annotate(last, 1, (8, bytes.fromhex(names[0])))
        self.assertEqual(forgotten(), [True])
        self.chain.annotate(last, 0, (8, bytes(32) + bytes.fromhex(names[1])))
        self.assertEqual(forgotten(), [False])
        self.chain.forget((last["sequence"], last["sequence"]), delete=False)
        self.assertEqual(forgotten(), [True])

    def listed(self, version):
        """What `list` says of a version."""
        versions = json.loads(run(self.root, *self.key, "list", "--json")[1])["versions"]
        return next(v for v in versions if v["id"] == version["id"])

    def restored(self, name, version):
        """Restores what answers to a name: it must be this version."""
        code, _, err = run(self.root, *self.key, "restore", name, "-o", self.path("out"))
        self.assertEqual((code, digest(self.path("out"))), (0, version["sha256"]), err)
        os.remove(self.path("out"))
        shutil.rmtree(self.path("out.companions"), ignore_errors=True)

    def newest_pack(self):
        names = self.chain.names
        return os.path.join(self.root, "packs", self.chain.id.hex(), names[self.chain.next_pack - 1].hex())

    def test_a_revision_that_lacks_packs_does_not_stand_before_the_one_below_it(self):
        image = maker.database_member(self.page(120))
        version = self.chain.push([image])
        below = self.newest_pack()
        version = self.chain.push([image], revision_of=version)
        above = self.newest_pack()
        self.assertEqual((self.listed(version)["revision"], below == above), (1, False))
        for lose in (lambda: write(above, read(above)[:-1]), lambda: os.remove(above)):
            lose()
            self.assertEqual(self.listed(version)["revision"], 0)
            self.restored("latest", version)
        os.remove(below)
        self.assertEqual(self.listed(version)["revision"], 1)
        self.refused("damaged", "is missing", version)

    def test_a_revision_whose_body_is_against_the_rules_does_not_count(self):
        nodes, table = self.chain.map_nodes, self.chain.pack_table

        def deeper(places, node):
            depth, root = nodes(places, node)
            return depth + 1, root

        def somewhere(places, node):
            depth, root = nodes(places, node)
            return depth, root if depth else maker.Place(1, 0, 0)

        def unnumbered(in_pack):
            return [leaf[:1] + bytes(4) + leaf[5:] for leaf in table(in_pack)[0]], []

        def without_epoch(in_pack):
            return [leaf[:49] + bytes(4) + leaf[53:] for leaf in table(in_pack)[0]], []

        empty = {"type": 2, "path": "empty", "mode": 0o600, "modified": 0, "content": b""}
        cases = (("map_nodes", deeper, "another depth"), ("map_nodes", somewhere, "another depth"),
                 ("pack_table", unnumbered, "impossible number"), ("pack_table", without_epoch, "epoch 0"))
        for tag, (name, bent, text) in enumerate(cases, 160):
            members = [maker.database_member(self.page(tag)), empty]
            version = self.chain.push(members)
            setattr(self.chain, name, bent)
            version = self.chain.push(members, nodes_in_pack=True, revision_of=version)
            delattr(self.chain, name)
            with self.subTest(text, tag=tag):
                self.assertEqual((version["revision"], self.listed(version)["revision"]), (1, 0))
                self.assertIn(text, run(self.root, *self.key, "list")[2])

    def test_a_pack_with_one_frame_on_bases_that_cannot_be_its_own_is_refused_whole(self):
        page, other = self.page(170), self.page(171)
        bad = [([(None, 0, 0, 2)], "base that does not exist"), ([(None, 1, 0, 1)], "another type or page size")]
        for number, (runs, text) in enumerate(bad):
            frames = [maker.Frame(1, [page]), maker.Frame(2, [b"block"]), maker.Frame(1, [other], 2, runs, page),
                      maker.Frame(1, [self.page(172 + number)])]
            self.refused("malformed", text, self.push_frames(frames))

    def test_a_pack_that_holds_parts_of_the_table_alone_is_no_base(self):
        chain, base, page = self.chain, self.page(180), self.page(181)

        def leaf(number):
            return maker.Frame(3, [maker.u8(3) + maker.u16(1) + chain.entries[number]])
        first, _ = chain.pack([maker.Frame(1, [self.page(182)])])
        holder, _ = chain.pack([leaf(first), maker.Frame(1, [base])])
        delta, _ = chain.pack([maker.Frame(1, [page], 2, [(chain.names[holder], 1, 0, 1)], base)])
        other, _ = chain.pack([leaf(delta)])
        references = [maker.u8(1) + chain.entries.pop(n) + maker.u32(0) + maker.u16(0) for n in (holder, other)]
        chain.table_leaf, chain.pack_table = (None, None, holder), lambda in_pack: (references, [])
        self.refused("malformed", "is not in the pack table", chain.push([maker.database_member(page)]))

    def test_of_equal_revisions_the_greater_digest_comes_first(self):
        chain = self.chain
        folder = os.path.join(self.root, "versions", chain.id.hex())

        def digests():
            return {name.split("-")[3] for name in os.listdir(folder) if int(name[:12]) == chain.sequence}
        for tag in range(130, 134):
            image = maker.database_member(self.page(tag))
            version = chain.push([image], note="one")
            one = digests()
            found = [(*one, "one", self.newest_pack())]
            # The other one, of another length, shares no pack with it.
            del chain.known[self.forge.fingerprint(1, image["content"])], chain.entries[chain.next_pack - 1]
            version["revision"] = -1
            version = chain.push([image], revision_of=version, note="two" * 2000)
            found.append((*(digests() - one), "two" * 2000, self.newest_pack()))
            (_, note, pack), (_, other_note, _) = sorted(found, reverse=True)
            self.assertEqual((version["revision"], self.listed(version)["note"]), (0, note))
            os.rename(pack, self.path("aside"))
            self.assertEqual(self.listed(version)["note"], other_note)
            self.restored(version["id"], version)
            os.rename(self.path("aside"), pack)

    def test_of_equal_numbers_the_greater_name_counts(self):
        folder = os.path.join(self.root, "config")
        for n in range(2, 8):
            names = []
            for features in (0, 1):
                before = set(os.listdir(folder))
                self.forge.configuration(n, features=features)
                names += set(os.listdir(folder)) - before
            self.assertEqual(run(self.root, *self.key, "list")[0], int(names[1] > names[0]))

    def test_an_older_keyring_or_configuration_takes_no_authentic_ones_place(self):
        def plant(kind, data):
            folder = "keyring" if kind == maker.KEYRING else "config"
            self.forge.numbered(folder, 9, data)
            return os.path.join(self.root, folder, f"9-{len(data)}-{maker.sha(data).hex()}")
        for kind, folder in ((maker.KEYRING, "keyring"), (maker.CONFIGURATION, "config")):
            genuine = read(next(p for p in self.files if f"/{folder}/" in p))
            own = {"keyring": lambda: self.forge.keyring(9), "config": lambda: self.forge.configuration(9)}[folder]
            cases = ((lambda d: b"\1" + d[1:], 1, "unsupported"), (lambda d: d + b"\0\1", 13, "padding"))
            for bend, code, text in cases:
                seal = self.forge.seal
                self.forge.seal = lambda kind, meta: seal(kind, meta=meta, bend_directory=bend)
                own()
                self.forge.seal = seal
                found, _, err = run(self.root, *self.key, "list")
                self.assertEqual((found, text in err), (code, True), err)
                planted = next(n for n in os.listdir(os.path.join(self.root, folder)) if n.startswith("9-"))
                os.remove(os.path.join(self.root, folder, planted))
            # Needs no key: it must not lock anybody out.
            for bent in (genuine[:8] + b"\2" + genuine[9:], genuine[:128] + b"\0" + genuine[128:]):
                path = plant(kind, bent)
                self.assertIsNotNone(self.listed(self.chain.versions[-1]))
                os.remove(path)

    def test_a_tombstone_forgets_at_its_end_only_the_version_that_it_names(self):
        before = self.chain.versions[-1]
        last = self.chain.push([maker.database_member(self.page(97))])
        for first in (last, before):
            self.chain.forget((first["sequence"], last["sequence"]), delete=False, core_hash=bytes(31) + b"x")
            self.assertEqual([self.listed(v)["forgotten"] for v in (before, last)], [first is before, False])
            self.restored("latest", last)
        self.chain.forget((last["sequence"], last["sequence"]), delete=False)
        self.assertEqual(self.listed(last)["forgotten"], True)

    def test_a_version_whose_writer_could_not_read_the_one_before_continues_whatever_stands_there(self):
        chain, last = self.chain, self.chain.versions[-1]
        unknown = maker.sha(f"unreadable {chain.id.hex()} {last['sequence']}".encode())

        def push(tag):
            chain.previous = unknown
            return chain.push([maker.database_member(self.page(tag))])

        def listing():
            code, _, err = run(self.root, *self.key, "list")
            return code, "forked" in err, "lacks sequences" in err
        behind = push(96)
        self.assertEqual(listing(), (0, False, False))
        newest = max(p for p in self.files if "/versions/" in p)
        write(newest, b"x" + read(newest)[1:])
        self.assertEqual(listing(), (13, False, False))
        self.restored("latest", behind)
        chain.forget((last["sequence"], last["sequence"]))
        self.assertEqual(listing(), (0, False, False))
        chain.forget((last["sequence"], last["sequence"]), core_hash=unknown)
        self.assertEqual(listing(), (0, False, False))
        push(95)  # it says so of another place than the one before it
        self.assertEqual(listing(), (13, True, False))

    def test_what_a_range_continues_is_looked_at_whether_versions_stand_or_not(self):
        chain, first = self.chain, self.chain.versions[0]["core"][25:57]  # version 1 was forgotten
        second, third = (bytes.fromhex(v["id"]) for v in chain.versions)
        other, folder = maker.sha(b"other"), os.path.join(self.root, "tomb", chain.id.hex())
        kept = set(os.listdir(folder))

        def expect(code, text, *ranges):
            for number, last, previous, core_hash in ranges:
                chain.forget((number, last), delete=False, previous=previous, core_hash=core_hash)
            found, _, err = run(self.root, *self.key, "list")
            self.assertEqual((found, text in err), (code, True), err)
            for name in set(os.listdir(folder)) - kept:
                os.remove(os.path.join(folder, name))
        expect(13, "forked", (2, 2, other, second))
        expect(13, "forked", (4, 4, other, other))
        expect(13, "lacks sequences 4 to 4", (5, 5, other, other))
        expect(13, "forked", (1, 1, other, first))
        expect(0, "", (2, 2, first, second), (2, 2, first, other))
        expect(0, "", (2, 3, first, third), (3, 4, second, other))
        expect(0, "", (2, 5, first, other), (3, 3, other, third))
        chain.previous = other
        chain.push([maker.database_member(self.page(140))])
        expect(13, "forked")
        expect(0, "", (2, 5, first, other))

    def test_a_manifest_that_cannot_be_read_is_damage_whether_its_version_was_forgotten_or_not(self):
        version = self.chain.versions[0]
        path = next(p for p in self.files if "/versions/" in p and os.path.basename(p).startswith("000000000002-"))
        write(path, b"x" + read(path)[1:])
        for command in ("list", "check"):
            self.assertEqual(run(self.root, *self.key, command)[0], 13)
        name = self.chain.forget((2, 2), delete=False, previous=version["core"][25:57])
        for command in ("list", "check"):
            code, _, err = run(self.root, *self.key, command)
            self.assertEqual((code, os.path.basename(path) in err), (13, True), err)
        self.chain.annotate(version, 1, (8, bytes.fromhex(name)))
        self.assertEqual(run(self.root, *self.key, "list")[0], 13)

    def test_what_lies_beyond_a_cut_is_not_genuine(self):
        last = self.chain.versions[-1]
        self.forge.roots[2] = bytes(32)
        self.forge.keyring(2, [(1, self.chain.id, last["sequence"], bytes.fromhex(last["id"]))])
        forged = self.chain.push([maker.database_member(self.page(99))])
        self.refused("malformed", "beyond the keyring's cut", forged)
        code, _, err = run(self.root, *self.key, "restore", "latest", "-o", self.path("out"))
        self.assertEqual((code, digest(self.path("out"))), (0, last["sha256"]), err)

    def test_another_version_in_the_place_of_a_cut_is_not_genuine(self):
        last = self.chain.versions[-1]
        self.forge.roots[2] = bytes(32)
        self.forge.keyring(2, [(1, self.chain.id, last["sequence"], bytes.fromhex(last["id"]))])
        other = maker.Chain(self.forge, "app")
        other.sequence, other.previous = last["sequence"] - 1, bytes.fromhex(self.chain.versions[-2]["id"])
        forged = other.push([maker.database_member(self.page(94))])
        self.assertEqual(forged["sequence"], last["sequence"])
        self.refused("malformed", "beyond the keyring's cut", forged)
        self.chain.annotate(forged, 1, (1, "tag"))
        self.assertIn("malformed: it is beyond the keyring's cut", run(self.root, *self.key, "list")[2])
        self.restored("latest", last)

    def test_a_tombstone_of_a_key_that_was_retired_covers_nothing_behind_the_cut(self):
        last = self.chain.versions[-1]
        self.forge.roots[2] = bytes(32)
        self.forge.keyring(2, [(1, self.chain.id, last["sequence"], bytes.fromhex(last["id"]))])
        self.forge.epoch = 2
        genuine = self.chain.push([maker.database_member(self.page(98))])
        for epoch, forgotten in ((1, False), (2, True)):
            self.forge.epoch = epoch
            self.chain.forget((genuine["sequence"], genuine["sequence"]), delete=False)
            versions = json.loads(run(self.root, *self.key, "list", "--json")[1])["versions"]
            self.assertEqual([v["forgotten"] for v in versions if v["id"] == genuine["id"]], [forgotten])

    def test_a_fork_is_named_and_latest_refused(self):
        other = maker.Chain(self.forge, "app")
        other.push([maker.database_member(self.page(5))])
        other.sequence, other.previous = 2, bytes.fromhex(self.chain.versions[0]["id"])
        fork = other.push([maker.database_member(self.page(6))])
        code, _, err = run(self.root, *self.key, "restore", "app:latest", "-o", self.path("out"))
        self.assertEqual((code, "forked" in err), (13, True), err)
        code, _, err = run(self.root, *self.key, "restore", fork["id"], "-o", self.path("out"))
        self.assertEqual((code, digest(self.path("out"))), (0, fork["sha256"]), err)

    def test_an_object_of_another_kind_chain_or_repository_is_refused(self):
        tomb = next(p for p in self.files if "/tomb/" in p)
        shutil.copy(tomb, os.path.join(os.path.dirname(tomb).replace("tomb", "notes"), os.path.basename(tomb)))
        self.assertIn("where 6 belongs", run(self.root, *self.key, "list")[2])
        elsewhere = os.path.join(self.root, "versions", "0" * 32)
        os.makedirs(elsewhere)
        newest = max(p for p in self.files if "/versions/" in p)
        shutil.copy(newest, elsewhere)
        self.assertIn("not that of its name", run(self.root, *self.key, "list")[2])

    # What anybody can plant locks nobody out

    def plant(self, folder, name, content):
        os.makedirs(os.path.join(self.root, folder), exist_ok=True)
        write(os.path.join(self.root, folder, name), content)

    def test_a_planted_repository_file_stops_nobody(self):
        for start in (b"\x89SLRP\r\n\x1a\1", b"anything."):
            data = start + bytes(55)
            name = f"{'0' * 32}-64-{hashlib.sha256(data).hexdigest()}"
            self.plant("repo", name, data)
            self.assertEqual(self.outcome(), 2)
        # Where nothing else is, it may be of a program to come.
        shutil.rmtree(os.path.join(self.root, "repo"))
        shutil.rmtree(os.path.join(self.root, "keys"))
        self.plant("repo", f"{'0' * 32}-64-{hashlib.sha256(b'%b' % data).hexdigest()}", data)
        self.assertEqual(run(self.root, *self.key, "list")[0], 13)

    def test_a_planted_repository_with_slots_of_its_own_stops_nobody(self):
        slot = read(next(p for p in self.files if "/keys/2-" in p))
        for identity in (bytes(16), b"\xff" * 16):
            data = b"\x89SLRP\r\n\x1a" + bytes(8) + identity + bytes(32)
            self.plant("repo", f"{identity.hex()}-64-{hashlib.sha256(data).hexdigest()}", data)
            # Of a program to come, with more memory than there is, with all that a slot may ask for.
            for number, fields in enumerate((b"\x09\0\0\0", b"\1\x14\x10\4", b"\1\x14\x0f\4"), 90):
                planted = slot[:9] + fields + slot[13:16] + identity + slot[32:]
                self.plant("keys", f"{number}-176-{hashlib.sha256(planted).hexdigest()}", planted)
        secret = ("--passphrase-file", self.path("pass"))
        with little_memory() as asked:
            for key, work in ((self.key, []), (secret, [1 << 15])):
                code, _, err = run(self.root, *key, "list")
                self.assertEqual((code, asked, "keys/" in err), (0, work, False), err)
            write(self.path("pass"), b"another")
            code, _, err = run(self.root, *secret, "list")
            self.assertEqual((code, "does not fit the slot" in err), (12, True), err)
        self.assertEqual(self.outcome(), 2)

    def test_what_an_init_left_that_was_interrupted_is_no_repository(self):
        left = maker.Forge(self.root, seed=6, log_n=15)
        left.slot(5, 2, maker.sha(b"l" * 32))
        left.keyring(3)
        left.configuration(3)
        write(self.path("left"), b"l" * 32)
        key = ("--key-file", self.path("left"))
        for lost in (False, True):
            if lost:
                shutil.rmtree(os.path.join(self.root, "repo"))
            code, out, err = run(self.root, *key, "list")
            self.assertEqual((code, out, "wrong key" in err), (12, "", True), err)
            self.assertEqual(self.outcome(), 2)
        # With a version of its own it is one, also where nothing but the first bytes of that are left.
        chain = maker.Chain(left, "left")
        image = maker.Database(512)("CREATE TABLE a(b)")
        chain.push([maker.database_member(image)])
        self.assertEqual(len(json.loads(run(self.root, *key, "list", "--json")[1])["versions"]), 1)
        for folder, _, names in os.walk(os.path.join(self.root, "versions", chain.id.hex())):
            for name in names:
                self.bend(os.path.join(folder, name))
        self.assertNotEqual(run(self.root, *key, "list")[0], 12)

    def test_a_folder_called_like_a_slot_or_a_repository_file_stops_nobody(self):
        for name in (f"keys/7-176-{'0' * 64}", f"repo/{'0' * 32}-64-{'0' * 64}"):
            os.mkdir(os.path.join(self.root, name))
        os.symlink("nowhere", os.path.join(self.root, f"keys/8-176-{'0' * 64}"))
        self.assertEqual(self.outcome(), 2)

    def test_planted_slots_that_ask_for_much_are_tried_last(self):
        slot = bytearray(read(next(p for p in self.files if "/keys/2-" in p)))
        slot[10:13] = 20, 15, 4
        self.plant("keys", f"1-176-{hashlib.sha256(slot).hexdigest()}", bytes(slot))
        secret = ("--passphrase-file", self.path("pass"))
        with little_memory() as asked:
            self.assertEqual((run(self.root, *secret, "list")[0], asked), (0, [1 << 15]))
            os.remove(next(p for p in self.files if "/keys/2-" in p))
            code, _, err = run(self.root, *secret, "list")
        self.assertEqual((code, "needs" in err and "of memory" in err, "Error(" in err), (1, True, False), err)

    # What is known of a version

    def test_a_version_that_was_damaged_when_it_was_pushed_says_so(self):
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        for flags, expected, text in ((1, 13, "found it damaged"), (2, 0, "could not check it")):
            version = self.chain.push([image], flags=flags)
            code, out, err = run(self.root, *self.key, "restore", version["id"], "-o", self.path("out"))
            self.assertEqual((code, digest(self.path("out")), text in err), (expected, version["sha256"], True), err)
            os.remove(self.path("out"))
        self.assertIn("sound (damaged source)", run(self.root, *self.key, "check")[1])

    def test_an_older_state_is_refused_by_a_head_code(self):
        def code(version):
            return f"{version['sequence']}-{version['id'][:16]}"

        second, third = self.chain.versions
        first = {"sequence": 1, "id": second["core"][25:57].hex()}  # forgotten: the tombstone holds its hash
        for head, expected in ((code(first), 0), (code(second), 0), (code(third), 0), (code(third).upper(), 0),
                               (f"3-{second['id'][:16]}", 13), (f"1-{second['id'][:16]}", 13), (f"4-{'0' * 16}", 13),
                               ("3", 2), (f"0-{'0' * 16}", 2)):
            ended, _, err = run(self.root, *self.key, "restore", "latest", "-o", self.path("out"), "--expect", head)
            self.assertEqual(ended, expected, head + err)
            if os.path.exists(self.path("out")):
                os.remove(self.path("out"))
                shutil.rmtree(self.path("out.companions"))
            self.assertEqual(ended == 0, head in (code(first), code(second), code(third), code(third).upper()))
        os.remove(max(p for p in self.files if "/versions/" in p))
        ended, _, err = run(self.root, *self.key, "restore", "latest", "-o", self.path("out"), "--expect", code(third))
        self.assertEqual((ended, "nothing is as new" in err), (13, True), err)
        self.assertIn(f"  {second['sequence']}  ", run(self.root, *self.key, "list")[1])

    def bend(self, path):
        content = bytearray(read(path))
        content[200] ^= 1
        write(path, content)

    def test_what_does_no_harm_any_more_is_named_and_ends_with_0(self):
        for folder in ("keyring", "config"):
            path = next(p for p in self.files if f"/{folder}/" in p)
            for number in (7, 8):
                self.plant(folder, f"{number}-" + os.path.basename(path).split("-", 1)[1], read(path))
            self.bend(path)
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        version = self.chain.push([image])
        spoilt = max(os.path.join(f, n) for f, _, names in os.walk(self.path("repository/versions")) for n in names)
        self.assertIn("/000000000004-0000-", spoilt)
        self.bend(spoilt)
        self.assertEqual(run(self.root, *self.key, "list")[0], 13)
        self.bend(spoilt)
        self.chain.push([image], revision_of=version)
        self.bend(spoilt)
        for command in ("list", "check"):
            code, _, err = run(self.root, *self.key, command)
            self.assertEqual((code, "keyring/1-" in err, "config/1-" in err, os.path.basename(spoilt) in err),
                             (0, True, True, True), err)

    def test_a_later_revision_answers_for_no_manifest_of_a_number_that_its_version_has(self):
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        version = self.chain.push([image])
        self.chain.push([image], revision_of=version)
        self.assertEqual(run(self.root, *self.key, "list")[0], 0)
        # Another version's, of a machine that pushes as this one.
        name = f"000000000004-0000-5000-{'17' * 32}"
        self.plant("versions/" + self.chain.id.hex(), name, bytes(5000))
        code, _, err = run(self.root, *self.key, "list")
        self.assertEqual((code, name in err), (13, True), err)

    def test_thousands_of_versions_are_held_in_outline(self):
        import tracemalloc
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        files = [{"type": 2, "path": f"f{i}", "mode": 0o600, "modified": 0, "content": b""} for i in range(3000)]
        for number in range(12):
            self.chain.push([image, *files], note=str(number))
        options = unseal.arguments().parse_args([self.root, *self.key, "list"])
        secret = unseal.read_secret(options)
        tracemalloc.start()
        repository = unseal.open_repository(self.root, secret)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertEqual(len(repository.versions), 14)
        self.assertLess(held, 1 << 20)

    # What is whole comes back all the same

    def test_an_object_that_cannot_be_read_is_the_trouble_of_that_object(self):
        other = maker.Chain(self.forge, "other").push([maker.database_member(self.page(150))])
        folder = f"/{self.chain.id.hex()}/"
        for at, (path, blind) in enumerate((p, b) for p in self.files if folder in p for b in (False, True)):
            with bad_sectors(path, error=(errno.EIO, errno.EUCLEAN, errno.EBADMSG)[at % 3], blind=blind):
                self.restored("other:latest", other)
                code, out, err = run(self.root, *self.key, "check")
                self.assertEqual((code, f"{os.path.basename(path)} cannot be read" in err), (13, True), err)
                self.assertIn(f"{other['id']}  sound", out)
                harms_lists = not any(f"/{kind}/" in path for kind in ("packs", "gone"))
                self.assertEqual(run(self.root, *self.key, "list")[0], 13 if harms_lists else 0)
            # What this user may not read is no damage.
            with bad_sectors(path, error=errno.EACCES, blind=blind):
                code, _, err = run(self.root, *self.key, "check")
                self.assertEqual((code, "cannot be read" in err), (1, False), err)

    def test_what_the_disk_does_not_show_is_not_taken_for_gone(self):
        newest = max(p for p in self.files if "/versions/" in p)
        with bad_sectors(newest, blind=True):
            code, _, err = run(self.root, *self.key, "list")
            self.assertEqual((code, f"{os.path.basename(newest)} cannot be read" in err), (13, True), err)
            code, _, err = run(self.root, *self.key, "restore", "latest", "-o", self.path("out"))
            self.assertEqual((code, os.path.lexists(self.path("out"))), (13, False), err)
        folders = sorted({folder for folder, _, _ in os.walk(self.root)} - {self.root})
        self.assertEqual(len(folders), 14)
        for path in folders:
            folder = os.path.relpath(path, self.root)
            kind = folder.partition("/")[0]
            listed = 0 if folder in ("repo", "tomb", "notes") or kind in ("packs", "gone") else 13
            checked = 0 if folder in ("repo", "tomb", "notes") else 13
            with self.subTest(folder), bad_sectors(path, blind=True):
                for command, expected in (("list", listed), ("check", checked)):
                    code, _, err = run(self.root, *self.key, command)
                    self.assertEqual((code, f"{folder}/ cannot be read" in err), (expected, expected > 0), err)

    def test_latest_is_none_of_those_that_are_left_where_a_chain_does_not_show(self):
        def chosen(text):
            code, _, err = run(self.root, *self.key, "restore", text, "-o", self.path("out"))
            self.assertEqual(os.path.lexists(self.path("out")), code == 0, err)
            if code == 0:
                os.remove(self.path("out"))
                shutil.rmtree(self.path("out.companions"), ignore_errors=True)
            return code

        other = maker.Chain(self.forge, "other").push([maker.database_member(self.page(150))])
        own = [p for p in self.files if f"/versions/{self.chain.id.hex()}/" in p]
        folder = os.path.dirname(own[0])
        for error in (errno.EIO, errno.EUCLEAN):
            with bad_sectors(folder, error=error, blind=True):
                # The folder may hold a newer chain of any name.
                texts = ("app:latest", "latest", "other:latest", "nobody:latest", other["id"])
                self.assertEqual([chosen(text) for text in texts], [13, 13, 13, 13, 0])
        # What forgets versions may stand there, too.
        for kind in ("tomb", "notes"):
            with bad_sectors(folder.replace("versions", kind), blind=True):
                texts = ("app:latest", "other:latest", self.chain.versions[-1]["id"])
                self.assertEqual([chosen(text) for text in texts], [13, 0, 0])
        for path in own:
            content = bytearray(read(path))
            content[500] ^= 1
            write(path, content)
        texts = ("app:latest", "latest", "other:latest")
        self.assertEqual([chosen(text) for text in texts], [13, 13, 0])

    def copied(self, path, number):
        """Puts the bytes there once more."""
        copy = os.path.join(os.path.dirname(path), f"{number}-" + os.path.basename(path).split("-", 1)[1])
        shutil.copy(path, copy)
        return copy

    def test_one_of_the_objects_that_open_a_repository_locks_nobody_out(self):
        last = self.chain.versions[-1]
        for start in ("keys/1-", "keyring/1-", "config/1-"):
            path = next(p for p in self.files if f"/{start}" in p)
            copies = path, self.copied(path, 7)
            for copy, blind in zip(copies, (False, True)):
                with bad_sectors(copy, blind=blind):
                    self.restored("latest", last)
                    code, _, err = run(self.root, *self.key, "check")
                    self.assertEqual((code, f"{os.path.basename(copy)} cannot be read" in err), (13, True), err)
                with bad_sectors(*copies, blind=blind):
                    code, _, err = run(self.root, *self.key, "list")
                    self.assertEqual((code, f"{start.split('/')[0]}/" in err, "cannot be read" in err), (13, True, True), err)
        for blind in (False, True):
            with bad_sectors(next(p for p in self.files if "/repo/" in p), blind=blind):
                self.restored("latest", last)
        write(self.path("pass"), b"another")
        path = next(p for p in self.files if "/keys/2-" in p)
        with bad_sectors(self.copied(path, 8)):
            self.assertEqual(run(self.root, "--passphrase-file", self.path("pass"), "list")[0], 12)

    def test_without_a_configuration_all_else_is_read(self):
        last = self.chain.versions[-1]
        path = next(p for p in self.files if "/config/1-" in p)
        genuine = read(path)
        for content in (None, genuine[:-1], genuine[:200] + bytes([genuine[200] ^ 1]) + genuine[201:]):
            os.remove(path) if content is None else write(path, content)
            self.restored("latest", last)
            for command in ("list", "check"):
                code, out, err = run(self.root, *self.key, command)
                self.assertEqual((code, last["id"][:8] in out, "no configuration of the repository" in err),
                                 (13, True, True), err)
        # One that claims to be of a later format may be what counts.
        os.remove(path)
        later = genuine[:8] + b"\2" + genuine[9:]
        self.forge.numbered("config", 1, later)
        code, out, err = run(self.root, *self.key, "list")
        self.assertEqual((code, out), (1, ""), err)

    def test_a_slot_that_cannot_be_read_may_be_the_one_that_is_meant(self):
        self.forge.slot(3, 1, b"other")
        path = next(p for p in self.files if "/keys/2-" in p)
        copies = path, self.copied(path, 8)
        write(self.path("third"), b"third")
        for blind in (False, True):
            for secret, unread, expected in (("pass", copies, 13), ("third", copies, 13),
                                             ("third", copies[:1], 12), ("third", copies[1:], 12)):
                with self.subTest(secret, unread=len(unread)), bad_sectors(*unread, blind=blind):
                    code, out, err = run(self.root, "--passphrase-file", self.path(secret), "list")
                    self.assertEqual((code, "unseal: damaged: keys/" in err), (expected, expected == 13), err)
        # What its other copy is, is known: a slot of another kind of secret.
        os.remove(next(p for p in self.files if "/keys/1-" in p))
        with bad_sectors(path):
            code, _, err = run(self.root, *self.key, "list")
        self.assertEqual((code, "no key slot for this kind of secret" in err), (12, True), err)

    def test_a_repository_whose_keyring_cannot_be_read_does_not_hide_behind_an_empty_one(self):
        path = next(p for p in self.files if "/keyring/" in p)
        copies = path, self.copied(path, 2)
        other = maker.Forge(self.root, seed=6, log_n=15)
        other.repository_file()
        other.slot(4, 2, maker.sha(b"k" * 32))
        other.keyring(3)
        other.configuration(1)
        self.assertEqual(run(self.root, *self.key, "list")[0], 0)
        with bad_sectors(*copies):
            code, out, err = run(self.root, *self.key, "list")
            self.assertEqual((code, out, "keyring/" in err, "cannot be read" in err), (13, "", True, True), err)
        for copy in copies:
            self.bend(copy)
        code, out, err = run(self.root, *self.key, "list")
        self.assertEqual((code, out), (13, ""), err)

    def test_an_older_keyring_does_not_take_the_place_of_one_that_cannot_be_read(self):
        def listing(*paths):
            found = set()
            for blind in (False, True):
                with bad_sectors(*paths, blind=blind):
                    code, out, err = run(self.root, *self.key, "list", "--json")
                found.add(len(json.loads(out)["versions"]) if out else code)
            self.assertEqual(len(found), 1)
            return found.pop()

        def newest():
            folder = os.path.join(self.root, "keyring")
            return os.path.join(folder, max(os.listdir(folder), key=lambda name: int(name.split("-")[0])))
        old = newest()
        self.forge.roots[2] = bytes(32)
        self.forge.keyring(2)
        self.forge.epoch = 2
        self.chain.push([maker.database_member(self.page(151))])
        new = newest()
        self.assertEqual([listing(), listing(old), listing(new)], [3, 3, 13])
        copy = self.copied(new, 3)
        self.assertEqual([listing(new), listing(copy), listing(new, copy)], [3, 3, 13])
        # Other bytes than its own do not stand in for it.
        self.bend(new)
        self.assertEqual(listing(copy), 13)
        self.bend(new)
        # A stranger's stands in nobody's way as long as it can be told for one.
        self.forge.numbered("keyring", 8, bytes(4096))
        stranger = newest()
        twin = self.copied(stranger, 9)
        self.assertEqual([listing(stranger), listing(twin), listing(stranger, twin)], [3, 3, 13])
        os.remove(stranger)
        os.remove(twin)
        # The older one under a greater number counts, whether it can be read there or its copy stands in.
        again = self.copied(old, 10)
        self.assertEqual([listing(), listing(again)], [2, 2])

    def damage(self, index):
        """Flips a byte of a frame that a member of the second version needs; gives the version's id."""
        options = unseal.arguments().parse_args([self.root, *self.key, "list"])
        repository = unseal.open_repository(self.root, unseal.read_secret(options))
        manifest = repository.opened(next(v for v in repository.versions if v.sequence == 2))
        version = unseal.Version(repository, manifest)
        member, a_map = list(zip(manifest.stored, manifest.maps))[index]
        piece = next(p for p in version.pieces(member, *a_map) if p.number not in (unseal.ZEROS, unseal.THE_MANIFEST))
        sealed = version.object(piece.number)
        path = os.path.join(self.root, "packs", manifest.chain, sealed.name)
        content = bytearray(read(path))
        content[sealed.frames[piece.frame].offset] ^= 1
        write(path, content)
        return manifest.id.hex()

    def test_a_damaged_companion_does_not_lock_its_database_out(self):
        identity, out = self.damage(1), self.path("out")
        code, _, err = run(self.root, *self.key, "restore", identity, "-o", out)
        self.assertEqual((code, "--no-companions" in err), (13, True), err)
        self.assertEqual([n for n in os.listdir(self.scratch) if n.startswith("out")], [])
        write(out + ".companions", b"mine")
        code, _, err = run(self.root, *self.key, "restore", identity, "-o", out, "--no-companions")
        self.assertEqual((code, "1 companion file, 3000 bytes, left out as asked" in err), (0, True), err)
        self.assertEqual((digest(out), read(out + ".companions")), (self.versions[identity]["sha256"], b"mine"))

    def test_a_damaged_database_is_no_matter_of_its_companions(self):
        identity = self.damage(0)
        code, _, err = run(self.root, *self.key, "restore", identity, "-o", self.path("out"))
        self.assertEqual((code, "--no-companions" in err), (13, False), err)

    def test_a_file_system_without_links_gets_the_file_by_a_rename(self):
        identity, out = self.chain.versions[-1]["id"], self.path("out")
        with mock.patch.object(os, "link", side_effect=OSError(errno.EPERM, "no links here")):
            code, _, err = run(self.root, *self.key, "restore", identity, "-o", out)
        self.assertEqual((code, digest(out)), (0, self.versions[identity]["sha256"]), err)
        self.assertEqual(sorted(n for n in os.listdir(self.scratch) if n.startswith("out")), ["out", "out.companions"])

        def taken(_, new):
            write(new, b"mine")
            raise OSError(errno.ENOTSUP, "no links here")

        os.remove(out)
        shutil.rmtree(out + ".companions")
        with mock.patch.object(os, "link", side_effect=taken):
            code, _, err = run(self.root, *self.key, "restore", identity, "-o", out)
        self.assertEqual((code, read(out)), (1, b"mine"), err)
        self.assertEqual([n for n in os.listdir(self.scratch) if n.startswith("out")], ["out"])

    def test_check_tells_a_full_disk_from_damage_and_names_the_way_out(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(tempfile, "TemporaryFile", side_effect=full):
            code, out, err = run(self.root, *self.key, "check")
        self.assertEqual((code, out.count("sound"), err.count("was not read")), (1, 0, 4), err)
        self.assertIn("in TMPDIR", err)
        self.assertIn("2 versions and", out)

    def test_a_name_of_several_hosts_is_refused_with_what_each_is_called(self):
        self.assertNotIn("harbour", run(self.root, *self.key, "list")[1])
        image = maker.database_member(maker.Database(512)("CREATE TABLE c(d)"))
        other = maker.Chain(self.forge, "app", host="island").push([image])
        code, _, err = run(self.root, *self.key, "restore", "app:latest", "-o", self.path("out"))
        self.assertEqual((code, "use NAME:latest" in err), (2, False), err)
        for host, version in (("harbour", self.chain.versions[-1]), ("island", other)):
            self.assertIn(f"{version['id'][:8]} (the newest of app of {host})", err)
            lines = run(self.root, *self.key, "list")[1].splitlines()
            self.assertTrue(any(l.startswith(version["id"][:8]) and host in l for l in lines))


if __name__ == "__main__":
    unittest.main()
