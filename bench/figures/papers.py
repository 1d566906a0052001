# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The papers' figures as data: what is run, and with which policies.

Numbers are those of Maxime Gonthier's thesis (2023). Its MB are 2^20 bytes: the working set of a 2D product of N = 15 is given
as 422 MB. Where the text gives neither the range of sizes nor their steps, ours are marked "our range".

Curves hold the papers' names and our policies. In the thesis' chapters 3 and 4 DARTS is its Algorithm 9 (`darts:alg9`), in
chapter 5 its Algorithm 12 (`darts:alg12`).
"""

from dataclasses import dataclass, field

MIB = 2.0 ** 20


@dataclass(frozen=True)
class Curve:
    label: str
    policy: str
    evict: str
    colour: str
    marker: str
    line: str = "-"
    published: bool = True  # a task buffer of a fixed length, as in the papers
    offline: bool = False  # the paper leaves out what deciding costs, in real runs too

    @property
    def options(self):
        """Of the simulator."""
        if not self.published:
            return ["--sched", self.policy]
        return ["--sched", self.policy + (",ahead=0" if ":" in self.policy else ":ahead=0"), "--buffer", "5"]


HFP = "hfp:sort=0,batch=0"

CURVES = {
    "eager": Curve("EAGER", "eager", "lru", "#999999", "o"),
    "ap": Curve("AP", "ap", "lru", "#e69f00", "v"),
    "lws": Curve("LWS", "lws", "lru", "#009e73", "^"),
    "dmdar": Curve("DMDAR", "dmdar", "lru", "#0072b2", "s"),
    "dmdas": Curve("DMDAS", "dmdas", "lru", "#0072b2", "s"),
    "rcm": Curve("RCM", "rcm:ready=0,sort=0,batch=0", "lru", "#e69f00", "v", offline=True),
    "mst": Curve("MST", "mst:ready=0,sort=0,batch=0", "lru", "#009e73", "^", offline=True),
    "hfp": Curve("HFP", f"{HFP},ready=1000000", "belady", "#d55e00", "P", offline=True),
    "hfp-belady": Curve("HFP only Belady", f"{HFP},ready=0,flip=0", "belady", "#cc79a7", "d", "--", offline=True),
    "hfp-flip": Curve("HFP only flip", f"{HFP},ready=0", "lru", "#56b4e9", "x", "--", offline=True),
    "hfp-ready": Curve("HFP only Ready", f"{HFP},ready=1000000,flip=0", "lru", "#8c510a", "+", "--", offline=True),
    "hfp-time": Curve("HFP, sched. time, fast start", f"{HFP},ready=1000000,faststart", "belady", "#6a3d9a", "*", ":"),
    "mhfp": Curve("mHFP no sched. time", "mhfp:sort=0,batch=0,ready=1000000", "belady", "#6a3d9a", "P", "--",
                  offline=True),
    "mhfp-time": Curve("mHFP", "mhfp:sort=0,batch=0,ready=1000000", "belady", "#6a3d9a", "*"),
    "mhfp2": Curve("mHFP2", "mhfp:sort=0,batch=0,ready=1000000,mhfp2", "belady", "#e69f00", "v", "--", offline=True),
    "hmetis": Curve("hMETIS+R", "hypergraph:batch=0", "lru", "#e69f00", "v"),
    "hmetis-offline": Curve("hMETIS+R no part. time", "hypergraph:batch=0", "lru", "#e69f00", "^", "--",
                            offline=True),
    "darts-lru": Curve("DARTS (LRU)", "darts:alg9", "lru", "#cc79a7", "x"),
    "darts-luf": Curve("DARTS+LUF", "darts:alg9", "luf", "#d55e00", "D"),
    "darts-threshold": Curve("DARTS+LUF threshold", "darts:alg9,threshold", "luf", "#d55e00", "+", "--"),
    "darts-3inputs": Curve("DARTS+LUF 3inputs", "darts:alg11", "luf", "#56b4e9", "d"),
    "darts-opti": Curve("DARTS+LUF OPTI", "darts:alg9,opti", "luf", "#8c510a", "+", "--"),
    "darts-opti-3inputs": Curve("DARTS+LUF OPTI 3inputs", "darts:alg11,opti", "luf", "#009e73", "<", "--"),
    "darts-dag": Curve("DARTS", "darts:alg12", "luf", "#d55e00", "D"),
    "ours": Curve("darts of ompdarts", "darts", "luf", "#000000", ".", ":", published=False),
}

# Vertical lines: the working set is so many times the memory of all devices.
LINES_2D = ((2, "#d00000", "one matrix fits"), (1, "#f08000", "both matrices fit"))
LINES_3D = ((1.5, "#f08000", "A and B fit"), (1, "#008000", "all data fit"))
LINES_ALL = ((1, "#008000", "all data fit"),)


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    workload: str  # NAME[:ARGUMENT=VALUE], n= is added
    sizes: tuple  # n
    curves: tuple
    lines: tuple
    devices: int = 1
    memory: str = "500Mi"
    memories: tuple = ()  # instead of several sizes
    platform: str = "gemini"
    simulated: bool = False  # in the paper too: scheduling costs nothing

    def cost(self, curve):
        """--sched-time of a curve: as in the paper."""
        return "ignore" if self.simulated or curve.offline else "add"


def steps(first, last, step):
    return tuple(range(first, last + 1, step))


ONE_GPU = ("eager", "mst", "rcm", "dmdar", "hfp-flip", "hfp-ready", "hfp-belady", "hfp", "ours")
MORE = ("eager", "dmdar", "hmetis", "hmetis-offline", "darts-lru", "darts-luf", "ours")
DAG = ("eager", "lws", "ap", "dmdas", "darts-dag", "ours")
DAG_LU = ("eager", "lws", "dmdas", "darts-dag", "ours")


def products_3d(name, simulated):
    """Figures 5.10 and 5.11; our range."""
    about = "3D product, {} V100" + (", simulated in the thesis" if simulated else "")
    sizes = {2: steps(4, 28, 4), 4: steps(4, 32, 4), 8: steps(4, 36, 4)}
    return [Figure(f"{name}{letter}", about.format(devices), "gemm3d:tile=1920", sizes[devices], DAG_LU, LINES_ALL,
                   devices=devices, memory="2000Mi", simulated=simulated)
            for letter, devices in (("a", 2), ("b", 4), ("c", 8))]


FIGURES = [
    Figure("3.8", "2D product, 1 V100", "gemm2d", steps(5, 90, 5), ONE_GPU[:-1] + ("hfp-time", "ours"), LINES_2D),
    Figure("3.9", "2D product, N = 15, 1 V100, memory varied", "gemm2d", (15,),  # our range
           ("eager", "mst", "rcm", "dmdar", "hfp", "hfp-time", "ours"), LINES_2D,
           memories=tuple(f"{m}Mi" for m in steps(50, 500, 50))),
    Figure("3.13", "3D product without dependences, 1 V100", "gemm3d-set", steps(2, 20, 2), ONE_GPU, LINES_3D),
    Figure("3.14", "3D product without dependences, 1 V100, simulated in the thesis", "gemm3d-set", steps(2, 20, 2),
           ONE_GPU, LINES_3D, simulated=True),
    Figure("3.16", "Cholesky's tasks without dependences, 1 V100", "cholesky-set", steps(5, 50, 5), ONE_GPU, LINES_ALL),
    Figure("3.17", "2D product, tasks in random order, 1 V100", "gemm2d-random", steps(5, 80, 5), ONE_GPU, LINES_2D),
    Figure("3.19", "random pairs, 1 V100", "pairs", steps(5, 80, 5), ONE_GPU, LINES_2D),
    Figure("3.20", "sparse 2D product, 10 % of the tasks, 1 V100", "sparse2d:density=10%", steps(5, 90, 5), ONE_GPU,
           LINES_2D),
    Figure("4.2", "2D product, 3 V100: mHFP packed twice", "gemm2d", steps(20, 120, 20), ("mhfp", "mhfp2"), LINES_2D,
           devices=3),  # the thesis draws only an order
    # Our range: mHFP and DMDAR are said to change at 2000 MB, and at the last two points.
    Figure("4.6", "2D product, 1 V100", "gemm2d", steps(5, 75, 5),
           ("eager", "dmdar", "mhfp-time", "mhfp", "darts-lru", "darts-luf", "ours"), LINES_2D),
    Figure("4.7", "2D product, 2 V100, simulated in the thesis", "gemm2d", steps(10, 140, 10),  # our range
           ("eager", "dmdar", "hmetis-offline", "mhfp", "darts-lru", "darts-luf", "ours"), LINES_2D, devices=2,
           simulated=True),
    Figure("4.8", "2D product, 2 V100", "gemm2d", steps(10, 140, 10), MORE, LINES_2D, devices=2),  # our range
    Figure("4.13", "2D product, 4 V100", "gemm2d", steps(20, 220, 20),  # our range
           MORE[:-1] + ("darts-threshold", "ours"), LINES_2D, devices=4),
    Figure("4.14", "2D product, tasks in random order, 2 V100", "gemm2d-random", steps(10, 140, 10), MORE, LINES_2D,
           devices=2),  # our range
    Figure("4.15", "3D product without dependences, 4 V100, simulated in the thesis", "gemm3d-set", steps(4, 40, 4),
           ("eager", "dmdar", "hmetis-offline", "darts-luf", "darts-3inputs", "ours"), LINES_3D, devices=4,
           simulated=True),  # our range
    Figure("4.16", "Cholesky's tasks without dependences, 4 V100", "cholesky-set", steps(5, 60, 5),  # our range
           ("eager", "dmdar", "hmetis", "hmetis-offline", "darts-luf", "darts-3inputs", "darts-opti",
            "darts-opti-3inputs", "ours"), LINES_ALL, devices=4),
    Figure("4.17a", "sparse 2D product, 2 % of the tasks, 4 V100", "sparse2d:density=2%", steps(20, 300, 20),  # our range
           ("eager", "dmdar", "hmetis", "hmetis-offline", "darts-luf", "darts-opti", "ours"), LINES_2D, devices=4),
    Figure("4.17b", "sparse 2D product, 2 % of the tasks, 4 V100, all data fit", "sparse2d:density=2%",
           steps(20, 300, 20), ("eager", "dmdar", "hmetis", "hmetis-offline", "darts-luf", "darts-opti", "ours"),
           LINES_2D, devices=4, memory="32Gi"),
    # The 8th point is N = 40.
    Figure("5.2", "Cholesky, 1 V100", "cholesky", steps(5, 70, 5), DAG, LINES_ALL, memory="2000Mi"),
    Figure("5.5", "Cholesky, 8 V100", "cholesky", steps(5, 80, 5), DAG, LINES_ALL, devices=8, memory="2000Mi"),
    Figure("5.7", "Cholesky, 8 V100 of 32 GB", "cholesky", steps(5, 80, 5), DAG, LINES_ALL, devices=8, memory="32Gi"),
    Figure("5.8", "LU, 4 V100", "lu", steps(5, 60, 5), DAG_LU, LINES_ALL, devices=4, memory="2000Mi"),
    Figure("5.9", "LU, 1 V100 of 32 GB", "lu", steps(5, 70, 5), DAG_LU, LINES_ALL, memory="32Gi"),
    *products_3d("5.10", False),
    *products_3d("5.11", True),
    Figure("5.12ab", "LU, 16 CPU cores and a disk", "lu:tile=320", steps(10, 100, 10), DAG_LU, LINES_ALL,
           memory="2000Mi", platform="epyc16"),  # our range
    Figure("5.12cd", "LU, 48 CPU cores and a disk", "lu:tile=320", steps(10, 100, 10), DAG_LU, LINES_ALL,
           memory="2000Mi", platform="epyc48"),
]


@dataclass(frozen=True)
class Picture:
    """A picture of who did what when: thesis 2.6.5."""
    name: str
    title: str
    workload: str
    curve: str
    devices: int = 1
    memory: str = ""  # "": all data fit
    options: tuple = field(default=())  # of order.py


def thousand(*layers):
    """Colours per 1,000 tasks, of some layers, and the memory's 142 tiles: figures 5.3, 5.4 and 5.6."""
    return ("--chunk", "1000", "--layers", *layers, "--memory-tiles", "142")


