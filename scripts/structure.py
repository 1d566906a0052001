#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks how the sources build on each other (CONTRIBUTING.md, docs/design.md "Layers and folders").

A file here is a header together with the .c of the same name. It has an arrow to each file that it includes, and to
each .c that defines a function or table of which its code speaks, wherever that is declared. A member of a struct is
none, nor is REAL(name), which is the next library's. --arrows FILE prints the arrows of one file. Checked are:

  arrows    only those between the top folders that LAYERS allows
  circles   no two files reach each other
  sizes     at most 20 sources in a folder, 600 lines in a file and 120 columns in a line
  copies    no two places have six lines that differ in the names of variables alone: a function could replace them
  names     what a comment or a document names as folder/file.h, folder/file.c or `folder/` is there; of a document,
            also `folder/file.*` of all other folders at the root of the sources
  exports   each entry point that omp_ext defines is in its version script, under the name of its file, and no other is

Prints each offence with the lines that make it. Exit codes: 0 nothing, 1 some, 2 wrong arguments.
"""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile

# Who may have arrows to whom. What is not named here (tests, examples) uses them all and is not checked.
LAYERS = {
    "util": (),
    "memmgr": ("util",),
    "sched": ("memmgr", "util"),
    "trace": ("sched", "memmgr", "util"),
    "omp_ext": ("trace", "sched", "memmgr", "util"),
    "sim": ("trace", "sched", "memmgr", "util"),
    "batch": ("util",),
    "dag": ("util",),
    # Of omp_ext only options.c is linked, of sim only its graphs.
    "tools": ("omp_ext", "batch", "dag", "sim", "trace", "sched", "memmgr", "util"),
    "bench": ("sched", "memmgr", "util", "tests"),
}
MOST_FILES, MOST_LINES, MOST_COLUMNS = 20, 600, 120
COPIED_LINES = 6
MADE = {"bench/results/"}  # by programs

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
FUNCTION = re.compile(r"^(?!static\b|typedef\b|return\b|else\b|extern\b)[A-Za-z_][\w \t*]*?\b(\w+)\s*"
                      r"\([^;{}]*\)\s*\n\{", re.M)
TABLE = re.compile(r"^(?!static\b|typedef\b|extern\b)[A-Za-z_][\w \t*]*?\b(\w+)(?:\[\w*\])*\s*=\s", re.M)
STATIC = re.compile(r"^static\b[\w \t*]*?\b(\w+)\s*[(\[=]", re.M)
INLINE = re.compile(r"^(?:\w+ )*static inline\b.*?\n\{\n.*?\n\}", re.M | re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*|->|[^\s{}]')
KEYWORDS = frozenset("if else for while do return switch break continue goto sizeof const static struct unsigned int char "
                     "void double float bool size_t uint32_t uint64_t NULL true false".split())
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)[ \t]*")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
USE = re.compile(r"REAL\(\w+\)|(?:(?<!\.)\.|->)\s*[A-Za-z_]\w*|\b([A-Za-z_]\w+)")
QUOTED = re.compile(r"(?<!`)`([\w.-]+(?:/[\w.-]+)*/?)`(?!`)")
PLACEHOLDER = re.compile(r"(?:^|[/_.])(?:ROOM|NAME)(?=[/_.])")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/*.md")
EXPORTS = "omp_ext/hooks/libompdarts.map"
EXPORTED = re.compile(r"\b(?:__kmpc|__tgt|ompt?|kmp|GOMP)_\w+$")
NAME = re.compile(r"(?<![\w./-])((?:%s)(?:/\w+)*/(?:\w+\.[ch]\b|(?=`)))" % "|".join(LAYERS))


def unit(path):
    return path.rsplit(".", 1)[0]


def top(path):
    return path.split("/", 1)[0]


def code(text):
    """Without comments, strings and attributes; each line stays where it is."""
    return ATTRIBUTE.sub("", STRING.sub('""', COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)))


class Sources:
    def __init__(self, root):
        self.root = root
        files = [p for room in LAYERS for p in sorted((root / room).rglob("*.[ch]"))]
        self.text = {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in files}
        self.code = {path: code(text) for path, text in self.text.items()}
        self.defined = {}
        for path, text in self.code.items():
            if path.endswith(".c"):
                for name in FUNCTION.findall(text) + TABLE.findall(text):
                    self.defined[name] = path
        self.arrows = {unit(path): {} for path in self.text}  # unit -> other unit -> what makes the arrow
        for path in self.text:
            self._includes(path)
            self._uses(path)

    def _add(self, path, line, what, other):
        if unit(other) != unit(path):
            self.arrows[unit(path)].setdefault(unit(other), f"{path}:{line} {what}")

    def _includes(self, path):
        text = self.text[path]
        for match in INCLUDE.finditer(text):
            beside = str(pathlib.PurePosixPath(path).parent / match.group(1))
            for other in (match.group(1), beside):
                if (self.root / other).is_file():
                    self._add(path, text.count("\n", 0, match.start()) + 1, f"includes {other}", other)
                    break

    def _uses(self, path):
        text = self.code[path]
        own = set(STATIC.findall(text))
        pieces = [(0, text)] if path.endswith(".c") else [(m.start(), m.group()) for m in INLINE.finditer(text)]
        for start, piece in pieces:
            for match in USE.finditer(piece):
                name = match.group(1)
                other = self.defined.get(name)
                # Short names of programs and tests are not unique; what rooms share begins with od_.
                if other and name not in own and (top(other) == top(path) or name.startswith("od_")):
                    line = text.count("\n", 0, start + match.start()) + 1
                    self._add(path, line, f"uses {name}() of {other}", other)

    def circles(self, room):
        """The sets of files of the room that reach each other (Tarjan's algorithm), largest first."""
        number, low, stack, found = {}, {}, [], []

        def visit(node):
            number[node] = low[node] = len(number)
            stack.append(node)
            for other in self.arrows[node]:
                if top(other) != room or other not in self.arrows:
                    continue
                if other not in number:
                    visit(other)
                    low[node] = min(low[node], low[other])
                elif other in stack:
                    low[node] = min(low[node], number[other])
            if low[node] == number[node]:
                at = stack.index(node)
                if len(stack) - at > 1:
                    found.append(sorted(stack[at:]))
                del stack[at:]

        for node in sorted(self.arrows):
            if top(node) == room and node not in number:
                visit(node)
        return sorted(found, key=len, reverse=True)


def bad_arrows(sources):
    for here, others in sorted(sources.arrows.items()):
        for other, why in sorted(others.items()):
            if top(other) != top(here) and top(other) not in LAYERS[top(here)]:
                yield f"arrow: from {top(here)} to {top(other)}: {why}"


def shortest(arrows, circle):
    """A shortest way round inside the circle, as the reasons for its arrows."""
    best = None
    for first in circle:
        ways, seen = [[first]], {first}
        while ways and (best is None or len(ways[0]) < len(best)):
            way = ways.pop(0)
            nexts = [n for n in sorted(arrows[way[-1]]) if n in circle]
            if first in nexts:
                best = way + [first]
                break
            ways += [way + [n] for n in nexts if n not in seen]
            seen.update(nexts)
    return [arrows[a][b] for a, b in zip(best, best[1:])]


def bad_circles(sources):
    for room in LAYERS:
        for circle in sources.circles(room):
            yield "\n    ".join([f"circle: {len(circle)} files of {room}: {' '.join(circle)}; for example"] +
                                shortest(sources.arrows, circle))


def bad_sizes(sources):
    folders = {}
    for path, text in sorted(sources.text.items()):
        folders.setdefault(path.rsplit("/", 1)[0], []).append(path)
        lines = text.count("\n")
        if lines > MOST_LINES:
            yield f"size: {path} has {lines} lines, at most {MOST_LINES}"
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MOST_COLUMNS:
                yield f"size: {path}:{number} has {len(line)} columns, at most {MOST_COLUMNS}"
    for folder, files in sorted(folders.items()):
        if len(files) > MOST_FILES:
            yield f"size: {folder} has {len(files)} sources, at most {MOST_FILES}"


def pieces(text):
    """What functions consist of: lists of lines, as (number, text). Tables and labels divide, preprocessor lines do not count."""
    piece = None
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if line == "{":
            piece = []
        elif piece is not None and (line.startswith("}") or words.startswith(("{", "[", ".", "case ", "default:"))):
            yield piece
            piece = None if line.startswith("}") else []
        elif piece is not None and re.search(r"\w", words) and not words.startswith("#"):
            piece.append((number, words))


def likeness(lines):
    """The same for lines that differ in the names of variables and types alone."""
    names, found = {}, []
    for _, line in lines:
        tokens = TOKEN.findall(line)
        for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""]):
            if (token[0].isalpha() or token[0] == "_") and token not in KEYWORDS and after != "(" and before not in (".", "->"):
                token = names.setdefault(token, len(names))
            found.append(token)
        found.append("\n")
    return tuple(found)


