// One grid of cells: a buffer, or the work-items. It shows a part of a large one, and a minimap that says which.
import { html, svg, quiet, CELL } from "./core.js";
import { minimap } from "./minimap.js";

/** For ids: each figure is a module of its own, and a page holds several. */
const fresh = () => (window.gpugradGrids = (window.gpugradGrids ?? 0) + 1);
const GAP = 6;
const PLANE_GAP = 10;

/** How wide the labels of the rows are. */
function sideRoom(H, flat, rows) {
  if (flat && !rows) return 3;
  let longest = 1;
  for (let y = 0; y < Math.min(H, 400); y++) longest = Math.max(longest, String(rows ? rows(y) : y).length);
  return Math.max(18, Math.ceil(longest * 6.7) + 9);
}

/**
 * shape: [..., H, W]; leading axes become planes, side by side or (vertical) below each other. Cells are numbered as
 * in memory. `pad` [rows, columns] is a ring that is not memory. `rows`, `cols`, `plane` give labels, from what they
 * number (`cols` may give [upper, lower]). `block` [rows, columns] parts the grid into groups. `room` [width, height]
 * in pixels: what is beyond is cropped, and a minimap moves the view. within(width) crops to what the page has.
 *
 * paint(i => [text, class, badge, heat], ring => class) draws all cells in view; frames([{p, y, x, h, w, cls}]) boxes
 * around several; show(i, others) moves the view so that cell i is in it, and the others where they fit.
 */
