const runs = JSON.parse(document.getElementById("runs").textContent);
const main = document.getElementById("main");
const HOST = -1;

/* --- nodes --- */

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function draw(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function section(title, note, ...content) {
  return make("section", {}, make("h2", {}, title), ...(note ? [make("p", {class: "note"}, note)] : []), ...content);
}

const cells = (row, from) => row.map((cell, i) => i < from ? make("th", {scope: "row", title: cell.textContent ?? cell}, cell) : make("td", {}, cell));

function table(head, rows) {
  return make("div", {class: "scroll"}, make("table", {},
    make("thead", {}, make("tr", {}, ...head.map(text => make("th", {scope: "col"}, text)))),
    make("tbody", {}, ...rows.map(row => make("tr", row.group ? {class: row.group} : {}, ...cells(row, 1))))));
}

const rankName = rank => `rank ${rank.rank} on ${rank.host}`;

/* row(name, figures, n) of each device; of several ranks each, with its n devices' sums, comes before its devices. */
function deviceRows(run, row) {
  const ofDevice = k => row(run.devices[k], run.figures.device[k], 1);
  if (!run.ranks.length) return run.devices.map((name, k) => ofDevice(k));
  return run.ranks.flatMap(rank => [Object.assign(row(rankName(rank), rank.sum, rank.devices.length), {group: "rank"}),
    ...rank.devices.map(k => Object.assign(ofDevice(k), {group: "ranked"}))]);
}

/* Rows of [value to sort by, text]; a click on a head sorts by that column, the largest first, and the next one the other way. */
function sortable(head, rows, by) {
  const body = make("tbody", {});
  const heads = head.map((text, i) => make("th", {scope: "col"}, make("button", {type: "button", onclick: () => sort(i)}, text)));
  function sort(column) {
    const falls = heads[column].getAttribute("aria-sort") !== "descending";
    heads.forEach(node => node.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", falls ? "descending" : "ascending");
    const value = row => row[column][0];
    const compare = (a, b) => typeof value(a) === "string" ? value(b).localeCompare(value(a)) : value(b) - value(a);
    body.replaceChildren(...[...rows].sort((a, b) => falls ? compare(a, b) : compare(b, a)).map(row =>
      make("tr", {}, ...cells(row.map(cell => cell[1]), 1))));
  }
  sort(by);
  return make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
}

/* --- units --- */

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) { n /= 1000; unit++; }
  return `${unit && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}

function time(us) {
  const size = Math.abs(us);
  if (size < .05) return "0 µs";
  if (size >= 1e6) return `${(us / 1e6).toFixed(size < 1e7 ? 3 : 2)} s`;
  if (size >= 1e3) return `${(us / 1e3).toFixed(size < 1e4 ? 2 : 1)} ms`;
  return `${us.toFixed(1)} µs`;
}

const percent = (part, all) => all > 0 ? `${(100 * part / all).toFixed(1)}%` : "–";
const place = (run, k) => k >= 0 ? run.devices[k] : k === HOST ? "host" : "spill area";
const sum = (list, value) => list.reduce((total, item) => total + value(item), 0);
const grouped = n => n.toLocaleString("en");
const plural = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;

/* --- colours: kernels by their names in all runs, then what else there is --- */

const KERNELS = 8, IN = 8, OUT = 9, PEER = 10, STALL = 11, IDLE = 12;
const COLOURS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--in", "--out", "--peer", "--stall", "--idle"];
const kernelNames = [...new Set(runs.flatMap(run => run.names))];
const kernelColour = new Map(kernelNames.map((name, i) => [name, i % KERNELS]));
let palette = {};

/* As the page has them now, in light or dark. */
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  palette = {};
  for (const name of [...COLOURS, "--back", "--panel", "--line", "--text", "--faint", "--path", "--accent"]) {
    const text = style.getPropertyValue(name).trim();
    palette[name] = {text, rgb: [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16))};
  }
}

function legend(items) {
  return make("div", {class: "legend"}, ...items.map(([colour, text]) =>
    make("span", {}, make("i", {style: `background: ${colour}`}), text)));
}

/* --- columns of numbers: column.h --- */

function decode(text) {
  const differences = text[0] === "~", raw = atob(differences ? text.slice(1) : text);
  let values = new Float64Array(raw.length), n = 0, at = 0, last = 0;
  const number = () => {
    let byte = raw.charCodeAt(at++), value = byte & 127;
    for (let unit = 128; byte > 127; unit *= 128) {
      byte = raw.charCodeAt(at++);
      value += (byte & 127) * unit;
    }
    return value;
  };
  while (at < raw.length) {
    const folded = number(), value = folded % 2 ? -(folded + 1) / 2 : folded / 2, times = folded ? 1 : number() + 1;
    last = differences ? last + value : value;
    if (n + times > values.length) {
      const more = new Float64Array(2 * (n + times));
      more.set(values);
      values = more;
    }
    values.fill(last, n, n += times);
  }
  return values.subarray(0, n);
}

/* Decoded when they are first asked for. */
function columns(packed) {
  const known = {};
  return name => known[name] ??= decode(packed[name]);
}

for (const run of runs)
  for (const name of ["tasks", "transfers", "stalls", "data", "path"]) {
    run[name].column = columns(run[name]);
    run[name].at = (column, i) => run[name].column(column)[i];
  }

const TENTH = .1; /* of a microsecond: times in columns are in these */
