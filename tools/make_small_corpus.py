#!/usr/bin/env python3
"""A small text with known counts, the same bytes every time.

    tools/make_small_corpus.py OUTPUT

It stands in for the corpus of a small published training job, which is not ours to distribute: 290,599 bytes, 52,600
words separated by white space, 172 kinds of words. The words mean nothing. Frequent ones are frequent as in prose
(the kind of rank r about 1 / r of the time), and each sentence prefers words near those it began with, so that there is
something to learn. Only the standard library, and of it only what gives the same numbers in every version of Python.
"""
import bisect
import collections
import itertools
import pathlib
import random
import sys

BYTES = 290_599
WORDS = 52_600
KINDS = 172


def make_kinds(generator):
    """Distinct words, short ones first."""
    onsets, vowels, endings = "b d f g k l m n p r s t v z st tr".split(), "a e i o u".split(), ["", "", "n", "r", "s", "t"]
    kinds = set()
    while len(kinds) < KINDS:
        syllables = 1 + int(3 * generator.random())
        kinds.add("".join(pick(generator, part) for _ in range(syllables) for part in (onsets, vowels, endings)))
    return sorted(kinds, key=lambda word: (len(word), word))


def pick(generator, choices):
    return choices[int(len(choices) * generator.random())]


def make_words(generator, kinds):
    shares = list(itertools.accumulate(1 / rank for rank in range(1, KINDS + 1)))
    words = list(kinds)  # each at least once
    while len(words) < WORDS:
        topic = int(KINDS * generator.random())
        for _ in range(min(6 + int(12 * generator.random()), WORDS - len(words))):
            if generator.random() < 0.2:
                words.append(kinds[(topic + int(5 * generator.random())) % KINDS])
            else:
                words.append(kinds[bisect.bisect(shares, shares[-1] * generator.random())])
    return words


def fit_bytes(generator, words, kinds):
    """Exchanges words for longer or shorter ones, never the first of a kind, until the text has its size."""
    missing = BYTES - WORDS - sum(map(len, words))  # white space is one byte behind each word
    while missing != 0:
        at = KINDS + int((WORDS - KINDS) * generator.random())
        word = pick(generator, kinds)
        longer = len(word) - len(words[at])
        if longer != 0 and (longer > 0) == (missing > 0) and abs(longer) <= abs(missing):
            words[at] = word
            missing -= longer
    return words


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    generator = random.Random(172)
    kinds = make_kinds(generator)
    words = fit_bytes(generator, make_words(generator, kinds), kinds)
    ends = [generator.random() < 1 / 11 for _ in words]
    ends[-1] = True
    output = pathlib.Path(sys.argv[1])
    output.write_bytes("".join(word + ("\n" if end else " ") for word, end in zip(words, ends)).encode())
    written = output.read_bytes()
    counts = collections.Counter(written.split())
    found = (len(written), sum(counts.values()), len(counts))
    if found != (BYTES, WORDS, KINDS):
        sys.exit(f"{output} has {found} bytes, words and kinds instead of {(BYTES, WORDS, KINDS)}")


if __name__ == "__main__":
    main()
