#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's own tests of its OpenMP runtimes, with the library and without; scripts/llvm-tests.sh fetches them.

The tests are run by LLVM's lit, as their authors meant it, by configurations that are made here: the compiler and
each program are called through scripts (clang.sh, launch.sh) that keep what is compiled and preload the library. A
test that passes without the library and not with it is a difference; so is one that prints something else, addresses
aside. Each is repeated, also without the library: what comes there, too, now and then is none. expected.txt lists those
that are expected. With --runtimes, other builds of LLVM's runtimes take the place of the library.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TRIPLE = "x86_64-pc-linux-gnu"
REPEATS = 3
SETTINGS = {  # name -> environment; the first come first where time is short
    "default": {},
    "one-device": {"OMPDARTS_DEVICES": "1"},
    "strict": {"OMPDARTS_COHERENCE": "strict"},
    "tight": {"OMPDARTS_MEM": "1M", "OMPDARTS_SCHED": "dmdar"},
    "eager": {"OMPDARTS_SCHED": "eager", "OMPDARTS_EVICT": "lru", "OMPDARTS_BUFFER": "1"},
    "stationary": {"OMPDARTS_SCHED": "stationary"},
    "tighter": {"OMPDARTS_MEM": "64Ki", "OMPDARTS_DEVICES": "2"},
    "slices": {"OMPDARTS_SLICE": "4"},
    "slices-early": {"OMPDARTS_SLICE": "eager:4"},
    "slices-tight": {"OMPDARTS_SLICE": "6", "OMPDARTS_MEM": "1M", "OMPDARTS_DEVICES": "3"},
    "jitter": {"OMPDARTS_DEBUG": "jitter=0.001", "OMPDARTS_SCHED": "lws"},
    "disabled": {"OMPDARTS_DISABLE": "1"},
}
RUNTIMES = "runtimes"  # the setting of --runtimes
GOOD = ("PASS", "XFAIL", "FLAKYPASS")

COMMON = """\
config.test_c_compiler = {clang!r}
config.test_cxx_compiler = {clangxx!r}
config.test_compiler_features = ["clang", "clang-{major}"]
config.test_fortran_compiler = ""
config.test_openmp_flags = "-fopenmp"
config.test_extra_flags = {flags!r}
config.library_dir = {libdir!r}
config.omp_header_directory = {include!r}
config.operating_system = "Linux"
config.environment.update({environment!r})
"""
SITES = {
    "offload": COMMON + """\
config.bin_llvm_tools_dir = {tools!r}
config.cuda_path = config.cuda_libdir = config.cuda_test_arch = config.amdgpu_test_arch = ""
config.libomptarget_obj_root = {objects!r}
config.llvm_library_dir = config.llvm_library_intdir = config.llvm_lib_directory = {libdir!r}
config.omp_host_rtl_directory = {libdir!r}
config.libomptarget_all_targets = [{triple!r}]
config.libomptarget_current_target = {triple!r}
config.libomptarget_filecheck = {tools!r} + "/FileCheck"
config.libomptarget_not = {tools!r} + "/not"
config.libomptarget_debug = False
config.has_libomptarget_ompt = True
config.libomptarget_has_libc = False
lit_config.load_config(config, {source!r} + "/offload/test/lit.cfg")
""",
    "openmp": COMMON + """\
config.compiler_frontend_variant = config.compiler_simulate_id = ""  # from LLVM 22 on
config.test_compiler_has_omp_h = True
config.test_filecheck = {tools!r} + "/FileCheck"
config.test_not = {tools!r} + "/not"
config.libomp_obj_root = {objects!r}
config.using_hwloc = False
config.has_ompt = True
config.has_ompx_taskgraph = False
config.has_libm = True
config.has_libatomic = True
config.is_standalone_build = True
config.has_omit_frame_pointer_flag = True
config.target_arch = "x86_64"
lit_config.load_config(config, {source!r} + "/openmp/runtime/test/lit.cfg")
""",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="parts of the paths of tests; all without")
    parser.add_argument("--build", default="build")
    parser.add_argument("--work", default="build/llvm-tests", help="folder with the tests, and for what they make")
    parser.add_argument("--llvm", default="/usr/lib/llvm-19")
    parser.add_argument("--library", help="another libompdarts.so")
    parser.add_argument("--runtimes", help="compare with the runtimes in this folder, instead of with the library")
    parser.add_argument("--stock", help="those in this folder in LLVM's own stead")
    parser.add_argument("--source", help="take the tests from this tree of LLVM's sources")
    parser.add_argument("--minutes", type=float, default=60, help="start no further setting after so long")
    parser.add_argument("--settings", help="only these, separated by commas")
    parser.add_argument("--list-settings", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="use the last results without the library")
    parser.add_argument("--timeout", type=int, default=300, help="seconds per program")
    return parser.parse_args()