PICTURES = [
    # Figures 2.7 to 2.10 explain the pictures and name no policy: the columns of 2.7 are DMDAR's.
    Picture("2.7a", "2D product, 1 device, dmdar", "gemm2d:n=4", "dmdar"),
    Picture("2.7b", "2D product, 2 devices, dmdar", "gemm2d:n=4", "dmdar", 2),
    Picture("2.8", "3D product, 1 device, darts", "gemm3d:n=4", "darts-dag"),
    Picture("2.9", "Cholesky, 1 device, dmdas", "cholesky:n=10", "dmdas", 1, "200Mi",
            ("--chunk", "50", "--memory-tiles", "14")),
    Picture("2.10", "Cholesky, 2 devices, dmdas", "cholesky:n=10", "dmdas", 2, "200Mi",
            ("--chunk", "50", "--memory-tiles", "14")),
    Picture("3.10", "2D product, RCM", "gemm2d:n=20", "rcm", 1, "250Mi"),
    Picture("3.11", "2D product, DMDAR", "gemm2d:n=20", "dmdar", 1, "250Mi"),
    Picture("3.12", "2D product, HFP", "gemm2d:n=20", "hfp", 1, "250Mi"),
    Picture("3.18a", "2D product in random order, DMDAR", "gemm2d-random:n=20", "dmdar", 1, "250Mi"),
    Picture("3.18b", "2D product in random order, HFP", "gemm2d-random:n=20", "hfp", 1, "250Mi"),
    Picture("4.9", "2D product, 2 devices, mHFP", "gemm2d:n=20", "mhfp", 2, "250Mi"),
    Picture("4.10", "2D product, 8 devices, mHFP", "gemm2d:n=40", "mhfp", 8, "250Mi"),
    Picture("4.11", "2D product, 2 devices, DMDAR", "gemm2d:n=20", "dmdar", 2, "250Mi"),
    Picture("4.12", "2D product, 2 devices, DARTS+LUF", "gemm2d:n=20", "darts-luf", 2, "250Mi"),
    Picture("5.3", "Cholesky, 1 device, DMDAS", "cholesky:n=40", "dmdas", 1, "2000Mi", thousand("0-3")),
    Picture("5.4", "Cholesky, 1 device, DARTS", "cholesky:n=40", "darts-dag", 1, "2000Mi", thousand("0-3")),
    Picture("5.6", "Cholesky, 8 devices, DARTS", "cholesky:n=40", "darts-dag", 8, "2000Mi", thousand("0-1")),
    # Not in the thesis.
    Picture("lu", "LU, 2 devices, darts", "lu:n=8", "ours", 2, "500Mi"),
    Picture("qr-data", "QR by the data that tasks write, 2 devices, darts", "qr:n=6", "ours", 2, "500Mi",
            ("--group", "data")),
]
