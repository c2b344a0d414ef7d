#!/usr/bin/env python3
"""Prints the codecs of all frames of pages in a repository.

    codecs_used.py REPOSITORY KEY_FILE
"""
import importlib.util, os, sys

spec = importlib.util.spec_from_file_location("unseal", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                                     "..", "..", "Scripts", "unseal.py"))
unseal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unseal)

root, key = sys.argv[1:]
repository = unseal.open_repository(root, unseal.read_secret(unseal.arguments().parse_args(
    [root, "--key-file", key, "list"])))
objects = [repository.opened(outline).sealed for outline in repository.versions]
for chain in repository.names("packs", r"[0-9a-f]{32}", folders=True):
    for name in repository.names(f"packs/{chain}", r"[0-9a-f]{64}"):
        with open(os.path.join(root, "packs", chain, name), "rb") as file:
            objects.append(unseal.Sealed.whole(repository.keys, unseal.PACK, file.read()))
print(*sorted({frame.codec for sealed in objects for frame in sealed.frames if frame.type == unseal.PAGE}))
