#!/usr/bin/python3
"""Seeded randomness for SQL: the same database on every machine, from functions that do little for each call.

h(seed, i)         a whole number from 0 to 2^63 - 1
words(seed, i, n)  n words of a vocabulary of 4,096, the first ones much more often than the last
noise(seed, i, n)  n bytes that nothing can compress
"""

import random

MASK = (1 << 64) - 1
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def mix(seed, i):
    """splitmix64: neighbours in, strangers out."""
    x = (i * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03 + 0x632BE59BD9B4E019) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def vocabulary():
    maker, made = random.Random(4096), {}
    while len(made) < 4096:
        length = min(12, 2 + int(maker.expovariate(0.3)))
        made["".join(LETTERS[int(25.99 * maker.random() ** 1.7)] for _ in range(length))] = None
    return list(made)


VOCABULARY = vocabulary()
# A word's place is the product of two numbers of 6 bits: small products are common, as frequent words are.
SKEWED = [VOCABULARY[(i >> 6) * (i & 63)] for i in range(4096)]


def words(seed, i, count):
    chosen, bits, left, step = [], 0, 0, 0
    for _ in range(count):
        if left < 12:
            step += 1
            bits, left = mix(seed + step, i), 60
        chosen.append(SKEWED[bits & 4095])
        bits >>= 12
        left -= 12
    return " ".join(chosen)


def register(connection):
    connection.create_function("h", 2, lambda seed, i: mix(seed, i) >> 1, deterministic=True)
    connection.create_function("words", 3, words, deterministic=True)
    connection.create_function(
        "noise", 3, lambda seed, i, n: random.Random(mix(seed, i)).randbytes(n), deterministic=True
    )
