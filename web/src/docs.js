import { get } from "./api.js";
import { h } from "./dom.js";

// The API, from its own OpenAPI description.
export async function docs() {
  const api = await get("/api/openapi.json");
  const operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  return h("article", { class: "docs" },
    h("h1", {}, "The API"),
    h("p", { class: "lead" }, api.info.description),
    h("p", { class: "muted" }, "Described by OpenAPI at ", h("a", { href: "/api/openapi.json" }, "/api/openapi.json"), ". In Python: ", h("code", {}, `nbfnet.client.Client("${location.origin}")`), "."),
    refusals(operations[0].operation),
    operations.map(({ path, method, operation }) => h("section", { class: "panel operation" },
      h("h2", {}, h("span", { class: `method ${method}` }, method.toUpperCase()), " ", h("code", {}, path)),
      h("p", {}, operation.description),
      parameters(api, operation),
      body(api, operation),
      method === "get" ? h("pre", { tabindex: "0" }, example(path)) : null)));
}

function example(path) {
  const query = { "/api/predict": "?head=NAME&relation=NAME&k=10", "/api/explain": "?head=NAME&relation=NAME&tail=NAME", "/api/entities": "?q=par", "/api/neighbours": "?entity=NAME" }[path] ?? "";
  return `curl '${location.origin}${path}${query}'`;
}

function parameters(api, { parameters: given }) {
  if (!given?.length) return null;
  return table(["parameter", "in", "what"], given.map((each) => [h("code", {}, each.name), each.in, [typeOf(api, each.schema), each.required ? ", needed" : "", each.description ? `: ${each.description}` : ""].join("")]));
}

function body(api, { requestBody }) {
  const schema = resolve(api, requestBody?.content?.["application/json"]?.schema);
  if (!schema?.properties) return null;
  return table(["in the body", "what"], Object.entries(schema.properties).map(([name, each]) => [h("code", {}, name), typeOf(api, each)]));
}

// The same for all: every refusal has a status, a word for programs and a sentence for people.
function refusals({ responses }) {
  const listed = Object.entries(responses).filter(([status]) => status !== "200");
  return h("details", { class: "panel operation" }, h("summary", {}, "What a refusal looks like"),
    h("pre", { tabindex: "0" }, '{"error": {"kind": "unknown_name", "message": "…", "suggestions": ["…"]}}'),
    table(["status", "when"], listed.map(([status, { description }]) => [h("code", {}, status), description])));
}

function table(columns, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": columns[0] }, h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
}

function resolve(api, schema) {
  const name = schema?.$ref?.split("/").at(-1);
  return name ? api.components.schemas[name] : schema;
}

function typeOf(api, schema) {
  const found = resolve(api, schema);
  if (!found) return "";
  if (found.anyOf) return found.anyOf.filter((each) => each.type !== "null").map((each) => typeOf(api, each)).join(" or ");
  if (found.enum) return found.enum.join(" or ");
  if (found.type === "array") return `list of ${typeOf(api, found.items)}`;
  if (found.properties) return `{${Object.keys(found.properties).join(", ")}}`;
  const limits = [found.minimum !== undefined ? `from ${found.minimum}` : "", found.maximum !== undefined ? `to ${found.maximum}` : ""].filter(Boolean).join(" ");
  return [found.type, limits].filter(Boolean).join(" ");
}
