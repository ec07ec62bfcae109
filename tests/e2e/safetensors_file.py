"""Weights of others that scripts change on purpose."""
import json
import struct


def bytes_of(file, name):
    """A tensor of a safetensors file."""
    content = file.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    begin, end = json.loads(content[8:start])[name]["data_offsets"]
    return content[start + begin:start + end]


def change_number(file, name, index, by):
    """One fp32 of a safetensors file; gives it before and after."""
    content = bytearray(file.read_bytes())
    start = 8 + struct.unpack("<Q", content[:8])[0]
    at = start + json.loads(content[8:start])[name]["data_offsets"][0] + 4 * index
    before = struct.unpack_from("<f", content, at)[0]
    struct.pack_into("<f", content, at, before + by)
    file.write_bytes(content)
    return before, struct.unpack_from("<f", content, at)[0]
