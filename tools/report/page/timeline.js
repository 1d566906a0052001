/* The timeline of all runs on one axis. */

const KINDS = ["load", "write-back", "eviction", "update"];
const CAUSES = ["", "its data to be loaded", "memory that evictions free", "data that others use", ""];
const WAITS = [["dependences", "for dependences"], ["queue", "for a device to be chosen"], ["arrival", "for data"], ["slot", "for the device"]];
const MODES = ["", "reads", "writes", "updates"];

/* --- what a span is: lines of text --- */

function startOf(run) {
  let at = 0;
  return run.tasks.starts ??= Uint32Array.from(run.tasks.column("uses"), n => { at += n; return at - n; });
}

function address(run, datum) {
  return `0x${run.data.at("address", datum).toString(16)}`;
}

function dataOfTask(run, i) {
  const first = startOf(run)[i], n = run.tasks.at("uses", i), shown = 6, lines = [];
  for (let u = first; u < first + Math.min(n, shown); u++) {
    const use = run.tasks.at("data", u), datum = Math.floor(use / 4), variable = run.variables[run.tasks.at("variables", u)];
    lines.push(`${MODES[use % 4]} ${variable || address(run, datum)}, ${bytes(run.data.at("size", datum))}`);
  }
  return n > shown ? [...lines, `and ${n - shown} more`] : lines;
}

const when = (from, to) => `${time(to - from)}, from ${time(from)} to ${time(to)}`;

function tellTask(run, i, from, to) {
  const {tasks} = run, name = tasks.at("name", i), source = run.sources[name], count = tasks.count ? tasks.at("count", i) : 1;
  const lines = [count > 1 ? `${run.names[name]}: ${plural(count, "task")}` : `${run.names[name]}, task ${tasks.at("number", i)}`];
  if (source) lines.push(source);
  lines.push(when(from, to));
  if (!tasks.detailed) return lines;
  const waits = WAITS.map(([column, text]) => [tasks.at(column, i) * TENTH, text]).filter(([us]) => us >= TENTH);
  lines.push(waits.length ? `waited ${waits.map(([us, text]) => `${time(us)} ${text}`).join(", ")}` : "did not wait");
  return [...lines, ...dataOfTask(run, i)];
}

function tellTransfer(run, i, from, to) {
  const {transfers} = run, what = transfers.at("what", i), datum = transfers.at("datum", i);
  const way = `${place(run, transfers.at("source", i))} to ${place(run, transfers.at("target", i))}`;
  if (transfers.count && transfers.at("count", i) > 1) return [`${transfers.at("count", i)} transfers, ${way}`, when(from, to)];
  const size = run.data.at("size", datum) + (transfers.count ? 0 : transfers.at("rest", i));
  const lines = [`${what & 4 ? "reload" : KINDS[what % 4]} of ${address(run, datum)}, ${bytes(size)}`, way, when(from, to),
    `${bytes(size / Math.max(to - from, 1e-3) * 1e6)}/s, ${what & 8 ? "waited for" : "a prefetch"}`];
  if (!transfers.count) lines.push(`queued for ${time(transfers.at("queued", i) * TENTH)} before`);
  return lines;
}

function tellStall(run, i, from, to) {
  const cause = run.stalls.at("cause", i);
  return [cause === 4 ? "no task" : `waits for ${CAUSES[cause]}`, when(from, to)];
}

function tell(row, track, i) {
  const {run} = row, teller = track.kind === "tasks" ? tellTask : track.kind === "waits" ? tellStall : tellTransfer;
  const lines = teller(run, track.index[i], track.from[i], track.to[i]);
  return [lines[0], runs.length > 1 ? `${run.label}, ${row.name}` : row.name, ...lines.slice(1)];
}

/* --- where everything is --- */

function layOut(rows) {
  const dense = rows.length > 16, large = dense ? 14 : 22, small = dense ? 4 : 10, axis = 24, gap = dense ? 5 : 10;
  const places = []; /* {y, height, track, row, first: of its kind in the row} */
  let y = axis, run = null, rank = null;
  for (const row of rows) {
    if (runs.length > 1 && row.run !== run) {
      row.title = y + 12;
      y += 20;
    }
    run = row.run;
    if (row.rank && row.rank !== rank) {
      row.heading = y + 12;
      y += 18;
    }
    rank = row.rank;
    row.y = y;
    for (const [at, track] of row.tracks.entries()) {
      const same = row.tracks.filter(other => other.kind === track.kind).length, whole = track.kind === "tasks" ? large : small;
      const height = Math.max(same > 7 ? 2 : 3, Math.floor(whole / same)), first = row.tracks[at - 1]?.kind !== track.kind;
      places.push({y, height, track, row, first});
      if (track.kind === "tasks" && first) row.middle = y + Math.max(whole, same * height) / 2;
      y += height + (row.tracks[at + 1]?.kind === track.kind ? 0 : 2);
    }
    y += row.tracks.length ? gap : 0;
  }
  return {places, height: y, axis, dense};
}