class Suite:
    """Where the tests are and how they are run."""

    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(options.work).resolve()
        self.source = pathlib.Path(options.source or self.work / "source").resolve()
        self.tools = next((self.work / "source/tools").glob("usr/lib/llvm-*"))
        self.library = str(pathlib.Path(options.library or f"{options.build}/libompdarts.so").resolve())
        for needed in [options.runtimes] if options.runtimes else [self.library]:
            if not pathlib.Path(needed).exists():
                sys.exit(f"llvm-tests: no {needed}")
        self.use(None)

    def use(self, runtimes):
        """From now on the tests use the runtimes in this folder, or LLVM's own (None)."""
        libdir = pathlib.Path(runtimes or self.options.stock or f"{self.options.llvm}/lib").resolve()
        self.sites = [self.site(name, libdir) for name in SITES]

    def site(self, name, libdir):
        """Writes a suite's lit.site.cfg; returns its folder."""
        llvm, objects = pathlib.Path(self.options.llvm).resolve(), self.work / "objects" / name
        objects.mkdir(parents=True, exist_ok=True)
        major = re.search(r"llvm-(\d+)", self.options.llvm)[1]
        passed = {key: value for key, value in os.environ.items() if key.startswith("LLVM_TESTS_")}
        assert not passed, "these names are ours"
        text = SITES[name].format(
            clang=f"{HERE}/clang.sh {llvm}/bin/clang", clangxx=f"{HERE}/clang.sh {llvm}/bin/clang++", major=major,
            flags=f"-L{libdir} -Wl,-rpath,{libdir}", libdir=str(libdir), include=self.include(llvm), environment={},
            tools=str(self.tools / "bin"), objects=str(objects), triple=TRIPLE, source=str(self.source))
        text = "import os\n" + text.replace("lit_config.load_config", PASS_ON + "lit_config.load_config")
        (objects / "lit.site.cfg").write_text(text, encoding="utf-8")
        return objects

    @staticmethod
    def include(llvm):
        return str(next(llvm.glob("lib/clang/*/include/omp.h")).parent)

    def chosen(self):
        """What lit is to run: the folders, or the files that a pattern names."""
        if not self.options.patterns:
            return [str(site) for site in self.sites]
        found = []
        for site, folder in zip(self.sites, ("offload/test", "openmp/runtime/test")):
            root = self.source / folder
            for path in sorted(root.rglob("*.c*")):
                name = f"{site.name}/{path.relative_to(root)}"
                if path.suffix in (".c", ".cpp", ".cc") and any(part in name for part in self.options.patterns):
                    found.append(str(site / path.relative_to(root)))
        return found

    def run(self, name, settings, tests):
        """Runs tests; returns name -> (code, log) and name -> what its programs printed."""
        record = self.work / "records" / name
        for old in record.glob("*") if record.exists() else ():
            old.unlink()
        record.mkdir(parents=True, exist_ok=True)
        ours = ("OMPDARTS_", "OMP_", "KMP_", "LIBOMP")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        environment = {**clean, "LLVM_TESTS_CACHE": str(self.work / "cache"), "LLVM_TESTS_RECORD": str(record),
                       "LLVM_TESTS_TIMEOUT": str(self.options.timeout)}
        self.use(self.options.runtimes if settings == RUNTIMES else None)
        if isinstance(settings, dict):
            environment.update(settings)
            environment.update(LLVM_TESTS_LIBRARY=self.library, OMPDARTS_CACHE="0")
        result = self.work / f"{name}.json"
        result.unlink(missing_ok=True)
        command = [sys.executable, str(self.tools / "build/utils/lit/lit.py"), f"-j{self.options.jobs}", "-v",
                   "--order=lexical", "--output", str(result), *tests]
        watch(command, environment, name)
        return self.last(name)

    def last(self, name):
        """What the last run of this name gave."""
        tests = json.loads((self.work / f"{name}.json").read_text(encoding="utf-8"))["tests"]
        codes = {test["name"]: (test["code"], test["output"]) for test in tests}
        return codes, self.printed(self.work / "records" / name)

    def printed(self, record):
        """Name of a program's record -> its lines, sorted, as threads print in any order; addresses and numbers that count
        threads and tasks are taken out."""
        texts = {}
        for path in record.iterdir():
            text = path.read_text(encoding="utf-8", errors="replace")
            text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{12}\b|\b\d{10,}\b", "NUMBER", text)
            texts[path.name] = sorted(text.splitlines())
        return texts


# lit gives tests a clean environment.
PASS_ON = """\
config.environment.update({key: value for key, value in os.environ.items()
                           if key.startswith(("LLVM_TESTS_", "OMPDARTS_"))})
"""


def watch(command, environment, name):
    """Runs lit and says every 30 s where it is."""
    shown = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            if time.monotonic() - shown > 30 and re.match(r"[A-Z]+: .*\(\d+ of \d+\)", line):
                shown = time.monotonic()
                print(f"{name}: {line.strip()}", flush=True)
        process.wait()
    if process.returncode not in (0, 1):
        sys.exit(f"llvm-tests: lit ended with code {process.returncode}")


