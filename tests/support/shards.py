"""The share of its cases that a script runs, by the variables of GoogleTest's sharding protocol: tests/CMakeLists.txt sets them for
tests with SHARDS. Without them a script runs all of its cases.

    from shards import load_tests  # in a file of unittest: this is the whole use
    for case in share_of(cases): ...
"""
import os
import unittest


def share_of(cases):
    """Every K-th of a list, beginning with this shard's."""
    return list(cases)[int(os.environ.get("GTEST_SHARD_INDEX", "0"))::int(os.environ.get("GTEST_TOTAL_SHARDS", "1"))]


def cases_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases_in(test)
        else:
            yield test


def load_tests(loader, suite, pattern):
    """Called by unittest in place of its own way to collect the tests of a file."""
    return unittest.TestSuite(share_of(cases_in(suite)))
