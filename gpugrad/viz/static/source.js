// The source pane. Monochrome: colour is left for what the kernel does. show() marks characters start..end.
import { html, quiet } from "./core.js";

const KEYWORDS =
  "__kernel|kernel|__global|__local|__constant|global|local|const|void|float|double|half|int|uint|bool|char|" +
  "volatile|inline|if|else|for|while|do|return|continue|break|barrier";
const WORD = new RegExp(String.raw`(//.*$|/\*.*?\*/|^#\w+)|\b(${KEYWORDS})\b`, "g");

/** text: the whole file; keep: the numbers of the lines to show (the others leave a gap). */
export function source(text, keep, label) {
  const lines = text.trimEnd().split("\n");
  const starts = [];
  const shown = new Set(keep ?? lines.map((_, n) => n + 1));
  let at = 0;
  let comment = false;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  // Which characters are comment: a block comment can run over lines.
  const kinds = lines.map(line => {
    const kind = new Array(line.length).fill("");
    if (!comment)
      for (const m of line.matchAll(WORD))
        kind.fill(m[1] && !m[1].startsWith("#") ? "i" : "b", m.index, m.index + m[0].length);
    for (let k = 0; k < line.length; k++) {
      if (!comment && line.startsWith("/*", k)) comment = true;
      if (comment) {
        kind[k] = "i";
        if (line.startsWith("*/", k - 1) && k > 0) comment = false;
      }
    }
    return kind;
  });
  const rows = new Map();
  const el = quiet(html("div", { class: "src", tabindex: 0, role: "region", "aria-label": label }));
  let last = null;
  for (let n = 0; n < lines.length; n++) {
    if (!shown.has(n + 1)) continue;
    if (last !== null && n > last + 1) el.append(html("div", { class: "ln gap", "aria-hidden": "true" }, "⋯"));
    const row = html("div", { class: "ln", "data-n": n + 1 });
    rows.set(n, row);
    el.append(row);
    last = n;
  }
  const draw = (n, marks) => {
    const row = rows.get(n);
    const line = lines[n];
    const kind = [...kinds[n]];
    for (const m of marks) kind.fill("mark " + m.cls, Math.max(0, m.start - starts[n]), Math.max(0, m.end - starts[n]));
    const out = [];
    for (let i = 0, j; i < line.length; i = j) {
      for (j = i; j < line.length && kind[j] === kind[i];) j++;
      const [tag, cls] = kind[i].split(" ");
      const t = line.slice(i, j);
      out.push(tag ? html(tag, { class: cls }, t) : t);
    }
    row.className = "ln" + (marks.length ? " at" : "");
    row.replaceChildren(...(out.length ? out : [" "]));
  };
  // Python counts characters; JavaScript counts one beyond the first 65,536 of Unicode as two.
  const units = [0];
  for (const c of text) units.push(units.at(-1) + c.length);
  const placed = m => ({ ...m, start: units[m.start], end: units[m.end] });
  let lit = [];
  for (const n of rows.keys()) draw(n, []);
  return {
    el,
    longest: Math.max(...[...rows.keys()].map(n => lines[n].length)),
    count: rows.size,
    show(marks) {
      const hit = new Map();
      for (const m of marks.map(placed))
        starts.forEach((s, n) => {
          if (rows.has(n) && m.end > s && m.start < s + lines[n].length) hit.set(n, [...(hit.get(n) ?? []), m]);
        });
      for (const n of lit) if (!hit.has(n)) draw(n, []);
      for (const [n, m] of hit) draw(n, m);
      lit = [...hit.keys()];
      if (!lit.length) return;
      const row = rows.get(lit.at(-1));
      const mark = row.querySelector("mark");
      if (row.offsetTop < el.scrollTop + 4 || row.offsetTop + row.offsetHeight > el.scrollTop + el.clientHeight - 4)
        el.scrollTop = row.offsetTop - el.clientHeight / 2;
      if (mark && el.scrollWidth > el.clientWidth) {
        const right = mark.offsetLeft + mark.offsetWidth;
        el.scrollLeft = right > el.clientWidth - 12 ? Math.min(mark.offsetLeft - 42, right - el.clientWidth + 24) : 0;
      }
    },
  };
}