def bad_copies(sources):
    seen, reported = {}, set()
    for path, text in sorted(sources.code.items()):
        for piece in pieces(text):
            for at in range(len(piece) - COPIED_LINES + 1):
                lines = piece[at:at + COPIED_LINES]
                other = seen.setdefault(likeness(lines), (path, piece, at))
                overlaps = other[1] is piece and at - other[2] < COPIED_LINES
                if not overlaps and (id(piece), id(other[1])) not in reported:
                    reported.add((id(piece), id(other[1])))
                    yield f"copy: {path}:{lines[0][0]} and {other[0]}:{other[1][other[2]][0]} have {COPIED_LINES} like lines"


def is_missing(root, name):
    """A folder, or a file with a suffix, below a folder of ours. Programs that the build makes have no suffix."""
    if name in MADE or PLACEHOLDER.search(name) or not re.search(r"/$|/[^/]*\.\w+$", name):
        return False
    return (root / name.split("/", 1)[0]).is_dir() and not (root / name).exists()


def missing_names(root, text):
    """Of sources and their folders, wherever they are named."""
    return {n for n in NAME.findall(text) if not (n in MADE or PLACEHOLDER.search(n) or (root / n).exists())}


def bad_names(sources):
    root = sources.root
    names = {path: missing_names(root, "\n".join(COMMENT.findall(text))) for path, text in sources.text.items()}
    for document in DOCUMENTS:
        for path in root.glob(document):
            text = path.read_text(encoding="utf-8")
            quoted = {n for n in QUOTED.findall(text) if is_missing(root, n)}
            names[str(path.relative_to(root))] = quoted | missing_names(root, text)
    for path, missing in sorted(names.items()):
        for name in sorted(missing):
            yield f"name: {path} names {name}, which is not there"


