/* A track: spans that do not overlap, by their begin: from[i] to to[i] in microseconds, of what kind, and which of the run's
 * tasks, transfers or stalls (index). What overlaps is in several tracks of one kind. */

function lanesOf(from, time, first, end) {
  const ends = [], lane = new Uint8Array(end - first), most = 256;
  for (let i = first; i < end; i++) {
    let at = ends.findIndex(to => to <= from[i]);
    if (at < 0) at = ends.length < most ? ends.length : most - 1;
    ends[at] = from[i] + time[i];
    lane[i - first] = at;
  }
  return {lane, count: ends.length};
}

/* Spans first to end of these columns. */
function makeTracks(kind, source, first, end, colourOf) {
  const from = source.column("from"), time = source.column("time"), {lane, count} = lanesOf(from, time, first, end);
  const sizes = new Uint32Array(count), tracks = [];
  for (let i = 0; i < lane.length; i++) sizes[lane[i]]++;
  for (const n of sizes)
    tracks.push({kind, source, n: 0, from: new Float64Array(n), to: new Float64Array(n), index: new Uint32Array(n), colour: new Uint8Array(n)});
  for (let i = first; i < end; i++) {
    const t = tracks[lane[i - first]], k = t.n++;
    t.from[k] = from[i] * TENTH;
    t.to[k] = Math.max((from[i] + time[i]) * TENTH, k ? t.to[k - 1] : -Infinity);
    t.index[k] = i;
    t.colour[k] = colourOf(i);
  }
  for (const t of tracks) t.colours = [...new Set(t.colour)];
  return tracks;
}

/* Runs of equal keys: [key, first, end]. */
function groups(n, keyOf) {
  const found = [];
  for (let first = 0, i = 1; i <= n; i++)
    if (i === n || keyOf(i) !== keyOf(first)) {
      if (n) found.push([keyOf(first), first, i]);
      first = i;
    }
  return found;
}

/* The host, if it ran tasks, and the devices, those of a rank together: {run, name, rank, tracks}. */
function makeRows(run) {
  const rows = new Map([HOST, ...run.devices.keys()].map(k => [k, {run, name: place(run, k), tracks: []}]));
  const add = (k, tracks) => rows.get(k)?.tracks.push(...tracks);
  const {tasks, transfers, stalls} = run;
  const name = tasks.column("name"), source = transfers.column("source"), target = transfers.column("target");
  const colours = run.names.map(text => kernelColour.get(text));
  for (const [k, first, end] of groups(tasks.n, i => tasks.at("place", i)))
    add(k, makeTracks("tasks", tasks, first, end, i => colours[name[i]]));
  const way = i => target[i] < 0 ? OUT : source[i] < 0 ? IN : PEER;
  for (const [key, first, end] of groups(transfers.n, i => 16 * Math.max(target[i] < 0 ? source[i] : target[i], 0) + way(i)))
    add(Math.floor(key / 16), makeTracks({[IN]: "in", [OUT]: "out", [PEER]: "peer in"}[key % 16], transfers, first, end, () => key % 16));
  for (const [k, first, end] of groups(stalls.n, i => stalls.at("place", i)))
    add(k, makeTracks("waits", stalls, first, end, i => stalls.at("cause", i) === 4 ? IDLE : STALL));
  for (const rank of run.ranks) for (const k of rank.devices) rows.get(k).rank = rank;
  const numberOf = row => row.rank ? row.rank.rank : HOST;
  return [...rows.values()].filter(row => row.name !== "host" || row.tracks.length).sort((a, b) => numberOf(a) - numberOf(b));
}

/* The first span that ends after `at`. */
function firstAfter(t, at) {
  let low = 0, high = t.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t.to[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* --- which share of each pixel is covered --- */

const BINS = 65536, FEW = 8192;

/* Of a track with many spans: the time covered from 0 to each of BINS + 1 moments, per colour. */
function makeSums(t, all) {
  const scale = BINS / all;
  t.sums = new Map(t.colours.map(colour => [colour, new Float64Array(BINS + 1)]));
  for (let i = 0; i < t.n; i++) {
    const sums = t.sums.get(t.colour[i]), from = Math.max(t.from[i] * scale, 0), to = Math.min(t.to[i] * scale, BINS);
    for (let bin = Math.floor(from); bin < to; bin++)
      sums[bin + 1] += (Math.min(to, bin + 1) - Math.max(from, bin)) / scale;
  }
  for (const sums of t.sums.values())
    for (let bin = 0; bin < BINS; bin++) sums[bin + 1] += sums[bin];
}

function coverBySums(sums, view, width, all, share) {
  const step = (view.to - view.from) / width, scale = BINS / all;
  let before = 0;
  for (let x = 0; x <= width; x++) {
    const bin = Math.min((view.from + x * step) * scale, BINS - 1e-6), whole = Math.floor(bin);
    const now = sums[whole] + (bin - whole) * (sums[whole + 1] - sums[whole]);
    if (x) share[x - 1] = (now - before) / step;
    before = now;
  }
}

function coverBySpans(t, view, width, shares) {
  const scale = width / (view.to - view.from);
  for (let i = firstAfter(t, view.from); i < t.n && t.from[i] < view.to; i++) {
    const share = shares.get(t.colour[i]), from = Math.max((t.from[i] - view.from) * scale, 0), to = Math.min((t.to[i] - view.from) * scale, width);
    const first = Math.floor(from), last = Math.min(Math.floor(to), width - 1);
    if (first === last) {
      share[first] += to - from;
      continue;
    }
    share[first] += first + 1 - from;
    for (let x = first + 1; x < last; x++) share[x] = 1;
    share[last] += to - last;
  }
}

/* Per colour: the share of each of `width` pixels that is covered. */
function cover(t, view, width, all) {
  if (!t.shares || t.shares.width !== width) t.shares = Object.assign(new Map(t.colours.map(colour => [colour, new Float32Array(width)])), {width});
  const coarse = t.n > FEW && (view.to - view.from) / width > all / BINS;
  if (coarse && !t.sums) makeSums(t, all);
  for (const [colour, share] of t.shares)
    if (coarse) coverBySums(t.sums.get(colour), view, width, all, share);
    else share.fill(0);
  if (!coarse) coverBySpans(t, view, width, t.shares);
  return t.shares;
}

/* The shares as colours, a row of pixels at `offset`; what is there at all can be seen. */
function shadePixels(shares, pixels, offset, width) {
  const least = .12, [r0, g0, b0] = palette["--panel"].rgb;
  const colours = [...shares].map(([colour, share]) => ({share, rgb: palette[COLOURS[colour]].rgb}));
  for (let x = 0; x < width; x++) {
    let r = 0, g = 0, b = 0, covered = 0;
    for (const {share, rgb} of colours) {
      const part = share[x];
      if (!part) continue;
      covered += part;
      r += part * (rgb[0] - r0);
      g += part * (rgb[1] - g0);
      b += part * (rgb[2] - b0);
    }
    const scale = covered > 1 ? 1 / covered : covered < least ? least / covered : 1;
    pixels[offset + x] = covered < 1e-6 ? 0 : (255 << 24 | (b0 + scale * b) << 16 | (g0 + scale * g) << 8 | (r0 + scale * r)) >>> 0;
  }
}
