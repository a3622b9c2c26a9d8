import { h } from "./dom.js";
import { copy } from "./download.js";
import { visible } from "./inert.js";

// The same on the command line, to copy.
export function commandLine(text, page, whatIf) {
  const button = h("button", { type: "button", class: "small plain", onclick: () => copy(text, button, page) }, "Copy");
  return h("details", { class: "command" }, h("summary", {}, "Command line"),
    h("div", { class: "row" }, h("code", { tabindex: "0" }, visible(text)), button),
    whatIf ? h("p", { class: "muted small" }, "Without the what-if facts: give those in a file, with --more-facts.") : null);
}
