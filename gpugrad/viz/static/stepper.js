// The stepper: one work-item's recorded steps beside the source, with every buffer as this work-item can know it.
import { html, bars, figure, fit, bracket, mount, num, say, product, unpack } from "./core.js";
import { grid, planeName } from "./grid.js";
import { player, sentence, choice, options } from "./controls.js";
import { source } from "./source.js";
import { tree } from "./tree.js";

const VERB = { load: "reads", store: "writes", atomic: "updates", barrier: "waits", assign: "sets", row: "uses", private: "uses" };
const SIGN = { load: "r", store: "w", atomic: "a", barrier: "b", assign: "s", row: "x", private: "x" };

/** The recorded events of a launch as steps of its work-items; see viz/steps.py, which builds the same. */
function recording(d) {
  const missing = new Set(unpack(d.missing)), gsize = d.global, lsize = d.local, ngroups = d.groups, N = product(gsize), does = unpack(d.does), chunks = new Map();
  const numbers = (flat, sizes) => { const out = []; for (const n of sizes) { out.push(flat % n); flat = Math.floor(flat / n); } return out; };
  const named = (flat, sizes) => sizes.length === 1 ? String(flat) : `(${numbers(flat, sizes).join(",")})`;
  const group = w => {
    let flat = w, at = 0, times = 1;
    for (let k = 0; k < gsize.length; k++) { at += Math.floor(flat % gsize[k] / lsize[k]) * times; flat = Math.floor(flat / gsize[k]); times *= ngroups[k]; }
    return at;
  };
  const spans = new Map();
  const add = (g, packed) => {
    const c = Object.fromEntries(Object.entries(packed).map(([name, p]) => [name, unpack(p)]));
    let at = 0;
    c.items.forEach((w, k) => { spans.set(w, [at, at + c.counts[k]]); at += c.counts[k]; });
    chunks.set(+g, c);
  };
  for (const [g, packed] of Object.entries(d.chunks)) add(g, packed);

  const cache = new Map();
  const steps = w => {
    if (cache.has(w)) return cache.get(w);
    const out = [], c = chunks.get(group(w));
    if (!c) return out;
    const [from, to] = spans.get(w) ?? [0, 0], env = {}, nth = {};
    let reads = [], fresh = [], last = [-1, -1, -2];
    for (let e = from; e < to; e++) {
      const sid = c.site[e], site = d.sites[sid], v = c.value[e], lane = c.lane[e];
      if (site.kind === "assign" && !site.data) { env[site.name] = v; fresh.push(site.name); continue; }
      const more = last[0] === sid && last[1] < lane && last[2] === e - 1;
      last = [sid, lane, e];
      if (out.length && more) { const s = out.at(-1); s.i.push(c.index[e]); s.v.push(v); continue; }
      const s = { k: site.kind, site, sid, b: c.buffer[e], i: [c.index[e]], v: [v], phase: c.phase[e], fault: c.fault[e], w, n: out.length,
        nth: nth[sid] = (nth[sid] ?? -1) + 1, reads, was: site.kind === "assign" ? env[site.name] : null, fresh };
      reads = site.kind === "load" ? [...reads, s] : [];
      fresh = [];
      if (site.kind === "assign") { env[site.name] = v; s.fresh = [...s.fresh, site.name]; }
      s.env = { ...env };
      s.wrong = s.fault > 0 || s.k === "row" || s.k === "private" || (s.b < 0 && s.k !== "barrier" && s.k !== "assign");
      out.push(s);
    }
    cache.set(w, out);
    return out;
  };
  // What a group's work-items write, by buffer, in an order that barriers allow.
  const written = new Map();
  const stores = g => {
    if (!written.has(g)) {
      const lists = d.buffers.map(() => []), c = chunks.get(g);
      if (c) for (const w of c.items) for (const s of steps(w)) if ((s.k === "store" || s.k === "atomic") && !s.wrong) lists[s.b].push(s);
      for (const list of lists) list.sort((a, b) => a.phase - b.phase || a.w - b.w || a.n - b.n);
      written.set(g, lists);
    }
    return written.get(g);
  };
  return { gsize, lsize, ngroups, N, does, group, add, steps, stores, has: g => chunks.has(g) || !missing.has(g), members: g => [...(chunks.get(g)?.items ?? [])],
    who: w => `work-item ${named(w, gsize)}`, gname: g => `group ${named(g, ngroups)}`, short: w => named(w, gsize), place: w => numbers(w, gsize),
    barriers: d.sites.some(s => s.kind === "barrier") };
}

