#!/usr/bin/env python3
"""Packs an installation into a Python wheel that carries the command and nothing of Python: `pip install` of the file gives `shoal`.

    cmake --install build/release --prefix DIR --component commands
    tools/make_wheel.py DIR OUT [--cuda ENGINE] [--store]

pip puts bin/ and what the command needs beside it (lib/, libexec/, share/) below the environment's prefix, where they find each other
as in any other installation. With --cuda the wheel is `shoal_cuda`: it has the engine of the cuda build (build/cuda/portable/shoal-engine), and for libtorch
and NVIDIA's libraries it depends on the wheel of torch. --store does not compress, for tests.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import stat
import zipfile

OF_TORCH = re.compile(r"lib(torch|c10|cud|cupti|gomp)")  # libraries that its wheel and those it needs bring
ROOT = pathlib.Path(__file__).resolve().parent.parent


def version():
    return re.search(r'kVersion = "([^"]+)"', (ROOT / "shoal" / "version.h").read_text())[1]


def floor():
    return re.search(r"SHOAL_GLIBC_FLOOR ([0-9.]+)", (ROOT / "cmake" / "Package.cmake").read_text())[1].replace(".", "_")


def torch_version():
    return re.search(r"(?m)^wheel engine torch +(\S+)", (ROOT / "tools" / "deps.lock").read_text())[1]


def metadata(name, needs):
    return (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version()}\nLicense: Apache-2.0\n"
            + "".join(f"Requires-Dist: {need}\n" for need in needs) +
            "Summary: Pre-training of language models, from one CPU process to thousands of GPUs: one C++ command\n"
            "Description-Content-Type: text/markdown\n\n" + (ROOT / "README.md").read_text())


class Wheel:
    def __init__(self, out, name, needs, store):
        tag = f"py3-none-manylinux_{floor()}_x86_64"
        self.info = f"{name}-{version()}.dist-info"
        self.data = f"{name}-{version()}.data"
        self.path = out / f"{name}-{version()}-{tag}.whl"
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_STORED if store else zipfile.ZIP_DEFLATED)
        self.records = []
        self.add(f"{self.info}/METADATA", metadata(name, needs).encode())
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: shoal\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())

    def add(self, name, content, executable=False):
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        entry.compress_type = self.zip.compression
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(content)}")

    def close(self):
        self.records.append(f"{self.info}/RECORD,,")
        self.zip.writestr(f"{self.info}/RECORD", "\n".join(self.records) + "\n")
        self.zip.close()


def files_of(prefix):
    """Yields each file with the name it is to have. A wheel has no links: a library is packed under the name by which it is looked for."""
    targets = {path.resolve() for path in prefix.rglob("*") if path.is_symlink()}
    for path in sorted(prefix.rglob("*")):
        if path.is_file() and (path.is_symlink() or path.resolve() not in targets):
            yield path, path.relative_to(prefix)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--cuda", type=pathlib.Path, metavar="ENGINE")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    wheel = Wheel(options.out, *(("shoal_cuda", [f"torch=={torch_version()}"]) if options.cuda else ("shoal", [])), options.store)
    for path, name in files_of(options.prefix):
        if options.cuda and OF_TORCH.match(path.name):
            continue
        if options.cuda and path.name == options.cuda.name:
            path = options.cuda
        executable = bool(path.stat().st_mode & stat.S_IXUSR)
        place = f"scripts/{name.name}" if name.parts[0] == "bin" else f"data/{name}"
        wheel.add(f"{wheel.data}/{place}", path.read_bytes(), executable)
    wheel.close()
    print(wheel.path)


if __name__ == "__main__":
    main()
