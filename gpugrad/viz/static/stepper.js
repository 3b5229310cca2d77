// The stepper: one work-item's recorded steps beside the source, with every buffer as this work-item can know it.
import { html, bars, figure, fit, mount, num, say, product, unpack, SMALL } from "./core.js";
import { grid, planeName } from "./grid.js";
import { player, sentence, choice, options } from "./controls.js";
import { source } from "./source.js";
import { tree } from "./tree.js";
import { recording, known, seen, writes } from "./recording.js";
import { SIGN, idle, inWords, outer } from "./step_words.js";

/** The work-items, as they lie: dimension 0 to the right, 1 down, 2 as planes. */
function workItems(r, choose) {
  const rank = r.gsize.length;
  const cell = rank === 1 ? 24 : r.N > 144 ? 16 : 20;
  const result = w => (r.does[w] === 2 ? "" : r.does[w] ? ", writes no result" : ", touches no memory");
  return grid({
    name: "Work-items",
    note: r.gsize.join("×"),
    shape: rank === 1 ? [r.N] : [...r.gsize].reverse(),
    block: rank === 1 ? [1, r.lsize[0]] : [r.lsize[1], r.lsize[0]],
    cell,
    wide: cell,
    plane: rank === 3 ? p => `dimension 2: ${p}` : undefined,
    room: [300, 300],
    onpick: choose,
    speak: w => `${r.who(w)}, ${r.gname(r.group(w))}${result(w)}`,
  });
}

/** Two matrices and their product stand as one multiplies them: their numbers among the buffers, or null. */
function asProduct(bufs) {
  const global = bufs.map((b, n) => n).filter(n => bufs[n].space === "global");
  const flat = n => bufs[n].shape.length >= 2 && product(bufs[n].shape.slice(0, -2)) === 1;
  if (global.length !== 3 || !global.every(flat)) return null;
  const [a, b, c] = global.map(n => bufs[n].shape.slice(-2));
  const roles = global.map(n => bufs[n].role === "in").join();
  return roles === "true,true,false" && a[1] === b[0] && a[0] === c[0] && b[1] === c[1] ? global : null;
}

/** A grid for each buffer, all with cells of one width. */
function bufferGrids(d, r, values, matmul) {
  const bufs = d.buffers;
  const all = function* () {
    for (const v of values) if (v) yield* v.subarray(0, 4000);
    for (const g of Object.keys(d.chunks)) for (const l of r.stores(+g)) for (const t of l.slice(0, 2000)) yield* t.v;
  };
  const wide = fit(all());
  const tiled = matmul && bufs.some(b => b.space === "local");
  return bufs.map(b => {
    const small = b.space === "local" && product(b.shape) > 64;
    const g = grid({
      name: b.name,
      note: b.note,
      shape: b.shape,
      wide: small ? Math.max(22, wide - 6) : wide,
      cell: small ? 22 : 28,
      dense: small,
      plane: b.shape.length > 2 ? planeName(b.shape, b.axes) : undefined,
      room: b.space === "local" ? [400, 222] : tiled ? [222, 240] : [b.shape.length > 1 ? 470 : 800, 400],
    });
    g.el.classList.add("buf", b.space, b.role || "any");
    return g;
  });
}

function legendOf(d, r) {
  const local = d.buffers.some(b => b.space === "local");
  const atomic = d.sites.some(s => s.kind === "atomic");
  const faults = Object.values(d.chunks).some(c => unpack(c.fault).some(v => v));
  const when = (so, ...entry) => (so ? [entry] : []);
  return [
    ["r", "4", "read now"],
    ["w", "4", "written now"],
    ["t0", "4", "read earlier" + (r.barriers ? " in this phase" : "")],
    ["t1", "4", "written earlier"],
    ...when(atomic, "a", "4", "updated atomically"),
    ...when(r.barriers, "b", "‖", "barrier"),
    ...when(faults, "x", "✕", "outside the buffer: skipped"),
    ...when(local, null, html("i", {}, "4"), "written by others, in no known order"),
    [null, "·", "not written, as far as this work-item knows"],
    [null, "●", "the chosen work-item, and where it will write"],
    ...when(local, "by", "1", "work-item that wrote it"),
    ["fi", "1", local ? "its group, and the group’s tiles" : "its group"],
    ...when(
      r.does.some(v => v < 2),
      null,
      "–",
      "work-item that writes no result",
    ),
  ];
}

