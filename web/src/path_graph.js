import cytoscape from "cytoscape";
import { h, replace } from "./dom.js";
import { visible } from "./inert.js";
import { change } from "./numbers.js";
import { isAgainst, pathLayers, thickness } from "./path_layers.js";
import { entityAddress, navigate } from "./router.js";
import { colour, isCalm, onTheme } from "./theme.js";

const ENTITIES = "node[role != 'label']";
const SMALLEST = 0.62; // zoom at which labels can still be read
const NARROW = 640; // pixels; below it, paths run from top to bottom

// The paths as a graph to explore: hover, zoom, walk on with a click or with the keyboard.
export function pathGraph(explanation, page) {
  const stage = h("div", { class: "stage", tabindex: "0", role: "application", "aria-label": "The paths as a graph. Arrow keys choose a node, Enter goes to it, plus and minus zoom, 0 shows all." });
  const note = h("p", { class: "hover-note", role: "status" }, "Hover over an edge, or click a node to walk on from it.");
  const shown = { path: null, hidden: new Set() };
  const state = { layers: null, cy: null };

  const draw = () => {
    state.cy?.destroy();
    state.layers = pathLayers(explanation, { upright: stage.clientWidth < NARROW });
    const { layers } = state;
    const bottom = Math.max(...layers.nodes.map((node) => node.y + node.height), ...layers.edges.map((edge) => edge.label.y + edge.height));
    const right = Math.max(...layers.nodes.map((node) => node.x + node.width / 2 + 12));
    const scale = Math.max(SMALLEST, Math.min(1.15, stage.clientWidth / (right + 24)));
    stage.style.height = `${Math.min(680, Math.max(220, (bottom + 40) * scale))}px`;
    state.cy = cytoscape({
      container: stage, elements: elements(layers), style: style(), layout: { name: "preset" },
      minZoom: 0.2, maxZoom: 3, boxSelectionEnabled: false, autoungrabify: true, userZoomingEnabled: false,
    });
    fit();
    if (state.cy.zoom() < SMALLEST) begin();
    listen(state.cy);
    mark();
  };
  const fit = () => { state.cy.fit(undefined, 14); if (state.cy.zoom() > 1.15) { state.cy.zoom(1.15); state.cy.center(); } };
  // A graph that is too large to be read as a whole is shown from its beginning on; dragging shows the rest.
  const begin = () => {
    state.cy.zoom(SMALLEST);
    state.cy.center(state.cy.getElementById("source"));
    const box = state.cy.elements().renderedBoundingBox();
    state.cy.panBy(state.layers.upright ? { x: 0, y: 12 - box.y1 } : { x: 12 - box.x1, y: 0 });
  };
  const zoom = (factor) => {
    const level = state.cy.zoom() * factor, renderedPosition = { x: stage.clientWidth / 2, y: stage.clientHeight / 2 };
    isCalm() ? state.cy.zoom({ level, renderedPosition }) : state.cy.animate({ zoom: { level, renderedPosition }, duration: 120 });
  };
  // Only a path, without some relations: what does not belong fades.
  const mark = () => {
    state.cy.batch(() => state.cy.elements().forEach((element) => {
      const paths = element.data("paths");
      element.toggleClass("faded", shown.path !== null && !paths.includes(shown.path));
      if (element.data("relation") !== undefined) element.toggleClass("gone", shown.hidden.has(element.data("relation")));
    }));
    state.cy.nodes("[role = 'node']").forEach((node) => { node.toggleClass("gone", node.connectedEdges().filter((edge) => !edge.hasClass("gone")).empty()); });
  };
  const listen = (cy) => {
    cy.on("tap", ENTITIES, (event) => navigate(entityAddress(event.target.data("name"))));
    cy.on("mouseover", "[relation]", (event) => { highlight(event.target.data("paths")); say(event.target.data("note")); });
    cy.on("mouseover", ENTITIES, (event) => { highlight(event.target.data("paths")); stage.classList.add("pointing"); say(event.target.data("note")); });
    cy.on("mouseout", () => { highlight(null); stage.classList.remove("pointing"); });
  };
  const highlight = (paths) => state.cy.elements().forEach((element) => { element.toggleClass("lit", paths !== null && element.data("paths").some((path) => paths.includes(path))); });
  const say = (text) => replace(note, text);
  const choose = (step) => {
    const nodes = state.cy.nodes(ENTITIES).filter((node) => !node.hasClass("gone")).sort((a, b) => a.position("x") - b.position("x") || a.position("y") - b.position("y"));
    const now = nodes.toArray().findIndex((node) => node.hasClass("chosen"));
    const next = nodes[(now + step + nodes.length + (now < 0 && step < 0 ? 1 : 0)) % nodes.length];
    nodes.removeClass("chosen");
    next.addClass("chosen");
    say(`${next.data("note")} Enter goes to it.`);
  };
  stage.addEventListener("keydown", (event) => {
    const keys = {
      ArrowRight: () => choose(1), ArrowDown: () => choose(1), ArrowLeft: () => choose(-1), ArrowUp: () => choose(-1),
      "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
      Enter: () => { const chosen = state.cy.nodes(".chosen"); if (chosen.nonempty()) navigate(entityAddress(chosen.data("name"))); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  stage.addEventListener("wheel", (event) => { if (event.ctrlKey) { event.preventDefault(); zoom(event.deltaY < 0 ? 1.1 : 0.9); } }, { passive: false });

  let width = 0;
  const watch = new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 4) { width = stage.clientWidth; draw(); } });
  const start = () => {
    width = stage.clientWidth;
    draw();
    watch.observe(stage);
    return [onTheme(() => state.cy.style(style())), () => { watch.disconnect(); state.cy.destroy(); }];
  };
  return {
    stage, note, start, zoom, fit: () => fit(),
    showOnly: (path) => { shown.path = path; if (state.cy) mark(); },
    toggleRelation: (name, on) => { on ? shown.hidden.delete(name) : shown.hidden.add(name); mark(); },
    layers: () => state.layers,
    png: () => state.cy.png({ output: "blob-promise", full: true, scale: 2, bg: colour("surface") }),
    cy: () => state.cy,
  };
}

function elements({ nodes, edges, greatest, upright }) {
  const place = new Map(nodes.map((node) => [node.key, node]));
  return [
    ...nodes.map((node) => ({
      data: { id: node.key, name: node.entity.name, role: node.role, label: node.lines.join("\n"), width: node.width + 22, height: node.height + 14, paths: [...node.paths],
        note: `${node.text}${node.entity.type ? `, ${visible(node.entity.type)}` : ""}: on ${node.paths.size === 1 ? "1 path" : `${node.paths.size} paths`}.` },
      position: { x: node.x, y: node.y },
    })),
    ...edges.flatMap((edge) => drawnEdge(edge, place, greatest, upright)),
  ];
}

// A fact as two lines that meet in its label, which has a place of its own in the layers.
function drawnEdge(edge, place, greatest, upright) {
  const { directed, inverse, relation, head, tail } = edge.edge;
  const label = `label ${edge.key}`, from = place.get(edge.from), to = place.get(edge.to);
  const which = edge.paths.size === 1 ? "its path" : "a path over it";
  const shared = {
    relation: relation.name, paths: [...edge.paths],
    note: `${visible(head.label)} — ${edge.text} → ${visible(tail.label)}: score ${change(edge.drop)} if ${which} is deleted.`,
  };
  const line = { ...shared, thickness: thickness(edge, greatest), against: isAgainst(edge) ? 1 : 0, arrow: "none", back: "none" };
  const middle = nearest(edge.points, edge.label);
  return [
    { data: { ...shared, id: label, role: "label", label: edge.lines.join("\n"), width: edge.width + 6, height: edge.height + 2 }, position: edge.label },
    { data: { ...line, id: `to ${label}`, source: edge.from, target: label, back: directed && inverse ? "triangle" : "none", ...bends(from, edge.label, [...edge.points.slice(0, middle), gate(from, edge, upright)]) } },
    { data: { ...line, id: `from ${label}`, source: label, target: edge.to, arrow: directed && !inverse ? "triangle" : "none", ...bends(edge.label, to, [gate(to, edge, upright), ...edge.points.slice(middle + 1)]) } },
  ];
}

// Where a line between a node and a label turns towards the label: in the gap between them, level with the label.
function gate(node, edge, upright) {
  const [axis, size] = upright ? ["y", "height"] : ["x", "width"];
  const side = Math.sign(edge.label[axis] - node[axis]) || 1;
  const border = node[axis] + side * (node[size] / 2 + 10), end = edge.label[axis] - side * (edge[size] / 2 + 3);
  return { ...edge.label, [axis]: (border + end) / 2 };
}

function nearest(points, place) {
  const distances = points.map((point) => Math.hypot(point.x - place.x, point.y - place.y));
  return distances.indexOf(Math.min(...distances));
}

// The bends that dagre chose, as Cytoscape wants them: how far along the straight line, and how far beside it.
function bends(from, to, points) {
  const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1;
  const weights = [], distances = [];
  for (const point of points) {
    const px = point.x - from.x, py = point.y - from.y;
    weights.push((px * dx + py * dy) / length ** 2);
    distances.push((py * dx - px * dy) / length);
  }
  return { weights: weights.join(" "), distances: distances.join(" ") };
}

function style() {
  const line = colour("edge"), text = colour("text"), surface = colour("surface");
  return [
    { selector: "node", style: { shape: "round-rectangle", "corner-radius": 8, width: "data(width)", height: "data(height)", label: "data(label)", "text-wrap": "wrap", "text-valign": "center", "text-halign": "center",
      "font-family": 'system-ui, "Segoe UI", Roboto, sans-serif', "font-size": 13, color: text, "background-color": colour("raised"), "border-width": 1, "border-color": colour("strong-line"), "overlay-opacity": 0, "line-height": 1.25 } },
    { selector: "node[role = 'source']", style: { "background-color": colour("accent"), "border-color": colour("accent"), color: colour("on-accent"), "font-weight": 600 } },
    { selector: "node[role = 'answer']", style: { "background-color": colour("answer"), "border-color": colour("answer"), color: colour("on-answer"), "font-weight": 600 } },
    { selector: "node[role = 'label']", style: { shape: "rectangle", "background-color": surface, "border-width": 0, "font-size": 11, color: colour("muted"), "z-index": 5 } },
    { selector: "edge", style: { width: "data(thickness)", "line-color": line, "curve-style": "unbundled-bezier", "control-point-weights": "data(weights)", "control-point-distances": "data(distances)", "edge-distances": "node-position",
      "target-arrow-shape": "data(arrow)", "source-arrow-shape": "data(back)", "target-arrow-color": line, "source-arrow-color": line, "arrow-scale": 0.9, "overlay-opacity": 0 } },
    { selector: "edge[against = 1]", style: { "line-style": "dashed" } },
    { selector: ".lit", style: { "border-color": colour("accent"), "border-width": 2, "line-color": colour("accent"), "target-arrow-color": colour("accent"), "source-arrow-color": colour("accent"), "z-index": 9 } },
    { selector: "node[role = 'label'].lit", style: { "border-width": 0, color: colour("accent") } },
    { selector: ".faded", style: { opacity: 0.14 } },
    { selector: ".gone", style: { display: "none" } },
    { selector: ".chosen", style: { "border-color": colour("focus"), "border-width": 3 } },
  ];
}
