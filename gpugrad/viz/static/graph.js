// The autograd graph: boxes in layers, with pan and zoom; pointing at a box says what it holds.
import { figure, html, mount, quiet, say, svg, SMALL } from "./core.js";
import { button, sentence } from "./controls.js";

const PAD = 12;
const MOST = 660; // pixels in height
const READABLE = 0.75; // the scale at which boxes can be read on a phone
const cut = t => (t.length > 18 ? t.slice(0, 17) + "…" : t);

/** A box in words. */
function wordsOf(b) {
  if (b.kind === "leaf") {
    const gradient = b.grad ? `Its gradient: ${b.grad}.` : "It has no gradient yet.";
    return [{ code: b.name }, ` is a leaf, ${b.shape}: ${b.value}. `, gradient];
  }
  const many = b.saved.length === 1 ? "an array" : b.saved.length + " arrays";
  const keeps = b.saved.length ? `keeps ${many} of ${b.saved.join(" and ")}.` : "keeps nothing.";
  const saved = b.freed ? " What it kept for backward was freed." : ` For backward it ${keeps}`;
  return [{ code: b.name }, ` gives ${b.shape}${b.value ? ": " + b.value : ""}.`, saved];
}

function boxOf(b, i, [width, height]) {
  const state = (b.freed ? " freed" : "") + (b.grad ? " has" : "") + (b.result ? " result" : "");
  const said = wordsOf(b).map(p => p.t ?? p.code ?? p);
  const names = { class: "box " + b.kind + state, "data-i": i, role: "img", "aria-label": said.join("") };
  const text = (dx, dy, cls, t) => svg("text", { x: b.x + dx, y: b.y + dy, class: cls }, t);
  return svg(
    "g",
    names,
    svg("rect", { x: b.x, y: b.y, width, height, rx: b.kind === "leaf" ? height / 2 : 4 }),
    text(width / 2, 13, b.name.length > 15 ? "nm long" : "nm", cut(b.name)),
    text(width / 2, 27, "ax", cut(b.shape)),
    b.grad ? text(width - 14, height / 2, "nabla", "∇") : null,
  );
}

/** The line from box p to box q; between them it passes layers, each at [x, top]. */
function wireOf(p, q, lane, [width, height]) {
  let [x, y] = [p.x + width / 2, p.y + height];
  let d = `M${x} ${y}`;
  const bend = (u, v, end) => {
    const m = (y + v) / 2;
    d += `C${x} ${m} ${u} ${m} ${u} ${end}`;
  };
  for (const [u, v] of lane) {
    bend(u, v, v);
    d += `v${height}`;
    [x, y] = [u, v + height];
  }
  const [u, v] = [q.x + width / 2, q.y];
  bend(u, v, v - 6);
  return [svg("path", { class: "edge", d }), svg("path", { class: "tip", d: `M${u} ${v}l-4 -7h8z` })];
}

/** Pan and zoom of a picture that is W x H: dragging, the wheel with Ctrl, and what is given back for buttons. */
function camera(root, W, H) {
  const view = { x: -PAD, y: -PAD, k: 1 };
  const width = () => root.clientWidth || 800;
  const height = () => root.clientHeight || 480;
  const show = () => root.setAttribute("viewBox", `${view.x} ${view.y} ${width() / view.k} ${height() / view.k}`);
  /** All of it, or (least) not smaller than can be read; gives its scale. */
  const whole = (least = 0) => {
    view.k = Math.max(least, Math.min(1, width() / (W + 2 * PAD), (MOST - 10) / (H + 2 * PAD)));
    root.style.height = Math.max(140, Math.min(MOST, (H + 2 * PAD) * view.k)) + "px";
    view.x = W / 2 - width() / view.k / 2;
    view.y = -PAD;
    show();
    return view.k;
  };
  const zoom = (f, cx = 0.5, cy = 0.5) => {
    const k = Math.max(0.05, Math.min(3, view.k * f));
    view.x += width() * cx * (1 / view.k - 1 / k);
    view.y += height() * cy * (1 / view.k - 1 / k);
    view.k = k;
    show();
  };
  /** Moves so that a box is in view. */
  const keep = (b, [w, h]) => {
    const [across, down] = [width() / view.k, height() / view.k];
    if (b.x < view.x) view.x = b.x - PAD;
    else if (b.x + w > view.x + across) view.x = b.x + w + PAD - across;
    if (b.y < view.y) view.y = b.y - PAD;
    else if (b.y + h > view.y + down) view.y = b.y + h + PAD - down;
    show();
  };
  let from = null;
  root.addEventListener("pointerdown", e => (from = [e.clientX, e.clientY]));
  root.addEventListener("pointermove", e => {
    if (!from || !e.buttons) return;
    view.x -= (e.clientX - from[0]) / view.k;
    view.y -= (e.clientY - from[1]) / view.k;
    from = [e.clientX, e.clientY];
    show();
  });
  const wheel = e => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const b = root.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, (e.clientX - b.left) / b.width, (e.clientY - b.top) / b.height);
  };
  root.addEventListener("wheel", wheel, { passive: false });
  return { whole, zoom, keep };
}

