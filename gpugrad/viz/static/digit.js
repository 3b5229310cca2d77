// Draw a digit: a pad of 28 x 28 cells, the network's probabilities, and its layers.
import { html, figure, mount, quiet, say, svg, unpack } from "./core.js";
import { button, choice, sentence } from "./controls.js";
import { answer, layers, onTheme } from "./network.js";

const SIDE = 28; // pixels of the image
const PIXEL = 10; // of the drawing
const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
const HELP = "arrows move the pen, space puts it down or lifts it, Delete clears";

/** Ink around a point, fading at its edge. */
function ink(pixels, cx, cy) {
  for (let y = Math.max(0, Math.floor(cy - 2)); y < Math.min(SIDE, cy + 2); y++)
    for (let x = Math.max(0, Math.floor(cx - 2)); x < Math.min(SIDE, cx + 2); x++) {
      const far = Math.hypot(x + 0.5 - cx, y + 0.5 - cy);
      const v = Math.max(0, Math.min(1, 1.75 - far)) * 255;
      if (v > pixels[y * SIDE + x]) pixels[y * SIDE + x] = v;
    }
}

/**
 * The pad. With a mouse, a finger, or the keyboard: it calls begin() where a drawing starts, stroke(x, y) for each
 * point of a line, and clear(). paint(pixels) shows an image.
 */
function drawingPad(live, { begin, stroke, clear }) {
  const square = i => ({ x: (i % SIDE) * PIXEL, y: Math.floor(i / SIDE) * PIXEL, width: PIXEL, height: PIXEL });
  const cells = Array.from({ length: SIDE * SIDE }, (_, i) => svg("rect", { ...square(i), class: "px" }));
  const all = SIDE * PIXEL;
  const edge = svg("rect", { x: 0, y: 0, width: all, height: all, class: "edge" });
  const pen = svg("circle", { class: "pen", r: 12 });
  const name = live ? `the drawing: ${HELP}` : "the drawing";
  const role = { role: live ? "application" : "img", "aria-label": name, tabindex: live ? 0 : null };
  const el = svg(
    "svg",
    { class: "pad" + (live ? " live" : ""), viewBox: `0 0 ${all} ${all}`, ...role },
    edge,
    ...cells,
  );
  const paint = pixels => cells.forEach((c, i) => c.setAttribute("fill-opacity", (pixels[i] / 255).toFixed(2)));
  if (!live) return { el, paint };

  quiet(el).append(pen);
  const at = { x: SIDE / 2, y: 6, down: false };
  const place = () => {
    pen.setAttribute("cx", at.x * PIXEL);
    pen.setAttribute("cy", at.y * PIXEL);
    pen.classList.toggle("down", at.down);
  };
  place();
  const point = e => {
    const box = el.getBoundingClientRect();
    stroke(((e.clientX - box.left) / box.width) * SIDE, ((e.clientY - box.top) / box.height) * SIDE);
  };
  el.addEventListener("pointerdown", e => {
    el.setPointerCapture(e.pointerId);
    begin();
    point(e);
    e.preventDefault();
  });
  el.addEventListener("pointermove", e => {
    if (e.buttons) for (const p of e.getCoalescedEvents?.() ?? [e]) point(p);
  });
  el.addEventListener("keydown", e => {
    const way = WAYS[e.key];
    const known = way || [" ", "Enter", "Delete", "Backspace"].includes(e.key);
    if (!known) return;
    e.preventDefault();
    if (e.key === "Delete" || e.key === "Backspace") clear();
    else if (!way) {
      at.down = !at.down;
      if (at.down) begin();
    } else {
      at.x = Math.max(1, Math.min(SIDE - 1, at.x + way[0]));
      at.y = Math.max(1, Math.min(SIDE - 1, at.y + way[1]));
    }
    place();
    if (at.down) stroke(at.x, at.y);
  });
  el.addEventListener("blur", () => {
    at.down = false;
    place();
  });
  return { el, paint };
}

function draw(model, el) {
  const d = model.get("data");
  const live = model.get("live");
  const pixels = new Uint8Array(unpack(d.image));
  const line = sentence();
  const bars = answer();
  const maps = layers();
  const view = Math.random().toString(36).slice(2); // two outputs can show one figure: each has its own drawing
  let waiting = false;
  let busy = false;
  let digit = d.drawn ? null : model.get("choice"); // which recorded one is on the pad

  const tell = seen => {
    const p = seen.probabilities;
    const [first, second] = p.map((v, k) => k).sort((a, b) => p[b] - p[a] || a - b);
    const of = k => (100 * p[k]).toFixed(1) + " %";
    const none = "The network gives no number (NaN): look for the first layer that is empty.";
    const next = `: ${of(first)}. Next comes ${second}: ${of(second)}.`;
    bars.show(p);
    maps.show(seen.layers);
    el.dataset.said = first;
    line.set(p.includes(null) ? say(none) : say("The network says ", { v: "w", t: String(first) }, next));
  };
  // One question at a time: the newest drawing waits until the last answer is here.
  const ask = () => {
    waiting = busy;
    if (busy) return;
    busy = true;
    model.send({ ask: "image", pixels: btoa(String.fromCharCode(...pixels)), view });
  };
  const heard = m => {
    if (m.view !== view) return;
    busy = false;
    if (m.seen) tell(m.seen);
    else line.set(say({ v: "x", t: "✕ not possible" }, " " + m.error));
    if (waiting) ask();
  };
  model.on("msg:custom", heard);

  const drawn = () => {
    digit = null;
    pick.update();
    pad.paint(pixels);
    ask();
  };
  const clear = () => {
    pixels.fill(0);
    drawn();
  };
  const pad = drawingPad(live, {
    begin() {
      if (digit != null) pixels.fill(0);
    },
    stroke(x, y) {
      ink(pixels, x, y);
      drawn();
    },
    clear,
  });
  const examples = unpack(d.examples);
  const take = k => {
    digit = k;
    model.set("choice", k);
    model.save_changes();
    pixels.set(examples.subarray(k * SIDE * SIDE, (k + 1) * SIDE * SIDE));
    pad.paint(pixels);
    const seen = model.get("store")?.[k];
    if (seen) tell(seen);
    else ask();
  };
  const ten = Array.from({ length: 10 }, (_, k) => [k, String(k)]);
  const pick = choice("recorded", ten, () => digit, take);
  const wipe = button("clear", "clear the pad", clear, { disabled: !live });
  const note = live ? "" : "Drawing needs the device: works in a running notebook. Here are ten recorded digits.";
  const options = [pick.el, wipe, html("small", { class: "closed" }, note)];
  const hint = live ? "28×28: draw here; keys work too" : "28×28";
  const image = html("div", { title: live ? HELP : "" }, html("h4", {}, "image ", html("small", {}, hint)), pad.el);
  const pictures = [html("div", { class: "digit" }, image, bars.el), maps.el];
  el.append(figure({ data: d, options, sentence: line, pictures }));
  pad.paint(pixels);
  tell(d);
  const again = new ResizeObserver(() => maps.again());
  again.observe(maps.el);
  const still = onTheme(maps.again);
  return () => {
    again.disconnect();
    still();
    model.off("msg:custom", heard);
  };
}

export default { render: mount(draw) };
