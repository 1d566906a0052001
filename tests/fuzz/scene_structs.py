# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structs and classes: members, pointers as members, references, arrays of structs; in regions and outside."""

from program import Scene
from scene import Text, scene

MEMBERS = ("x", "y", "v", "z")  # in this order; `v` is an array
STRUCT = "struct S@ { int64_t head, x, y; int64_t v[6]; int64_t *p; int64_t z; };"
NO_HOST = "int64_t other@ = 1;"  # whether a kernel met another address than the host's


class Struct:
    """One struct (a variable, through a pointer, or through a reference) and what its pointer points to."""

    def __init__(self, rng, by):
        self.rng, self.by = rng, by
        self.s = {"name": "s@", "pointer": "ps@->", "reference": "r@."}[by].removesuffix(".").removesuffix("->")
        self.dot = self.s + ("->" if by == "pointer" else ".")
        self.whole = "ps@[0:1]" if by == "pointer" else self.s
        self.n = rng.choice((1, 5, 40))
        self.text, self.uses = Text(), {"struct by " + by}
        self.region = None  # what is present: whole, deep, or the members' names
        self.attached = False
        self.led = self.pushed = False  # where the device's copy of the pointer leads: into device memory, to the host's

    def chance(self, p):
        return self.rng.random() < p

    def scene(self):
        for _ in range(self.rng.randint(2, 4)):
            self.period()
        setup = [f"int64_t *p@ = (int64_t *)malloc({self.n} * sizeof(int64_t));",
                 f"for (int64_t j = 0; j < {self.n}; j++) p@[j] = j + 2;",
                 "struct S@ *ps@ = (struct S@ *)calloc(1, sizeof *ps@); int64_t other@ = 1; (void)other@;",
                 "ps@->x = 1; ps@->y = 2; ps@->z = 3; ps@->p = p@; for (int j = 0; j < 6; j++) ps@->v[j] = j;"]
        tear = [self.look("ps@->"), f"REMEMBER(ps@->p == p@);", "free(p@); free(ps@);"]
        if self.by == "reference":
            setup.append("struct S@ &r@ = *ps@;")
        if self.by == "name":
            setup.append("struct S@ s@ = *ps@;")
            tear.insert(0, self.look("s@."))
        return Scene(top=[STRUCT], setup=setup, steps=self.text.steps, tear=tear, uses=sorted(self.uses))

    def look(self, dot):
        return (f"REMEMBER((uint64_t)({dot}head + {dot}x * 3 + {dot}y * 5 + {dot}z * 7) + HASH_OF({dot}v, 6) + "
                f"HASH_OF(p@, {self.n}));")

    def write(self):
        what = self.rng.choice(("x", "y", "z", "v[2]", "head"))
        self.text.step(f"{self.dot}{what} += {self.rng.randint(1, 50)};")

    def member(self, name):
        return f"{self.dot}{name}"

    def some_members(self, of=MEMBERS):
        return sorted(self.rng.sample(of, self.rng.randint(1, len(of))), key=MEMBERS.index)

    def period(self):
        """Kernels outside of a region, or a region with kernels inside."""
        self.region = None
        self.attached = self.led = self.pushed = False
        self.text.step(self.look(self.dot))
        if self.chance(0.3):
            for _ in range(self.rng.randint(1, 3)):
                self.kernel()
            return
        kind = self.rng.choice(("whole", "whole", "deep", "members", "pointer"))
        self.uses.add("struct region " + kind)
        self.region = {"whole": "whole", "deep": "whole", "pointer": ["p"]}.get(kind) or self.some_members()
        self.attached = self.led = kind in ("deep", "pointer")
        sections = {"whole": [self.whole], "deep": [self.whole, f"{self.dot}p[0:{self.n}]"],
                    "pointer": [f"{self.dot}p[0:{self.n}]"]}.get(kind) or [self.member(m) for m in self.region]
        by_data = self.chance(0.5)
        if by_data:
            kind = self.rng.choice(("tofrom", "tofrom", "to"))
            self.text.begin(f"#pragma omp target data map({kind}: {', '.join(sections)})\n" + "{")
        else:
            self.text.step(f"#pragma omp target enter data map(to: {', '.join(sections)})")
        self.inside()
        if by_data:
            self.text.end()
        else:
            kind = self.rng.choice(("from", "from", "release", "delete"))
            self.text.step(f"#pragma omp target exit data map({kind}: {', '.join(reversed(sections))})")

    def inside(self):
        for _ in range(self.rng.randint(1, 5)):
            action = self.rng.choice(("kernel", "kernel", "kernel", "write", "look", "update"))
            if action == "kernel":
                self.kernel()
            elif action == "write":
                self.uses.add("host writes what is present")
                self.write()
            elif action == "look":
                self.text.step(self.look(self.dot))
            else:
                self.update()

    def update(self):
        names = MEMBERS if self.region == "whole" else self.region
        name = self.rng.choice(names)
        section = f"{self.dot}p[0:{self.n}]" if name == "p" else self.member(name)
        self.text.step(f"#pragma omp target update {self.rng.choice(('to', 'from'))}({section})")

    def allowed(self, form, modifier, kind):
        """`always` may push the pointer, too: libomptarget does not attach it anew."""
        if form == "deep" and self.region:
            self.led = True
            if modifier == "always, " or not self.attached:
                return ""
        elif kind == "alloc":
            return ""
        if form == "whole" and self.region and modifier == "always, " and kind != "from":
            if self.led:
                return ""
            self.pushed = True
        return modifier

    def kernel(self):
        """One that uses members that its clauses name, or all that is present."""
        if self.region is None:
            forms = ("whole", "implicit", "members", "deep", "section")
        elif self.region == "whole":
            forms = ("whole", "implicit", "members", "members") + (("deep", "pointer") if self.attached else ("deep",))
        elif self.region == ["p"]:
            forms = ("section", "pointer")
        else:
            forms = ("members",)
        form = self.rng.choice(forms)
        if form == "deep" and self.pushed:
            form = "members"
        if form == "pointer" and self.by != "pointer" and self.region == ["p"]:
            form = "section"  # the struct itself would be mapped, and is not all present
        self.uses.add("struct kernel " + form)
        modifier = self.rng.choice(("", "", "", "always, ", "present, " if self.region else ""))
        kind = self.rng.choice(("tofrom", "tofrom", "to", "from", "alloc")) if self.region == "whole" else "tofrom"
        modifier = self.allowed(form, modifier, kind)
        used = list(MEMBERS)
        clauses = {"whole": f" map({modifier}{kind}: {self.whole})", "implicit": "", "pointer": ""}.get(form)
        if form == "implicit" and self.by == "pointer":
            clauses = "" if self.region else f" map(tofrom: {self.whole})"
        if form == "members":
            used = self.some_members(MEMBERS if self.region in (None, "whole") else self.region)
            clauses = "".join(f" map({modifier}{self.rng.choice(('tofrom', kind))}: {self.member(m)})" for m in used)
        if form == "deep":
            clauses = f" map({modifier}tofrom: {self.whole}) map({modifier}tofrom: {self.dot}p[0:{self.n}])"
        if form == "section":
            clauses, used = f" map(tofrom: {self.dot}p[0:{self.n}])", []
        if form == "pointer" and self.region == ["p"]:
            used = []
        reaches = form in ("deep", "section", "pointer") or form in ("whole", "implicit") and self.attached
        k = self.rng.randint(1, 9)
        lines = [f"{self.dot}{name} = {self.dot}{name} * 3 % 10007 + {k};" for name in used if name != "v"]
        lines += [f"for (int j = 0; j < 6; j++) {self.dot}v[j] += j * {k};"] if "v" in used else []
        address = ""
        if reaches:
            lines += [f"for (int64_t j = 0; j < {self.n}; j++) {self.dot}p[j] = {self.dot}p[j] * 5 % 10007 + {k};",
                      f"other@ = (uintptr_t){self.dot}p != host;"]
            address = " map(from: other@) firstprivate(host)"
        self.text.step("{\nuintptr_t host = (uintptr_t)p@; (void)host;\n#pragma omp target" + clauses + address + "\n{\n" +
                       "\n".join(lines) + "\n}\n" + ("REMEMBER(1u + (uint64_t)other@);\n" if reaches else "") + "}")


