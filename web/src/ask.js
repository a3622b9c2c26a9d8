import { get, sessionFacts } from "./api.js";
import { answerList } from "./answers.js";
import { commandLine } from "./command.js";
import { h } from "./dom.js";
import { csv, download } from "./download.js";
import { named, visible } from "./inert.js";
import { plural } from "./numbers.js";
import { gap, relationArrow } from "./question.js";
import { address, entityAddress, navigate } from "./router.js";
import { whatIf } from "./what_if.js";

const COUNTS = [10, 25, 50, 100];

export async function ask(parameters, page) {
  const question = { head: parameters.get("head"), relation: parameters.get("relation"), tail: parameters.get("tail") };
  const k = Math.min(100, Math.max(1, Number(parameters.get("k")) || 10));
  const options = { k, exclude_known: parameters.has("new") || null, any_type: parameters.has("any") || null };
  const facts = await sessionFacts();
  const edited = facts.added.length + facts.removed.length > 0;
  const [now, before] = await Promise.all([
    get("/api/predict", { ...question, ...options }),
    edited ? get("/api/predict", { ...question, ...options }, { whatIf: false }).catch(() => ({ answers: [], asked: "tail" })) : null,
  ]);
  const relations = now.asked === "relation" ? [] : (await get("/api/relations", { entity: (now.query.head ?? now.query.tail).name })).relations;
  const why = (answer) => {
    const link = { head: now.query.head?.name, relation: now.query.relation?.name, tail: now.query.tail?.name, [now.asked]: answer.name };
    return address("/why", { ...link, asked: now.asked === "head" ? "head" : null });
  };
  const change = (changed) => navigate(address("/ask", { ...question, k: k === 10 ? null : k, new: parameters.has("new"), any: parameters.has("any"), ...changed }));
  page.say(`${plural(now.answers.length, "answer")}`);
  return h("article", { class: "ask" },
    h("h1", { class: "question" }, questionOf(now, relations)),
    h("div", { class: "tools" },
      h("label", {}, "Answers ", h("select", { onchange: (event) => change({ k: event.target.value === "10" ? null : event.target.value }) },
        [...new Set([...COUNTS, k])].sort((a, b) => a - b).map((n) => h("option", { value: String(n), selected: n === k }, String(n))))),
      toggle("Hide known facts", parameters.has("new"), (on) => change({ new: on })),
      now.asked !== "relation" && toggle("Any type", parameters.has("any"), (on) => change({ any: on })),
      h("span", { class: "space" }),
      h("button", { type: "button", class: "plain small", onclick: () => download(`${title(now)}.csv`, table(now), "text/csv") }, "Save as CSV"),
    ),
    now.answers.length === 0 ? h("p", { class: "panel empty" }, "No entity can be the answer. Try “Any type”.")
      : edited ? sideBySide(before, now, why) : h("section", { class: "panel" }, answerList(now, why)),
    now.more_known ? h("p", { class: "muted small" }, `${plural(now.more_known, "more known fact")} not listed`) : null,
    whatIf(facts, page, { relation: now.query.relation?.name, head: now.query.head?.name, tail: now.query.tail?.name }),
    commandLine(now.command, page, now.what_if),
  );
}

function questionOf(now, relations) {
  const { head, relation, tail } = now.query;
  const end = (entity) => entity ? h("a", { href: entityAddress(entity.name) }, named(entity)) : gap();
  return [end(head), " ", now.asked === "relation" ? h("span", { class: "arrow" }, "— ", gap(), " →") : relationPicker(now, relation, relations), " ", end(tail)];
}

// The relation of the question, as a menu: another one is a step away.
function relationPicker(now, relation, relations) {
  const entity = now.query.head ?? now.query.tail;
  const option = (way) => h("option", { value: `${way.asked} ${way.name}`, selected: way.name === relation.name && way.asked === now.asked },
    visible(way.asked === now.asked ? way.label : `${way.label} (the other way)`));
  const sensible = relations.filter((way) => way.sensible), others = relations.filter((way) => !way.sensible);
  const select = h("select", { class: "relation", "aria-label": "Relation", onchange: (event) => {
    const [asked, ...name] = event.target.value.split(" ");
    navigate(address("/ask", { [asked === "tail" ? "head" : "tail"]: entity.name, relation: name.join(" ") }));
  } }, h("optgroup", { label: "Makes sense here" }, sensible.map(option)), h("optgroup", { label: "Other relations" }, others.map(option)));
  return relations.length > 1 ? h("span", { class: "arrow" }, "— ", select, " →") : relationArrow(relation);
}

function sideBySide(before, now, why) {
  return h("div", { class: "columns compare" },
    h("section", { class: "panel" }, h("h2", {}, "Before"), answerList(before, why, { label: "Answers before" })),
    h("section", { class: "panel changed" }, h("h2", {}, "With your changes"), answerList(now, why, { before, label: "Answers with your changes" })));
}

function toggle(text, on, onChange) {
  return h("label", { class: "toggle" }, h("input", { type: "checkbox", checked: on, onchange: (event) => onChange(event.target.checked) }), text);
}

function title({ query }) {
  return [query.head?.label ?? "?", query.relation?.label ?? "?", query.tail?.label ?? "?"].join(" ");
}

function table(now) {
  const { head, relation, tail } = now.query;
  const given = [head?.name ?? "", relation?.name ?? "", tail?.name ?? "", now.asked];
  const rows = now.answers.map((a) => [...given, a.rank, a.name, a.label, a.type ?? "", a.probability, a.score, a.known]);
  return csv([["head", "relation", "tail", "asked", "rank", "answer", "label", "type", "probability", "score", "known"], ...rows]);
}