def bad_exports(sources):
    listed, file = {}, None
    for line in (sources.root / EXPORTS).read_text(encoding="utf-8").split("\n"):
        words = line.strip()
        if words.startswith("# omp_ext/"):
            file = words[2:].split(":", 1)[0]
        elif file and words.endswith(";") and EXPORTED.match(words[:-1]):
            listed[words[:-1]] = file
    defined = {name: path for name, path in sources.defined.items() if top(path) == "omp_ext" and EXPORTED.match(name)}
    for name, path in sorted(defined.items()):
        if listed.get(name) != path:
            yield f"export: {name} of {path} is not under that file in {EXPORTS}"
    for name, path in sorted(listed.items()):
        text = sources.code.get(path, "")
        if name not in defined and "##" not in text and not re.search(rf"\b{name}\b", text):  # ##: a macro makes it
            yield f"export: {EXPORTS} lists {name} under {path}, which does not define it"


def check(root):
    sources = Sources(root)
    if not sources.text:
        return [f"no sources in {root}"]
    return [*bad_arrows(sources), *bad_circles(sources), *bad_sizes(sources), *bad_copies(sources), *bad_names(sources),
            *bad_exports(sources)]


def print_arrows(sources, path):
    """Who has arrows to the file, and where its own go; starred are those inside of a circle."""
    here = unit(path)
    if here not in sources.arrows:
        return f"no such source: {path}"
    circle = next((set(c) for c in sources.circles(top(here)) if here in c), set())
    for other in sorted(sources.arrows):
        if here in sources.arrows[other]:
            print(f"{'*' if other in circle else ' '} from {other}: {sources.arrows[other][here]}")
    for other, why in sorted(sources.arrows[here].items()):
        print(f"{'*' if other in circle else ' '} to {other}: {why}")
    return None


# --- selftest -----------------------------------------------------------------------------------------------------


def append(path, text):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def plant_include(root):
    append(root / "memmgr/data/pool.c", '#include "sched/task.h"\n')
    return "arrow: from memmgr to sched: memmgr/data/pool.c:"


