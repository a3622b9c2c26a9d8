import { h } from "./dom.js";

export async function licences() {
  const found = await (await fetch("/licences.json")).json();
  return h("article", {},
    h("h1", {}, "Licences"),
    h("p", { class: "lead" }, "nbfnet is licensed under Apache-2.0. Its page contains the work of others:"),
    found.map((each) => h("section", { class: "panel" }, h("h2", {}, `${each.name} ${each.version}`), h("p", { class: "muted" }, each.licence), h("pre", { tabindex: "0", class: "licence" }, each.text))));
}
