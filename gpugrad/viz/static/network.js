// A network's answer: a bar for each digit, and each layer's values as small maps, drawn in the ink of the theme.
import { html, unpack } from "./core.js";

/** The colour of a figure's text, as three numbers. */
export const inkOf = el => (getComputedStyle(el).color.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number);

/** Calls `again` when the page or the system has changed its theme: a canvas keeps its ink. Gives what ends it. */
export function onTheme(again) {
  const page = new MutationObserver(again);
  const attributeFilter = ["data-jp-theme-light", "data-theme"]; // JupyterLab's, and that of Sphinx's themes
  for (const e of [document.documentElement, document.body]) page.observe(e, { attributeFilter });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", again);
  return () => {
    page.disconnect();
    system.removeEventListener("change", again);
  };
}

/** Draws n maps of h x w bytes beside each other into a canvas; what is dark on paper is light on a dark page. */
export function montage(canvas, values, n, h, w, size, ink) {
  const gap = 4;
  const per = Math.max(1, Math.floor(((canvas.parentNode?.clientWidth || 820) + gap) / (size + gap)));
  const rows = Math.ceil(n / per);
  const columns = Math.min(n, per);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = (columns * (size + gap) - gap) * ratio;
  canvas.height = (rows * (size + gap) - gap) * ratio;
  canvas.style.width = canvas.width / ratio + "px";
  canvas.style.height = canvas.height / ratio + "px";
  const c = canvas.getContext("2d");
  const one = document.createElement("canvas");
  const ctx = one.getContext("2d");
  one.width = w;
  one.height = h;
  c.imageSmoothingEnabled = false;
  for (let k = 0; k < n; k++) {
    const image = ctx.createImageData(w, h);
    for (let i = 0; i < h * w; i++) image.data.set([...ink, values[k * h * w + i]], 4 * i);
    ctx.putImageData(image, 0, 0);
    const x = (k % per) * (size + gap) * ratio;
    const y = Math.floor(k / per) * (size + gap) * ratio;
    c.drawImage(one, x, y, size * ratio, size * ratio);
    c.strokeStyle = `rgba(${ink}, .28)`;
    c.strokeRect(x + 0.5, y + 0.5, size * ratio - 1, size * ratio - 1);
  }
}

/** probabilities as bars; show(list) redraws them. */
export function answer() {
  const rows = Array.from({ length: 10 }, (_, d) => {
    const bar = html("i");
    const said = html("span", { class: "mono" });
    const name = html("span", { class: "mono" }, String(d));
    return { bar, said, el: html("div", { class: "barrow" }, name, html("div", { class: "track" }, bar), said) };
  });
  return {
    el: html("div", { class: "answer" }, html("h4", {}, "probability"), ...rows.map(r => r.el)),
    show(p) {
      const best = p.includes(null) ? -1 : p.indexOf(Math.max(...p));
      rows.forEach((r, d) => {
        r.bar.style.width = 100 * p[d] + "%";
        r.said.textContent = p[d] == null ? "NaN" : (100 * p[d]).toFixed(1) + " %";
        r.el.classList.toggle("now", d === best);
      });
    },
  };
}

/** The layers below each other; show(list) redraws them. */
export function layers() {
  const el = html("div", { class: "layers" });
  let canvases = [];
  let last = null;
  const layer = (l, k) => {
    const size = l.shape.length === 3 ? `${l.shape[0]} maps of ${l.shape[1]}×${l.shape[2]}` : `${l.shape[0]} numbers`;
    return html("div", { class: "layer" }, html("h4", {}, l.name + " ", html("small", {}, size)), canvases[k]);
  };
  const drawLayer = (l, k, ink) => {
    const v = unpack(l.values);
    const lit = v.reduce((n, x) => n + (x > 12), 0);
    const said = `${lit} of ${v.length} values light up, the largest is ${l.most.toFixed(2)}`;
    canvases[k].setAttribute("aria-label", `${l.name}: ${said}`);
    if (l.shape.length === 3) montage(canvases[k], v, ...l.shape, 46, ink);
    else montage(canvases[k], v, v.length, 1, 1, 12, ink);
  };
  const show = list => {
    last = list;
    if (canvases.length !== list.length) {
      canvases = list.map(() => html("canvas", { role: "img" }));
      el.replaceChildren(...list.map(layer));
    }
    const ink = inkOf(el);
    list.forEach((l, k) => drawLayer(l, k, ink));
  };
  const again = () => {
    if (last) show(last);
  };
  return { el, show, again };
}
