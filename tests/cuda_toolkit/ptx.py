# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an assembly file for NVIDIA's GPUs says of its kernels and variables."""

import re
import struct
from typing import NamedTuple

BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
TYPE = r"\.(?P<type>[busf](?P<bits>8|16|32|64)|pred)"
ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$.]+)\s*\((?P<parameters>.*?)\)", re.S)
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?" + TYPE + r"[^,[]*(?:\[(?P<count>\d+)\])?")
VARIABLE = re.compile(r"^\.(?P<linkage>visible|weak)\s+\.(?P<space>global|const)\s+(?:\.align\s+\d+\s+)?" + TYPE +
                      r"\s+(?P<name>[\w$.]+)(?P<array>\[(?P<count>\d*)\])?(?:\s*=\s*(?P<value>[^;]*))?;", re.M)
EXTERNAL = re.compile(r"^\.extern\s+\.func\s+(?:\([^)]*\)\s*)?(?P<name>[\w$.]+)", re.M)
WORD = re.compile(r"0[dD][0-9a-fA-F]{16}|0[fF][0-9a-fA-F]{8}|"
                  r"0[xX][0-9a-fA-F]+(?:\([^()]*\))?|-?\d+|[A-Za-z_$][\w$]*(?:\([^()]*\))?(?:[+-]\d+)?")


class Kernel(NamedTuple):
    name: str
    parameter_bytes: int


class External(NamedTuple):
    """A function of the driver's."""
    name: str


class Variable(NamedTuple):
    name: str
    contents: bytes


def read_parameters(text):
    at = 0
    for parameter in PARAMETER.finditer(text):
        unit = BYTES[parameter["bits"]]
        at = -(-at // unit) * unit + unit * int(parameter["count"] or 1)
    return at


def number(word):
    """Floating-point numbers are written as their bits. Addresses are not known before the link: they are 0."""
    if re.fullmatch(r"0[dDfF][0-9a-fA-F]{8,16}", word):
        return int(word[2:], 16)
    return int(word, 0) if re.fullmatch(r"-?\d+|0[xX][0-9a-fA-F]+", word) else 0


def read_contents(variable):
    unit = BYTES[variable["bits"]]
    words = [number(word) for word in WORD.findall(variable["value"] or "")]
    count = int(variable["count"] or len(words)) if variable["array"] else 1
    words += [0] * (count - len(words))
    return b"".join(struct.pack("<Q", word & (1 << 64) - 1)[:unit] for word in words)


def read(text):
    kernels = [Kernel(entry["name"], read_parameters(entry["parameters"])) for entry in ENTRY.finditer(text)]
    variables = [Variable(v["name"], read_contents(v)) for v in VARIABLE.finditer(text)]
    return kernels, variables, [External(e["name"]) for e in EXTERNAL.finditer(text)]