/** Which pieces of the source a step marks: what it does, and the loads behind it. */
function marksOf(s) {
  if (!s) return [];
  const { start, end, name, text } = s.site;
  const behind = s.k === "load" || s.k === "barrier" ? [] : s.reads;
  const onlyName = s.k === "assign" && s.reads.length && text.startsWith(name);
  return [
    ...behind.map(t => ({ start: t.site.start, end: t.site.end, cls: "r" })),
    { start, end: onlyName ? start + name.length : end, cls: s.wrong ? "x" : SIGN[s.k] },
  ];
}

/** The box around the tile of a global buffer that local memory holds, or that this group writes. */
function tileFrame(b, g, cells) {
  if (!cells.length) return [];
  const at = cells.map(i => g.at(i));
  const p = at[0][0];
  const ys = at.filter(c => c[0] === p).map(c => c[1]);
  const xs = at.filter(c => c[0] === p).map(c => c[2]);
  const [y, x] = [Math.min(...ys), Math.min(...xs)];
  return [{ p, y, x, h: Math.max(...ys) - y + 1, w: Math.max(...xs) - x + 1, cls: "fi" }];
}

function draw(model, el) {
  const d = model.get("data");
  const r = recording(d);
  const bufs = d.buffers;
  const values = bufs.map(b => unpack(b.values));
  const st = { w: model.get("work_item"), step: model.get("step"), all: false, waiting: null };
  if (st.w >= r.N) {
    // another option has fewer work-items
    const first = r.does.findIndex(v => v === 2);
    Object.assign(st, { w: Math.max(0, first), step: 0 });
  }
  const steps = () => r.steps(st.w);
  const now = () => steps()[Math.min(st.step, steps().length - 1)];
  const clamped = n => Math.max(0, Math.min(n, steps().length - 1));
  const put = n => {
    st.step = n;
    model.set("step", n);
    model.save_changes();
    paint();
  };

  const jump = kinds => p => {
    const n = steps().findIndex((s, i) => i > p && kinds.includes(s.k));
    return n < 0 ? null : n;
  };
  const jumps = [["next store", "jump to the next store", jump(["store", "atomic"])]];
  if (r.barriers) jumps.push(["next barrier", "jump to the next barrier", jump(["barrier"])]);
  const stepText = p => {
    if (!steps().length) return "no steps";
    return `step ${p + 1} of ${steps().length}${r.barriers ? ` · phase ${steps()[p]?.phase ?? 0}` : ""}`;
  };
  const pl = player({ label: "step", get: () => st.step, set: put, jumps, text: stepText });
  const line = sentence();
  const src = source(d.source, d.keep, `source of ${d.kernel}`);

  // The steps of a group that was not sent: a kernel has them, a page does not.
  const bring = (w, then) => {
    st.waiting = { g: r.group(w), then };
    model.send({ ask: "group", group: r.group(w) });
  };
  const absent = w =>
    say(
      model.get("live")
        ? `Fetching the steps of ${r.gname(r.group(w))} …`
        : `The steps of ${r.who(w)} are not on this page: only those of other groups were kept.`,
    );
  const heard = m => {
    if (m.error) line.set(say(m.error));
    if (m.group == null) return;
    r.add(m.group, m.chunk);
    if (st.waiting?.g === m.group) {
      const { then } = st.waiting;
      st.waiting = null;
      then();
    }
  };
  model.on("msg:custom", heard);

  // Another work-item opens at the same step, or at the last one of the same phase and place.
  const choose = w => {
    pl.stop();
    if (!r.has(r.group(w))) {
      if (model.get("live")) bring(w, () => choose(w));
      line.set(absent(w));
      return;
    }
    const old = now();
    st.w = w;
    model.set("work_item", w);
    const same = old ? steps().findIndex(s => s.sid === old.sid && s.nth === old.nth) : -1;
    const near = steps().findLastIndex(s => old && s.phase <= old.phase && s.site.start <= old.site.start);
    wis.cursor(w);
    strip();
    put(same >= 0 ? same : Math.max(0, near));
  };
  const wis = workItems(r, choose);
  wis.cursor(st.w);
  const matmul = asProduct(bufs);
  const shown = bufferGrids(d, r, values, matmul);

  function strip() {
    const phases = [];
    steps().forEach((s, i) => {
      const stage = d.stages ? (d.stages[s.sid] ?? phases.at(-1)?.p) : s.phase;
      if (stage == null || stage === phases.at(-1)?.p) return;
      phases.push({ p: stage, at: i, name: d.stages ? stage : `phase ${stage}` });
    });
    const signs = steps().map(s => (s.wrong ? "x" : SIGN[s.k]));
    pl.steps(signs, r.barriers || d.stages ? phases : []);
  }

  const facts = s => bufs.map((_, n) => [known(d, r, values, n, s, st.all), seen(r, values, n, s)]);
  const origin = s => (s?.k === "load" && s.b >= 0 && !s.wrong ? known(d, r, values, s.b, s, st.all).by(s.i[0]) : null);

  function words(s) {
    if (!s) return r.has(r.group(st.w)) ? idle(st.w, r, d.left_out) : absent(st.w);
    return inWords(s, r, bufs, origin(s));
  }

  /** For each buffer, the cells that wear a sign at step s; and who else is drawn at that step. */
  function signs(s) {
    const live = bufs.map(() => new Map());
    const trail = bufs.map(() => new Map());
    const doing = new Set();
    if (!s) return { live, trail, doing };
    const mark = (maps, t, sign) => {
      if (t.b >= 0 && !t.wrong) t.i.forEach(i => maps[t.b].set(i, sign));
    };
    for (const t of steps().slice(0, s.n)) if (t.phase === s.phase) mark(trail, t, t.k === "load" ? "r0" : "w0");
    for (const w of st.all ? r.members(r.group(st.w)) : []) {
      const o = w === s.w ? null : r.steps(w).find(t => t.sid === s.sid && t.nth === s.nth);
      if (!o) continue;
      doing.add(w);
      mark(trail, o, "too");
    }
    if (s.k !== "load") for (const t of s.reads) mark(live, t, "r");
    mark(live, s, SIGN[s.k]);
    return { live, trail, doing };
  }

  function paintBuffers(s, { live, trail }) {
    const aims = bufs.map(() => new Set());
    for (const t of steps()) if (writes(t) && bufs[t.b].space === "global") t.i.forEach(i => aims[t.b].add(i));
    const sure = s ? facts(s) : null;
    const tiles = sure ? sure.flatMap(([k]) => [...k.from.values()]) : [];
    const local = bufs.some(b => b.space === "local");
    bufs.forEach((b, n) => {
      const g = shown[n];
      const at = live[n].size ? [...live[n].keys()] : s?.n === 0 ? [...aims[n]] : [];
      g.touch([...live[n]]);
      if (at.length) {
        g.show(at.at(-1));
        g.show(at[0]);
      }
      g.flag(s?.b === n && s.wrong ? `✕ ${b.name}[${outer(s)}] is outside` : null);
      const held = b.role === "out" ? r.stores(r.group(st.w))[n] : tiles.filter(t => t.b === n);
      const framed = local && b.space === "global" && b.shape.length > 1;
      g.frames(
        framed
          ? tileFrame(
              b,
              g,
              held.flatMap(t => t.i),
            )
          : [],
      );
      g.paint(i => {
        const v = sure ? (sure[n][0].at(i) ?? sure[n][1].get(i) ?? null) : null;
        const how = v == null ? "none " : sure[n][0].ghost(i) ? "ghost " : "";
        return [v == null && aims[n].has(i) ? "●" : num(v), how + (live[n].get(i) ?? trail[n].get(i) ?? "")];
      });
    });
  }

  function paintWorkItems(s, doing) {
    const g = r.group(st.w);
    const writer = origin(s)?.w;
    wis.touch([[st.w, "me"]]);
    wis.show(st.w);
    const corner = r.place(r.members(g)[0] ?? st.w).map((v, k) => Math.floor(v / r.lsize[k]) * r.lsize[k]);
    const h = r.gsize.length === 1 ? 1 : r.lsize[1];
    wis.frames([{ p: corner[2] ?? 0, y: corner[1] ?? 0, x: corner[0], h, w: r.lsize[0], cls: "fi" }]);
    wis.paint(w => {
      const result = r.does[w] === 2;
      const other = (w === writer ? "by " : "") + (r.has(r.group(w)) ? "" : "away ") + (r.group(w) === g ? "mate" : "");
      const glyph = w === st.w ? "●" : doing.has(w) ? "•" : result ? "" : "–";
      return [glyph, (w === st.w ? "me" : other) + (result ? "" : " none")];
    });
  }

  function paint() {
    const s = now();
    const marked = signs(s);
    paintBuffers(s, marked);
    paintWorkItems(s, marked.doing);
    if (s) branches?.show(s);
    src.show(marksOf(s));
    const variable = n => [
      html("dt", { title: n }, n),
      html("dd", { class: s?.fresh.includes(n) ? "new" : "" }, num(s?.env[n] ?? null)),
    ];
    priv.replaceChildren(...watched.flatMap(variable));
    whose.textContent = ` of ${r.short(st.w)}`;
    group.textContent = ` of ${r.gname(r.group(st.w))}`;
    const many = marked.doing.size ? ` (${marked.doing.size} work-items, •)` : "";
    const order = ` The rest of the group is drawn at the same step${many}; their real order is not known.`;
    const together = st.all ? say(" ", { v: "note", t: "illustration" }, order) : [];
    line.set([...words(s), ...together], !pl.playing());
    pl.update();
    el.dataset.step = st.step;
    el.dataset.workItem = st.w;
  }

  // The layout: source, work-items and private variables, buffers by the memory they are in.
  const watched = [...new Set(d.sites.filter(s => s.kind === "assign").map(s => s.name))];
  const whose = html("span");
  const group = html("span");
  const priv = html("dl", { class: "priv" + (watched.length > 8 ? " many" : "") });
  const of = space => shown.filter((g, n) => bufs[n].space === space).map(g => g.el);
  const mem = (name, note, ...kids) =>
    html("div", { class: "mem" }, html("div", { class: "space" }, html("b", {}, name), note), ...kids);
  const kinds = [
    [false, "one work-item"],
    [true, "its group side by side"],
  ];
  const showAll = v => {
    st.all = v;
    paint();
  };
  const side = choice("show", kinds, () => st.all, showAll);
  const opts = options(model);
  matmul?.forEach((n, k) => (shown[n].el.style.gridArea = "ABC"[k]));
  const local = of("local");
  wis.el.classList.add("wis");
  const far = html("div", { class: matmul ? "matmul" : "far" }, ...of("global"), ...of("constant"));
  const own = local.length ? mem("local memory", group, html("div", { class: "row" }, ...local)) : null;
  const lay = html("div", { class: "lay" }, far, own);
  const near = html("div", { class: "near" }, wis.el, watched.length ? mem("private", whose, priv) : null);
  const step = html("div", { class: "step" }, src.el, lay, near);
  const trunk = d.tree ? bufs.findIndex(b => b.space === "local" && b.shape.length === 1) : -1;
  const branches = trunk < 0 ? null : tree(bufs[trunk].name, r.stores(r.group(st.w))[trunk]);
  const pictures = [branches?.el, step, d.bars ? bars(d.bars) : null].filter(Boolean);
  const all = [...opts.els, side.el];
  el.append(figure({ data: d, options: all, player: pl, sentence: line, pictures, legend: legendOf(d, r) }));

  const show = () => {
    st.w = model.get("work_item");
    wis.cursor(st.w);
    strip();
    st.step = clamped(model.get("step"));
    paint();
  };
  const go = () => {
    pl.stop();
    const w = model.get("work_item");
    if (!r.has(r.group(w)) && model.get("live")) bring(w, show);
    show();
  };
  strip();
  st.step = clamped(st.step);
  paint();
  if (!r.has(r.group(st.w))) go();

  // Source and pictures side by side where both fit, else the pictures go below.
  let width = 0;
  const arrange = () => {
    const room = step.clientWidth;
    if (!room || room === width) return;
    width = room;
    const most = list => Math.max(0, ...list.map(n => shown[n].width())) * (room < SMALL ? 0.88 : 1);
    const far_ = bufs.map((b, n) => n).filter(n => bufs[n].space !== "local");
    shown.forEach((g, n) => g.within(room - (bufs[n].space === "local" ? 16 : 0)));
    wis.within(room);
    branches?.within(room);
    const [left, right] = matmul ? [most([matmul[0]]), most(matmul.slice(1))] : [most(far_), 0];
    const wanted = Math.max(wis.width(), left) + (matmul ? right + 16 : 0);
    const beside = src.longest * 7.83 + 62 + wanted + 20 <= room;
    step.className = "step " + (beside ? "side" : room > 700 ? "over" : "stack");
    far.classList.toggle("narrow", !!matmul && left + right + 16 > room);
    (beside ? (matmul ? far : lay) : near).prepend(wis.el);
    if (own) (beside ? near : lay).append(own);
    paint();
  };
  const watch = new ResizeObserver(arrange);
  watch.observe(step);
  const follow = () => {
    if (model.get("work_item") !== st.w && model.get("work_item") < r.N) go();
    else if (model.get("step") !== st.step) {
      st.step = clamped(model.get("step"));
      paint();
    }
  };
  model.on("change:step", follow);
  model.on("change:work_item", follow);
  return () => {
    pl.stop();
    watch.disconnect();
    model.off("change:step", follow);
    model.off("change:work_item", follow);
    model.off("msg:custom", heard);
  };
}

export default { render: mount(draw) };
