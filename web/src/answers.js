import { h } from "./dom.js";
import { named, visible } from "./inert.js";
import { percent } from "./numbers.js";
import { entityAddress } from "./router.js";

// The ranked answers of a prediction; each leads to its explanation.
export function answerList(prediction, whyAddress, { before, label = "Answers" } = {}) {
  const places = before && new Map(before.answers.map((answer) => [answer.name, answer]));
  return h("ol", { class: "answers", "aria-label": label }, prediction.answers.map((answer) => {
    const probability = answer.probability ?? 0;
    return h("li", { class: answer.known ? "known" : "" },
      h("a", { class: "answer", href: whyAddress(answer), title: "Why?" },
        h("span", { class: "rank" }, answer.known ? "" : String(answer.rank)),
        h("span", { class: "who" }, h("span", { class: "name" }, named(answer)), answer.type && h("span", { class: "type" }, visible(answer.type)),
          answer.known && h("span", { class: "badge" }, "known")),
        h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width: `${Math.max(0.5, 100 * probability)}%` } })),
        h("span", { class: "percent" }, percent(answer.probability)),
        places ? h("span", { class: "moved" }, moved(places.get(answer.name), answer)) : null,
      ),
      prediction.asked === "relation" ? null : h("a", { class: "walk", href: entityAddress(answer.name), "aria-label": `Go to ${visible(answer.label)}`, title: "Go to this entity" }, "→"));
  }));
}

function moved(before, now) {
  if (!before) return h("span", { class: "up" }, "new");
  const difference = (now.probability ?? 0) - (before.probability ?? 0);
  if (Math.abs(difference) < 0.0005) return h("span", { class: "muted" }, "=");
  const points = `${difference > 0 ? "+" : "−"}${(100 * Math.abs(difference)).toFixed(1)}`;
  return h("span", { class: difference > 0 ? "up" : "down", title: "percentage points" }, points);
}
