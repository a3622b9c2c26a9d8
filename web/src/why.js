import { changeFacts, get, sessionFacts } from "./api.js";
import { commandLine } from "./command.js";
import { h } from "./dom.js";
import { download } from "./download.js";
import { named, visible } from "./inert.js";
import { change, percent, plural } from "./numbers.js";
import { pathGraph } from "./path_graph.js";
import { pathList } from "./path_list.js";
import { questionAddress, relationArrow } from "./question.js";
import { entityAddress, noteInAddress, redraw } from "./router.js";
import { svgOf } from "./svg_export.js";
import { plainFact, whatIf } from "./what_if.js";

const COUNTS = [3, 5, 10, 20];

export async function why(parameters, page) {
  const asked = parameters.get("asked") === "head" ? "head" : "tail";
  const link = { head: parameters.get("head"), relation: parameters.get("relation"), tail: parameters.get("tail") };
  const k = Math.min(20, Math.max(1, Number(parameters.get("k")) || 5));
  const facts = await sessionFacts();
  const edited = facts.added.length + facts.removed.length > 0;
  const [now, before] = await Promise.all([
    get("/api/explain", { ...link, asked, k }),
    edited ? get("/api/explain", { ...link, asked, k: 1 }, { whatIf: false }).catch(() => null) : null,
  ]);
  const { query } = now;
  const self = asked === "tail" ? query.head : query.tail;
  page.say(`${percent(now.probability)}, ${plural(now.paths.length, "path")}`);
  return h("article", { class: "why" },
    h("nav", { class: "crumb", "aria-label": "Back to the answers" }, h("a", { href: questionAddress(self.name, query.relation.name, asked) }, "← All answers")),
    h("h1", { class: "question" }, h("a", { href: entityAddress(query.head.name) }, named(query.head)), " ", relationArrow(query.relation, { directed: query.directed }), " ", h("a", { href: entityAddress(query.tail.name) }, named(query.tail))),
    h("p", { class: "verdict" },
      h("strong", {}, percent(now.probability)),
      before ? h("span", { class: "was" }, ` ${percent(before.probability)} before your changes`) : null,
      now.known ? h("span", { class: "badge" }, "known") : null,
      h("span", { class: "muted" }, now.known ? " It is a fact already; the network judged it as if it were not known." : " It is not a fact of the graph.")),
    now.paths.length ? paths(now, page, parameters, k) : h("p", { class: "panel empty" }, "No path leads there. The network knows no more than what the two ends look like."),
    whatIf(facts, page, { relation: query.relation.name }),
    commandLine(now.command, page, now.what_if),
  );
}

function paths(now, page, parameters, k) {
  const graph = pathGraph(now, page);
  const wanted = Number(parameters.get("path")) - 1;
  const only = now.paths[wanted] ? wanted : null;
  page.ready = () => graph.start();
  const onOnly = (number) => { graph.showOnly(number); noteInAddress({ path: number === null ? null : number + 1 }); };
  const onRemove = async (edge) => { await changeFacts([], [plainFact(edge)]); page.say("The fact is out, and the paths were computed again"); redraw(); };
  const relations = [...new Map(now.paths.flatMap((path) => path.edges).map((edge) => [edge.relation.name, edge.relation])).values()];
  const name = `${now.query.head.label} ${now.query.relation.label} ${now.query.tail.label}`;
  return h("div", { class: "why-columns" },
    h("section", { class: "panel picture", "aria-label": "The paths as a graph" },
      h("div", { class: "tools" },
        relations.length > 1 ? h("fieldset", { class: "relations" }, h("legend", { class: "unseen" }, "Relations that are shown"), relations.map((relation) =>
          h("label", { class: "toggle" }, h("input", { type: "checkbox", checked: true, onchange: (event) => graph.toggleRelation(relation.name, event.target.checked) }), named(relation)))) : null,
        h("span", { class: "space" }),
        h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
          h("button", { type: "button", class: "small plain", "aria-label": "Zoom out", onclick: () => graph.zoom(0.8) }, "−"),
          h("button", { type: "button", class: "small plain", "aria-label": "Zoom in", onclick: () => graph.zoom(1.25) }, "+"),
          h("button", { type: "button", class: "small plain", onclick: () => graph.fit() }, "Show all"))),
      graph.stage, graph.note,
      h("div", { class: "tools" },
        h("span", { class: "muted small" }, "The wider an edge, the more its path matters; dashed speaks against."), h("span", { class: "space" }),
        h("button", { type: "button", class: "plain small", onclick: () => download(`${name}.svg`, svgOf(graph.layers()), "image/svg+xml") }, "Save as SVG"),
        h("button", { type: "button", class: "plain small", onclick: async () => download(`${name}.png`, await graph.png()) }, "Save as PNG"))),
    h("section", { class: "panel reasons", "aria-label": "The paths in words" },
      h("div", { class: "tools" }, h("h2", {}, "Because"), h("span", { class: "space" }),
        h("label", {}, "Paths ", h("select", { onchange: (event) => { noteInAddress({ k: event.target.value === "5" ? null : event.target.value, path: null }); redraw(); } },
          [...new Set([...COUNTS, k])].sort((a, b) => a - b).map((n) => h("option", { value: String(n), selected: n === k }, String(n)))))),
      pathList(now, { onOnly, onRemove, only }),
      now.paths.length > 1 ? h("p", { class: "muted small" }, `Without all ${now.paths.length} paths together, the score changes by ${change(now.joint_drop)}.`) : null),
  );
}