export function grid(given) {
  const { name, note = "", shape, pad = [0, 0], rows, cols, plane, cell = CELL, wide = cell, block } = given;
  const { vertical = false, dense = false, room = [560, 520], onpoint, onpick, onleave } = given;
  const { speak = i => `${name} ${i}` } = given;
  const full = [...new Array(Math.max(0, 2 - shape.length)).fill(1), ...shape];
  const [H, W] = full.slice(-2);
  const P = full.slice(0, -2).reduce((a, b) => a * b, 1);
  const [ph, pw] = pad;
  const [TH, TW] = [H + 2 * ph, W + 2 * pw];
  const [bh, bw] = block ?? [Infinity, Infinity];
  const id = "gg" + fresh();
  const live = !!(onpoint || onpick);
  const flat = shape.length < 2;
  const tall = cols && W && Array.isArray(cols(0));
  const head = (plane ? 16 : 0) + (tall ? 28 : 16);
  const left = sideRoom(H, flat, rows);

  // How much is in view, and where each cell is.
  const gaps = (n, span) => Math.max(0, Math.ceil(n / span) - 1) * GAP;
  const across = n => n * wide + gaps(n, bw);
  const down = n => n * cell + gaps(n, bh);
  const few = (n, size, limit) => {
    while (n > 1 && size(n) > limit) n--;
    return n;
  };
  const view = { p: 0, y: -ph, x: -pw, rows: 0, columns: 0, planes: 0 };
  let planeW;
  let planeH;
  let cropped;
  const measure = ([width, height]) => {
    view.columns = few(TW, across, width - left);
    view.rows = few(TH, down, height - head);
    planeW = left + across(view.columns) + PLANE_GAP;
    planeH = head + down(view.rows) + PLANE_GAP;
    const fits = vertical ? (height + PLANE_GAP) / planeH : (width + PLANE_GAP) / planeW;
    view.planes = Math.max(1, Math.min(P, Math.floor(fits)));
    cropped = view.rows < TH || view.columns < TW || view.planes < P;
  };
  measure(room);
  const step = (n, from, size, span) =>
    (n - from) * size + (span === Infinity ? 0 : (Math.floor(n / span) - Math.floor(from / span)) * GAP);
  const X = (p, x) => left + (vertical ? 0 : (p - view.p) * planeW) + step(x, view.x, wide, bw);
  const Y = (p, y) => head + (vertical ? (p - view.p) * planeH : 0) + step(y, view.y, cell, bh);
  const at = i => [Math.floor(i / (H * W)), Math.floor(i / W) % H, i % W];
  const within = (n, from, size) => n >= from && n < from + size;
  const inView = (p, y, x) =>
    within(p, view.p, view.planes) && within(y, view.y, view.rows) && within(x, view.x, view.columns);

  const root = svg("svg", {
    class: "grid" + (live ? " live" : "") + (dense ? " dense" : ""),
    role: live ? "grid" : "img",
    "aria-label": `${name}, ${shape.join(" by ")}`,
    tabindex: live ? 0 : null,
  });
  const title = html("h4", {}, name + " ", html("small", {}, note));
  const spread = vertical || P > 1;
  const mini = minimap({ name, flat, spread, P, H, W, ph, pw, seen: () => view, move: (...to) => move(...to) });
  const box = html("div", { class: "gridbox" }, title, mini.el, html("div", { class: "scroll" }, root));
  let slots = [];
  let boxes = [];
  let labels = { x: new Map(), y: new Map() };
  let lit = new Set();
  let painter = null;
  let ringPainter = null;
  let framed = [];
  let touched = [];
  let cur = 0;
  let pill = null;

  // Building: lattice, labels and empty cells of what is in view.
  const lattice = (p, y, x, h, w, cls) => {
    let d = "";
    for (let i = 0; i <= w; i++) d += `M${X(p, x) + i * wide} ${Y(p, y)}v${h * cell}`;
    for (let i = 0; i <= h; i++) d += `M${X(p, x)} ${Y(p, y) + i * cell}h${w * wide}`;
    root.append(svg("path", { class: "lat " + cls, d }));
  };
  const text = (x, y, t, cls) => root.appendChild(svg("text", { x, y, class: cls }, t));
  const end = (n, size, stop) => (size === Infinity ? stop : Math.min(stop, (Math.floor(n / size) + 1) * size));

  function buildLabels(p, ys, ye, xs, xe) {
    for (let x = xs; x < xe; x++) {
      const t = cols ? cols(x) : String(x);
      const [cx, top] = [X(p, x) + wide / 2, Y(p, view.y)];
      const lower = text(cx, top - 8, tall ? t[1] : t, "ax");
      const upper = tall && (x === xs || t[0] !== cols(x - 1)[0]) ? [text(cx, top - 21, t[0], "ax up")] : [];
      labels.x.set(`${p},${x}`, [...upper, lower]);
    }
    if (left === 3 || !(p === view.p || vertical || ph || pw)) return;
    for (let y = ys; y < ye; y++) {
      const t = rows ? rows(y) : String(y);
      labels.y.set(`${p},${y}`, [text(X(p, view.x) - 6, Y(p, y) + cell / 2, t, "ax side")]);
    }
  }

  function buildRow(p, y) {
    const row = svg("g", { role: live ? "row" : null });
    for (let x = view.x; x < view.x + view.columns; x++) {
      const inside = y >= 0 && y < H && x >= 0 && x < W;
      const i = inside ? (p * H + y) * W + x : null;
      const t = svg("text", { x: X(p, x) + wide / 2, y: Y(p, y) + cell / 2 + 0.5 });
      const edge = { x: X(p, x) + 1.5, y: Y(p, y) + 1.5, width: wide - 3, height: cell - 3, rx: 2 };
      const names = { id: inside ? `${id}-${i}` : null, role: live && inside ? "gridcell" : null, "data-i": i };
      const g = svg("g", { class: "c", ...names }, svg("rect", edge), t);
      slots.push({ g, t, p, y, x, i, cls: null, text: null });
      row.append(g);
    }
    root.append(row);
  }

  function build() {
    const [w, h] = [planeW - PLANE_GAP, planeH - PLANE_GAP];
    const width = 2 + (vertical ? w : view.planes * planeW - PLANE_GAP);
    const height = 2 + (vertical ? view.planes * planeH - PLANE_GAP : h);
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.setAttribute("style", `--w:${width};--cw:${wide};--ch:${cell}`);
    slots = [];
    boxes = [];
    lit = new Set();
    labels = { x: new Map(), y: new Map() };
    const [ys, ye] = [Math.max(0, view.y), Math.min(H, view.y + view.rows)];
    const [xs, xe] = [Math.max(0, view.x), Math.min(W, view.x + view.columns)];
    for (let p = view.p; p < view.p + view.planes; p++) {
      if (ph || pw) lattice(p, view.y, view.x, view.rows, view.columns, "dash");
      for (let y = ys; y < ye; y = end(y, bh, ye))
        for (let x = xs; x < xe; x = end(x, bw, xe))
          lattice(p, y, x, end(y, bh, ye) - y, end(x, bw, xe) - x, block || ph || pw ? "out" : "");
      if (plane) text(X(p, view.x), Y(p, view.y) - head + 7, plane(p), "pl");
      buildLabels(p, ys, ye, xs, xe);
      for (let y = view.y; y < view.y + view.rows; y++) buildRow(p, y);
    }
    mini.el.style.display = cropped ? "" : "none";
  }

  // Painting: what changes from step to step.
  function paintCell(s) {
    const ring = () => ["0", "pad " + (ringPainter?.(s.p, s.y, s.x) ?? "")];
    const [t, cls, badge = "", heat = null] = s.i == null ? ring() : painter(s.i);
    if (s.text !== t) s.t.textContent = s.text = t;
    if ((s.badge?.textContent ?? "") !== badge) {
      const corner = { x: +s.t.getAttribute("x") - wide / 2 + 7, y: +s.t.getAttribute("y") - cell / 2 + 7.5 };
      s.badge ??= s.g.appendChild(svg("text", { class: "badge", ...corner }));
      s.badge.textContent = badge;
    }
    if (heat !== (s.heat ?? null)) s.g.style.setProperty("--heat", (s.heat = heat));
    const whole = cls + (live && s.i === cur ? " cur" : "");
    if (s.cls !== whole) s.g.setAttribute("class", "c " + (s.cls = whole));
  }

  function paintFrames() {
    const sides = framed.flatMap(f => {
      const [y, x] = [Math.max(f.y, view.y), Math.max(f.x, view.x)];
      const [y1, x1] = [Math.min(f.y + f.h, view.y + view.rows), Math.min(f.x + f.w, view.x + view.columns)];
      if (!within(f.p, view.p, view.planes) || y >= y1 || x >= x1) return [];
      const [left_, top] = [X(f.p, x), Y(f.p, y)];
      const size = { width: X(f.p, x1 - 1) - left_ + wide, height: Y(f.p, y1 - 1) - top + cell };
      return [{ class: "frame " + f.cls, x: left_, y: top, ...size }];
    });
    while (boxes.length > sides.length) boxes.pop().remove();
    while (boxes.length < sides.length) boxes.push(root.appendChild(svg("rect", { rx: 3 })));
    sides.forEach((side, k) => {
      for (const [key, v] of Object.entries(side)) boxes[k].setAttribute(key, v);
    });
  }

  function lightLabels() {
    const bright = new Set();
    for (const [i] of touched.slice(0, 64)) {
      const [p, y, x] = at(i);
      const side = labels.y.get(`${p},${y}`) ?? labels.y.get(`${view.p},${y}`) ?? [];
      for (const e of [...(labels.x.get(`${p},${x}`) ?? []), ...side]) bright.add(e);
    }
    for (const e of lit) if (!bright.has(e)) e.classList.remove("lit");
    for (const e of bright) if (!lit.has(e)) e.classList.add("lit");
    lit = bright;
  }

  function repaint() {
    if (painter) slots.forEach(paintCell);
    paintFrames();
    lightLabels();
    if (cropped) mini.draw(touched.map(([i, sign]) => [...at(i), sign]));
  }

  // Moving the view, and pointing.
  const clamp = () => {
    view.p = Math.max(0, Math.min(P - view.planes, view.p));
    view.y = Math.max(-ph, Math.min(TH - ph - view.rows, view.y));
    view.x = Math.max(-pw, Math.min(TW - pw - view.columns, view.x));
  };
  const move = (p, y, x) => {
    const before = `${view.p},${view.y},${view.x}`;
    Object.assign(view, { p, y, x });
    clamp();
    if (before === `${view.p},${view.y},${view.x}`) return;
    build();
    repaint();
  };
  /** Move the view so that cell i is in it, and all of `others` too, where they fit. */
  function show(i, others = []) {
    if (!cropped || i < 0 || i >= P * H * W) return;
    const first = at(i);
    const all = [first, ...others.map(at)];
    if (all.every(place => inView(...place))) return;
    const along = (axis, from, size) => {
      const places = all.map(place => place[axis]);
      const fit = Math.max(...places) - Math.min(...places) < size;
      const [low, high] = fit ? [Math.min(...places), Math.max(...places)] : [first[axis], first[axis]];
      const spare = Math.min(Math.floor(size / 3), size - 1 - (high - low)); // of what is beside them
      return low < from ? low - spare : high >= from + size ? high - size + 1 + spare : from;
    };
    const p = all.reduceRight((from, [q]) => (q < from ? q : Math.max(from, q - view.planes + 1)), view.p);
    move(p, along(1, view.y, view.rows), along(2, view.x, view.columns));
  }
  const point = i => {
    cur = i;
    show(i);
    root.setAttribute("aria-activedescendant", `${id}-${i}`);
    onpoint?.(i);
    repaint();
    root.querySelector(`#${id}-${i}`)?.setAttribute("aria-label", speak(i));
  };
  const beside = key => {
    const [p, y, x] = at(cur);
    const to = (p_, y_, x_) => (p_ * H + y_) * W + x_;
    if (key === "ArrowRight") return x + 1 < W ? cur + 1 : cur;
    if (key === "ArrowLeft") return x ? cur - 1 : cur;
    if (key === "ArrowDown") return y + 1 < H ? to(p, y + 1, x) : p + 1 < P ? to(p + 1, 0, x) : cur;
    if (key === "ArrowUp") return y ? to(p, y - 1, x) : p ? to(p - 1, H - 1, x) : cur;
    return { Home: to(p, y, 0), End: to(p, y, W - 1) }[key];
  };
  function listen() {
    quiet(root);
    const hit = e => {
      const g = e.target.closest?.(".c[data-i]");
      return g ? +g.dataset.i : null;
    };
    let over = null;
    root.addEventListener("pointerover", e => {
      const i = hit(e);
      if (i == null || i === over || !onpoint || e.pointerType === "touch") return;
      over = i;
      point(i);
    });
    root.addEventListener("pointerleave", () => {
      over = null;
      onleave?.();
    });
    root.addEventListener("blur", () => onleave?.());
    root.addEventListener("click", e => {
      const i = hit(e);
      if (i == null) return;
      point(i);
      onpick?.(i);
    });
    root.addEventListener("keydown", e => {
      const next = beside(e.key);
      const pick = e.key === "Enter" || e.key === " ";
      if (next == null && !pick) return;
      e.preventDefault();
      if (pick) onpick?.(cur);
      else point(next);
    });
  }
  if (live) listen();
  build();
  return {
    el: box,
    svg: root,
    show,
    at,
    width: () => parseFloat(root.style.getPropertyValue("--w")),
    /** Crop to a width in pixels of the page, if that is less than the room. */
    within(width) {
      const before = `${view.rows},${view.columns},${view.planes}`;
      const scale = parseFloat(getComputedStyle(root).getPropertyValue("--gg-k")) || 1; // of the figure, as it stands
      measure([Math.min(room[0], Math.max(120, width / scale - 2)), room[1]]);
      if (before === `${view.rows},${view.columns},${view.planes}`) return;
      clamp();
      build();
      repaint();
    },
    paint(cells, ring) {
      painter = cells;
      ringPainter = ring;
      repaint();
    },
    frames(list) {
      framed = list;
    },
    touch(list) {
      touched = list;
    },
    flag(t) {
      pill?.remove();
      pill = t ? title.appendChild(html("span", { class: "v x" }, t)) : null;
    },
    cursor(i) {
      cur = i;
    },
    /** where a cell is on the screen, or null when it is out of view */
    rect(i) {
      return slots.find(c => c.i === i)?.g.firstChild.getBoundingClientRect() ?? null;
    },
  };
}

/** Where each index of a flat array is, in words: for labels of planes, from the names of the leading axes. */
export function planeName(shape, axes) {
  const lead = shape.slice(0, -2);
  const names = axes.slice(-shape.length).slice(0, -2);
  if (!lead.length) return undefined;
  return p => {
    const out = [];
    for (let k = lead.length - 1; k >= 0; k--) {
      out.unshift(`${names[k] ? names[k].toLowerCase() + " " : ""}${p % lead[k]}`);
      p = Math.floor(p / lead[k]);
    }
    return out.join(", ");
  };
}
