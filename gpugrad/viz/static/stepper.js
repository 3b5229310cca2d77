// The stepper: one work-item's recorded steps beside the source, with every buffer as this work-item can know it.
import { bars, counted, figure, mount, say, unpack } from "./core.js";
import { player, sentence, choice, options } from "./controls.js";
import { source } from "./source.js";
import { tree } from "./tree.js";
import { recording } from "./recording.js";
import { SIGN, idle, inWords } from "./step_words.js";
import { legendOf, marksOf } from "./step_marks.js";
import { stepGrids } from "./step_grids.js";
import { layout, variables } from "./step_layout.js";

/** Where one is in a launch: work-item w at one of its steps; `all` draws its group at the same step. */
function placeIn(model, r) {
  const steps = () => r.steps(at.w);
  const clamped = n => Math.max(0, Math.min(n, steps().length - 1));
  const at = {
    w: model.get("work_item"),
    step: model.get("step"),
    all: false,
    steps,
    now: () => steps()[Math.min(at.step, steps().length - 1)],
    go: n => (at.step = clamped(n)),
    keeping: false,
    keep() {
      at.keeping = true; // both change together: half of it is nothing to follow
      model.set("work_item", at.w);
      model.set("step", at.step);
      at.keeping = false;
      model.save_changes();
    },
    /** Another work-item opens at the same step, or at the last one of the same phase and place. */
    choose(w) {
      const old = at.now();
      at.w = w;
      const same = old ? steps().findIndex(s => s.sid === old.sid && s.nth === old.nth) : -1;
      const near = steps().findLastIndex(s => old && s.phase <= old.phase && s.site.start <= old.site.start);
      at.step = same >= 0 ? same : Math.max(0, near);
    },
  };
  if (at.w >= r.N) {
    // another option has fewer work-items
    const first = r.does.findIndex(v => v === 2);
    Object.assign(at, { w: Math.max(0, first), step: 0 });
  }
  return at;
}

/** The steps of a group that was not sent: a kernel has them, a page does not. */
function fetcher(model, r, complain) {
  let waiting = null;
  const heard = m => {
    if (m.error) complain(m.error);
    if (m.group == null) return;
    r.add(m.group, m.chunk);
    if (waiting?.group !== m.group) return;
    const { then } = waiting;
    waiting = null;
    then();
  };
  model.on("msg:custom", heard);
  const bring = (group, then) => {
    waiting = { group, then };
    model.send({ ask: "group", group });
  };
  const absent = w =>
    say(
      model.get("live")
        ? `Fetching the steps of ${r.gname(r.group(w))} …`
        : `The steps of ${r.who(w)} are not on this page: only those of other groups were kept.`,
    );
  const forget = () => (waiting = null);
  return { bring, absent, forget, stop: () => model.off("msg:custom", heard) };
}

/** The slider and its buttons. strip() draws the signs and phases of the steps below it. */
function stepPlayer(d, r, at, put) {
  const jump = kinds => p => {
    const n = at.steps().findIndex((s, i) => i > p && kinds.includes(s.k));
    return n < 0 ? null : n;
  };
  const jumps = [["next store", "jump to the next store", jump(["store", "atomic"])]];
  if (r.barriers) jumps.push(["next barrier", "jump to the next barrier", jump(["barrier"])]);
  const text = p => {
    const n = at.steps().length;
    return n ? `step ${p + 1} of ${n}${r.barriers ? ` · phase ${at.steps()[p]?.phase ?? 0}` : ""}` : "no steps";
  };
  const pl = player({ label: "step", get: () => at.step, set: put, jumps, text });
  const strip = () => {
    const phases = [];
    at.steps().forEach((s, i) => {
      const stage = d.stages ? (d.stages[s.sid] ?? phases.at(-1)?.p) : s.phase;
      if (stage == null || stage === phases.at(-1)?.p) return;
      phases.push({ p: stage, at: i, name: d.stages ? stage : `phase ${stage}` });
    });
    const signs = at.steps().map(s => (s.wrong ? "x" : SIGN[s.k]));
    pl.steps(signs, r.barriers || d.stages ? phases : []);
  };
  return { ...pl, strip };
}

