import { h } from "./dom.js";
import { named } from "./inert.js";
import { address } from "./router.js";

export const UNKNOWN = "?";

// The address of a question about an entity: its tails or its heads by a relation.
export function questionAddress(entity, relation, asked, more = {}) {
  return address("/ask", { [asked === "tail" ? "head" : "tail"]: entity, relation, ...more });
}

export function relationArrow(relation, { inverse = false, directed = true } = {}) {
  const label = h("span", { class: "relation" }, named(relation));
  if (!directed) return h("span", { class: "arrow" }, "— ", label, " —");
  return inverse ? h("span", { class: "arrow" }, "← ", label, " —") : h("span", { class: "arrow" }, "— ", label, " →");
}

export function gap() {
  return h("span", { class: "gap", "aria-label": "what is asked" }, UNKNOWN);
}
