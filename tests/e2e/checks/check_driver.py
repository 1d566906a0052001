#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what the driver's double (tests/cuda_double) was asked to do.

usage: check_driver.py FILE EXPRESSION...      exit code 1, with the expression, where one is false

FILE is what CUDA_DOUBLE_STATS names. An expression is Python's, over the members of its object; `calls` tells how often
which function was called, also 0.
"""
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    stats = json.load(file)
stats["calls"] = collections.Counter(stats["calls"])
wrong = [text for text in sys.argv[2:] if not eval(text, dict(stats))]
print("".join(f"driver: not true: {text}\n" for text in wrong), end="")
if wrong:
    print({name: value for name, value in stats.items() if name != "calls"})
sys.exit(1 if wrong else 0)