/** The tree of a reduction, where the data asks for one: it grows in the first local buffer of one axis. */
function treeOf(d, r, w) {
  const trunk = d.tree ? d.buffers.findIndex(b => b.space === "local" && b.shape.length === 1) : -1;
  return trunk < 0 ? null : tree(d.buffers[trunk].name, r.stores(r.group(w))[trunk]);
}

/** The sentence of a step; words about the group stand behind it where that is drawn too. */
function sentenceOf(s, { d, r, at, grids, groups, others }) {
  const idling = () => (r.has(r.group(at.w)) ? idle(at.w, r, d.left_out) : groups.absent(at.w));
  const own = s ? inWords(s, r, d.buffers, grids.origin(s)) : idling();
  if (!at.all) return own;
  const many = others ? ` (${counted(others, "work-item")}, •)` : "";
  const order = ` The rest of the group is drawn at the same step${many}; their real order is not known.`;
  return [...own, ...say(" ", { v: "note", t: "illustration" }, order)];
}

function draw(model, el) {
  const d = model.get("data");
  const r = recording(d);
  const at = placeIn(model, r);
  const line = sentence();
  const src = source(d.source, d.keep, `source of ${d.kernel}`);
  const vars = variables(d);
  const groups = fetcher(model, r, error => line.set(say(error)));
  const put = n => {
    if (r.has(r.group(at.w))) groups.forget(); // who steps on does not want to be taken elsewhere later
    at.step = n;
    at.keep();
    paint();
  };
  const pl = stepPlayer(d, r, at, put);
  const choose = w => {
    pl.stop();
    groups.forget();
    if (r.has(r.group(w))) {
      at.choose(w);
      at.keep();
      opened();
      return;
    }
    if (model.get("live")) groups.bring(r.group(w), () => choose(w));
    line.set(groups.absent(w));
  };
  const values = d.buffers.map(b => unpack(b.values));
  const grids = stepGrids(d, r, values, at, choose);
  const branches = treeOf(d, r, at.w);
  const panes = layout({ bufs: d.buffers, grids, src, vars, branches });

  function paint() {
    const s = at.now();
    const others = grids.paint(s);
    if (s) branches?.show(s);
    src.show(marksOf(s));
    vars.show(s);
    panes.name(r.short(at.w), r.gname(r.group(at.w)));
    line.set(sentenceOf(s, { d, r, at, grids, groups, others }), !pl.playing());
    pl.update();
    el.dataset.step = at.step;
    el.dataset.workItem = at.w;
  }
  function opened() {
    grids.items.cursor(at.w);
    pl.strip();
    paint();
  }
  const kinds = [
    [false, "one work-item"],
    [true, "its group side by side"],
  ];
  const showAll = v => {
    at.all = v;
    paint();
  };
  const side = choice("show", kinds, () => at.all, showAll);
  const pictures = [branches?.el, panes.el, d.bars ? bars(d.bars) : null].filter(Boolean);
  const all = [...options(model).els, side.el];
  el.append(figure({ data: d, options: all, player: pl, sentence: line, pictures, legend: legendOf(d, r) }));

  // What Python sets is followed.
  const follow = () => {
    if (at.keeping) return;
    const w = model.get("work_item");
    const show = () => {
      at.w = w;
      at.go(model.get("step"));
      opened();
    };
    if (w === at.w || w >= r.N) {
      if (model.get("step") === at.step) return;
      at.go(model.get("step"));
      paint();
      return;
    }
    pl.stop();
    groups.forget();
    if (!r.has(r.group(w)) && model.get("live")) groups.bring(r.group(w), show);
    show();
  };
  at.go(at.step);
  opened();
  if (!r.has(r.group(at.w)) && model.get("live")) groups.bring(r.group(at.w), opened);
  const watch = new ResizeObserver(() => {
    if (panes.arrange()) paint();
  });
  watch.observe(panes.el);
  model.on("change:step", follow);
  model.on("change:work_item", follow);
  return () => {
    pl.stop();
    watch.disconnect();
    model.off("change:step", follow);
    model.off("change:work_item", follow);
    groups.stop();
  };
}

export default { render: mount(draw) };