def test_of(suite, printed_name):
    """lit's name of the test whose program has this name, without its suffix: `objects/openmp/tasking/Output/x.c.tmp`."""
    objects = str(suite.work / "objects").replace("/", "_") + "_"
    match = re.match(r"(offload|openmp)_(.*?)_?Output_(.*?)\.tmp", printed_name.removeprefix(objects))
    return (match[1], match[2], match[3]) if match else None


class Expected:
    """What expected.txt lists."""

    def __init__(self):
        self.reasons = {}
        for line in (HERE / "expected.txt").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                path, _, reason = line.partition(": ")
                self.reasons[path] = reason
                assert reason, f"expected.txt gives no reason for {path}"

    def reason(self, name):
        return self.reasons.get(path_of(name))


def path_of(name):
    """offload/mapping/x.c for lit's `libomptarget :: x86_64-pc-linux-gnu :: mapping/x.c`."""
    parts = name.split(" :: ")
    return ("offload/" if parts[0].startswith("libomptarget") else "openmp/") + parts[-1]


def differences(suite, plain, other):
    """Tests that pass in `plain` and not in `other`, and those that print something else."""
    found = {}
    for name, (code, _) in other[0].items():
        if name in plain[0] and plain[0][name][0] in GOOD and code not in GOOD:
            found[name] = f"{plain[0][name][0]} becomes {code}"
    names = {tuple_of(name): name for name in other[0]}
    for program, text in other[1].items():
        name = names.get(test_of(suite, program))
        known = plain[0].get(name, ("",))[0] in GOOD
        if known and name not in found and text != plain[1].get(program, text):
            found[name] = "prints something else"
    return found


def tuple_of(name):
    path = pathlib.PurePath(path_of(name))
    suite, *folders = path.parts[:-1]
    return suite, "_".join(folders), path.name


def confirm(suite, setting, settings, found, plain):
    """How often each difference comes again, and whether it comes without the library as well."""
    files = [str(suite.work / "objects" / path_of(name)) for name in found]
    again = dict.fromkeys(found, 0)
    for _ in range(REPEATS):
        stock = differences(suite, plain, suite.run("plain-again", None, files))
        found = {name: why for name, why in found.items() if name not in stock}
        files = [str(suite.work / "objects" / path_of(name)) for name in found]
        if not found:
            break
        later = differences(suite, plain, suite.run(f"{setting}-again", settings, files))
        for name in found:
            again[name] += name in later
    return {name: f"{why}, {again[name]} of {REPEATS} further runs too" for name, why in found.items()}


def failing(results):
    return sorted(path_of(name) for name, (code, _) in results[0].items() if code not in GOOD + ("UNSUPPORTED",))


def mended(plain, other):
    """Tests that fail without and pass with."""
    return sorted(path_of(name) for name, (code, _) in other[0].items()
                  if code in GOOD and plain[0].get(name, ("UNSUPPORTED",))[0] not in GOOD + ("UNSUPPORTED",))


def report(suite, setting, found, results, expected):
    """Prints the differences under one setting and keeps their logs; returns how many are not expected."""
    logs = suite.work / "logs" / setting
    logs.mkdir(parents=True, exist_ok=True)
    unexpected = 0
    for name, why in sorted(found.items()):
        reason = expected.reason(name)
        unexpected += reason is None
        (logs / (path_of(name).replace("/", "_") + ".log")).write_text(results[0][name][1], encoding="utf-8")
        word, more = ("expected  ", "; " + reason) if reason else ("DIFFERENCE", "")
        print(f"  {word} {path_of(name)}: {why}{more}", flush=True)
    if setting == RUNTIMES:
        fixed = mended(suite.last("plain"), results)
        print(f"{setting}: {len(fixed)} fixed: {' '.join(fixed)}", flush=True)
        print(f"{setting}: {len(failing(results))} fail: {' '.join(failing(results))}", flush=True)
    print(f"{setting}: {len(results[0])} tests, {len(found)} differences, {unexpected} of them unexpected", flush=True)
    return unexpected


def main():
    options = arguments()
    if options.list_settings:
        for name, settings in SETTINGS.items():
            print(name, " ".join(f"{key}={value}" for key, value in settings.items()))
        return 0
    suite, expected, deadline = Suite(options), Expected(), time.monotonic() + options.minutes * 60
    tests = suite.chosen()
    if not tests:
        sys.exit("llvm-tests: no test has such a path")
    plain = suite.last("plain") if options.again else suite.run("plain", None, tests)
    bad = failing(plain)
    print(f"without the library: {len(plain[0])} tests, {len(bad)} fail: {' '.join(bad)}", flush=True)
    unexpected, left, results = 0, [], None
    choice = {RUNTIMES: RUNTIMES} if options.runtimes else SETTINGS
    for setting in options.settings.split(",") if options.settings else choice:
        if time.monotonic() > deadline and results:
            left.append(setting)
            continue
        results = suite.run(setting, choice[setting], tests)
        found = differences(suite, plain, results)
        found = confirm(suite, setting, choice[setting], found, plain) if found else found
        unexpected += report(suite, setting, found, results, expected)
    print(f"{unexpected} unexpected differences" + (f"; no time for {' '.join(left)}" if left else ""))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
