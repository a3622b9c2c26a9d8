import { get } from "./api.js";
import { h } from "./dom.js";
import { named, visible } from "./inert.js";
import { plural } from "./numbers.js";
import { gap, questionAddress, relationArrow } from "./question.js";
import { entityAddress } from "./router.js";

const LISTED = 100;

export async function entity(parameters) {
  const name = parameters.get("name") ?? "";
  const [around, { relations }] = await Promise.all([
    get("/api/neighbours", { entity: name, limit: LISTED }),
    get("/api/relations", { entity: name }),
  ]);
  const self = around.entity;
  const sensible = relations.filter((way) => way.sensible), others = relations.filter((way) => !way.sensible);
  return h("article", { class: "entity" },
    h("div", { class: "title" }, h("h1", {}, named(self)), self.type && h("span", { class: "type" }, visible(self.type))),
    h("div", { class: "columns" },
      h("section", { class: "panel" },
        h("h2", {}, "Ask"),
        sensible.length ? waysOfAsking(self, sensible) : h("p", { class: "muted" }, "No relation is known for it; every one can still be asked."),
        others.length ? h("details", {}, h("summary", {}, `${plural(others.length, "question")} that make less sense`), waysOfAsking(self, others)) : null,
      ),
      h("section", { class: "panel" }, h("h2", {}, "Known facts ", h("span", { class: "muted" }, around.count.toLocaleString("en"))), knownFacts(self, around)),
    ),
  );
}

function waysOfAsking(self, ways) {
  return h("ul", { class: "ways" }, ways.map((way) => {
    const arrow = relationArrow(way), here = h("span", { class: "here" }, named(self));
    return h("li", {}, h("a", { href: questionAddress(self.name, way.name, way.asked) }, way.asked === "tail" ? [here, " ", arrow, " ", gap()] : [gap(), " ", arrow, " ", here],
      way.facts ? h("span", { class: "muted small" }, ` ${way.facts} known`) : null));
  }));
}

function knownFacts(self, around) {
  if (!around.facts.length) return h("p", { class: "muted" }, "The graph has no fact about it.");
  const groups = new Map();
  for (const fact of around.facts) {
    const key = `${fact.asked} ${fact.relation.name}`;
    groups.set(key, [...(groups.get(key) ?? []), fact]);
  }
  const listed = [...groups.values()].map((facts) => {
    const { relation, asked } = facts[0];
    return h("div", { class: "fact-group" },
      h("h3", {}, asked === "tail" ? relationArrow(relation) : relationArrow(relation, { inverse: true })),
      h("ul", { class: "chips" }, facts.map((fact) => h("li", {}, h("a", { class: "chip", href: entityAddress(fact.other.name) }, named(fact.other))))));
  });
  const more = around.count - around.facts.length;
  return [...listed, more > 0 ? h("p", { class: "muted small" }, `and ${plural(more, "more fact")}`) : null];
}
