// One grid of cells: a buffer, or the work-items. It shows a part of a large one, and a minimap that says which.
import { html, svg, quiet, num, CELL } from "./core.js";

let made = 0;
const GAP = 6, PLANE_GAP = 10;

/**
 * shape: [..., H, W]; leading axes become planes, side by side or (vertical) below each other. Cells are numbered as in
 * memory. `pad` [rows, columns] is a ring that is not memory. `rows`, `cols`, `plane` give labels, from what they number
 * (`cols` may give [upper, lower]). `block` [rows, columns] parts the grid into groups. `room` [width, height] in pixels:
 * what is beyond is cropped, and a minimap moves the view.
 *
 * paint(i => [text, class, badge, heat], ring => class) draws all cells in view; frames([{p, y, x, h, w, cls}]) boxes around several;
 * show(i) moves the view so that cell i is in it.
 */
export function grid({ name, note = "", shape, pad = [0, 0], rows, cols, plane, cell = CELL, wide = cell, block, vertical = false, dense = false,
  room = [560, 520], onpoint, onpick, onleave, speak = i => `${name} ${i}` }) {
  const full = [...new Array(Math.max(0, 2 - shape.length)).fill(1), ...shape];
  const W = full.at(-1), H = full.at(-2), P = full.slice(0, -2).reduce((a, b) => a * b, 1);
  const [ph, pw] = pad, TW = W + 2 * pw, TH = H + 2 * ph, [bh, bw] = block ?? [Infinity, Infinity];
  const id = "gg" + ++made, live = !!(onpoint || onpick);
  const flat = shape.length < 2, label = x => cols ? cols(x) : String(x);
  const tall = cols && W && Array.isArray(cols(0)), head = (plane ? 16 : 0) + (tall ? 28 : 16);
  let widest = flat && !rows ? 0 : 1;
  for (let y = 0; y < Math.min(H, 400); y++) widest = Math.max(widest, rows ? String(rows(y)).length : flat ? 0 : String(y).length);
  const left = widest ? Math.max(18, Math.ceil(widest * 6.7) + 9) : 3;

  // how much is in view
  const across = n => n * wide + Math.max(0, Math.ceil(n / bw) - 1) * GAP, down = n => n * cell + Math.max(0, Math.ceil(n / bh) - 1) * GAP;
  const few = (n, least, size, limit) => { while (n > least && size(n) > limit) n--; return n; };
  const vw = few(TW, 1, across, room[0] - left), vh = few(TH, 1, down, room[1] - head);
  const planeW = left + across(vw) + PLANE_GAP, planeH = head + down(vh) + PLANE_GAP;
  const vp = Math.max(1, Math.min(P, Math.floor((vertical ? room[1] + PLANE_GAP : room[0] + PLANE_GAP) / (vertical ? planeH : planeW))));
  const cropped = vw < TW || vh < TH || vp < P;
  const view = { p: 0, y: -ph, x: -pw };

  const root = svg("svg", { class: "grid" + (live ? " live" : "") + (dense ? " dense" : ""), role: live ? "grid" : "img", "aria-label": `${name}, ${shape.join(" by ")}`, tabindex: live ? 0 : null });
  const title = html("h4", {}, name + " ", html("small", {}, note)), where = html("div", { class: "where" });
  const box = html("div", { class: "gridbox" }, title, cropped ? where : null, html("div", { class: "scroll" }, root));
  let slots = [], boxes = [], painter = null, ringPainter = null, framed = [], touched = [], cur = 0, pill = null, lit = new Set(), labels = { x: new Map(), y: new Map() };

  const inView = (p, y, x) => p >= view.p && p < view.p + vp && y >= view.y && y < view.y + vh && x >= view.x && x < view.x + vw;
  const step = (n, from, size, span) => (n - from) * size + (span === Infinity ? 0 : (Math.floor(n / span) - Math.floor(from / span)) * GAP);
  const X = (p, x) => left + (vertical ? 0 : (p - view.p) * planeW) + step(x, view.x, wide, bw);
  const Y = (p, y) => head + (vertical ? (p - view.p) * planeH : 0) + step(y, view.y, cell, bh);
  const at = i => [Math.floor(i / (H * W)), Math.floor(i / W) % H, i % W];

  const lattice = (p, y, x, h, w, cls) => {
    let d = "";
    for (let i = 0; i <= w; i++) d += `M${X(p, x) + i * wide} ${Y(p, y)}v${h * cell}`;
    for (let i = 0; i <= h; i++) d += `M${X(p, x)} ${Y(p, y) + i * cell}h${w * wide}`;
    root.append(svg("path", { class: "lat " + cls, d }));
  };
  const text = (x, y, t, cls) => { const e = svg("text", { x, y, class: cls }, t); root.append(e); return e; };

  function build() {
    const w = vertical || vp === 1 ? planeW - PLANE_GAP : vp * planeW - PLANE_GAP, h = vertical ? vp * planeH - PLANE_GAP : planeH - PLANE_GAP;
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${w + 2} ${h + 2}`);
    root.setAttribute("style", `--w:${w + 2};--cw:${wide};--ch:${cell}`);
    slots = []; boxes = []; lit = new Set(); labels = { x: new Map(), y: new Map() };
    const end = (n, size, stop) => size === Infinity ? stop : Math.min(stop, (Math.floor(n / size) + 1) * size);
    for (let p = view.p; p < view.p + vp; p++) {
      const y1 = view.y + vh, x1 = view.x + vw;
      if (ph || pw) lattice(p, view.y, view.x, vh, vw, "dash");
      const ys = Math.max(0, view.y), xs = Math.max(0, view.x), ye = Math.min(H, y1), xe = Math.min(W, x1);
      for (let y = ys; y < ye; y = end(y, bh, ye)) for (let x = xs; x < xe; x = end(x, bw, xe))
        lattice(p, y, x, end(y, bh, ye) - y, end(x, bw, xe) - x, block || ph || pw ? "out" : "");
      if (plane) text(X(p, view.x), Y(p, view.y) - head + 7, plane(p), "pl");
      for (let x = xs; x < xe; x++) {
        const t = label(x), cx = X(p, x) + wide / 2, top = Y(p, view.y);
        const both = tall ? [x === xs || t[0] !== label(x - 1)[0] ? text(cx, top - 21, t[0], "ax up") : null, text(cx, top - 8, t[1], "ax")] : [text(cx, top - 8, t, "ax")];
        labels.x.set(`${p},${x}`, both.filter(Boolean));
      }
      if (widest && (p === view.p || vertical || ph || pw)) for (let y = ys; y < ye; y++)
        labels.y.set(`${p},${y}`, [text(X(p, view.x) - 6, Y(p, y) + cell / 2, rows ? rows(y) : String(y), "ax side")]);
      for (let y = view.y; y < y1; y++) {
        const row = svg("g", { role: live ? "row" : null });
        for (let x = view.x; x < x1; x++) {
          const inside = y >= 0 && y < H && x >= 0 && x < W, i = inside ? (p * H + y) * W + x : null;
          const t = svg("text", { x: X(p, x) + wide / 2, y: Y(p, y) + cell / 2 + 0.5 });
          const g = svg("g", { class: "c", id: inside ? `${id}-${i}` : null, role: live && inside ? "gridcell" : null, "data-i": i },
            svg("rect", { x: X(p, x) + 1.5, y: Y(p, y) + 1.5, width: wide - 3, height: cell - 3, rx: 2 }), t);
          slots.push({ g, t, p, y, x, i, cls: null, text: null });
          row.append(g);
        }
        root.append(row);
      }
    }
    if (cropped) map();
  }

  // The minimap: the whole of it, the part in view, and what is touched now.
  const planesDown = vertical || P > 1, MW = 120, MH = 40;
  const scale = Math.min(MW / TW, MH / (planesDown ? P * TH : TH));
  const dot = (p, y, x, h, w, cls) => svg("rect", { x: (x + pw) * scale, y: (y + ph + p * TH) * scale, width: Math.max(1.5, w * scale), height: Math.max(1.5, h * scale), class: cls });
  const whole = svg("svg", { class: "mini", width: Math.max(6, TW * scale) + 2, height: Math.max(6, P * TH * scale) + 2, viewBox: `-1 -1 ${Math.max(6, TW * scale) + 2} ${Math.max(6, P * TH * scale) + 2}`,
    tabindex: 0, role: "slider", "aria-label": `part of ${name} in view`, "aria-valuemin": 0, "aria-valuemax": P * H * W - 1 });
  const said = html("span", {});
  const span = (what, from, n, all) => {
    const a = Math.max(0, from), b = Math.min(all, from + n) - 1;
    return n >= all ? null : a === b ? `${what} ${a} of ${all}` : `${what}s ${a}–${b} of ${all}`;
  };
  const clamp = () => {
    view.p = Math.max(0, Math.min(P - vp, view.p));
    view.y = Math.max(-ph, Math.min(TH - ph - vh, view.y));
    view.x = Math.max(-pw, Math.min(TW - pw - vw, view.x));
  };
  const move = (p, y, x) => {
    const before = `${view.p},${view.y},${view.x}`;
    Object.assign(view, { p, y, x }); clamp();
    if (before === `${view.p},${view.y},${view.x}`) return;
    build(); repaint();
  };
  function map() {
    whole.replaceChildren(svg("rect", { x: 0, y: 0, width: Math.max(2, TW * scale), height: Math.max(2, P * TH * scale), class: "all" }),
      ...touched.map(([i, cls]) => { const [p, y, x] = at(i); return dot(p, y, x, 1, 1, "t " + cls); }),
      ...Array.from({ length: vp }, (_, k) => dot(view.p + k, view.y, view.x, vh, vw, "in")));
    const parts = [span("plane", view.p, vp, P), vh < TH && !flat ? span("row", view.y, vh, H) : null, vw < TW ? span(flat ? "element" : "column", view.x, vw, W) : null].filter(Boolean);
    said.textContent = parts.join(", ");
    whole.setAttribute("aria-valuetext", parts.join(", "));
    whole.setAttribute("aria-valuenow", (Math.max(0, view.p) * H + Math.max(0, view.y)) * W + Math.max(0, view.x));
  }
  if (cropped) {
    where.append(whole, said);
    quiet(whole);
    const drag = e => {
      const b = whole.getBoundingClientRect(), x = (e.clientX - b.left) / scale, y = (e.clientY - b.top) / scale;
      move(Math.floor(y / TH), Math.round(y % TH - ph - vh / 2), Math.round(x - pw - vw / 2));
    };
    whole.addEventListener("pointerdown", e => { whole.setPointerCapture(e.pointerId); drag(e); });
    whole.addEventListener("pointermove", e => { if (e.buttons) drag(e); });
    whole.addEventListener("keydown", e => {
      const [dp, dy, dx] = { ArrowRight: [0, 0, 1], ArrowLeft: [0, 0, -1], ArrowDown: [0, 1, 0], ArrowUp: [0, -1, 0], PageDown: [1, 0, 0], PageUp: [-1, 0, 0] }[e.key] ?? [];
      if (dp == null) return;
      e.preventDefault();
      move(view.p + dp, view.y + dy * Math.max(1, vh - 1), view.x + dx * Math.max(1, vw - 1));
    });
  }

  function repaint() {
    for (const s of slots) {
      if (!painter) continue;
      const [t, cls, badge = "", heat = null] = s.i == null ? ["0", "pad " + (ringPainter?.(s.p, s.y, s.x) ?? "")] : painter(s.i);
      if (s.text !== t) s.t.textContent = s.text = t;
      if ((s.badge?.textContent ?? "") !== badge) {
        s.badge ??= s.g.appendChild(svg("text", { class: "badge", x: +s.t.getAttribute("x") - wide / 2 + 7, y: +s.t.getAttribute("y") - cell / 2 + 7.5 }));
        s.badge.textContent = badge;
      }
      if (heat !== (s.heat ?? null)) s.g.style.setProperty("--heat", s.heat = heat);
      const whole = cls + (live && s.i === cur ? " cur" : "");
      if (s.cls !== whole) s.g.setAttribute("class", "c " + (s.cls = whole));
    }
    const sides = framed.flatMap(f => {
      const y = Math.max(f.y, view.y), x = Math.max(f.x, view.x), y1 = Math.min(f.y + f.h, view.y + vh), x1 = Math.min(f.x + f.w, view.x + vw);
      if (f.p < view.p || f.p >= view.p + vp || y >= y1 || x >= x1) return [];
      return [{ class: "frame " + f.cls, x: X(f.p, x), y: Y(f.p, y), width: X(f.p, x1 - 1) - X(f.p, x) + wide, height: Y(f.p, y1 - 1) - Y(f.p, y) + cell }];
    });
    while (boxes.length > sides.length) boxes.pop().remove();
    while (boxes.length < sides.length) boxes.push(root.appendChild(svg("rect", { rx: 3 })));
    sides.forEach((side, k) => { for (const [name, v] of Object.entries(side)) boxes[k].setAttribute(name, v); });
    const bright = new Set();
    for (const [i] of touched.slice(0, 64)) {
      const [p, y, x] = at(i);
      for (const e of [...(labels.x.get(`${p},${x}`) ?? []), ...(labels.y.get(`${p},${y}`) ?? labels.y.get(`${view.p},${y}`) ?? [])]) bright.add(e);
    }
    for (const e of lit) if (!bright.has(e)) e.classList.remove("lit");
    for (const e of bright) if (!lit.has(e)) e.classList.add("lit");
    lit = bright;
    if (cropped) map();
  }

  const point = i => {
    cur = i;
    show(i);
    root.setAttribute("aria-activedescendant", `${id}-${i}`);
    onpoint?.(i);
    repaint();
    root.querySelector(`#${id}-${i}`)?.setAttribute("aria-label", speak(i));
  };
  function show(i) {
    if (!cropped || i < 0 || i >= P * H * W) return;
    const [p, y, x] = at(i);
    if (inView(p, y, x)) return;
    const jump = (n, from, size) => n < from ? n - Math.floor(size / 3) : n >= from + size ? n - size + 1 + Math.floor(size / 3) : from;
    move(vp > 1 || p === view.p ? (p < view.p ? p : p >= view.p + vp ? p - vp + 1 : view.p) : p, jump(y, view.y, vh), jump(x, view.x, vw));
  }
  if (live) {
    quiet(root);
    const hit = e => { const g = e.target.closest?.(".c[data-i]"); return g ? +g.dataset.i : null; };
    let over = null;
    root.addEventListener("pointerover", e => { const i = hit(e); if (i != null && i !== over && onpoint && e.pointerType !== "touch") { over = i; point(i); } });
    root.addEventListener("pointerleave", () => { over = null; onleave?.(); });
    root.addEventListener("blur", () => onleave?.());
    root.addEventListener("click", e => { const i = hit(e); if (i != null) { point(i); onpick?.(i); } });
    root.addEventListener("keydown", e => {
      const [p, y, x] = at(cur), go = (dp, dy, dx) => ((p + dp) * H + y + dy) * W + x + dx;
      const next = { ArrowRight: x + 1 < W ? go(0, 0, 1) : cur, ArrowLeft: x ? go(0, 0, -1) : cur, ArrowDown: y + 1 < H ? go(0, 1, 0) : p + 1 < P ? go(1, 1 - H, 0) : cur,
        ArrowUp: y ? go(0, -1, 0) : p ? go(-1, H - 1, 0) : cur, Home: go(0, 0, -x), End: go(0, 0, W - 1 - x) }[e.key];
      if (next != null) { e.preventDefault(); point(next); } else if (e.key === "Enter" || e.key === " ") { e.preventDefault(); onpick?.(cur); }
    });
  }
  build();
  return {
    el: box, svg: root, show, at, width: () => parseFloat(root.style.getPropertyValue("--w")),
    paint(cells, ring) { painter = cells; ringPainter = ring; repaint(); },
    frames(list) { framed = list; },
    touch(list) { touched = list; },
    flag(t) { pill?.remove(); pill = null; if (t) title.append(pill = html("span", { class: "v x" }, t)); },
    cursor(i) { cur = i; },
    /** where a cell is on the screen, or null when it is out of view */
    rect(i) { const s = slots.find(c => c.i === i); return s ? s.g.firstChild.getBoundingClientRect() : null; },
  };
}

/** Where each index of a flat array is, in words: for labels of planes, from the names of the leading axes. */
export function planeName(shape, axes) {
  const lead = shape.slice(0, -2), names = axes.slice(-shape.length).slice(0, -2);
  if (!lead.length) return undefined;
  return p => {
    const out = [];
    for (let k = lead.length - 1; k >= 0; k--) { out.unshift(`${names[k] ? names[k].toLowerCase() + " " : ""}${p % lead[k]}`); p = Math.floor(p / lead[k]); }
    return out.join(", ");
  };
}
