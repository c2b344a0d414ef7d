#!/usr/bin/python3
"""Deduplication by pages and nothing else: pagelevel.py KNOWN DATABASE RESULT

KNOWN is a file of the hashes of all pages that were ever stored (16 bytes each); it grows. RESULT gets what a store
would have to keep: new pages, 64 compressed together (zstd -3), and 16 bytes of fingerprint for each.
"""

import ctypes, hashlib, os, sys

PAGES = 64


def compressor(level):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compress.restype = library.ZSTD_compressBound.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    bound = library.ZSTD_compressBound(PAGES << 16)
    buffer = ctypes.create_string_buffer(bound)

    def compress(data):
        return ctypes.string_at(buffer, library.ZSTD_compress(buffer, bound, data, len(data), level))

    return compress


def main():
    known_path, database, result = sys.argv[1:]
    known = set()
    if os.path.exists(known_path):
        with open(known_path, "rb") as file:
            while mark := file.read(16):
                known.add(mark)
    compress, group = compressor(3), []
    with open(database, "rb") as source, open(known_path, "ab") as marks, open(result, "wb") as sink:
        size = int.from_bytes(source.read(18)[16:], "big") or 4096
        size = 65536 if size == 1 else size
        source.seek(0)

        def flush():
            if group:
                sink.write(compress(b"".join(group)))
                group.clear()

        while page := source.read(size):
            mark = hashlib.blake2b(page, digest_size=16).digest()
            if mark in known:
                continue
            known.add(mark)
            marks.write(mark)
            sink.write(mark)
            group.append(page)
            if len(group) == PAGES:
                flush()
        flush()


if __name__ == "__main__":
    main()
