export function percent(probability) {
  if (probability === null || probability === undefined) return "–";
  if (probability > 0 && probability < 0.001) return "<0.1%";
  if (probability < 1 && probability > 0.999) return ">99.9%";
  return `${(100 * probability).toFixed(1)}%`;
}

export const count = (number) => number.toLocaleString("en");
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

// How the score changes when something is deleted: a drop is a fall.
export function change(drop) {
  if (drop === null) return "–";
  const rounded = Number((-drop).toFixed(2));
  return rounded === 0 ? "0.00" : `${rounded > 0 ? "+" : "−"}${Math.abs(rounded).toFixed(2)}`;
}
