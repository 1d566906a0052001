# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spack recipe of ompdarts, in the layout of Spack before 1.0, for a repository of your own (written from Spack's documentation; not tried):

    spack repo create ~/spack-ompdarts ompdarts        # once
    mkdir ~/spack-ompdarts/packages/ompdarts
    cp package.py ~/spack-ompdarts/packages/ompdarts/
    spack repo add ~/spack-ompdarts

and then, in a clone of the sources, `spack dev-build ompdarts@main`; or set `git` below to where your copy of them is.
"""

from spack.package import *


class Ompdarts(CMakePackage):
    """Runs OpenMP programs that offload tasks, compiled by plain clang, on all devices of a node as if they were one: the DARTS
    scheduler decides which task runs where and when, a memory manager which tile sits in which device's memory."""

    git = "file:///path/to/ompdarts"

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    variant("simulator", default=True, description="The simulator, `ompdarts sim`")
    variant("metis", default=True, description="METIS for the policy `hypergraph`, which opens it when it is used")
    variant("nvptx", default=False, description="Build the benchmarks for NVIDIA's GPUs, too")
    variant("cuda_arch", default="90", description="GPU of +nvptx, as in sm_90", when="+nvptx")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    # The offload programs are compiled by its clang, and run on its libomp and libomptarget.
    depends_on("llvm@19,22 +clang +lld openmp=runtime +libomptarget", type=("build", "link", "run"))
    depends_on("cjson")
    depends_on("hwloc@2:")
    depends_on("openblas")
    depends_on("simgrid@3.30:", when="+simulator")
    depends_on("metis", when="+metis", type="run")
    depends_on("cuda", when="+nvptx")
    depends_on("cmocka", type="test")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("OMPDARTS_LLVM_ROOT", self.spec["llvm"].prefix),
            self.define("BUILD_TESTING", self.run_tests),
        ]
        if self.spec.satisfies("+nvptx"):
            args.append(self.define("OMPDARTS_NVPTX_ARCH", "sm_" + self.spec.variants["cuda_arch"].value))
            args.append(self.define("OMPDARTS_CUDA_PATH", self.spec["cuda"].prefix))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def bench(self):
        """The smallest benchmark, from where it was installed; it checks its results."""
        ompdarts = Executable(self.prefix.bin.ompdarts)
        ompdarts("bench", "--tiles=6", "--tile=64", "--repeat=1", "cholesky")
