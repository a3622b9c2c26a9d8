import { ApiError, get, token } from "./api.js";
import { h, replace } from "./dom.js";
import { visible } from "./inert.js";
import { entityAddress, navigate, redraw } from "./router.js";
import { searchBox } from "./search_box.js";
import { isDark, toggleTheme } from "./theme.js";

// What stands around every view: the header with the search, the view itself, and a voice for screen readers.
export function shell() {
  const main = h("main", { id: "main", tabindex: "-1" });
  const voice = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  const graph = h("span", { class: "graph-name" });
  const search = searchBox({ label: "Search for an entity", onPick: (found) => navigate(entityAddress(found.name)) });
  const header = h("header", { class: "top" },
    h("a", { href: "/", class: "mark", "aria-label": "nbfnet, start page" }, h("img", { src: "/icon.svg", alt: "", width: 26, height: 26 }), h("span", { class: "word" }, "nbfnet")),
    graph,
    h("div", { class: "top-search" }, search.element),
    h("nav", { "aria-label": "Pages" }, h("a", { href: "/card" }, "Model card"), h("a", { href: "/docs" }, "API"), themeButton()),
  );
  document.body.replaceChildren(
    h("a", { href: "#main", class: "skip", onclick: (event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"),
    header, main, voice,
    h("footer", {}, h("a", { href: "/licences" }, "Licences"), h("span", {}, "Nothing leaves this machine.")),
  );
  get("/api/health").then((health) => replace(graph, h("bdi", {}, visible(health.graph)))).catch(() => {});
  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, textarea, select");
    if (event.key === "/" && !typing) { event.preventDefault(); (main.querySelector("input[role=combobox]") ?? search.input).focus(); }
  });
  return drawer(main, voice, header);
}

function themeButton() {
  const button = h("button", { type: "button", class: "quiet", onclick: () => { toggleTheme(); name(); } });
  const name = () => { button.textContent = isDark() ? "☀" : "☾"; button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours"); };
  name();
  return button;
}

// Draws a view; one that was left before it was ready never appears.
function drawer(main, voice, header) {
  let current = { leave: [] };
  return async (show, parameters, { moved }) => {
    current.left = true;
    for (const leave of current.leave) leave();
    const visit = (current = { leave: [], left: false });
    const page = {
      onLeave: (leave) => visit.leave.push(leave),
      say: (text) => { voice.textContent = text; },
      isLeft: () => visit.left,
    };
    main.setAttribute("aria-busy", "true");
    header.classList.toggle("at-home", location.pathname === "/");
    for (const link of header.querySelectorAll("nav a")) {
      link.getAttribute("href") === location.pathname ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    }
    let content;
    try {
      content = show ? await show(parameters, page) : notFound();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof ApiError)) console.error(error);
      content = failure(error);
    }
    if (visit.left) return;
    replace(main, content);
    main.removeAttribute("aria-busy");
    const title = main.querySelector("h1");
    document.title = title ? `${title.textContent} · nbfnet` : "nbfnet";
    if (moved) {
      scrollTo({ top: 0 });
      title?.setAttribute("tabindex", "-1");
      title?.focus({ preventScroll: true });
    }
    visit.leave.push(...(page.ready?.() ?? []));
  };
}

function notFound() {
  return h("section", { class: "message" }, h("h1", {}, "There is no such page"), h("p", {}, "The address does not lead to a view of this page."), h("a", { href: "/", class: "button" }, "Start page"));
}

function failure(error) {
  if (error.status === 401) return tokenForm();
  const known = error instanceof ApiError;
  const title = error.status === 404 ? "Not in this graph" : error.status >= 400 && error.status < 500 ? "This cannot be answered" : "Something went wrong";
  return h("section", { class: "message", role: "alert" },
    h("h1", {}, title),
    h("p", {}, known ? sentence(visible(error.message)) : "The page met an error. Its details are in the browser's console."),
    error.suggestions?.length ? h("ul", { class: "chips" }, error.suggestions.map((name) => h("li", {}, h("a", { class: "chip", href: entityAddress(name) }, visible(name))))) : null,
    h("div", { class: "row" },
      error.status === 404 ? null : h("button", { type: "button", class: "button", onclick: redraw }, "Try again"),
      h("a", { href: "/", class: "button plain" }, "Start page")),
  );
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function tokenForm() {
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const submit = (event) => { event.preventDefault(); token.value = input.value.trim(); redraw(); };
  return h("section", { class: "message" },
    h("h1", {}, "This server asks for a token"),
    h("p", {}, "Whoever started it with --token can tell you."),
    h("form", { class: "row", onsubmit: submit }, h("label", { for: "token" }, "Token"), input, h("button", { class: "button" }, "Continue")),
  );
}
