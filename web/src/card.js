import { get } from "./api.js";
import { lineChart } from "./charts.js";
import { h, replace } from "./dom.js";
import { visible } from "./inert.js";
import { count } from "./numbers.js";

export async function card(parameters, page) {
  const found = await get("/api/card");
  const test = h("section", { class: "panel" });
  const quality = h("section", { class: "panel wide" });
  const fill = (measured) => { replace(test, testMetrics(measured)); replace(quality, byRelation(measured)); };
  fill(found.test);
  if (found.test.state === "measuring") poll(fill, page);
  return h("article", { class: "card" },
    h("h1", {}, "Model card"),
    h("p", { class: "lead" }, "What this network learned from, how well it does on links it never saw, and how sure it may be."),
    h("div", { class: "grid" }, learnedFrom(found), test, calibration(found.calibration), ...curves(found), quality, howTrained(found)),
  );
}

async function poll(fill, page) {
  while (!page.isLeft()) {
    await new Promise((done) => setTimeout(done, 1500));
    if (page.isLeft()) return;
    const { test } = await get("/api/card").catch(() => ({ test: { state: "none", reason: "The server cannot be reached." } }));
    fill(test);
    if (test.state !== "measuring") return page.say("The test is measured");
  }
}

function pairs(rows) {
  return h("dl", {}, rows.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("bdi", {}, visible(String(value)))))));
}

function learnedFrom({ graph, made_by }) {
  const types = Object.entries(graph.types);
  return h("section", { class: "panel" }, h("h2", {}, "Learned from"),
    pairs([["graph", graph.name], ["kind", graph.kind], ["entities", count(graph.entities)], ["relations", count(graph.relations)], ["facts to learn", count(graph.train)], ["to select by", count(graph.valid)], ["to test on", count(graph.test)], ["split", graph.split], ["trained from", made_by.date?.replace("T", " ").slice(0, 16)]]),
    types.length ? h("p", { class: "muted small" }, types.slice(0, 8).map(([name, number]) => `${visible(name)} ${count(number)}`).join(" · ")) : null);
}

function testMetrics(test) {
  const title = h("h2", {}, "Test");
  if (test.state === "measuring") return [title, h("p", { class: "muted", role: "status" }, "Measuring on test links …")];
  if (test.state !== "measured") return [title, h("p", { class: "muted" }, visible(test.reason ?? "Not measured."))];
  const big = Object.entries(test.metrics).filter(([name]) => name !== "mr" && !name.includes("_"));
  const sample = test.sample ? `${count(test.sample.links)} of ${count(test.sample.of)} test links, drawn at random, each asked both ways.` : `All ${count(test.queries / 2)} test links, each asked both ways.`;
  return [title, h("div", { class: "big-numbers" }, big.map(([name, value]) => h("div", {}, h("strong", {}, value.toFixed(3)), h("span", { class: "muted" }, name)))),
    h("p", { class: "muted small" }, `${sample} Protocol: ${visible(test.protocol)}.`)];
}

function calibration(found) {
  const error = found.expected_calibration_error;
  return h("section", { class: "panel third" }, h("h2", {}, "Calibration"),
    found.points.length ? lineChart({ title: "How often it was right, by the network's own sigmoid", xLabel: "sigmoid of the score", yLabel: "", lines: [{ name: "calibrated", points: found.points }], x: [0, 1], y: [0, 1], diagonal: true })
      : h("p", { class: "muted" }, visible(found.reason ?? "No curve was fitted: probabilities are the network's own.")),
    error ? h("p", { class: "muted small" }, `Expected calibration error ${error.before.toFixed(3)} before, ${error.after.toFixed(3)} after, on ${visible(found.fitted_on)}.`) : null);
}

function curves({ history }) {
  const names = ["mrr", "hits@1", "hits@10", "auroc", "ap"].filter((name) => history.some((entry) => name in entry.valid));
  return [h("section", { class: "panel third" }, h("h2", {}, "Learning curves"), lineChart({ title: "Metrics on valid links, by epoch", xLabel: "epoch", yLabel: "", lines: names.map((name) => ({ name, points: history.filter((entry) => name in entry.valid).map((entry) => [entry.epoch, entry.valid[name]]) })) })),
    h("section", { class: "panel third" }, h("h2", {}, "Loss"), lineChart({ title: "Loss on training links, by epoch", xLabel: "epoch", yLabel: "", lines: [{ name: "loss", points: history.map((entry) => [entry.epoch, entry.loss]) }] }))];
}

function byRelation(test) {
  const title = h("h2", {}, "Each relation");
  if (test.state === "measuring") return [title, h("p", { class: "muted" }, "Measuring …")];
  if (!test.by_relation?.length) return [title, h("p", { class: "muted" }, "This graph has one relation.")];
  const rows = [...test.by_relation].sort((a, b) => b.links - a.links);
  const mrr = (side) => h("td", {}, h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width: `${100 * side.mrr}%` } })), h("span", { class: "percent" }, side.mrr.toFixed(2)));
  return [title, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Quality of each relation" }, h("table", {},
    h("thead", {}, h("tr", {}, ["relation", "kind", "links", "MRR, tail asked", "MRR, head asked"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, visible(row.relation))), h("td", {}, row.category), h("td", {}, count(row.links)), mrr(row.tail), mrr(row.head))))))];
}

function howTrained({ model, training, made_by }) {
  const plain = (table) => Object.entries(table).filter(([, value]) => value !== null).map(([name, value]) => [name.replaceAll("_", " "), Array.isArray(value) ? value.join(", ") : value]);
  return h("section", { class: "panel wide" }, h("h2", {}, "How it was trained"), h("div", { class: "two" }, pairs([...plain(model), ["nbfnet", made_by.nbfnet]]), pairs(plain(training))));
}
