// The recorded events of a launch as steps of its work-items; see viz/steps.py, which builds the same.
import { product, unpack } from "./core.js";

/** Work-items and groups by their flat numbers: where they are, and what they are called. */
function numbering(gsize, lsize, ngroups) {
  const place = (flat, sizes) => {
    const out = [];
    for (const n of sizes) {
      out.push(flat % n);
      flat = Math.floor(flat / n);
    }
    return out;
  };
  const named = (flat, sizes) => (sizes.length === 1 ? String(flat) : `(${place(flat, sizes).join(",")})`);
  const group = w => {
    let at = 0;
    let times = 1;
    place(w, gsize).forEach((v, k) => {
      at += Math.floor(v / lsize[k]) * times;
      times *= ngroups[k];
    });
    return at;
  };
  return {
    group,
    who: w => `work-item ${named(w, gsize)}`,
    gname: g => `group ${named(g, ngroups)}`,
    short: w => named(w, gsize),
    place: w => place(w, gsize),
  };
}

/** The steps of work-item w, from events from..to of its group's columns c. */
function stepsOf(w, c, from, to, sites) {
  const out = [];
  const env = {};
  const nth = {};
  let reads = [];
  let fresh = [];
  let last = [-1, -1, -2];
  for (let e = from; e < to; e++) {
    const sid = c.site[e];
    const site = sites[sid];
    const v = c.value[e];
    const lane = c.lane[e];
    if (site.kind === "assign" && !site.data) {
      env[site.name] = v;
      fresh.push(site.name);
      continue;
    }
    const more = last[0] === sid && last[1] < lane && last[2] === e - 1; // the next component of a vector
    last = [sid, lane, e];
    if (out.length && more) {
      out.at(-1).i.push(c.index[e]);
      out.at(-1).v.push(v);
      continue;
    }
    nth[sid] = (nth[sid] ?? -1) + 1;
    const s = { k: site.kind, site, sid, w, n: out.length, nth: nth[sid], reads: [], fresh };
    Object.assign(s, { b: c.buffer[e], i: [c.index[e]], v: [v], phase: c.phase[e], fault: c.fault[e] });
    s.was = site.kind === "assign" ? env[site.name] : null;
    if (site.kind === "load") reads.push(s);
    else {
      s.reads = reads;
      reads = [];
    }
    fresh = [];
    if (site.kind === "assign") {
      env[site.name] = v;
      s.fresh = [...s.fresh, site.name];
    }
    s.env = { ...env };
    s.wrong = s.fault > 0 || s.k === "row" || s.k === "private" || (s.b < 0 && s.k !== "barrier" && s.k !== "assign");
    out.push(s);
  }
  return out;
}

/** Everything that is known of a launch. `add` takes the events of a group that come later. */
export function recording(d) {
  const missing = new Set();
  unpack(d.missing).reduce((before, step) => {
    missing.add(before + step); // each by how much it is above the one before
    return before + step;
  }, 0);
  const names = numbering(d.global, d.local, d.groups);
  const chunks = new Map();
  const spans = new Map();
  const add = (g, packed) => {
    const c = Object.fromEntries(Object.entries(packed).map(([name, p]) => [name, unpack(p)]));
    let at = 0;
    c.items.forEach((w, k) => {
      spans.set(w, [at, at + c.counts[k]]);
      at += c.counts[k];
    });
    chunks.set(+g, c);
  };
  for (const [g, packed] of Object.entries(d.chunks)) add(g, packed);

  const made = new Map();
  const steps = w => {
    const c = chunks.get(names.group(w));
    if (!c) return [];
    if (!made.has(w)) made.set(w, stepsOf(w, c, ...(spans.get(w) ?? [0, 0]), d.sites));
    return made.get(w);
  };
  // What a group's work-items write, by buffer, in an order that barriers allow.
  const written = new Map();
  const stores = g => {
    const c = chunks.get(g);
    if (!c) return d.buffers.map(() => []);
    if (!written.has(g)) {
      const lists = d.buffers.map(() => []);
      for (const w of c.items) for (const s of steps(w)) if (writes(s)) lists[s.b].push(s);
      for (const list of lists) list.sort((a, b) => a.phase - b.phase || a.w - b.w || a.n - b.n);
      written.set(g, lists);
    }
    return written.get(g);
  };
  return {
    ...names,
    add,
    steps,
    stores,
    gsize: d.global,
    lsize: d.local,
    N: product(d.global),
    does: unpack(d.does),
    has: g => chunks.has(g) || !missing.has(g),
    members: g => [...(chunks.get(g)?.items ?? [])],
    barriers: d.sites.some(s => s.kind === "barrier"),
  };
}

export const writes = s => (s.k === "store" || s.k === "atomic") && !s.wrong;

/**
 * What the work-item of a step can count on, of buffer b: its own writes, and those of its group before the last
 * barrier. `together`: the others are taken to be at the same step.
 */
export function known(d, r, values, b, s, together) {
  const local = d.buffers[b].space === "local";
  const base = d.buffers[b].role === "out" || local ? null : values[b];
  const vals = new Map();
  const sure = new Map();
  const from = new Map();
  // Another work-item has come as far as this one if it has done the same step of the same place.
  const reached = t => {
    const mine = r.steps(s.w).find(o => o.sid === t.sid && o.nth === t.nth);
    return mine ? mine.n <= s.n : t.phase < s.phase;
  };
  for (const t of r.stores(r.group(s.w))[b]) {
    const mine = t.w === s.w && t.n <= s.n;
    const before = t.phase < s.phase;
    const other = t.w !== s.w && (local ? t.phase <= s.phase : together && reached(t));
    if (!(mine || before || other)) continue;
    t.i.forEach((i, k) => {
      vals.set(i, t.v[k]);
      sure.set(i, mine || before ? t : null);
      if (local && t.reads.length) from.set(i, t.reads.at(-1));
    });
  }
  return {
    at: i => (vals.has(i) ? vals.get(i) : base ? base[i] : null),
    ghost: i => vals.has(i) && !sure.get(i),
    by: i => sure.get(i),
    from,
  };
}

/** Of a buffer whose contents were not sent: what the loads of this work-item saw up to a step. */
export function seen(r, values, b, s) {
  const out = new Map();
  if (values[b]) return out;
  for (const t of r.steps(s.w).slice(0, s.n + 1))
    if (t.b === b && t.k === "load" && !t.wrong) t.i.forEach((i, k) => out.set(i, t.v[k]));
  return out;
}