@scene("struct", weight=2)
def struct(rng):
    return Struct(rng, rng.choice(("name", "pointer"))).scene()


@scene("reference", weight=1.5, cpp=True)
def reference(rng):
    return Struct(rng, "reference").scene()


@scene("array of structs", weight=1.5)
def array_of_structs(rng):
    """Each has an array; some tasks use these by their own names."""
    count, n, text = rng.choice((2, 3, 8)), rng.choice((1, 4, 30)), Text()
    wait = rng.choice((True, False))
    text.step(f"#pragma omp target enter data map(to: e@[0:{count}])")
    text.step(f"for (int i = 0; i < {count}; i++) {{\n#pragma omp target enter data map(to: e@[i].p[0:{n}])\n}}")
    for _ in range(rng.randint(2, 6)):
        k, at, nowait = rng.randint(1, 9), rng.randrange(count), rng.random() < 0.5
        clauses = " nowait depend(inout: e@[0])" if nowait else " depend(inout: e@[0])"
        text.step(rng.choice((
            f"#pragma omp target{clauses}\nfor (int i = 0; i < {count}; i++) for (int j = 0; j < {n}; j++) "
            f"e@[i].p[j] += i * {k} + j;",
            f"#pragma omp target{clauses} map(alloc: e@[0:{count}])\nfor (int i = 0; i < {count}; i++) "
            f"{{ e@[i].w += e@[i].p[0] + {k}; }}",
            f"{{ int64_t *own = q@[{at}];\n#pragma omp target{clauses} map(tofrom: own[0:{n}])\n"
            f"for (int j = 0; j < {n}; j++) own[j] = own[j] * 3 % 10007 + {k}; }}",
            f"#pragma omp taskwait\n#pragma omp target update from(e@[{at}].p[0:{n}])\n"
            f"REMEMBER(HASH_OF(q@[{at}], {n}));",
            f"#pragma omp taskwait\nq@[{at}][0] += {k};\n#pragma omp target update to(e@[{at}].p[0:1])")))
        if wait:
            text.step("#pragma omp taskwait")
    setup = ["struct E@ { int64_t w; int64_t *p; int64_t n; };",
             f"struct E@ *e@ = (struct E@ *)calloc({count}, sizeof *e@); int64_t *q@[{count}];",
             f"for (int i = 0; i < {count}; i++) {{ e@[i].p = q@[i] = (int64_t *)malloc({n} * sizeof(int64_t)); "
             f"for (int j = 0; j < {n}; j++) q@[i][j] = i + j; }}"]
    tear = ["#pragma omp taskwait",
            f"for (int i = 0; i < {count}; i++) {{\n#pragma omp target exit data map(from: e@[i].p[0:{n}])\n}}",
            f"#pragma omp target exit data map(from: e@[0:{count}])",
            f"for (int i = 0; i < {count}; i++) {{ REMEMBER((uint64_t)e@[i].w + HASH_OF(q@[i], {n})); "
            "REMEMBER(e@[i].p == q@[i]); free(q@[i]); }", "free(e@);"]
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=["array of structs"])