const LEGEND = [
  ["leaf", "w", "leaf that wants a gradient"],
  ["s", "op", "operation"],
  ["freed", "op", "what it kept is freed"],
  [null, "∇", "has a gradient"],
];

function draw(model, el) {
  const d = model.get("data");
  const line = sentence();
  const name = `${d.boxes.length} boxes; arrows go from box to box`;
  const root = quiet(svg("svg", { class: "graph", tabindex: 0, role: "group", "aria-label": name }));
  const needs = d.boxes.map(() => []);
  const users = d.boxes.map(() => []);
  const wires = d.edges.map(([a, b], k) => {
    needs[b].push(a);
    users[a].push(b);
    const parts = wireOf(d.boxes[a], d.boxes[b], (d.lanes[a] ?? []).slice(0, d.passed[k]), d.box);
    root.append(...parts);
    return { a, b, parts };
  });
  const boxes = d.boxes.map((b, i) => root.appendChild(boxOf(b, i, d.box)));
  const view = camera(root, ...d.size);
  const last = d.boxes.findIndex(b => b.result);
  let cur = last;
  const point = i => {
    cur = i;
    boxes.forEach((g, k) => {
      g.classList.toggle("now", k === i);
      g.classList.toggle("near", needs[i].includes(k) || users[i].includes(k));
    });
    for (const w of wires) for (const part of w.parts) part.classList.toggle("on", w.a === i || w.b === i);
    line.set(say(wordsOf(d.boxes[i])));
    el.dataset.box = d.boxes[i].name;
  };
  const hit = e => {
    const g = e.target.closest?.(".box");
    if (g) point(+g.dataset.i);
  };
  root.addEventListener("pointerover", hit);
  root.addEventListener("pointerdown", hit);
  const beside = way => {
    const here = d.boxes[cur];
    const row = d.boxes.map((b, i) => i).filter(i => d.boxes[i].y === here.y);
    row.sort((a, b) => d.boxes[a].x - d.boxes[b].x);
    return row[row.indexOf(cur) + way];
  };
  root.addEventListener("keydown", e => {
    const vertical = { ArrowUp: needs[cur][0], ArrowDown: users[cur][0], Home: 0, End: last };
    const next = { ...vertical, ArrowLeft: beside(-1), ArrowRight: beside(1) }[e.key];
    const factor = { "+": 1.25, "-": 0.8 }[e.key];
    if (!(e.key.startsWith("Arrow") || next != null || factor)) return;
    e.preventDefault();
    if (factor) view.zoom(factor);
    if (next == null) return;
    point(next);
    view.keep(d.boxes[next], d.box);
  });

  const live = model.get("live");
  const again = button("read again", "read the graph again, after backward", () => model.send({ ask: "refresh" }), {
    disabled: !live,
    title: live ? "after backward" : "Needs the device: works in a running notebook.",
  });
  const zooms = html(
    "span",
    { class: "bar" },
    button("+", "zoom in", () => view.zoom(1.25)),
    button("−", "zoom out", () => view.zoom(0.8)),
    button("whole", "show the whole graph", () => view.whole()),
  );
  const note = live ? null : html("small", { class: "closed" }, "dashed: needs the device, not on this page");
  const options = [zooms, again, note].filter(Boolean);
  el.append(figure({ data: d, options, sentence: line, pictures: [root], legend: LEGEND }));
  const open = () => {
    if (view.whole(el.clientWidth < SMALL ? READABLE : 0) < 0.3) view.whole(READABLE);
    view.keep(d.boxes[cur], d.box);
  };
  open();
  point(last);
  let width = el.clientWidth;
  const size = new ResizeObserver(() => {
    if (el.clientWidth === width) return; // a sentence of more lines is no reason to lose one's place
    width = el.clientWidth;
    open();
  });
  size.observe(el);
  return () => size.disconnect();
}

export default { render: mount(draw) };
