#!/usr/bin/env python3
"""Scripts/unseal.py against the vectors: it reads each, or refuses it, as the vector says.

    python3 Tests/ReferenceTests/vector_test.py
"""
import hashlib, importlib.util, os, types, unittest
from collections import OrderedDict

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("unseal", os.path.join(HERE, "..", "..", "Scripts", "unseal.py"))
unseal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unseal)

FOLDER = os.path.join(HERE, "..", "SealingTests", "Vectors")
KINDS = {"pack": unseal.PACK, "manifest": unseal.MANIFEST, "keyring": unseal.KEYRING, "condemned": unseal.CONDEMNED,
         "tombstone": unseal.TOMBSTONE, "annotation": unseal.ANNOTATION, "configuration": unseal.CONFIGURATION}
SECRETS = {"passphrase": lambda b: (1, b), "key file": lambda b: (2, unseal.sha256(b)), "recovery key": lambda b: (3, b)}


class Vector:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            head, *parts = file.read().split("\n\n")
        self.fields = dict(line.split(": ", 1) for line in head.splitlines())
        self.expect, self.kind = self.fields["expect"], self.fields["kind"]
        self.bytes, *self.bases = [bytes.fromhex("".join(part.split())) for part in parts]

    def keys(self):
        keys = unseal.Keys(self.field("repository"), self.field("master"))
        plain = unseal.Reader(self.field("keyring"), "the keyring").version()
        unseal.Repository.open_keyring(types.SimpleNamespace(keys=keys), plain)
        return keys

    def field(self, name):
        return bytes.fromhex(self.fields[name])

    def read(self):
        """Everything it holds."""
        if self.kind == "slot":
            name = next(name for name in SECRETS if name in self.fields)
            secret = unseal.Secret(*SECRETS[name](self.field(name)))
            master = unseal.open_slot(self.bytes, self.field("repository"), secret)
            unseal.must(master, "a slot for another kind of secret", "wrong key")
            return master
        if self.kind == "recovery key":
            return unseal.recovery_key(self.bytes.decode())
        name = self.fields.get("name", hashlib.sha256(self.bytes).hexdigest())
        unseal.must(name == hashlib.sha256(self.bytes).hexdigest(), "another name", "damaged")
        keys = self.keys()
        sealed = unseal.Sealed.whole(keys, KINDS[self.kind], self.bytes)
        version = unseal.Version.__new__(unseal.Version)
        version.keys, version.decoded, version.depths, version.fingerprints = keys, OrderedDict(), {}, {}
        version.packs = {unseal.sha256(b): unseal.Sealed.whole(keys, unseal.PACK, b) for b in self.bases}
        version.bases = version.packs
        content = b""
        for frame in sealed.frames:
            content += version.decode(sealed, frame.index)
            if frame.type == unseal.NODE:
                for unit in range(len(frame.lengths)):
                    read_node(version.units(sealed, frame.index, unit, 1))
        read_body(sealed, self.kind)
        return content + sealed.meta


def read_node(data):
    field = unseal.Reader(data, "a node")
    kind = field.u8()
    unseal.must(kind in (1, 2, 3), f"a node is of type {kind}")
    {1: unseal.map_leaf, 2: unseal.map_branch, 3: unseal.table_leaf}[kind](field)


def read_body(sealed, kind):
    """By its own word for the chain and the sequence: what the object's path must say."""
    field, chain = unseal.Reader(sealed.meta, f"the {kind}"), sealed.meta[1:17].hex()
    if kind == "manifest":
        body = unseal.Reader(sealed.meta[2:], "the body")
        unseal.Manifest(sealed, body.take(16).hex(), body.u64(), body.u32())
    elif kind == "keyring":
        bare = types.SimpleNamespace(keys=unseal.Keys(bytes(16), bytes(32)))
        unseal.Repository.open_keyring(bare, field.version())
    elif kind == "configuration":
        unseal.Repository.open_configuration(None, field.version())
    elif kind == "condemned":
        unseal.condemned_body(sealed.meta, chain)
    elif kind == "tombstone":
        unseal.tombstone_body(sealed.meta, chain)
    elif kind == "annotation":
        unseal.annotation_texts(unseal.annotation_body(sealed.meta, chain)[3])


class Vectors(unittest.TestCase):
    def test_every_vector_is_read_or_refused_as_it_says(self):
        names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".txt"))
        self.assertGreater(len(names), 200)
        for name in names:
            vector = Vector(os.path.join(FOLDER, name))
            if vector.kind == "repository file":
                continue
            with self.subTest(name):
                try:
                    content, outcome = vector.read(), "success"
                except unseal.Failure as failure:
                    content, outcome = None, failure.kind
                self.assertEqual(outcome, vector.expect)
                if content is not None:
                    self.assertEqual(hashlib.sha256(content).hexdigest(), vector.fields["content"])


if __name__ == "__main__":
    unittest.main()