CLASS = """\
struct C@ {
    int64_t n, sum, last[4];
    int64_t *data;
    explicit C@(int64_t n_) : n(n_), sum(0), last(), data(new int64_t[n_]) { for (int64_t j = 0; j < n; j++) data[j] = j; }
    C@(const C@ &) = delete;
    ~C@() { delete[] data; }
    void enter() {
#pragma omp target enter data map(to: this[0:1]) map(to: data[0:n])
    }
    void leave() {
#pragma omp target exit data map(from: data[0:n])
#pragma omp target exit data map(from: this[0:1])
    }
    void scale(int64_t k) {
#pragma omp target map(tofrom: data[0:n])
        for (int64_t j = 0; j < n; j++) data[j] = data[j] * k % 10007;
    }
    void total() {
#pragma omp target map(tofrom: sum) map(to: data[0:n])
        for (int64_t j = 0; j < n; j++) sum += data[j];
    }
    void note(int at) {
#pragma omp target map(tofrom: last)
        last[at] += n + at;
    }
    void lambda(int64_t k) {
        auto add = [=](int64_t x) { return x * 3 + k; };
#pragma omp target map(tofrom: data[0:n])
        for (int64_t j = 0; j < n; j++) data[j] = add(data[j]) % 10007;
    }
    void fetch() {
#pragma omp target update from(data[0:n], sum)
    }
    void push() {
#pragma omp target update to(data[0:n], sum)
    }
};"""


