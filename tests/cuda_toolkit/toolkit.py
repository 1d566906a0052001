#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands for ptxas and nvlink of the CUDA toolkit, whichever it is called as, where clang builds for NVIDIA's GPUs.

The image that it makes holds what LLVM's CUDA plug-in and the driver's double (tests/cuda_double) look for, the
kernels' names and the variables, and no code. OMPDARTS_TOOLKIT_ABI: 7 as up to CUDA 12, or 8 as
since CUDA 13. OMPDARTS_TOOLKIT_VERSION: 124 for CUDA 12.4."""

import os
import pathlib
import sys

import elf
import ptx

VALUED = {"-arch", "--gpu-name", "-o", "--output-file", "-L", "-O", "-l"}


def parse(arguments):
    options, files = {}, []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name in VALUED:
            options[name.lstrip("-")] = value if equals else next(words)
        elif not word.startswith("-"):
            files.append(pathlib.Path(word))
    return options, files


def main():
    options, files = parse(sys.argv[1:])
    output = pathlib.Path(options.get("output-file") or options["o"])
    arch = int((options.get("gpu-name") or options["arch"]).removeprefix("sm_"))
    abi = int(os.environ.get("OMPDARTS_TOOLKIT_ABI", "7"))
    version = int(os.environ.get("OMPDARTS_TOOLKIT_VERSION", "118"))
    if pathlib.Path(sys.argv[0]).name == "ptxas":
        output.write_bytes(elf.write_object(abi, arch, files[0].read_bytes()))
        return
    kernels, variables, externals = {}, {}, {}
    for file in files:
        text = elf.read_section(file.read_bytes(), elf.PTX).decode()
        for symbols, seen in zip(ptx.read(text), (kernels, variables, externals)):
            for symbol in symbols:
                seen.setdefault(symbol.name, symbol)
    output.write_bytes(elf.write_image(abi, arch, [list(all.values()) for all in (kernels, variables, externals)], version))


main()
