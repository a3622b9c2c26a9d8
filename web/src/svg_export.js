import { s } from "./dom.js";
import { isAgainst, thickness } from "./path_layers.js";
import { colour } from "./theme.js";

// The picture as SVG, in the colours of the moment: boxes, curves through the bends, arrows along the facts.
export function svgOf({ nodes, edges, greatest }) {
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2 + 11), ...edges.map((edge) => edge.label.x + edge.width / 2));
  const bottom = Math.max(...nodes.map((node) => node.y + node.height / 2 + 7), ...edges.flatMap((edge) => [edge.label.y, ...edge.points.map((point) => point.y)]));
  const place = new Map(nodes.map((node) => [node.key, node]));
  const drawing = s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${Math.ceil(right + 16)} ${Math.ceil(bottom + 16)}`, "font-family": "system-ui, sans-serif", "text-anchor": "middle" },
    s("rect", { width: "100%", height: "100%", fill: colour("surface") }),
    edges.map((edge) => drawEdge(edge, place, greatest)), nodes.map(drawNode));
  return new XMLSerializer().serializeToString(drawing);
}

function drawEdge(edge, place, greatest) {
  const from = place.get(edge.from), to = place.get(edge.to);
  const middle = edge.points.length ? edge.points : [edge.label];
  const points = [leave(from, middle[0]), ...middle, leave(to, middle.at(-1))];
  const width = thickness(edge, greatest);
  const parts = [s("path", { d: `M${points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`, fill: "none", stroke: colour("edge"), "stroke-width": width.toFixed(1), "stroke-linejoin": "round", ...(isAgainst(edge) ? { "stroke-dasharray": "6 4" } : {}) })];
  if (edge.edge.directed) parts.push(edge.edge.inverse ? arrow(points[1], points[0], width) : arrow(points.at(-2), points.at(-1), width));
  parts.push(s("rect", { x: edge.label.x - edge.width / 2 - 3, y: edge.label.y - edge.height / 2 - 1, width: edge.width + 6, height: edge.height + 2, fill: colour("surface") }), ...words(edge.lines, edge.label, 11, 14, colour("muted")));
  return s("g", {}, parts);
}

function drawNode(node) {
  const fill = { source: "accent", answer: "answer", node: "raised" }[node.role], ink = { source: "on-accent", answer: "on-answer", node: "text" }[node.role];
  const width = node.width + 22, height = node.height + 14;
  return s("g", {}, s("rect", { x: node.x - width / 2, y: node.y - height / 2, width, height, rx: 8, fill: colour(fill), stroke: colour(node.role === "node" ? "strong-line" : fill) }), words(node.lines, node, 13, 17, colour(ink)));
}

function words(lines, { x, y }, size, step, fill) {
  return lines.map((line, i) => s("text", { x, y: y + (i - (lines.length - 1) / 2) * step + size * 0.35, "font-size": size, fill }, line));
}

// Where the line from a box towards a point leaves the box.
function leave(node, point) {
  const dx = point.x - node.x, dy = point.y - node.y;
  const scale = Math.min((node.width / 2 + 11) / Math.max(Math.abs(dx), 1e-9), (node.height / 2 + 7) / Math.max(Math.abs(dy), 1e-9), 1);
  return { x: node.x + dx * scale, y: node.y + dy * scale };
}

function arrow(from, to, width) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x), size = 6 + width;
  const corner = (turn) => `${(to.x - size * Math.cos(angle + turn)).toFixed(1)},${(to.y - size * Math.sin(angle + turn)).toFixed(1)}`;
  return s("polygon", { points: `${to.x.toFixed(1)},${to.y.toFixed(1)} ${corner(0.45)} ${corner(-0.45)}`, fill: colour("edge") });
}
