import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { named, visible } from "./inert.js";

let boxes = 0;

// A search box with completion over all entities: type, arrow keys, Enter, Escape.
export function searchBox({ label, placeholder = "Search", onPick, free = false, large = false }) {
  const id = `search-${(boxes += 1)}`;
  const input = h("input", {
    type: "search", id, role: "combobox", autocomplete: "off", spellcheck: false, placeholder, "aria-label": label,
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
  });
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": "Suggestions", class: "suggestions", hidden: true });
  const element = h("div", { class: large ? "search large" : "search" }, input, list);
  let found = [], active = -1, request = null, timer = 0;

  const close = () => { list.hidden = true; active = -1; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const pick = (entity) => { input.value = free ? entity.name : ""; close(); onPick?.(entity); };
  const mark = (next) => {
    active = next;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    const item = list.children[active];
    item ? input.setAttribute("aria-activedescendant", item.id) : input.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  };
  const show = (entities) => {
    found = entities;
    const typed = input.value.trim();
    if (free && entities.some(({ name, label }) => name === typed || label === typed)) return close(); // nothing to choose
    replace(list, entities.length
      ? entities.map((entity, i) => h("li", { id: `${id}-${i}`, role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); pick(entity); } },
          h("span", { class: "name" }, named(entity)), entity.type && h("span", { class: "type" }, visible(entity.type))))
      : h("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, free ? "A new entity" : "No entity has such a name"));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(!free && entities.length && input.value.trim() ? 0 : -1);
  };
  const ask = async () => {
    request?.abort();
    request = new AbortController();
    try {
      const answer = await get("/api/entities", { q: input.value, limit: 8 }, { whatIf: false, signal: request.signal });
      if (document.activeElement === input) show(answer.entities);
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 60); });
  input.addEventListener("focus", () => { if (input.value.trim()) ask(); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && list.hidden) { event.preventDefault(); ask(); }
    else if (event.key === "ArrowDown") { event.preventDefault(); mark(Math.min(active + 1, found.length - 1)); }
    else if (event.key === "ArrowUp") { event.preventDefault(); mark(Math.max(active - 1, 0)); }
    else if (event.key === "Escape" && !list.hidden) { event.preventDefault(); close(); }
    else if (event.key === "Enter" && !list.hidden && found[active]) { event.preventDefault(); pick(found[active]); }
  });
  return { element, input };
}
