# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a machine keeps NVIDIA's libraries, and how to start our programs with them.

usage: libraries.py [VARIABLE=VALUE ...] PROGRAM [ARGUMENT ...]     one of those in bin/, beside this file
       libraries.py has-gpu                                         exit code 0 where the driver shows one
"""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

DRIVER = ("libcuda.so.1",)
CUBLAS = ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11")
CUSOLVER = ("libcusolver.so.12", "libcusolver.so.11")

DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib64-nvidia", "/usr/lib/wsl/lib")
TOOLKIT_FOLDERS = ("lib64", "lib", "targets/x86_64-linux/lib")
PYTHON_LIBRARIES = ("/usr/lib/python3*", "/usr/local/lib/python3*", "/opt/*/lib/python3*", "/opt/*/*/lib/python3*",
                    "/root/*/lib/python3*", "/home/*/*/lib/python3*")


def cached_folders():
    """Folders of the dynamic linker's cache, by library name."""
    for program in ("ldconfig", "/sbin/ldconfig"):
        try:
            text = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
        except OSError:
            continue
        lines = [line.split() for line in text.splitlines() if "=>" in line]
        return {words[0]: os.path.dirname(words[-1]) for words in reversed(lines)}
    return {}


def toolkit_folders():
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots += sorted(glob.glob("/usr/local/cuda*"), reverse=True) + ["/opt/cuda", "/usr/lib/cuda"]
    return [os.path.join(root, folder) for root in roots for folder in TOOLKIT_FOLDERS]


def python_folders():
    """nvidia/*/lib of Python installations: what its packages of CUDA's libraries bring."""
    sites = [path for path in sys.path if path.endswith("-packages")]
    for pattern in PYTHON_LIBRARIES:
        sites += glob.glob(pattern + "/*-packages")
    return [folder for site in dict.fromkeys(sites) for folder in sorted(glob.glob(site + "/nvidia/*/lib"))]


def search_folders():
    given = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return given + list(DRIVER_FOLDERS) + toolkit_folders() + python_folders()


def find(names, cache, folders):
    """The file, or None. What the dynamic linker knows comes first."""
    for name in names:
        if name in cache and os.path.exists(os.path.join(cache[name], name)):
            return os.path.join(cache[name], name)
    for folder in folders:
        for name in names:
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
    return None


class Launcher:
    """Starts the programs beside this file with the libraries that came with them and the machine's own of NVIDIA."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.links = tempfile.TemporaryDirectory(prefix="ompdarts-gpu-")
        cache, folders = cached_folders(), search_folders()
        self.found = {"driver": os.environ.get("BENCH_CUDA") or find(DRIVER, cache, folders),
                      "cublas": os.environ.get("BENCH_CUBLAS") or find(CUBLAS, cache, folders),
                      "cusolver": os.environ.get("BENCH_CUSOLVER") or find(CUSOLVER, cache, folders)}
        self.environment = self.make_environment()
        self.loader = []

    def make_environment(self):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMPDARTS_", "OMP_", "LIBOMPTARGET_")) and name != "LD_PRELOAD"}
        if self.found["driver"]:
            # LLVM 19 opens the name without a version, which machines without development files lack.
            os.symlink(os.path.abspath(self.found["driver"]), os.path.join(self.links.name, "libcuda.so"))
        # cuBLAS brings libraries of its own, in its folder or in a sister's.
        folders = [os.path.dirname(os.path.abspath(file)) for file in self.found.values() if file]
        sisters = [folder for file in self.found.values() if file and "/nvidia/" in file
                   for folder in sorted(glob.glob(os.path.dirname(os.path.dirname(file)) + "/*/lib"))]
        given = [environment["LD_LIBRARY_PATH"]] if environment.get("LD_LIBRARY_PATH") else []
        environment["LD_LIBRARY_PATH"] = ":".join(
            dict.fromkeys([str(self.root / "bin"), str(self.root / "lib"), self.links.name] + given + folders + sisters))
        environment.setdefault("XDG_CACHE_HOME", self.links.name)  # nothing learnt before, nothing left behind
        return environment

    def command(self, program, *arguments):
        return [*self.loader, str(self.root / "bin" / program), *map(str, arguments)]

    def works(self):
        try:
            done = subprocess.run(self.command("gpu_peers", "--help"), env=self.environment, capture_output=True,
                                  text=True, check=False)
        except OSError as error:
            return False, str(error)
        return done.returncode == 0, done.stderr.strip()

    def choose_loader(self):
        """The machine's glibc, or the one that was packed where that is too old. Returns what is wrong, or None."""
        fine, why = self.works()
        loader = self.root / "glibc" / "ld-linux-x86-64.so.2"
        if not fine and loader.exists():
            self.loader = [str(loader)]
            self.environment["LD_LIBRARY_PATH"] = f"{self.root / 'glibc'}:{self.environment['LD_LIBRARY_PATH']}"
            fine = self.works()[0]
        return None if fine else why


def has_gpu(launcher):
    count = ctypes.c_int()
    try:
        driver = ctypes.CDLL(launcher.found["driver"] or "libcuda.so.1")
    except OSError:
        return False
    return not driver.cuInit(0) and not driver.cuDeviceGetCount(ctypes.byref(count)) and count.value > 0


def main(words):
    launcher = Launcher(pathlib.Path(__file__).resolve().parent)
    if words == ["has-gpu"]:
        return 0 if has_gpu(launcher) else 1
    wrong = launcher.choose_loader()
    if wrong:
        print(f"the packed programs do not start: {wrong}", file=sys.stderr)
        return 2
    environment = dict(launcher.environment)
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    status = subprocess.run(launcher.command(*words), env=environment, check=False).returncode
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
