// The autograd graph: boxes in layers, with pan and zoom; pointing at a box says what it holds.
import { figure, html, mount, quiet, say, svg } from "./core.js";
import { button, sentence } from "./controls.js";

function draw(model, el) {
  const d = model.get("data"), [bw, bh] = d.box, [W, H] = d.size, line = sentence(), PAD = 12;
  const root = quiet(svg("svg", { class: "graph", tabindex: 0, role: "group", "aria-label": `${d.boxes.length} boxes; arrows go from box to box` }));
  const needs = d.boxes.map(() => []), users = d.boxes.map(() => []);
  const wires = d.edges.map(([a, b]) => {
    needs[b].push(a); users[a].push(b);
    const p = d.boxes[a], q = d.boxes[b], x1 = p.x + bw / 2, y1 = p.y + bh, x2 = q.x + bw / 2, y2 = q.y, m = (y1 + y2) / 2;
    const path = svg("path", { class: "edge", d: `M${x1} ${y1}C${x1} ${m} ${x2} ${m} ${x2} ${y2 - 6}` }), tip = svg("path", { class: "tip", d: `M${x2} ${y2}l-4 -7h8z` });
    root.append(path, tip);
    return { a, b, path, tip };
  });
  const boxes = d.boxes.map((b, i) => {
    const cut = t => t.length > 18 ? t.slice(0, 17) + "…" : t;
    const g = svg("g", { class: "box " + b.kind + (b.freed ? " freed" : "") + (b.grad ? " has" : "") + (b.result ? " result" : ""), "data-i": i, role: "img", "aria-label": words(b).map(p => p.t ?? p.code ?? p).join("") },
      svg("rect", { x: b.x, y: b.y, width: bw, height: bh, rx: b.kind === "leaf" ? bh / 2 : 4 }),
      svg("text", { x: b.x + bw / 2, y: b.y + 13, class: "nm" }, cut(b.name)), svg("text", { x: b.x + bw / 2, y: b.y + 27, class: "ax" }, cut(b.shape)),
      b.grad ? svg("text", { x: b.x + bw - 14, y: b.y + bh / 2, class: "nabla" }, "∇") : null);
    root.append(g);
    return g;
  });
  function words(b) {
    if (b.kind === "leaf") return [{ code: b.name }, ` is a leaf, ${b.shape}: ${b.value}. `, b.grad ? `Its gradient: ${b.grad}.` : "It has no gradient yet."];
    const saved = b.freed ? " What it kept for backward was freed." : b.saved.length ? ` For backward it keeps ${b.saved.length === 1 ? "an array" : b.saved.length + " arrays"} of ${b.saved.join(" and ")}.` : " For backward it keeps nothing.";
    return [{ code: b.name }, ` gives ${b.shape}${b.value ? ": " + b.value : ""}.`, saved];
  }
  const last = d.boxes.findIndex(b => b.result);
  let cur = last;
  const point = i => {
    cur = i;
    boxes.forEach((g, k) => { g.classList.toggle("now", k === i); g.classList.toggle("near", needs[i].includes(k) || users[i].includes(k)); });
    wires.forEach(w => { const on = w.a === i || w.b === i; w.path.classList.toggle("on", on); w.tip.classList.toggle("on", on); });
    line.set(say(words(d.boxes[i])));
    el.dataset.box = d.boxes[i].name;
  };
  // The view: as large as the graph, unless that is more than the room.
  const view = { x: -PAD, y: -PAD, k: 1 };
  const show = () => { const w = root.clientWidth || 800, h = root.clientHeight || 480; root.setAttribute("viewBox", `${view.x} ${view.y} ${w / view.k} ${h / view.k}`); };
  const whole = () => {
    const w = root.clientWidth || 800;
    view.k = Math.min(1, w / (W + 2 * PAD), 650 / (H + 2 * PAD));
    root.style.height = Math.max(140, Math.min(660, (H + 2 * PAD) * view.k)) + "px";
    view.x = W / 2 - w / view.k / 2; view.y = -PAD;
    show();
  };
  const zoom = (f, cx = 0.5, cy = 0.5) => {
    const w = root.clientWidth, h = root.clientHeight, k = Math.max(0.05, Math.min(3, view.k * f));
    view.x += w * cx * (1 / view.k - 1 / k); view.y += h * cy * (1 / view.k - 1 / k); view.k = k;
    show();
  };
  const keep = i => {                                      // a box chosen by keyboard comes into view
    const b = d.boxes[i], w = root.clientWidth / view.k, h = root.clientHeight / view.k;
    if (b.x < view.x) view.x = b.x - PAD; else if (b.x + bw > view.x + w) view.x = b.x + bw + PAD - w;
    if (b.y < view.y) view.y = b.y - PAD; else if (b.y + bh > view.y + h) view.y = b.y + bh + PAD - h;
    show();
  };
  root.addEventListener("pointerover", e => { const g = e.target.closest?.(".box"); if (g) point(+g.dataset.i); });
  let from = null;
  root.addEventListener("pointerdown", e => { from = [e.clientX, e.clientY]; const g = e.target.closest?.(".box"); if (g) point(+g.dataset.i); });
  root.addEventListener("pointermove", e => { if (!from || !e.buttons) return; view.x -= (e.clientX - from[0]) / view.k; view.y -= (e.clientY - from[1]) / view.k; from = [e.clientX, e.clientY]; show(); });
  root.addEventListener("wheel", e => { if (!e.ctrlKey) return; e.preventDefault(); const b = root.getBoundingClientRect(); zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, (e.clientX - b.left) / b.width, (e.clientY - b.top) / b.height); }, { passive: false });
  root.addEventListener("keydown", e => {
    const beside = way => { const row = d.boxes.map((b, i) => i).filter(i => d.boxes[i].y === d.boxes[cur].y).sort((a, b) => d.boxes[a].x - d.boxes[b].x); return row[row.indexOf(cur) + way]; };
    const next = { ArrowUp: needs[cur][0], ArrowDown: users[cur][0], ArrowLeft: beside(-1), ArrowRight: beside(1), Home: 0, End: last }[e.key];
    if (e.key === "+" || e.key === "-") { e.preventDefault(); zoom(e.key === "+" ? 1.25 : 0.8); }
    if (e.key.startsWith("Arrow") || next != null) e.preventDefault();
    if (next != null) { point(next); keep(next); }
  });
  const again = button("read again", "read the graph again, after backward", () => model.send({ ask: "refresh" }), { disabled: !model.get("live"), title: model.get("live") ? "after backward" : "Needs the device: works in a running notebook." });
  el.append(figure({ data: d, options: [html("span", { class: "bar" }, button("+", "zoom in", () => zoom(1.25)), button("−", "zoom out", () => zoom(0.8)), button("whole", "show the whole graph", whole)), again], sentence: line, pictures: [root],
    legend: [["leaf", "w", "leaf that wants a gradient"], ["s", "op", "operation"], ["freed", "op", "what it kept is freed"], [null, "∇", "has a gradient"]] }));
  whole(); point(last);
  const size = new ResizeObserver(whole);
  size.observe(el);
  return () => size.disconnect();
}
export default { render: mount(draw) };