@scene("class", weight=1.5, cpp=True)
def class_(rng):
    """Member functions that map members through `this`."""
    text = Text()
    for _ in range(rng.randint(1, 3)):
        inside = rng.random() < 0.6
        text.step("c@.enter();" if inside else ";")
        for _ in range(rng.randint(1, 5)):
            k = rng.randint(2, 9)
            text.step(rng.choice((f"c@.scale({k});", "c@.total();", f"c@.note({k % 4});", f"c@.lambda({k});", "c@.fetch();",
                                  "c@.push();", "REMEMBER((uint64_t)c@.sum);", f"c@.data[0] += {k};", f"c@.sum += {k};",
                                  "REMEMBER(HASH_OF(c@.data, c@.n) + HASH_OF(c@.last, 4));")))
        text.step("c@.leave();" if inside else ";")
    return Scene(top=[CLASS], setup=[f"C@ c@({rng.choice((1, 7, 50))});"], steps=text.steps,
                 tear=["REMEMBER((uint64_t)c@.sum + HASH_OF(c@.data, c@.n) + HASH_OF(c@.last, 4));"], uses=["class"])


@scene("shared struct", weight=0.7, alone=True)
def shared_struct(rng):
    """Several threads change different members, or one by atomic updates, at once; others make regions of its pointers."""
    threads, rounds, n = rng.choice((2, 3, 4)), rng.choice((5, 40)), 16
    body = [f"#pragma omp target map(tofrom: s@)\n#pragma omp atomic\ns@.count += 1;",
            "#pragma omp target map(tofrom: s@.count)\n#pragma omp atomic\ns@.count += 2;",
            f"{{ int64_t *own = q@[me];\n#pragma omp target map(tofrom: own[0:{n}])\n"
            f"for (int j = 0; j < {n}; j++) own[j] += 1; }}"]
    chosen = rng.sample(body, rng.randint(1, 3))
    setup = [f"struct {{ int64_t count; int64_t *p; int64_t pad[3]; }} s@ = {{0}}; int64_t *q@[{threads}];",
             f"for (int i = 0; i < {threads}; i++) {{ q@[i] = (int64_t *)malloc({n} * 8); "
             f"for (int j = 0; j < {n}; j++) q@[i][j] = i; }}"]
    parallel = (f"#pragma omp parallel num_threads({threads})\nfor (int me = omp_get_thread_num(); me < {threads}; me += "
                "omp_get_num_threads())\n" + f"for (int k = 0; k < {rounds}; k++) {{\n" + "\n".join(chosen) + "\n}")
    text = Text()
    text.begin("#pragma omp target data map(tofrom: s@)\n{")
    text.step(parallel)
    text.end()
    tear = ["REMEMBER((uint64_t)s@.count);"] + [f"REMEMBER(HASH_OF(q@[{i}], {n})); free(q@[{i}]);" for i in range(threads)]
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=["shared struct"])
