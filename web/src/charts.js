import { h, s } from "./dom.js";

const WIDTH = 360, HEIGHT = 220, LEFT = 44, BOTTOM = 34, TOP = 12, RIGHT = 12;

// A small chart of lines, with its values as a table for whoever cannot see it.
export function lineChart({ title, lines, xLabel, yLabel, x = null, y = null, diagonal = false }) {
  const points = lines.flatMap((line) => line.points);
  if (!points.length) return h("p", { class: "muted" }, "There is nothing to draw yet.");
  const xs = ticks(...(x ?? bounds(points.map(([value]) => value)))), ys = ticks(...(y ?? bounds(points.map(([, value]) => value))));
  const [x0, x1] = x ?? bounds(points.map(([value]) => value)), [y0, y1] = [ys[0], ys.at(-1)];
  const px = (value) => LEFT + (value - x0) / (x1 - x0 || 1) * (WIDTH - LEFT - RIGHT);
  const py = (value) => HEIGHT - BOTTOM - (value - y0) / (y1 - y0 || 1) * (HEIGHT - BOTTOM - TOP);
  const chart = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": title },
    ys.map((value) => s("g", {}, s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(value), y2: py(value), class: "grid" }), s("text", { x: LEFT - 6, y: py(value) + 4, class: "tick end" }, short(value)))),
    xs.filter((value) => value >= x0 && value <= x1).map((value) => s("text", { x: px(value), y: HEIGHT - BOTTOM + 15, class: "tick middle" }, short(value))),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3, class: "tick middle" }, xLabel),
    diagonal ? s("line", { x1: px(x0), y1: py(y0), x2: px(x1), y2: py(y1), class: "diagonal" }) : [],
    lines.map((line, i) => s("polyline", { points: line.points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" "), class: `line line-${i}` })),
    lines.map((line, i) => line.points.length < 40 ? line.points.map(([a, b]) => s("circle", { cx: px(a).toFixed(1), cy: py(b).toFixed(1), r: 2.6, class: `dot line-${i}` })) : []));
  return h("figure", {}, h("figcaption", {}, title), chart,
    h("div", { class: "legend" }, lines.length > 1 ? lines.map((line, i) => h("span", {}, h("i", { class: `key key-${i}` }), line.name)) : null, h("span", { class: "muted" }, yLabel)));
}

function bounds(values) {
  const low = Math.min(...values), high = Math.max(...values);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// Round numbers that cover a range, about five.
function ticks(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough - 1e-12);
  const first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

const short = (value) => Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString();
