"""What the tests that compare with other tokenizers share: where things are, what is checked, how a test ends."""
import os
import pathlib
import sys

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
BINARIES = pathlib.Path(os.environ["SHOAL_BINARY_DIR"])
SHOAL = BINARIES / "shoal"
DATA = pathlib.Path(os.environ.get("SHOAL_TEST_DATA", SOURCE.parent / "shared" / "data"))

failures = []
sys.path.insert(0, str(SOURCE / ".deps" / "site"))


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}")
    return holds


def run(test):
    """Exit code of a test that needs the corpora."""
    if not DATA.exists():
        print(f"skipped: no corpora at {DATA} (SHOAL_TEST_DATA)")
        return 77
    test()
    print("all equal" if not failures else f"{len(failures)} differences")
    return 1 if failures else 0
