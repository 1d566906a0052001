#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of libgomp's tests, with the library and without; scripts/libgomp-tests.sh fetches them.

Each is compiled with the options that its own comments name (dg-options), and run with the environment that they name.
A program is compared if it passes and prints the same in two runs without the library. What differs with the library is
run again, with and without: it counts if it differs each time.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "llvm"))
from suite import SETTINGS  # noqa: E402  the same as for LLVM's tests

TRIPLE = "x86_64-pc-linux-gnu"
REPEATS = 3
FOLDERS = (("libgomp.c", "c"), ("libgomp.c++", "c++"), ("libgomp.c-c++-common", "c"), ("libgomp.c-c++-common", "c++"))
UNKNOWN = ("-foffload", "-fdump", "-fipa", "-fno-ipa", "-ftree", "-fno-tree", "-fno-inline-", "-fopt", "--param", "-flto")


def arguments():
    parser = argparse.ArgumentParser(prog="libgomp-tests", usage="libgomp-tests.sh [OPTION...] [PATTERN...] (--help)",
                                     add_help=False)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--build", default="build")
    parser.add_argument("--work", required=True)
    parser.add_argument("--llvm", default="/usr/lib/llvm-19")
    parser.add_argument("--library")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    options.settings = options.settings.split(",")
    unknown = [name for name in options.settings if name not in SETTINGS]
    if unknown:
        parser.error(f"no setting {', '.join(unknown)}; there are: {', '.join(SETTINGS)}")
    options.library = pathlib.Path(options.library or f"{options.build}/libompdarts.so").resolve()
    if not options.library.exists():
        sys.exit(f"libgomp-tests: no {options.library}")
    return options


class Program:
    """One test, in C or C++."""

    def __init__(self, source, language, options):
        self.source, self.language, self.options = source, language, options
        self.text = source.read_text(encoding="utf-8", errors="replace")
        self.name = f"{source.parent.name}/{source.name}" + (" as C++" if language == "c++" and source.suffix == ".c" else "")

    def wanted(self):
        if self.options.patterns:
            return any(pattern in self.name for pattern in self.options.patterns)
        return self.options.all or bool(re.search(r"pragma\s+omp\s+.*target", self.text))

    def words(self, pattern):
        return [word for found in re.finditer(pattern, self.text) for word in found[1].split()]

    def build(self):
        """True if there is something to run."""
        if "dg-do compile" in self.text:
            return False
        folder = pathlib.Path(self.options.work) / "programs"
        folder.mkdir(exist_ok=True)
        self.file = folder / re.sub(r"\W", "_", self.name)
        flags = [word for word in self.words(r'dg-(?:additional-)?options\s+"([^"]*)"') if not word.startswith(UNKNOWN)]
        others = [str(self.source.parent / name) for name in self.words(r'dg-additional-sources\s+"?([^"}]*)"?')]
        compiler = f"{self.options.llvm}/bin/clang" + ("++" if self.language == "c++" else "")
        command = [compiler, "-w", "-O1", "-fopenmp", f"-fopenmp-targets={TRIPLE}", f"-I{self.source.parent}", *flags,
                   str(self.source), *others, "-o", str(self.file), "-lm"]
        try:
            return subprocess.run(command, capture_output=True, timeout=600, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def run(self, setting=None):
        """(exit code or "timeout", output); `setting` None: without the library."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMPDARTS_", "OMP_", "KMP_", "LIBOMP"))}
        environment.update(re.findall(r'dg-set-target-env-var\s+"?(\w+)"?\s+"([^"]*)"', self.text))
        environment["LD_LIBRARY_PATH"] = f"{self.options.llvm}/lib"
        if setting is not None:
            environment.update(SETTINGS[setting], LD_PRELOAD=str(self.options.library), OMPDARTS_CACHE="0")
        with subprocess.Popen([str(self.file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                              cwd=self.file.parent, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=self.options.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "timeout", b""
        return process.returncode, output

    def differs(self, setting, right):
        """What comes with the library each time, as long as the program is right without it; None: nothing."""
        for _ in range(REPEATS):
            result = self.run(setting)
            if result == right or self.run() != right:
                return None
        return result

    def compare(self):
        """(what it is, [text of a difference])."""
        if not self.build():
            return "not compiled", []
        right = self.run()
        if right[0] != 0 or self.run() != right:
            return "not steady or wrong without the library", []
        found = []
        for setting in self.options.settings:
            result = self.differs(setting, right)
            if result:
                text = "other output" if result[0] == 0 else f"exit code {result[0]}, not 0"
                found.append(f"{self.name} ({setting}): {text}")
        return "compared", found


def programs(options):
    root = pathlib.Path(options.work) / "source/libgomp/testsuite"
    made = [Program(source, language, options) for folder, language in FOLDERS
            for source in sorted((root / folder).iterdir()) if source.suffix in (".c", ".C")]
    return [program for program in made if program.wanted()]


def main():
    options = arguments()
    todo = programs(options)
    if not todo:
        sys.exit("libgomp-tests: no test has such a name")
    counts, differences, shown = {}, [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (what, found) in enumerate(pool.map(Program.compare, todo), 1):
            counts[what] = counts.get(what, 0) + 1
            differences += found
            for line in found:
                print(line, flush=True)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"libgomp-tests: {number} of {len(todo)}, {len(differences)} differences", flush=True)
    print(f"libgomp-tests: {', '.join(f'{count} {what}' for what, count in counts.items())}; "
          f"{len(options.settings)} settings; {len(differences)} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