/* --- the timeline --- */

function timeline() {
  const rows = runs.flatMap(makeRows), {places, height, axis, dense} = layOut(rows);
  const all = Math.max(1, ...runs.map(run => run.figures.makespan));
  const view = {from: 0, to: all}, strips = document.createElement("canvas");
  const canvas = make("canvas", {tabindex: "0", role: "img", class: "timeline", "aria-label":
    "Timeline of tasks, transfers and waits for each device. The left and right arrow keys move, plus and minus zoom, 0 shows all, n and p go to the " +
    "next and previous span of a track, the up and down arrow keys to another track."});
  const tip = make("div", {class: "tip", hidden: ""}), detail = make("div", {class: "detail", "aria-live": "polite"});
  const shown = make("span", {class: "shown"});
  const paths = make("button", {type: "button", class: "paths", "aria-pressed": "false", onclick: () => {
    paths.setAttribute("aria-pressed", String(paths.getAttribute("aria-pressed") !== "true"));
    request();
  }}, "Critical path");
  let width = 0, label = 0, requested = 0, chosen = null;

  function measure() {
    width = canvas.clientWidth || 1000;
    label = width < 600 ? 64 : 96;
  }
  const scaleX = () => (width - label) / (view.to - view.from);
  const x = us => label + (us - view.from) * scaleX();

  /* --- painting --- */

  function isDense(t, pixels) {
    const n = firstAfter(t, view.to) - firstAfter(t, view.from);
    return n > pixels / 4;
  }

  function paint() {
    const scale = window.devicePixelRatio || 1;
    measure();
    const wide = Math.round(width * scale), high = Math.round(height * scale);
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    paintAxis(pen);
    const pixels = Math.max(Math.round((width - label) * scale), 1);
    const shaded = places.filter(p => isDense(p.track, pixels));
    paintShaded(pen, shaded, pixels);
    for (const p of places) if (!shaded.includes(p)) paintSpans(pen, p);
    paintNames(pen);
    if (paths.getAttribute("aria-pressed") === "true") for (const run of runs) paintPath(pen, run);
    if (chosen) frame(pen, chosen.place, chosen.i, 2);
  }

  function paintShaded(pen, shaded, pixels) {
    if (!shaded.length) return;
    if (strips.width < pixels || strips.height < shaded.length) {
      strips.width = pixels;
      strips.height = places.length;
    }
    const image = new ImageData(pixels, shaded.length), colours = new Uint32Array(image.data.buffer);
    shaded.forEach((p, i) => shadePixels(cover(p.track, view, pixels, all), colours, i * pixels, pixels));
    strips.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    shaded.forEach((p, i) => pen.drawImage(strips, 0, i, pixels, 1, label, p.y, width - label, p.height));
  }

  function paintSpans(pen, {track, y, height}) {
    for (let i = firstAfter(track, view.from); i < track.n && track.from[i] < view.to; i++) {
      const left = Math.max(x(track.from[i]), label), right = Math.min(x(track.to[i]), width), wide = right - left;
      pen.globalAlpha = wide < 1 ? Math.max(wide, .2) : 1;
      pen.fillStyle = palette[COLOURS[track.colour[i]]].text;
      pen.fillRect(left, y, Math.max(wide - (wide > 3 ? .5 : 0), 1), height);
      if (wide > 40 && track.kind === "tasks" && height >= 12) paintLabel(pen, track, i, left, wide, y + height / 2 + 4);
    }
    pen.globalAlpha = 1;
  }

  function paintLabel(pen, track, i, left, wide, y) {
    const run = places.find(p => p.track === track).row.run;
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, wide - 3, height);
    pen.clip();
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = palette["--back"].text;
    pen.fillText(run.names[run.tasks.at("name", track.index[i])], left + 3, y);
    pen.restore();
  }

  function paintNames(pen) {
    pen.save();
    pen.beginPath();
    pen.rect(0, 0, label - 4, height);
    pen.clip();
    for (const row of rows) {
      pen.fillStyle = palette["--text"].text;
      pen.font = "11px system-ui, sans-serif";
      if (row.tracks.length) pen.fillText(row.rank ? row.name.replace(/ of rank \d+$/, "") : row.name, 4, row.y + (dense ? 11 : 14));
    }
    pen.font = "9px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillStyle = palette["--faint"].text;
    for (const p of places) if (p.first && p.track.kind !== "tasks" && !dense) pen.fillText(p.track.kind, label - 8, p.y + 8);
    pen.restore();
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillStyle = palette["--text"].text;
    for (const row of rows) if (row.heading) pen.fillText(rankName(row.rank), 4, row.heading);
    for (const row of rows) if (row.title) pen.fillText(`${row.run.label}: ${row.run.policy}, ${time(row.run.figures.makespan)}`, 4, row.title);
  }

  function paintAxis(pen) {
    const rough = (view.to - view.from) / Math.max((width - label) / 110, 2), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough) || 10 * power;
    pen.font = "11px system-ui, sans-serif";
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      pen.fillStyle = palette["--line"].text;
      pen.fillRect(x(at), axis - 6, 1, height);
      pen.fillStyle = palette["--faint"].text;
      if (x(at) < width - 50) pen.fillText(at === 0 ? "0" : time(at), x(at) + 3, 13);
    }
    pen.fillStyle = palette["--text"].text;
    if (runs.length > 1)
      for (const run of runs) {
        const own = places.filter(p => p.row.run === run), end = x(run.figures.makespan), last = own[own.length - 1];
        if (own.length && end >= label && end <= width) pen.fillRect(end - 1, own[0].y, 1, last.y + last.height - own[0].y);
      }
  }

  function frame(pen, {y, height, track}, i, thick) {
    const left = Math.max(x(track.from[i]), label), right = Math.min(x(track.to[i]), width);
    if (right < label || left > width) return;
    pen.strokeStyle = palette["--path"].text;
    pen.lineWidth = thick;
    pen.strokeRect(left, y, Math.max(right - left, 1), height);
  }

  /* Its tasks as a line over them; between two of them it goes from the end of one to the begin of the next. */
  function paintPath(pen, run) {
    const {path} = run, own = new Map(rows.filter(row => row.run === run).map(row => [row.name, row]));
    if (!path.n) return;
    const from = path.column("from"), took = path.column("time"), where = path.column("place");
    pen.save();
    pen.beginPath();
    pen.rect(label, 0, width - label, height);
    pen.clip();
    pen.strokeStyle = palette["--path"].text;
    pen.lineWidth = 2;
    pen.beginPath();
    let painted = -Infinity, before = null;
    for (let i = 0; i < path.n; i++) {
      const left = x(from[i] * TENTH), right = x((from[i] + took[i]) * TENTH), y = own.get(place(run, where[i]))?.middle;
      if (left > width && painted > width) break;
      if (y === undefined || (right < painted + 1 && y === before)) continue;
      if (before === null) pen.moveTo(left, y);
      else pen.lineTo(left, y);
      pen.lineTo(right, y);
      painted = right;
      before = y;
    }
    pen.stroke();
    pen.restore();
  }

  function request() {
    requested ||= requestAnimationFrame(() => {
      requested = 0;
      paint();
    });
  }

  /* --- moving --- */

  function show(from, to) {
    const least = .5, span = Math.min(Math.max(to - from, least), all);
    view.from = Math.min(Math.max(from, 0), all - span);
    view.to = view.from + span;
    shown.textContent = `${time(view.from)} to ${time(view.to)}`;
    canvas.dataset.from = view.from;
    canvas.dataset.to = view.to;
    request();
  }

  const zoom = (factor, at) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);
  const middle = () => (view.from + view.to) / 2;
  const move = share => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  const usAt = offset => view.from + (offset - label) / scaleX();

  /* --- what is there --- */

  function spanAt(at, y) {
    const p = places.find(q => y >= q.y - 1 && y <= q.y + q.height + 1);
    if (!p || at < label) return null;
    const us = usAt(at), near = 2 / scaleX(), i = firstAfter(p.track, us), before = i - 1;
    if (i < p.track.n && p.track.from[i] <= us) return {place: p, i};
    if (before >= 0 && us - p.track.to[before] <= near) return {place: p, i: before};
    return i < p.track.n && p.track.from[i] - us <= near ? {place: p, i} : null;
  }

  function explain(found, at, y) {
    tip.hidden = !found;
    if (!found) return;
    const lines = tell(found.place.row, found.place.track, found.i);
    tip.replaceChildren(...lines.map(line => make("p", {}, line)));
    tip.style.left = `${Math.max(0, Math.min(at + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 18}px`;
  }

  /* By keys: the next or previous span of the track, or the nearest of another track. */
  function choose(step, tracks) {
    const at = chosen ? (chosen.place.track.from[chosen.i] + chosen.place.track.to[chosen.i]) / 2 : view.from;
    const now = chosen ? places.indexOf(chosen.place) : -1;
    const p = places[Math.min(Math.max(now + tracks, 0), places.length - 1)];
    if (!p || !p.track.n) return;
    const i = chosen && !tracks ? chosen.i + step : firstAfter(p.track, at);
    chosen = {place: p, i: Math.min(Math.max(i, 0), p.track.n - 1)};
    const from = p.track.from[chosen.i], to = p.track.to[chosen.i], span = view.to - view.from;
    if (to < view.from || from > view.to) show(from - span / 2, from + span / 2);
    explain(chosen, Math.max(x(from), label), p.y + p.height);
    detail.textContent = tell(p.row, p.track, chosen.i).join("; ");
    request();
  }

  let drag = null;
  canvas.addEventListener("wheel", event => {
    const across = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) zoom(1.0025 ** Math.max(-100, Math.min(event.deltaY, 100)), usAt(event.offsetX));
    else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) move(across / width);
    else return;
    event.preventDefault();
  }, {passive: false});
  canvas.addEventListener("pointerdown", event => {
    drag = {x: event.offsetX, from: view.from, to: view.to};
    canvas.setPointerCapture(event.pointerId);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { drag = null; });
  canvas.addEventListener("dblclick", event => zoom(.25, usAt(event.offsetX)));
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointermove", event => {
    if (drag) {
      const by = (drag.x - event.offsetX) / (width - label) * (drag.to - drag.from);
      if (by) tip.hidden = true;
      show(drag.from + by, drag.to + by);
      return;
    }
    explain(spanAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
  });
  const keys = {ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), "+": () => zoom(.6, middle()), "=": () => zoom(.6, middle()),
    "-": () => zoom(1 / .6, middle()), 0: () => show(0, all), Home: () => move(-1e9), End: () => move(1e9), n: () => choose(1, 0),
    p: () => choose(-1, 0), ArrowUp: () => choose(0, -1), ArrowDown: () => choose(0, 1), Escape: () => {
      chosen = null;
      tip.hidden = true;
      request();
    }};
  canvas.addEventListener("keydown", event => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  const button = (text, name, act) => make("button", {type: "button", "aria-label": name, onclick: act}, text);
  const used = new Set(places.flatMap(p => p.track.colours));
  const others = [[IN, "in"], [OUT, "out"], [PEER, "from other devices"], [STALL, "waits"], [IDLE, "no task"]].filter(([colour]) => used.has(colour));
  const node = section("Timeline", "Ctrl and the wheel, or + and −, zoom; drag, or the arrow keys, move; 0 shows all. What is zoomed out is as strong as " +
    "its share of the time.", ...joined(),
    make("div", {class: "tools"}, button("+", "Zoom in", () => zoom(.6, middle())), button("−", "Zoom out", () => zoom(1 / .6, middle())),
      button("←", "Earlier", () => move(-.3)), button("→", "Later", () => move(.3)), button("All", "Show all", () => show(0, all)),
      ...(runs.some(run => run.path.n) ? [paths] : []), shown),
    make("div", {class: "stage"}, canvas, tip), detail,
    legend([...kernelNames.slice(0, KERNELS).map((name, i) => [`var(--c${i})`, name]), ...others.map(([colour, text]) => [`var(${COLOURS[colour]})`, text])]));
  show(0, all);
  return {node, paint};
}

/* What has been joined to keep the page small. */
function joined() {
  const notes = [];
  for (const run of runs) {
    const most = Math.max(run.tasks.resolution, run.transfers.resolution);
    const whose = runs.length > 1 ? `${run.label}: ` : "";
    if (most > 0) notes.push(`${whose}Neighbours of one kind within ${time(most)} are drawn as one; ompdarts report --spans=N shows more.`);
    else if (!run.tasks.detailed) notes.push(`${whose}With so many tasks their data and waits are left out; ompdarts report --spans=N shows more.`);
  }
  return notes.map(text => make("p", {class: "note joined"}, text));
}
