import { get } from "./api.js";
import { h } from "./dom.js";
import { named, visible } from "./inert.js";
import { plural } from "./numbers.js";
import { entityAddress, navigate } from "./router.js";
import { searchBox } from "./search_box.js";

export async function home(parameters, page) {
  const [health, { entities }] = await Promise.all([get("/api/health"), get("/api/entities", { limit: 8 })]);
  const search = searchBox({ label: "Search for an entity", placeholder: "A name, or its beginning", large: true, onPick: (found) => navigate(entityAddress(found.name)) });
  page.ready = () => { if (matchMedia("(hover: hover)").matches) search.input.focus(); return []; };
  return h("section", { class: "home" },
    h("h1", {}, "What is missing from ", h("em", {}, h("bdi", {}, visible(health.graph))), "?"),
    h("p", { class: "lead" }, "Pick an entity, ask for a relation, and see which answers the network believes in, and the paths that made it think so."),
    search.element,
    h("div", { class: "try" }, h("h2", {}, "Well connected"), h("ul", { class: "chips" }, entities.map((entity) => h("li", {}, h("a", { class: "chip", href: entityAddress(entity.name) }, named(entity)))))),
    h("p", { class: "muted small" }, `${plural(health.entities, "entity", "entities")} · ${plural(health.relations, "relation")} · ${plural(health.facts, "known fact")}`),
  );
}