def plant_call(root):
    append(root / "util/log.c", "\nvoid planted(void)\n{\n    od_pool_create(0, 0);\n}\n")
    return "arrow: from util to memmgr: util/log.c:"


def plant_circle(root):
    append(root / "memmgr/data/presence.h", '#include "memmgr/data/directory.h"\n')
    return "circle: "


def plant_circle_of_calls(root):
    append(root / "sched/engine/rights.c", "\nvoid planted(od_engine *e)\n{\n    od_engine_hold(e);\n}\n")
    return "circle: "


def plant_long_file(root):
    append(root / "util/log.c", "\n" * MOST_LINES)
    return "size: util/log.c has"


def plant_long_line(root):
    append(root / "util/log.c", "/*" + "-" * (MOST_COLUMNS - 3) + "*/\n")
    return "size: util/log.c:"


def plant_full_folder(root):
    for number in range(MOST_FILES + 1):
        (root / f"sched/evict/planted{number}.c").write_text("", encoding="utf-8")
    return "size: sched/evict has"


def plant_copy(root):
    text = (root / "memmgr/data/pool.c").read_text(encoding="utf-8")
    longest = max(re.findall(r"\n\{\n(.*?\n)\}", text, re.S), key=len)
    append(root / "sched/evict/luf.c", "\nstatic void planted(void)\n{\n" + re.sub(r"\bpool\b", "x", longest) + "}\n")
    return "copy: sched/evict/luf.c:"


def plant_name(root):
    append(root / "README.md", "\nSee `sched/nowhere.h`.\n")
    return "name: README.md names sched/nowhere.h"


def plant_script(root):
    append(root / "CONTRIBUTING.md", "\nRun `scripts/nowhere.sh`.\n")
    return "name: CONTRIBUTING.md names scripts/nowhere.sh"


def plant_hidden_hook(root):
    append(root / "omp_ext/hooks/libraries.c", "\nint omp_planted(void)\n{\n    return 0;\n}\n")
    return "export: omp_planted of omp_ext/hooks/libraries.c"


def plant_export(root):
    path = root / EXPORTS
    text = path.read_text(encoding="utf-8").replace("omp_target_free;", "omp_target_free;\n        omp_promised;")
    path.write_text(text, encoding="utf-8")
    return "export: omp_ext/hooks/libompdarts.map lists omp_promised"


def copy_sources(root, copy):
    for room in (*LAYERS, "docs", "scripts", "tests", "examples"):
        shutil.copytree(root / room, copy / room, ignore=shutil.ignore_patterns("*.png", "*.svg"))
    for document in ("README.md", "CONTRIBUTING.md"):
        shutil.copy(root / document, copy)


def selftest(root):
    """The sources are without offence; of those planted in a copy each is found, and nothing else."""
    plants = (plant_include, plant_call, plant_circle, plant_circle_of_calls, plant_long_file, plant_long_line,
              plant_full_folder, plant_copy, plant_name, plant_script, plant_hidden_hook, plant_export)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        copy_sources(root, copy)
        found = check(copy)
        print("nothing planted", *found, sep="\n    ")
        failures += len(found)
        expected = {plant: plant(copy) for plant in plants}
        found = check(copy)
    for plant, beginning in expected.items():
        own = next((offence for offence in found if offence.startswith(beginning)), None)
        print(f"{'right' if own else 'WRONG'}: {plant.__name__}", own or "not found", sep="\n    ")
        failures += own is None
        found = [offence for offence in found if offence is not own]
    print(*(f"WRONG: {offence}" for offence in found), sep="\n")
    return failures + len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the source folder (default: that of this script)")
    parser.add_argument("--selftest", action="store_true", help="plant offences in a copy; each must be found")
    parser.add_argument("--arrows", metavar="FILE", help="print the arrows from and to this file, and what makes them")
    arguments = parser.parse_args()
    if arguments.selftest:
        return 1 if selftest(arguments.root) else 0
    if arguments.arrows:
        wrong = print_arrows(Sources(arguments.root), arguments.arrows)
        print(wrong or "", end="\n" if wrong else "", file=sys.stderr)
        return 2 if wrong else 0
    offences = check(arguments.root)
    print(*offences, sep="\n", end="\n" if offences else "")
    print(f"{len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
