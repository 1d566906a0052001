#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: kernels_libomp.py LIBOMP OUTPUT

A copy of libomp for kernels on the driver's double: they are code of a device, of which neither the program's libomp
nor a preloaded library may know. It has a name of its own, and does not mind the other one.
"""

import pathlib
import sys

RENAMED = {b"libomp.so.5": b"libkmp.so.5", b"libomp.so\0": b"libkmp.so\0",
           b"__KMP_REGISTERED_LIB_": b"__KMK_REGISTERED_LIB_"}

contents = pathlib.Path(sys.argv[1]).read_bytes()
for old, new in RENAMED.items():
    contents = contents.replace(old, new)
pathlib.Path(sys.argv[2]).write_bytes(contents)