function draw(model, el) {
  const d = model.get("data"), r = recording(d), bufs = d.buffers, values = bufs.map(b => unpack(b.values));
  const st = { w: model.get("work_item"), step: model.get("step"), all: false, waiting: null };
  if (st.w >= r.N) { st.w = Math.max(0, r.does.findIndex(v => v === 2)); st.step = 0; }      // another option has fewer
  const outside = s => s.wrong, CLAMPED = 128;      // viz/steps.py says what this bit is
  const outer = s => s.fault & CLAMPED ? `${s.i[0]} or ${s.i[0] > 0 ? "more" : "less"}` : String(s.i[0]);
  const cell = s => (s.b < 0 ? "an address in no buffer" : (outside(s) ? `${bufs[s.b].name}[${outer(s)}]` : bracket(bufs[s.b].name, s.i[0], bufs[s.b].shape)) + (s.i.length > 1 ? ` to [${s.i.at(-1)}]` : ""));
  const nums = s => s.v.map(num).join(", ");
  const steps = () => r.steps(st.w), now = () => steps()[Math.min(st.step, steps().length - 1)];

  // What the chosen work-item can count on: its own writes, and those of its group before the last barrier.
  const known = (b, s) => {
    const local = bufs[b].space === "local", base = bufs[b].role === "out" || local ? null : values[b];
    const vals = new Map(), sure = new Map(), from = new Map();
    for (const t of r.stores(r.group(s.w))[b]) {
      const mine = t.w === s.w && t.n <= s.n, before = t.phase < s.phase, other = local && t.w !== s.w && t.phase <= s.phase;
      const lock = st.all && !local && t.w !== s.w && reached(t, s);
      if (!(mine || before || other || lock)) continue;
      t.i.forEach((i, k) => { vals.set(i, t.v[k]); sure.set(i, mine || before ? t : null); if (local && t.reads.length) from.set(i, t.reads.at(-1)); });
    }
    return { at: i => vals.has(i) ? vals.get(i) : base ? base[i] : null, ghost: i => vals.has(i) && !sure.get(i), by: i => sure.get(i), from };
  };
  // Side by side: another work-item has come as far as this one if it has done the same step of the same place.
  const reached = (t, s) => { const mine = steps().find(o => o.sid === t.sid && o.nth === t.nth); return mine ? mine.n <= s.n : t.phase < s.phase; };
  // Of a buffer whose contents were not sent, what the loads of this work-item saw.
  const seen = (b, s) => { const out = new Map(); if (!values[b]) for (const t of steps().slice(0, s.n + 1)) if (t.b === b && t.k === "load" && !t.wrong) t.i.forEach((i, k) => out.set(i, t.v[k])); return out; };

  const put = n => { st.step = n; model.set("step", n); model.save_changes(); paint(); };
  const find = (from, f) => { const l = steps(); for (let i = from + 1; i < l.length; i++) if (f(l[i])) return i; return null; };
  const jumps = [["next store", "jump to the next store", p => find(p, s => s.k === "store" || s.k === "atomic")]];
  if (r.barriers) jumps.push(["next barrier", "jump to the next barrier", p => find(p, s => s.k === "barrier")]);
  const pl = player({ label: "step", get: () => st.step, set: put, jumps,
    text: p => steps().length ? `step ${p + 1} of ${steps().length}${r.barriers ? ` · phase ${steps()[p]?.phase ?? 0}` : ""}` : "no steps" });
  const line = sentence(), src = source(d.source, d.keep, `source of ${d.kernel}`);

  // The steps of a group that was not sent: a kernel has them, a page does not.
  const bring = (w, then) => { st.waiting = { g: r.group(w), then }; model.send({ ask: "group", group: r.group(w) }); };
  const absent = w => say(model.get("live") ? `Fetching the steps of ${r.gname(r.group(w))} …` : `The steps of ${r.who(w)} are not on this page: only those of other groups were kept.`);
  const choose = w => {
    pl.stop();
    const g = r.group(w);
    if (!r.has(g)) {
      if (model.get("live")) bring(w, () => choose(w));
      line.set(absent(w));
      return;
    }
    const old = now();
    st.w = w; model.set("work_item", w);
    const l = steps(), same = old ? l.findIndex(s => s.sid === old.sid && s.nth === old.nth) : -1;
    wis.cursor(w); strip();
    put(same >= 0 ? same : Math.max(0, l.findLastIndex(s => old && s.phase <= old.phase && s.site.start <= old.site.start)));
  };
  const heard = m => { if (m.error) line.set(say(m.error)); if (m.group == null) return; r.add(m.group, m.chunk); if (st.waiting?.g === m.group) { const { then } = st.waiting; st.waiting = null; then(); } };
  model.on("msg:custom", heard);

  // The work-items, as they lie: dimension 0 to the right, 1 down, 2 as planes.
  const rank = r.gsize.length, wshape = rank === 1 ? [r.N] : [...r.gsize].reverse(), wcell = r.N > 144 ? 16 : 20;
  const wis = grid({ name: "Work-items", note: r.gsize.join("×"), shape: wshape, block: rank === 1 ? [1, r.lsize[0]] : [r.lsize[1], r.lsize[0]], cell: rank === 1 ? 24 : wcell, wide: rank === 1 ? 24 : wcell,
    plane: rank === 3 ? p => `dimension 2: ${p}` : undefined, room: [300, 300], onpick: choose,
    speak: w => `${r.who(w)}, ${r.gname(r.group(w))}${r.does[w] === 2 ? "" : r.does[w] ? ", writes no result" : ", touches no memory"}` });
  wis.cursor(st.w);

  const wide = fit(function* () {
    for (const v of values) if (v) yield* v.subarray(0, 4000);
    for (const g of Object.keys(d.chunks)) for (const list of r.stores(+g)) for (const t of list.slice(0, 2000)) yield* t.v;
  }());
  // Two matrices and their product stand as one multiplies them; other buffers: inputs, then outputs.
  const two = bufs.map((b, n) => n).filter(n => bufs[n].space === "global" && bufs[n].shape.length >= 2 && product(bufs[n].shape.slice(0, -2)) === 1);
  const [ma, mb, mc] = two, size = n => bufs[n].shape.slice(-2), reads = n => bufs[n].role === "in";
  const matmul = two.length === 3 && bufs.filter(b => b.space === "global").length === 3 && reads(ma) && reads(mb) && !reads(mc) &&
    size(ma)[1] === size(mb)[0] && size(ma)[0] === size(mc)[0] && size(mb)[1] === size(mc)[1];
  const small = b => bufs[b].space === "local" && product(bufs[b].shape) > 64;
  const shown = bufs.map((b, n) => grid({ name: b.name, note: b.note, shape: b.shape, wide: small(n) ? Math.max(22, wide - 6) : wide, cell: small(n) ? 22 : 28, dense: small(n),
    plane: b.shape.length > 2 ? planeName(b.shape, b.axes) : undefined, room: b.space === "local" ? [400, 222] : matmul && bufs.some(x => x.space === "local") ? [222, 240] : [b.shape.length > 1 ? 470 : 800, 400] }));
  bufs.forEach((b, n) => shown[n].el.classList.add("buf", b.space, b.role || "any"));

  const strip = () => {
    const l = steps(), phases = [];
    l.forEach((s, i) => {
      const stage = d.stages ? d.stages[s.sid] ?? phases.at(-1)?.p : s.phase;
      if (stage != null && (!phases.length || stage !== phases.at(-1).p)) phases.push({ p: stage, at: i, name: d.stages ? stage : `phase ${stage}` });
    });
    pl.steps(l.map(s => outside(s) ? "x" : SIGN[s.k]), r.barriers || d.stages ? phases : []);
  };

  function words(s) {
    if (!s && !r.has(r.group(st.w))) return absent(st.w);
    if (!s) return say(`${cap(r.who(st.w))} touches no memory${d.left_out ? ", or was not recorded" : ""}.`);
    const who = cap(r.who(s.w)) + " ", verb = [{ v: SIGN[s.k], t: VERB[s.k] }, " "];
    const value = t => ({ code: `${cell(t)} = ${nums(t)}` });
    const many = () => s.reads.length > 3 ? [`${s.reads.length} reads`] : s.reads.flatMap((t, i) => [i === 0 ? "" : i === s.reads.length - 1 ? " and " : ", ", value(t)]);
    if (s.k === "barrier") return say(who, { v: "b", t: "waits" }, ` at the barrier for all ${product(r.lsize)} of ${r.gname(r.group(s.w))}. Phase ${s.phase} ends here.`);
    if (s.k === "row" || s.k === "private") return say(who, { v: "x", t: "✕ uses" }, ` index ${s.i[0]} in `, { code: s.site.text }, ", which is outside.");
    if (outside(s)) {
      const end = s.k === "load" ? "Nothing was read: 0 was used." : "Nothing was written.", bad = { v: "x", t: "✕ " + VERB[s.k] };
      if (s.b < 0) return say(who, bad, ` an address that is in no buffer. ${end}`);
      const b = bufs[s.b];
      return s.fault & 1 ? say(who, bad, " ", { code: `${b.name}[${outer(s)}]` }, `, but ${b.name} has ${b.size} elements (0 to ${b.size - 1}). ${end}`) : say(who, bad, ` ${b.name} at a misaligned address. ${end}`);
    }
    if (s.k === "assign") return say(who, verb, { code: s.site.name }, " to ", { code: nums(s) }, s.was == null ? "" : ` (was ${num(s.was)})`, s.reads.length ? [", from ", many(), "."] : ".", overflow(s));
    if (s.k === "load") {
      const t = known(s.b, s).by(s.i[0]);
      return say(who, verb, value(s), t && t.w !== s.w ? `, written in phase ${t.phase} by ${r.who(t.w)}.` : t ? ", which it wrote itself." : ` from ${bufs[s.b].space} memory.`);
    }
    const what = s.k === "atomic" ? [{ code: cell(s) }, " to ", { code: nums(s) }] : [{ code: nums(s) }, " to ", { code: cell(s) }];
    return say(who, verb, what, s.reads.length ? [", from ", many(), "."] : ".", overflow(s));
  }
  const cap = t => t[0].toUpperCase() + t.slice(1);
  const overflow = s => {
    const from = s.reads.flatMap(t => t.v); if (s.was != null) from.push(s.was);
    if (!from.length || s.v.every(Number.isFinite) || !from.every(Number.isFinite)) return "";
    return s.v.some(v => Math.abs(v) === Infinity) ? " It overflows: the result is larger than any number of its type." : " That is no number.";
  };

  // The tile of a global buffer that local memory holds, or that this group writes.
  function frame(n, g, tiles) {
    const b = bufs[n];
    if (b.space !== "global" || b.shape.length < 2 || !bufs.some(x => x.space === "local")) return [];
    const cells = b.role === "out" ? r.stores(g)[n].flatMap(t => t.i) : tiles.filter(t => t.b === n).flatMap(t => t.i);
    if (!cells.length) return [];
    const at = cells.map(i => shown[n].at(i)), p = at[0][0], ys = [], xs = [];
    for (const c of at) if (c[0] === p) { ys.push(c[1]); xs.push(c[2]); }
    const y = Math.min(...ys), x = Math.min(...xs);
    return [{ p, y, x, h: Math.max(...ys) - y + 1, w: Math.max(...xs) - x + 1, cls: "fi" }];
  }

  function paint() {
    const s = now(), l = steps(), g = r.group(st.w), mates = r.members(g);
    const live = bufs.map(() => new Map()), trail = bufs.map(() => new Map()), doing = new Set();
    const mark = (maps, t, sign) => { if (t.b >= 0 && !t.wrong) t.i.forEach(i => maps[t.b].set(i, sign)); };
    if (s) {
      for (const t of l.slice(0, s.n)) if (t.phase === s.phase) mark(trail, t, t.k === "load" ? "r0" : "w0");
      if (st.all) for (const w of mates) if (w !== s.w) {
        const o = r.steps(w).find(o => o.sid === s.sid && o.nth === s.nth);
        if (o) { doing.add(w); if (o.b >= 0 && !o.wrong) o.i.forEach(i => trail[o.b].set(i, "too")); }
      }
      if (s.k !== "load") for (const t of s.reads) mark(live, t, "r");
      if (s.b >= 0) mark(live, s, SIGN[s.k]);
    }
    const writer = s?.k === "load" && s.b >= 0 && !s.wrong ? known(s.b, s).by(s.i[0])?.w : null;
    const aims = bufs.map(() => new Set());
    for (const t of l) if ((t.k === "store" || t.k === "atomic") && !t.wrong && bufs[t.b].space === "global") t.i.forEach(i => aims[t.b].add(i));
    const facts = bufs.map((_, n) => s ? [known(n, s), seen(n, s)] : null), tiles = facts.flatMap(f => f ? [...f[0].from.values()] : []);
    bufs.forEach((b, n) => {
      const value = i => facts[n] ? facts[n][0].at(i) ?? facts[n][1].get(i) ?? null : null;
      const at = live[n].size ? [...live[n].keys()] : s?.n === 0 ? [...aims[n]] : [];
      shown[n].touch([...live[n]]);
      if (at.length) { shown[n].show(at.at(-1)); shown[n].show(at[0]); }
      shown[n].flag(s && s.b === n && outside(s) ? `✕ ${b.name}[${outer(s)}] is outside` : null);
      shown[n].frames(frame(n, g, tiles));
      shown[n].paint(i => {
        const v = value(i), ghost = v != null && facts[n][0].ghost(i);
        return [v == null && aims[n].has(i) ? "●" : num(v), (v == null ? "none " : ghost ? "ghost " : "") + (live[n].get(i) ?? trail[n].get(i) ?? "")];
      });
    });
    if (s) branches?.show(s);
    wis.touch([[st.w, "me"]]);
    wis.show(st.w);
    const corner = r.place(mates[0] ?? st.w).map((v, k) => Math.floor(v / r.lsize[k]) * r.lsize[k]);
    wis.frames([{ p: corner[2] ?? 0, y: corner[1] ?? 0, x: corner[0], h: rank === 1 ? 1 : r.lsize[1], w: r.lsize[0], cls: "fi" }]);
    wis.paint(w => {
      const cls = w === st.w ? "me" : (w === writer ? "by " : "") + (r.has(r.group(w)) ? "" : "away ") + (r.group(w) === g ? "mate" : "");
      return [w === st.w ? "●" : doing.has(w) ? "•" : r.does[w] === 2 ? "" : "–", cls + (r.does[w] === 2 ? "" : " none")];
    });
    src.show(s ? [...(s.k !== "load" && s.k !== "barrier" ? s.reads.map(t => ({ start: t.site.start, end: t.site.end, cls: "r" })) : []),
      { start: s.site.start, end: s.k === "assign" && s.reads.length && s.site.text.startsWith(s.site.name) ? s.site.start + s.site.name.length : s.site.end, cls: outside(s) ? "x" : SIGN[s.k] }] : []);
    priv.replaceChildren(...watched.flatMap(n => { const v = s?.env[n]; return [html("dt", { title: n }, n), html("dd", { class: s?.fresh.includes(n) ? "new" : "" }, num(v ?? null))]; }));
    whose.textContent = ` of ${r.short(st.w)}`; group.textContent = ` of ${r.gname(g)}`;
    line.set(st.all ? [...words(s), ...say(" ", { v: "note", t: "illustration" }, ` The rest of the group is drawn at the same step${doing.size ? ` (${doing.size} work-items, •)` : ""}; their real order is not known.`)] : words(s), !pl.playing());
    pl.update();
    el.dataset.step = st.step; el.dataset.workItem = st.w;
  }

  const watched = [...new Set(d.sites.filter(s => s.kind === "assign").map(s => s.name))];
  const whose = html("span"), group = html("span"), priv = html("dl", { class: "priv" + (watched.length > 8 ? " many" : "") });
  const of = space => shown.map((g, n) => bufs[n].space === space ? g.el : null).filter(Boolean);
  const mem = (name, note, ...kids) => html("div", { class: "mem" }, html("div", { class: "space" }, html("b", {}, name), note), ...kids);
  const side = choice("show", [[false, "one work-item"], [true, "its group side by side"]], () => st.all, v => { st.all = v; paint(); });
  const opts = options(model, () => model.get("data"), params => model.send({ ask: "params", params }));

  if (matmul) [[ma, "A"], [mb, "B"], [mc, "C"]].forEach(([n, area]) => { shown[n].el.style.gridArea = area; });
  const local = of("local"), constant = of("constant");
  wis.el.classList.add("wis");
  const far = html("div", { class: matmul ? "matmul" : "far" }, ...of("global"), ...constant);
  const own = local.length ? mem("local memory", group, html("div", { class: "row" }, ...local)) : null;
  const lay = html("div", { class: "lay" }, far, own);
  const near = html("div", { class: "near" }, wis.el, watched.length ? mem("private", whose, priv) : null);
  const step = html("div", { class: "step" }, src.el, lay, near);
  const trunk = d.tree ? bufs.findIndex(b => b.space === "local" && b.shape.length === 1) : -1;
  const branches = trunk < 0 ? null : tree(bufs[trunk].name, r.stores(r.group(st.w))[trunk]);
  const legend = [["r", "4", "read now"], ["w", "4", "written now"], ["t0", "4", "read earlier" + (r.barriers ? " in this phase" : "")], ["t1", "4", "written earlier"],
    ...(d.sites.some(s => s.kind === "atomic") ? [["a", "4", "updated atomically"]] : []), ...(r.barriers ? [["b", "‖", "barrier"]] : []),
    ...(Object.values(d.chunks).some(c => unpack(c.fault).some(v => v)) ? [["x", "✕", "outside the buffer: skipped"]] : []),
    ...(local.length ? [[null, html("i", {}, "4"), "written by others, in no known order"]] : []), [null, "·", "not written, as far as this work-item knows"], [null, "●", "the chosen work-item, and where it will write"],
    ...(local.length ? [["by", "1", "work-item that wrote it"]] : []), ["fi", "1", local.length ? "its group, and the group’s tiles" : "its group"],
    ...(r.does.some(v => v < 2) ? [[null, "–", "work-item that writes no result"]] : [])];
  el.append(figure({ data: d, options: [...opts.els, side.el], player: pl, sentence: line, pictures: [branches?.el, step, d.bars ? bars(d.bars) : null].filter(Boolean), legend }));
  strip();
  if (st.step >= steps().length) st.step = Math.max(0, steps().length - 1);
  paint();
  const show = () => { st.w = model.get("work_item"); st.step = model.get("step"); wis.cursor(st.w); strip(); st.step = Math.max(0, Math.min(st.step, steps().length - 1)); paint(); };
  const go = () => { pl.stop(); if (!r.has(r.group(model.get("work_item"))) && model.get("live")) bring(model.get("work_item"), show); show(); };
  if (!r.has(r.group(st.w))) go();

  // Source and pictures side by side where both fit, else the pictures go below.
  let width = 0;
  const arrange = () => {
    const room = step.clientWidth;
    if (!room || room === width) return;
    width = room;
    const widths = shown.map((g, n) => bufs[n].space === "local" ? 0 : g.width());
    const pictures = matmul ? Math.max(wis.width(), widths[ma]) + Math.max(widths[mb], widths[mc]) + 16 : Math.max(wis.width(), ...widths);
    const side = src.longest * 7.83 + 62 + pictures + 20 <= room;
    step.className = "step " + (side ? "side" : room > 700 ? "over" : "stack");
    (side ? (matmul ? far : lay) : near).prepend(wis.el);
    if (own) (side ? near : lay).append(own);
    paint();
  };
  const watch = new ResizeObserver(arrange);
  watch.observe(step);
  const follow = () => {
    const s = model.get("step"), w = model.get("work_item");
    if (w !== st.w && w < r.N) go();
    else if (s !== st.step) { st.step = Math.max(0, Math.min(s, steps().length - 1)); paint(); }
  };
  model.on("change:step", follow); model.on("change:work_item", follow);
  return () => { pl.stop(); watch.disconnect(); model.off("change:step", follow); model.off("change:work_item", follow); model.off("msg:custom", heard); };
}

export default { render: mount(draw) };
