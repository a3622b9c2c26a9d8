import { h } from "./dom.js";

// Characters that reorder, hide or break what is shown are written out, as the command line writes them.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu;

export function visible(text) {
  return text.replace(HIDDEN, (c) => {
    const code = c.codePointAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

export function shortened(text, length = 60) {
  const characters = [...visible(text)];
  return characters.length <= length ? characters.join("") : characters.slice(0, length - 1).join("") + "…";
}

// A name in the page: isolated, so that its writing direction stays its own.
export function named(thing) {
  return h("bdi", { title: thing.label === thing.name ? undefined : visible(thing.name) }, visible(thing.label));
}
