// Curves between cells of two grids. They run in the gap between the grids only: a line over digits cannot be read.
import { svg } from "./core.js";

/** box holds the grids; draw(pairs) with pairs of screen rectangles [from, to], and the rectangles of the two grids. */
export function links(box) {
  const layer = svg("svg", { class: "link", "aria-hidden": "true" });
  box.append(layer);
  return (pairs, from, to) => {
    if (!pairs.length) {
      if (layer.firstChild) layer.replaceChildren();
      return;
    }
    const o = layer.getBoundingClientRect();
    const left = from.right - o.left + 3;
    const right = to.left - o.left - 3;
    if (right - left < 12 || pairs.length > 24) {
      layer.replaceChildren();
      return;
    } // stacked, or too many to tell apart
    layer.replaceChildren(
      ...pairs.flatMap(([a, b]) => {
        const y1 = a.top + a.height / 2 - o.top;
        const y2 = b.top + b.height / 2 - o.top;
        const mid = (left + right) / 2;
        return [
          svg("path", { d: `M${left} ${y1}C${mid} ${y1} ${mid} ${y2} ${right - 5} ${y2}` }),
          svg("path", { class: "tip", d: `M${right} ${y2}l-7 -3.5v7z` }),
        ];
      }),
    );
  };
}
