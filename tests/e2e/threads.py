"""Real faults of single threads of a process, for tests with the rights to trace it."""
import ctypes
import os
import pathlib
import random
import subprocess
import time

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long
_ATTACH, _DETACH, _PEEKUSER, _POKETEXT, _PEEKTEXT = 16, 17, 3, 4, 1
_RIP = 16 * 8  # its place among the registers of x86-64
_chance = random.Random(os.environ.get("SHOAL_SEED", "1"))
_LOOP = 0xFEEB  # jmp to itself


def _ptrace(request, tid, address=0, data=0):
    ctypes.set_errno(0)
    result = _libc.ptrace(request, tid, address, data)
    if ctypes.get_errno() != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")
    return result & 0xFFFFFFFFFFFFFFFF


def _library_at(pid, address):
    """The name of the file whose code is there."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        begin, _, rest = line.partition("-")
        if int(begin, 16) <= address < int(rest.split()[0], 16):
            return line.rpartition("/")[2]
    return ""


class _Traced:
    """A process whose main thread stands still meanwhile."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        _ptrace(_ATTACH, self.pid)
        os.waitpid(self.pid, 0x40000000)  # __WALL
        return self

    def __exit__(self, *_):
        _ptrace(_DETACH, self.pid)

    def place(self):
        return _ptrace(_PEEKUSER, self.pid, _RIP)

    def loops_at(self, address):
        """Whoever comes there stays."""
        word = _ptrace(_PEEKTEXT, self.pid, address)
        _ptrace(_POKETEXT, self.pid, address, (word & ~0xFFFF) | _LOOP)


def _address_of(pid, function):
    """Of a function of the program, by its name in C++."""
    program = os.readlink(f"/proc/{pid}/exe")
    names = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [int(line.split()[0], 16) for line in names if line.endswith(" T " + function)]
    assert len(found) == 1, f"{program} has {len(found)} functions {function}"
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return found[0] + next(int(line.split("-")[0], 16) for line in maps if line.endswith(program))


def hang_in(pid, function, patience):
    """The main thread of a process never returns from a function of the program; returns when it is there."""
    until = time.monotonic() + patience
    address = _address_of(pid, function)
    with _Traced(pid) as traced:
        traced.loops_at(address)
    while True:
        with _Traced(pid) as traced:
            if traced.place() == address:
                return
        assert time.monotonic() < until, f"the process never calls {function}"
        time.sleep(0.002)


def hang(pid, patience):
    """The main thread of a process computes for ever, in the next operation of a tensor that it is seen in: other threads share the code,
    and would hang as well in a function of the C library."""
    until = time.monotonic() + patience
    while True:
        with _Traced(pid) as traced:
            if _library_at(pid, traced.place()).startswith("libtorch_cpu"):
                return traced.loops_at(traced.place())
        assert time.monotonic() < until, "the process never computes"
        time.sleep(_chance.random() * 0.003)  # another place in its step
