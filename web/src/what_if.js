import { changeFacts, forgetFacts, get } from "./api.js";
import { h, replace } from "./dom.js";
import { named, visible } from "./inert.js";
import { plural } from "./numbers.js";
import { relationArrow } from "./question.js";
import { redraw } from "./router.js";
import { searchBox } from "./search_box.js";

export const plainFact = (fact) => ({ head: fact.head.name, relation: fact.relation.name, tail: fact.tail.name });

// "What if": facts that this browser session adds or removes; the run stays as it is.
export function whatIf(facts, page, start = {}) {
  const number = facts.added.length + facts.removed.length;
  const trouble = h("p", { class: "trouble", role: "alert" });
  const change = async (add, remove) => {
    try {
      await changeFacts(add, remove);
      page.say("The answers were computed again");
      redraw();
    } catch (error) {
      replace(trouble, visible(error.message));
    }
  };
  const line = (fact, kind) => h("li", {},
    h("span", { class: kind }, kind === "added" ? "added" : "removed"), " ", named(fact.head), " ", relationArrow(fact.relation), " ", named(fact.tail),
    h("button", { type: "button", class: "small plain", "aria-label": `Take back: ${visible(fact.head.label)} ${visible(fact.relation.label)} ${visible(fact.tail.label)}`,
      onclick: () => kind === "added" ? change([], [plainFact(fact)]) : change([plainFact(fact)], []) }, "Take back"));
  return h("details", { class: "panel what-if", open: number > 0 || undefined },
    h("summary", {}, h("h2", {}, "What if …"), number ? h("span", { class: "badge" }, `${plural(number, "change")} in force`) : h("span", { class: "muted small" }, "add or remove a fact, and see the answers change")),
    number ? h("ul", { class: "edits" }, facts.added.map((fact) => line(fact, "added")), facts.removed.map((fact) => line(fact, "removed"))) : null,
    factForm(start, change),
    trouble,
    number ? h("button", { type: "button", class: "plain small", onclick: async () => { await forgetFacts(); redraw(); } }, "Take everything back") : null,
    h("p", { class: "muted small" }, "Your changes live in this browser tab only. Entities may be new."),
  );
}

function factForm(start, change) {
  const head = searchBox({ label: "Head of the fact", placeholder: "Head", free: true });
  const tail = searchBox({ label: "Tail of the fact", placeholder: "Tail", free: true });
  head.input.value = start.head ?? "";
  tail.input.value = start.tail ?? "";
  const relation = h("select", { "aria-label": "Relation of the fact" });
  get("/api/relations").then(({ relations }) => replace(relation, relations.map((each) => h("option", { value: each.name, selected: each.name === start.relation }, visible(each.label))))).catch(() => {});
  const fact = () => ({ head: head.input.value.trim(), relation: relation.value || null, tail: tail.input.value.trim() });
  const send = (kind) => (event) => {
    event.preventDefault();
    const given = fact();
    if (!given.head || !given.tail) return (given.head ? tail : head).input.focus();
    return kind === "add" ? change([given], []) : change([], [given]);
  };
  return h("form", { class: "fact-form", onsubmit: send("add") }, head.element, relation, tail.element,
    h("button", { class: "button" }, "Add"), h("button", { type: "button", class: "button plain", onclick: send("remove") }, "Remove"));
}
