// Draw a digit: a pad of 28 x 28 cells, the network's probabilities, and its layers.
import { html, figure, mount, quiet, say, svg, unpack } from "./core.js";
import { button, choice, sentence } from "./controls.js";
import { answer, layers } from "./network.js";

function draw(model, el) {
  const d = model.get("data"), live = model.get("live"), pixels = new Uint8Array(unpack(d.image)), S = 10, line = sentence();
  const cells = Array.from({ length: 784 }, (_, i) => svg("rect", { x: i % 28 * S, y: Math.floor(i / 28) * S, width: S, height: S, class: "px" }));
  const pad = svg("svg", { class: "pad" + (live ? " live" : ""), viewBox: "0 0 280 280", role: "img", "aria-label": "the drawing" }, svg("rect", { x: 0, y: 0, width: 280, height: 280, class: "edge" }), ...cells);
  const bars = answer(), maps = layers();
  let waiting = null, busy = false, digit = d.drawn ? null : model.get("choice");
  const paint = () => cells.forEach((c, i) => c.setAttribute("fill-opacity", (pixels[i] / 255).toFixed(2)));
  const tell = seen => {
    const p = seen.probabilities, order = p.map((v, k) => k).sort((a, b) => p[b] - p[a] || a - b), of = k => (100 * p[k]).toFixed(1) + " %";
    bars.show(p); maps.show(seen.layers);
    el.dataset.said = order[0];
    if (p.includes(null)) { line.set(say("The network gives no number (NaN): look for the first layer that is empty.")); return; }
    line.set(say("The network says ", { v: "w", t: String(order[0]) }, `: ${of(order[0])}. Next comes ${order[1]}: ${of(order[1])}.`));
  };
  // One question at a time: the newest drawing waits until the last answer is here.
  const ask = () => {
    if (busy) { waiting = true; return; }
    busy = true; waiting = false;
    model.send({ ask: "image", pixels: btoa(String.fromCharCode(...pixels)) });
  };
  const heard = m => {
    if (!m.seen) return;
    busy = false;
    tell(m.seen);
    if (waiting) ask();
  };
  model.on("msg:custom", heard);
  const stroke = e => {
    const box = pad.getBoundingClientRect(), cx = (e.clientX - box.left) / box.width * 28, cy = (e.clientY - box.top) / box.height * 28;
    for (let y = Math.max(0, Math.floor(cy - 2)); y < Math.min(28, cy + 2); y++) for (let x = Math.max(0, Math.floor(cx - 2)); x < Math.min(28, cx + 2); x++) {
      const far = Math.hypot(x + 0.5 - cx, y + 0.5 - cy), v = Math.max(0, Math.min(1, 1.75 - far)) * 255;
      if (v > pixels[y * 28 + x]) pixels[y * 28 + x] = v;
    }
    digit = null; pick.update();
    paint(); ask();
  };
  if (live) {
    pad.addEventListener("pointerdown", e => { pad.setPointerCapture(e.pointerId); if (digit != null) pixels.fill(0); stroke(e); e.preventDefault(); });
    pad.addEventListener("pointermove", e => { if (e.buttons) for (const p of e.getCoalescedEvents?.() ?? [e]) stroke(p); });
  }
  const take = k => {
    digit = k; model.set("choice", k); model.save_changes();
    const seen = model.get("store")?.[k];
    if (seen) { pixels.set(unpack(seen.image)); paint(); tell(seen); } else { model.send({ ask: "example", digit: k }); model.on("msg:custom", once); }
  };
  const once = m => { if (m.seen) { pixels.set(unpack(m.seen.image)); paint(); model.off("msg:custom", once); } };
  const pick = choice("recorded", Array.from({ length: 10 }, (_, k) => [k, String(k)]), () => digit, take);
  const clear = quiet(button("clear", "clear the pad", () => { pixels.fill(0); digit = null; pick.update(); paint(); ask(); }));
  clear.disabled = !live;
  const note = live ? "" : "Drawing needs the device: works in a running notebook. Here are ten recorded digits.";
  el.append(figure({ data: d, options: [pick.el, clear, html("small", { class: "closed" }, note)], sentence: line,
    pictures: [html("div", { class: "digit" }, html("div", {}, html("h4", {}, "image ", html("small", {}, live ? "28×28: draw here" : "28×28")), pad), bars.el), maps.el] }));
  paint(); tell(d);
  const again = new ResizeObserver(() => maps.again());
  again.observe(maps.el);
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", maps.again);
  return () => { again.disconnect(); theme.removeEventListener("change", maps.again); model.off("msg:custom", heard); model.off("msg:custom", once); };
}
export default { render: mount(draw) };
