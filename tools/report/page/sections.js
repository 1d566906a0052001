/* --- what ran --- */

function head(run) {
  const facts = [["Program", run.program], ["Command", run.command], ["Date", run.date && run.date < 1e11 ? `${new Date(1000 * run.date).toISOString().slice(0, 19).replace("T", " ")} UTC` : ""],
    ["Host", run.host && run.processors ? `${run.host}, ${plural(run.processors, "processor")} for the program and its devices` : run.host],
    ["ompdarts", run.version], ["Policy", `${run.policy}, eviction ${run.eviction}, seed ${run.seed}`],
    ["Devices", `${run.devices.length}${run.active ? `, of which ${run.active} active` : ""}: ${run.devices.slice(0, 8).join(", ")}` +
      `${run.devices.length > 8 ? ", …" : ""}; memory of each ${bytes(run.memory)}`],
    ["Ranks", run.ranks.map(rank => `${rankName(rank)}: ${plural(rank.devices.length, "device")}`).join("; ")]];
  return make("dl", {class: "head"}, ...facts.filter(([, text]) => text).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
}

/* Parts of a device's time that sum to the whole: tools/report/shares.h. */
const SHARES = [["busy", [0]], ["starts", [4]], ["waits for loads", [1]], ["for memory", [2]], ["for data", [3]], ["idle by choice", [5]],
  ["host versions run", [6]], ["no task", [7, 8, 9, 10]]];

function shares(run) {
  const f = run.figures, rows = deviceRows(run, (name, d, n) =>
    [name, grouped(d.tasks), ...SHARES.map(([, parts]) => percent(sum(parts, i => d.share[i]), n * f.makespan)), percent(d.transfer, n * f.makespan)]);
  if (f.hostTasks) rows.push(["host", `${f.hostTasks}`, percent(f.hostBusy, f.makespan), ...Array(SHARES.length).fill("")]);
  return table(["", "tasks", ...SHARES.map(([name]) => name), "copying meanwhile"], rows);
}

/* Options such as --mem stay in one line. */
const withOptions = text => text.split(/(--[a-z-]+)/).map((part, i) => i % 2 ? make("span", {class: "option"}, part) : part);

function summary(run) {
  const f = run.figures;
  return section("Summary", "", head(run),
    make("p", {}, `${plural(f.tasks, "task")} (${grouped(f.hostTasks)} on the host) in ${time(f.makespan)}; ${bytes(f.moved)} moved.`),
    ...(run.cut ? [make("p", {class: "cut"}, "The end of this trace is missing: what could be read is shown.")] : []),
    make("ul", {class: "findings"}, ...run.findings.map(text => make("li", {}, ...withOptions(text)))), shares(run));
}

/* --- kernels, the critical path --- */

function kernels(run) {
  const all = sum(run.kernels, k => k.total), several = run.sources.some(text => text);
  const mean = (k, total) => total / Math.max(k.count, 1);
  const rows = run.kernels.map((k, i) => [[run.names[i], run.names[i]], ...(several ? [[run.sources[i], make("span", {title: run.sources[i]}, run.sources[i].replace(/.*\//, ""))]] : []),
    [k.count, grouped(k.count)], [k.total, time(k.total)], [mean(k, k.total), time(mean(k, k.total))], [k.longest, time(k.longest)],
    [k.total, percent(k.total, all)], [mean(k, k.loaded), bytes(mean(k, k.loaded))], [mean(k, k.waits[2]), time(mean(k, k.waits[2]))],
    [mean(k, k.waits[3]), time(mean(k, k.waits[3]))]]);
  const names = ["kernel", ...(several ? ["source"] : []), "tasks", "total", "mean", "longest", "share", "loaded per task", "waits for data", "for the device"];
  return section("Kernels", "Means are per task. A load counts for the first task that used what it brought. A head sorts by its column.",
    sortable(names, rows, several ? 3 : 2));
}

function criticalPath(run) {
  const {path} = run, f = run.figures;
  if (!path.n)
    return section("Critical path", "No task has a depend clause: no chain of tasks is known.");
  const names = path.column("name"), took = path.column("time"), from = path.column("from");
  const perKernel = run.names.map(() => [0, 0]);
  for (let i = 0; i < path.n; i++) {
    perKernel[names[i]][0]++;
    perKernel[names[i]][1] += took[i] * TENTH;
  }
  const lasted = (from[path.n - 1] + took[path.n - 1] - from[0]) * TENTH, used = perKernel.map((sums, i) => [...sums, i]).filter(([n]) => n);
  used.sort((a, b) => b[1] - a[1]);
  return section("Critical path", "The chain of tasks, each depending on the one before, that takes longest. It follows depend clauses; what the program orders " +
    "otherwise is not in it.",
    make("p", {class: "path"}, `${plural(path.n, "task")} that take ${time(path.work)} together: ${percent(path.work, f.makespan)} of the ` +
      `${time(f.makespan)} that the run took. No schedule is shorter, with kernels as fast as these. In this run they took ${time(lasted)} from the first to the last, of ` +
      `which ${time(Math.max(lasted - path.work, 0))} between them.`),
    table(["kernel", "tasks", "total", "share of the path"], used.map(([n, us, i]) => [run.names[i], grouped(n), time(us), percent(us, path.work)])));
}

/* --- memory over time --- */

function memory(run) {
  const width = 600, height = 70, points = run.levels.n;
  const chart = k => {
    const name = run.devices[k], most = decode(run.levels.device[k]), top = run.memory || 1, y = n => height - Math.max(n, 0) / top * (height - 14);
    const path = Array.from(most, (n, b) => `${b ? "L" : "M"}${(b / (points - 1) * width).toFixed(1)},${y(n).toFixed(1)}`).join("");
    const text = `at most ${bytes(run.figures.device[k].peak)} of ${bytes(run.memory)}`;
    return make("div", {}, draw("svg", {viewBox: `0 0 ${width} ${height + 4}`, role: "img", class: "memory", "aria-label": `Memory in use on ${name}, ${text}`},
      draw("line", {x1: 0, x2: width, y1: y(top), y2: y(top), stroke: "var(--out)", "stroke-dasharray": "4 3"}),
      draw("path", {d: `${path}L${width},${height}L0,${height}Z`, fill: "var(--c0)", "fill-opacity": .35, stroke: "var(--c0)"}),
      draw("text", {x: 2, y: 10}, `${name}: ${text}`)));
  };
  const charts = devices => make("div", {class: "memories"}, ...devices.map(chart));
  return section("Memory over time", "The dashed line is the limit.", ...(run.ranks.length ?
    run.ranks.flatMap(rank => [make("h3", {}, rankName(rank)), charts(rank.devices)]) : [charts([...run.devices.keys()])]));
}

/* --- arrays in parts --- */

function arrays(run) {
  if (!run.arrays.length) return [];
  const rows = run.arrays.map(a => {
    const name = a.variable < 0 ? a.address : run.variables[a.variable];
    return [[name, make("span", {title: a.address}, name)], [a.size, bytes(a.size)], [a.parts, grouped(a.parts)], [a.faults, grouped(a.faults)],
      [a.waited, a.faults ? time(a.waited) : "–"], ...a.held.map(([mean, most]) => [mean, `${percent(mean, a.size)} (${percent(most, a.size)})`])];
  });
  return [section("Arrays in parts", "Arrays of data regions of which tasks used parts: page faults of kernels that touched more than their tasks named, " +
    "and how much of the array each device held, on average over the run and (in brackets) at most.",
    sortable(["array", "size", "parts", "page faults", "waited", ...run.devices.map((name, k) => `device ${k}`)], rows, 1))];
}

/* --- links, bounds --- */

function bar(value, most, colour) {
  return make("span", {}, make("span", {class: "bar", style: `width: ${(8 * value / Math.max(most, 1)).toFixed(2)}em; background: var(${colour})`}), bytes(value));
}

function links(run) {
  const ranked = run.ranks.length > 0, all = ranked ? run.ranks.map(rank => rank.sum) : run.figures.device;
  const most = Math.max(...all.map(d => Math.max(d.in, d.out, d.peer)));
  const row = (name, d) => [name, bar(d.in, most, "--in"), bar(d.out, most, "--out"), bar(d.peer, most, "--peer"),
    ...(ranked ? [bar(d.remote, most, "--peer")] : []), grouped(d.loads), `${grouped(d.reloads)} (${percent(d.reloads, d.loads)})`, grouped(d.evictions)];
  return section("Bytes per link", "Reloads are loads of data that the device had before.",
    table(["", "from the host", "to the host", "from other devices", ...(ranked ? ["of these, from other ranks"] : []), "loads", "reloads", "evictions"],
      deviceRows(run, row)));
}

function bounds(run) {
  const f = run.figures, into = sum(f.device, d => d.in + d.peer), ratio = (value, least) => least ? (value / least).toFixed(2) : "–";
  const rows = [["bytes into the devices", bytes(into), f.leastIn ? bytes(f.leastIn) : "–", ratio(into, f.leastIn)],
    ["time, by the work", time(f.makespan), time(f.leastUs), ratio(f.makespan, f.leastUs)]];
  if (run.path.n) rows.push(["time, by the critical path", time(f.makespan), time(run.path.work), ratio(f.makespan, run.path.work)]);
  return section("Distance to the lower bounds",
    "At least every datum that is read before it is written must come to some device once; and the work of this run, spread evenly, takes some time.",
    table(["", "this run", "at least", "ratio"], rows));
}

/* --- the heat map --- */

const shade = heat => `hsl(${50 - 50 * heat} 85% ${78 - 48 * heat}%)`;

function heat(run) {
  const loads = run.data.column("loads"), addresses = run.data.column("address"), sizes = run.data.column("size"), cellsShown = 40000;
  const order = Array.from(loads.keys()).filter(i => loads[i]).sort((a, b) => addresses[a] - addresses[b]);
  const together = Math.ceil(order.length / cellsShown), n = Math.ceil(order.length / Math.max(together, 1));
  const most = order.reduce((m, i) => Math.max(m, loads[i]), 1);
  const mean = Float32Array.from({length: n}, (_, c) => {
    const part = order.slice(c * together, (c + 1) * together);
    return sum(part, i => loads[i]) / part.length;
  });
  const canvas = make("canvas", {role: "img", class: "heat", "aria-label": `How often each of ${order.length} data was loaded, at most ${most} times`});
  const detail = make("div", {class: "detail"}, `${plural(order.length, "datum").replace("datums", "data")}, loaded at most ${most} times.`);
  let cell = 8, wide = 1;
  function paint() {
    const width = canvas.clientWidth || 500, scale = window.devicePixelRatio || 1;
    cell = Math.max(3, Math.min(26, Math.floor(Math.sqrt(width * 220 / Math.max(n, 1)))));
    wide = Math.floor(width / cell);
    const high = Math.ceil(n / wide);
    canvas.width = width * scale;
    canvas.height = Math.max(cell * high, 20) * scale;
    canvas.style.height = `${Math.max(cell * high, 20)}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    mean.forEach((loaded, i) => {
      pen.fillStyle = shade(most > 1 ? (loaded - 1) / (most - 1) : 0);
      pen.fillRect(i % wide * cell, Math.floor(i / wide) * cell, cell - 1, cell - 1);
    });
  }
  canvas.addEventListener("pointermove", event => {
    const c = Math.floor(event.offsetY / cell) * wide + Math.floor(event.offsetX / cell), i = order[c * together];
    if (i !== undefined && event.offsetX < wide * cell)
      detail.textContent = together > 1 ? `${together} data from ${address(run, i)} on: loaded ${mean[c].toFixed(1)} times each` :
        `${address(run, i)}, ${bytes(sizes[i])}: loaded ${loads[i]} times`;
  });
  return {node: section("Loads per datum", "In the order of their addresses, over all devices.", canvas,
    legend([...new Set([0, .25, .5, .75, 1].map(share => Math.round(1 + share * (most - 1))))].map(loaded =>
      [shade(most > 1 ? (loaded - 1) / (most - 1) : 0), `${loaded}`])), detail), paint};
}

/* --- the order of tasks --- */

function order(run) {
  const {tasks} = run, canvas = make("canvas", {role: "img", class: "order",
    "aria-label": "When each task ran: time to the right, the task's number upwards, coloured by device"});
  const from = tasks.column("from"), where = tasks.column("place"), number = tasks.column("number");
  const most = number.reduce((m, i) => Math.max(m, i), 1), all = Math.max(run.figures.makespan, 1);
  function paint() {
    const height = 260, scale = window.devicePixelRatio || 1, wide = Math.round((canvas.clientWidth || 500) * scale), high = Math.round(height * scale);
    canvas.width = wide;
    canvas.height = high;
    canvas.style.height = `${height}px`;
    const image = new ImageData(wide, high), pixels = new Uint32Array(image.data.buffer);
    const colour = k => (([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0)(palette[k < 0 ? "--text" : COLOURS[k % KERNELS]].rgb);
    const size = Math.round(scale * (tasks.n > 5000 ? 1.2 : tasks.n > 800 ? 2 : 3)), colours = [HOST, ...run.devices.keys()].map(colour);
    for (let i = 0; i < tasks.n; i++) {
      const x = Math.round(Math.max(from[i], 0) * TENTH / all * (wide - size - 2)), y = Math.round((1 - number[i] / most) * (high - size - 2));
      for (let dy = 0; dy < size; dy++) pixels.fill(colours[where[i] + 1], (y + dy) * wide + x, (y + dy) * wide + x + size);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
  return {node: section("Order of tasks", "To the right: time; upwards: the number of the task, in the order of readiness.", canvas,
    legend(run.devices.slice(0, KERNELS).map((name, k) => [`var(--c${k})`, name]))), paint};
}
