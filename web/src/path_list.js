import { h } from "./dom.js";
import { named, visible } from "./inert.js";
import { change, plural } from "./numbers.js";
import { relationArrow } from "./question.js";
import { entityAddress } from "./router.js";

// The paths in words, hop by hop, under their relation patterns.
export function pathList(explanation, { onOnly, onRemove, only }) {
  const greatest = Math.max(...explanation.paths.map((path) => Math.abs(path.deletion_drop ?? 0)), 1e-9);
  const buttons = [];
  const select = (number) => {
    buttons.forEach((button, i) => { if (button) { button.setAttribute("aria-pressed", String(i === number)); button.textContent = i === number ? "Show all paths" : "Show only this path"; } });
    onOnly(number);
  };
  const item = (number) => {
    const path = explanation.paths[number];
    buttons[number] = h("button", { type: "button", class: "small plain", onclick: () => select(buttons[number].getAttribute("aria-pressed") === "true" ? null : number) });
    return h("li", { class: "path" },
      h("ol", { class: "hops" }, path.edges.map((edge) => hop(edge, onRemove))),
      h("div", { class: "effect" },
        h("span", { class: path.deletion_drop < 0 ? "meter against" : "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * Math.abs(path.deletion_drop ?? 0) / greatest}%` } })),
        h("span", { class: "small muted", title: "How the network's score (a logit) changes when the facts of this path are deleted" }, `${change(path.deletion_drop)} without it`), buttons[number]));
  };
  const list = h("ol", { class: "patterns" }, explanation.patterns.map((pattern) => h("li", { class: "pattern" },
    h("h3", {}, pattern.edges.map(step), h("span", { class: "muted small" }, plural(pattern.paths.length, "path"))),
    h("ol", { class: "paths" }, pattern.paths.map(item)))));
  select(only);
  return list;
}

// A relation of a pattern, with the direction in which it is followed.
function step(edge) {
  const label = h("bdi", {}, visible(edge.relation));
  return h("span", { class: "step" }, !edge.directed ? label : edge.inverse ? ["← ", label] : [label, " →"]);
}

function hop(edge, onRemove) {
  const [start, end] = edge.inverse ? [edge.tail, edge.head] : [edge.head, edge.tail];
  const link = (entity) => h("a", { href: entityAddress(entity.name) }, named(entity));
  return h("li", {}, h("span", { class: "sentence" }, link(start), " ", relationArrow(edge.relation, edge), " ", link(end)),
    h("button", { type: "button", class: "small quiet", title: "What if this were not a fact?", "aria-label": `What if not: ${visible(edge.head.label)} ${visible(edge.relation.label)} ${visible(edge.tail.label)}`, onclick: () => onRemove(edge) }, h("span", {}, "what if not?")));
}
