# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds programs and runs them, without the library and with it under many settings."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from emit import sources
from program import PLACES, Associate, Cancelled, Data, Motion, Scene, Target

# Programs take a fraction of a second of their own. What takes eight is asked where it is, before the watchdog ends it
# after ten.
SLOW_S, TIMEOUT_S = 8, 60
MOST_DELAY_S = 5  # of all steps of a program together, each of which may wait for a copy
FLAGS = ["-fopenmp", "-fopenmp-version=52", "-fno-crash-diagnostics", "-Wno-pass-failed"]


def level(seed):
    """A batch compiles in half of the processor time without optimisation: one in four has it. Neighbours mostly have
    the same level, so that a failure that is built again alone has that of its batch."""
    return ("-O0", "-O0", "-O0", "-O1")[seed // 240 % 4]


def numbers_of_threads(pid, name):
    """Of each thread of a process, the numbers in its file of that name; it may end meanwhile."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            text = pathlib.Path(f"/proc/{pid}/task/{thread}/{name}").read_text()
        except OSError:
            continue
        yield [int(word) for word in text.split()]


def family(pid):
    """A process and all that it has started, such as the ranks of a job."""
    found = [pid]
    for member in found:  # which grows
        for children in numbers_of_threads(member, "children"):
            found += children
    return found


def end_family(pid):
    for member in family(pid):
        try:
            os.kill(member, signal.SIGKILL)
        except ProcessLookupError:
            continue


class OwnSeconds:
    """Time that a process and those that it has started have had, as util/fair.h counts it: waiting for a processor is none."""

    def __init__(self, pid):
        self.pid = pid
        self.seconds, self.last = 0.0, self.read()

    def read(self):
        """(the clock, seconds that its threads ran, seconds that they waited for a processor)"""
        ran = waited = 0
        for member in family(self.pid):
            for numbers in numbers_of_threads(member, "schedstat"):
                ran, waited = ran + numbers[0], waited + numbers[1]
        return time.monotonic(), ran * 1e-9, waited * 1e-9

    def passed(self):
        before, self.last = self.last, self.read()
        elapsed, ran, waited = (max(now - then, 0) for now, then in zip(self.last, before))
        wanted = min(ran + waited, elapsed * os.cpu_count())
        self.seconds += elapsed if wanted < elapsed / 100 else elapsed * min(ran / wanted, 1)
        return self.seconds

    def skip(self):
        """What has passed since the last look does not count."""
        self.last = self.read()


class Lab:
    """Where programs are built and run. `library` may be under a sanitizer; `sanitizer` is then its runtime."""

    def __init__(self, library, clang, libdir, triple, folder, double=None, ranks=None):
        """ranks: mpiexec and the `ompdarts` command, where programs run as rank 0 of a job."""
        self.library, self.clang, self.libdir, self.triple = library, clang, libdir, triple
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.clean = {name: value for name, value in os.environ.items()
                      if not name.startswith(("OMPDARTS_", "OMP_", "LIBOMP", "KMP_")) and name != "LD_PRELOAD"}
        self.clean["LIBOMP_NUM_HIDDEN_HELPER_THREADS"] = "0"  # stock libomp 19 fails with them
        if double:
            self.clean["LD_LIBRARY_PATH"] = ":".join(filter(None, (double, self.clean.get("LD_LIBRARY_PATH"))))
            self.clean["CUDA_DOUBLE_MEMORY"] = "1Gi"
        self.ranks = ranks
        if ranks:
            version = subprocess.run([ranks[0], "--version"], capture_output=True, text=True, check=False).stdout
            self.oversubscribe = ["--oversubscribe"] if "OpenRTE" in version or "Open MPI" in version else []
            self.clean["OMPI_ALLOW_RUN_AS_ROOT"] = self.clean["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        self.wrong = {}  # path -> numbers of the programs that end in an error
        self.cancelling = {}  # path -> numbers of the programs that cancel something
        loaded = subprocess.run(["ldd", library], capture_output=True, text=True, check=False).stdout
        runtime = re.search(r"=> (\S*libclang_rt\.\S*)", loaded)
        self.preload = f"{runtime[1]}:{library}" if runtime else str(library)

    def build(self, programs, name):
        """(program, readable) pairs as one executable."""
        path = self.folder / name
        texts, libraries = sources(programs), []
        optimised = level(programs[0][0].seed)
        cpp = any(program.cpp for program, _ in programs)
        language = ["-x", "c++", "-std=gnu++17", "-lstdc++"] if cpp else ["-std=gnu17"]
        for place in [place for place in PLACES if place in texts]:
            library = self.folder / f"{name}.{place}.so"
            self.compile(texts[place], library, [optimised, *language, "-shared", "-fPIC"])
            libraries += [str(library)] if place == "linked" else [f'-DOPENED="{library}"']
        self.compile(texts[""], path, [optimised, *language], libraries)
        self.cancelling[path] = {number for number, (program, _) in enumerate(programs)
                                 if any(isinstance(statement, Cancelled) for statement in program.walk())}
        self.wrong[path] = {number for number, (program, _) in enumerate(programs) if program.wrong}
        return path

    def compile(self, source_text, path, language, more=()):
        text = path.with_name(path.name + ".c")
        text.write_text(source_text, encoding="utf-8")
        command = [self.clang, *FLAGS, f"-fopenmp-targets={self.triple}", *language, str(text), "-x", "none", *more,
                   "-o", str(path), f"-L{self.libdir}", f"-Wl,-rpath,{self.libdir}", "-lpthread", "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error:" in line] or ["no message"]
            raise CompileError(errors[0])

    def job(self, program, settings):
        """The command line of a job that runs this one on the devices of other ranks, GPUs where there are doubles."""
        mpiexec, command = self.ranks
        serve = [command, "serve", "--backend=" + settings.get("FUZZ_SERVES", "auto")]
        return [mpiexec, *self.oversubscribe, "-n", "1", command, "run", "--stats=0", "--backend=mpi:silence=100", *program,
                ":", "-n", "2", *serve, "--devices=1", program[0], ":", "-n", "1", *serve, "--devices=2", program[0]]

    def run(self, path, number, settings, *more):
        program = [str(path), str(number), *more]
        if self.ranks and settings.get("OMPDARTS_BACKEND") == "mpi":
            program = self.job(program, settings)
        cancels = {"OMP_CANCELLATION": "true"} if number in self.cancelling[path] else {}
        with subprocess.Popen(program, env={**self.clean, **cancels, **settings, "FUZZ_PROGRAM": str(number)},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            threads, own = "", OwnSeconds(process.pid)
            while True:
                try:
                    out, err = process.communicate(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    seconds = own.passed()
                    if seconds > SLOW_S and not threads:
                        threads = "".join(map(backtraces, family(process.pid)))
                        own.skip()
                    if seconds > TIMEOUT_S:
                        end_family(process.pid)
                        out, err = process.communicate()
                        return Outcome("timeout", out, err, threads)
        return Outcome(process.returncode, out, err, threads, number in self.wrong[path])

    def plain(self, path, number, threads=4, **more):
        """Device memory holds other garbage with each number of threads."""
        return self.run(path, number, {"OMP_NUM_THREADS": str(threads), "MALLOC_PERTURB_": str(85 * threads % 256),
                                       "LIBOMPTARGET_MEMORY_MANAGER_THRESHOLD": "0", **more})

    def prioritised(self, path, number, settings):
        """Without the library, with priorities where they have them: tied tasks that all wait for children of lower priority
        than that of the first task in libomp 19's list wait for ever, as nobody looks behind that one."""
        most = settings.get("OMP_MAX_TASK_PRIORITY")
        threads = int(settings.get("OMP_NUM_THREADS", 4))
        return self.plain(path, number, threads, OMP_MAX_TASK_PRIORITY=most) if most else None

    def on_host(self, path, number):
        """Without the library, host versions alone. clang 19 compiles some that crash where it optimises: it takes private arrays
        of a task for aligned, whose place in libomp's memory is not."""
        return self.plain(path, number, OMP_TARGET_OFFLOAD="DISABLED")

    def under(self, path, number, settings):
        debug = ",".join(filter(None, ("watchdog=10", settings.get("OMPDARTS_DEBUG"))))
        preload = {} if self.ranks else {"LD_PRELOAD": self.preload}
        return self.run(path, number, {**preload, "OMPDARTS_CACHE": "0", **settings, "OMPDARTS_DEBUG": debug})


# Faults of libomp 19 that it has without the library as well, now and then: a program that meets one says nothing.
STOCK_FAULTS = (b"th_set_nproc >= 1",  # nested parallel regions beside kernels with teams
                b"new_gtid < __kmp_threads_capacity")  # kernels with teams of several root threads at once

LEAST_TYPED = 1024  # bytes: `ompdarts run` takes less for a slip
POOL_SLACK = 12 * 256  # bytes: a device's pool gives each datum a multiple of 256


def backtraces(pid):
    """Where all threads of a process are, if gdb is there to say so."""
    gdb = shutil.which("gdb")
    if gdb is None:
        return "gdb is not installed: no backtraces of the process that hung\n"
    command = [gdb, "-p", str(pid), "-batch", "-ex", "set pagination off", "-ex", "thread apply all bt"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "gdb gave no answer\n"
    return done.stdout + done.stderr


class CompileError(Exception):
    """The compiler refuses a program, or breaks."""


class Outcome:
    """What a run gave; `threads` are its backtraces after SLOW_S, if it took so long."""

    def __init__(self, code, out, err, threads="", wrong=False):
        self.code, self.out, self.err, self.threads = code, out, err, threads
        self.wrong = wrong  # the program may end in an error

    def is_right(self):
        return self.code == 0 or self.wrong and self.first_error() != ""

    def first_error(self):
        """The first line in which libomptarget, or we in its place, says what is wrong; addresses taken out."""
        lines = [line for line in self.err.decode(errors="replace").splitlines()
                 if re.match(r"omptarget (message|error|fatal)|ompdarts: .*(not possible|error)", line)]
        return re.sub("0x[0-9a-f]+", "ADDRESS", lines[0]) if lines else ""

    def crashes(self):
        return self.code == -signal.SIGSEGV

    def needs_memory_here(self):
        return any(text in self.err for text in (b"host code uses an address of another rank's device",
                                                 b"which OMPDARTS_BACKEND=mpi does not support",
                                                 b"the program offloads before main()"))

    def is_stock_fault(self):
        return any(fault in self.err for fault in STOCK_FAULTS)

    def results(self):
        """Numbers of the results that are there: one that is zero is not printed, which no result that was computed is."""
        return {line.split(b":")[0] for line in self.out.splitlines()}

    def lacks_results_of(self, other):
        """libomp 19 can lose a `single` beside kernels with teams: all threads of the team pass it by."""
        return self.code == 0 and other.code == 0 and self.results() < other.results()

    def same(self, other):
        if self.wrong and self.code != 0:
            return self.is_right() and (self.code, self.first_error()) == (other.code, other.first_error())
        return self.code == 0 and other.code == 0 and self.out == other.out

    def wrong_results(self, right):
        """Numbers of the results that differ."""
        mine, its = ({number: line for line in out.splitlines() for number in [line.split(b":")[0]]}
                     for out in (self.out, right.out))
        return {number for number in mine.keys() | its.keys() if mine.get(number) != its.get(number)}

    def differs_as(self, host, right):
        """Nowhere but where the program's host versions alone give other results, too."""
        return all(run.code == 0 for run in (self, host, right)) and self.wrong_results(right) <= host.wrong_results(right)

    def difference(self, right):
        """One line that says how this differs from the right outcome."""
        if self.wrong and (self.code != 0 or right.code != 0):
            return (f"ends with {self.code}, '{self.first_error()[:150]}' instead of {right.code}, "
                    f"'{right.first_error()[:150]}'")
        if self.code != 0:
            lines = self.err.decode(errors="replace").strip().splitlines() or ["no message"]
            telling = [line for line in lines if re.search("[Aa]ssert|error|ompdarts", line)] or lines
            return f"exit code {self.code}: {telling[0][:200]}"
        pairs = zip(self.out.decode().splitlines(), right.out.decode().splitlines())
        wrong = [mine.split(":")[0] for mine, its in pairs if mine != its]
        return f"results {', '.join(wrong[:8]) or 'missing'} differ"


def listed(command, title):
    """What `ompdarts info` lists under a title, name -> words after a colon: policies with their options, eviction
    rules. `plugin:FILE` is no name."""
    text = subprocess.run([command, "info"], capture_output=True, text=True, check=True).stdout
    block = re.search(rf"^{title}.*\n((?:  .*\n)+)", text, re.M)
    found = {}
    for line in block[1].splitlines():
        word, _, meaning = line.strip().partition(" ")
        if word.startswith(":"):
            found[name].append(word + "=0" if meaning.strip().startswith("0:") else word)
        elif ":" not in word:
            name = word
            found[name] = []
    return found


def names_devices(program):
    """Something in it is about a device other than the default one."""
    return any(scene.devices for scene in program.scenes()) or any(array.device is not None for array in program.arrays) \
        or any(getattr(statement, "device", None) is not None for statement in program.walk())


def only_clauses(program):
    """Devices are named in device clauses only, by no call and not as the default device: they may be taken as hints."""
    if any(scene.devices for scene in program.scenes()):
        return False
    if any(array.kind == "device" and array.device is not None for array in program.arrays):
        return False
    if any(isinstance(s, Associate) and program.arrays[s.array].device is not None for s in program.walk()):
        return False
    clauses = (Target, Motion, Data)
    return all(getattr(statement, "device", None) is None or isinstance(statement, clauses) and
               not getattr(statement, "by_default", False) for statement in program.walk())


def is_for_ranks(world):
    """Host code uses no device addresses, and kernels follow none that data hold but those of data (docs/cluster.md)."""
    scenes = list(world.program.scenes())
    return not (world.program.wrong or names_devices(world.program)) and all(scene.gpus for scene in scenes)


class Settings:
    """Draws settings for a program; each pair of policy and rule comes up once before any comes again."""

    def __init__(self, policies, rules, double, ranks=False):
        self.double = double  # the CUDA back-end on the driver's double is one of the choices
        self.ranks = ranks  # devices are other ranks'
        self.options = policies
        self.pairs = [(policy, rule) for policy in policies for rule in rules]

    def draw(self, rng, world, count):
        pairs = []
        while len(pairs) < count:
            pairs += rng.sample(self.pairs, len(self.pairs))
        return [self.one(rng, world, pair) for pair in pairs[:count]]

    def one(self, rng, world, pair):
        settings = {
            "OMPDARTS_SCHED": pair[0] + self.option(rng, pair[0]), "OMPDARTS_EVICT": pair[1],
            "OMPDARTS_DEVICES": str(rng.randint(1, 4)) + rng.choice(("", ":auto", ":1", ":2")),
            "OMPDARTS_BUFFER": str(rng.choice((1, 2, 3, 5, 8))),
            "OMPDARTS_COHERENCE": rng.choice(("auto", "auto", "strict") + (("depend",) if world.depend_mode else ())),
            "OMPDARTS_SEED": str(rng.randint(0, 9999)),
            "OMP_NUM_THREADS": str(rng.choice((1, 2, 3, 4, 4, 8))),
        }
        if world.meets_host:
            settings["OMPDARTS_COHERENCE"] = "strict"
        memory = self.memory(rng, world)
        if memory:
            settings["OMPDARTS_MEM"] = str(memory)
        delays = [delay for delay in ("0.0002", "0.001", "0.004") if float(delay) * world.cost < 0.5]
        if delays and rng.random() < 0.5:
            settings["OMPDARTS_DEBUG"] = "jitter=" + rng.choice(delays)
        if rng.random() < 0.1:
            settings["OMPDARTS_BACKEND"] = "omptarget:link=100M"
        if rng.random() < 0.2:
            settings["OMP_MAX_TASK_PRIORITY"] = "5"
            settings["OMPDARTS_PRIORITY"] = rng.choice(("clause", "none"))
        if rng.random() < 0.2 and not world.discards and not world.overwrites:
            settings["OMPDARTS_SPILL"] = "0"  # regions are evicted into the program's memory
        if rng.random() < 0.3 and only_clauses(world.program):
            settings["OMPDARTS_DEVICE_CLAUSE"] = "hint"
        if self.ranks:
            settings["OMPDARTS_BACKEND"] = "mpi"
            if memory:
                settings["OMPDARTS_MEM"] = str(max(memory, LEAST_TYPED))
            settings["FUZZ_SERVES"] = rng.choice(("auto", "cuda")) if self.double else "auto"
        elif self.double and rng.random() < 0.4 and all(scene.gpus for scene in world.program.scenes()):
            settings["OMPDARTS_BACKEND"] = "cuda"
            if rng.random() < 0.3:
                settings["CUDA_DOUBLE_JITTER"] = f"{min(0.0005, MOST_DELAY_S / world.cost):g}"
            if rng.random() < 0.3:
                settings["OMPDARTS_DEVICES"] = rng.choice(("0*3", "1*2,0", "3,1", "0*4:2"))
                if names_devices(world.program):  # by number: the first of a list is not to become the default device
                    settings["OMP_DEFAULT_DEVICE"] = "0"
        if rng.random() < 0.2:
            settings["OMPDARTS_GUARD"] = rng.choice(("auto", "1", "2000", "100000"))
        if rng.random() < 0.3 and not world.discards:
            settings["OMPDARTS_CPU"] = rng.choice(("1", "1", "auto", str(len(os.sched_getaffinity(0)))))
        if rng.random() < 0.4:
            settings["OMPDARTS_OVERSIZE"] = "page"
        return settings

    def option(self, rng, policy):
        own = rng.choice(self.options[policy]).lstrip(":") if self.options[policy] and rng.random() < 0.3 else ""
        words = [word for word in (own, rng.choice(("", "", "ahead=0", "ahead=12", "ahead=1000"))) if word]
        return ":" + ",".join(words) if words else ""

    @staticmethod
    def memory(rng, world):
        """From just enough for one section to ample (0). What is too large for a device runs on the host, which the
        model permits unless a kernel's writes are to be discarded."""
        if world.scenes:
            only_scenes = all(isinstance(statement, Scene) for statement in world.program.body)
            return rng.choice((max(scene.memory for scene in world.program.scenes()) if only_scenes else 1 << 20, 0, 0))
        if world.binds:
            return 0
        if world.discards:
            whole = world.largest_whole + POOL_SLACK
            return 0 if world.shows else rng.choice((whole, 2 * whole, 0))
        section, task = world.largest_item, world.largest_task
        return rng.choice((section, task, task, 2 * task, 4 * task, 0, 0))
