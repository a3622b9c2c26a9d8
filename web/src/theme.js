// Light or dark: as the system is, unless a person chose.
const KEY = "nbfnet.theme";
const listeners = new Set();

export const isDark = () => document.documentElement.dataset.theme === "dark";

export function applyTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = localStorage.getItem(KEY) ?? (system.matches ? "dark" : "light");
    for (const listener of listeners) listener();
  };
  system.addEventListener("change", apply);
  apply();
}

export function toggleTheme() {
  const chosen = isDark() ? "light" : "dark";
  localStorage.setItem(KEY, chosen);
  document.documentElement.dataset.theme = chosen;
  for (const listener of listeners) listener();
}

export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
