import { layout as dagre, Graph } from "@dagrejs/dagre";
import { shortened, visible } from "./inert.js";

const FONT = '13px system-ui, "Segoe UI", Roboto, sans-serif', SMALL = FONT.replace("13px", "11px");
const LINE = 17, WIDEST = 130;
const canvas = document.createElement("canvas").getContext("2d");

// The paths of an explanation as one layered graph: every node once, every edge with the paths over it, all placed.
export function pathLayers(explanation, { upright }) {
  const nodes = new Map(), edges = new Map();
  const { query } = explanation;
  const [first, last] = query.inverse ? [query.tail, query.head] : [query.head, query.tail];
  const place = (key, entity, role) => nodes.get(key) ?? nodes.set(key, { key, entity, role, paths: new Set(), ...textBox(entity.label, FONT) }).get(key);
  place("source", first, "source");
  place("answer", last, "answer");
  explanation.paths.forEach((path, number) => {
    let from = "source";
    path.edges.forEach((edge, hop) => {
      const end = edge.inverse ? edge.head : edge.tail;
      const to = hop === path.edges.length - 1 ? "answer" : `node ${end.name}`;
      place(to, end, "node");
      const key = JSON.stringify([from, to, edge.relation.name, edge.inverse]);
      const drawn = edges.get(key) ?? edges.set(key, { key, from, to, edge, paths: new Set(), drop: -Infinity, importance: 0, ...textBox(edge.relation.label, SMALL, 110) }).get(key);
      drawn.paths.add(number);
      drawn.drop = Math.max(drawn.drop, path.deletion_drop);
      if (Math.abs(edge.importance) > Math.abs(drawn.importance)) drawn.importance = edge.importance;
      for (const each of [from, to]) nodes.get(each).paths.add(number);
      from = to;
    });
  });
  arrange([...nodes.values()], [...edges.values()], upright);
  return { nodes: [...nodes.values()], edges: [...edges.values()], upright, greatest: Math.max(...[...edges.values()].map((edge) => Math.abs(edge.drop)), 1e-9) };
}

function arrange(nodes, edges, upright) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: upright ? "TB" : "LR", nodesep: upright ? 18 : 22, ranksep: upright ? 26 : 30, edgesep: 14, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.key, { width: node.width + 22, height: node.height + 14 });
  for (const edge of edges) {
    graph.setEdge(edge.from, edge.to, { width: edge.width + 8, height: edge.height + 4, labelpos: "c", weight: edge.paths.size }, edge.key);
  }
  dagre(graph);
  for (const node of nodes) Object.assign(node, { x: graph.node(node.key).x, y: graph.node(node.key).y });
  for (const edge of edges) {
    const { points, x, y } = graph.edge(edge.from, edge.to, edge.key);
    Object.assign(edge, { points: points.slice(1, -1), label: { x, y } });
  }
}

// A text in lines that are not too wide, and the room it takes.
function textBox(text, font, widest = WIDEST) {
  canvas.font = font;
  const lines = [];
  for (const word of shortened(text, 70).split(/(?<=[\s/_-])/)) {
    const joined = (lines.at(-1) ?? "") + word;
    if (lines.length && canvas.measureText(joined.trimEnd()).width <= widest) lines[lines.length - 1] = joined;
    else lines.push(...pieces(word, widest));
  }
  const width = Math.max(...lines.map((line) => canvas.measureText(line.trimEnd()).width));
  return { lines: lines.map((line) => line.trimEnd()), text: visible(text), width: Math.ceil(width), height: lines.length * (font === SMALL ? 14 : LINE) };
}

function pieces(word, widest) {
  const found = [""];
  for (const character of word) {
    if (canvas.measureText(found.at(-1) + character).width > widest) found.push("");
    found[found.length - 1] += character;
  }
  return found;
}

export const thickness = (edge, greatest) => 1.4 + 4 * Math.abs(edge.drop) / greatest;
export const isAgainst = (edge) => edge.drop < -0.0005;
