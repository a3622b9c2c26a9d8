import { visible } from "./inert.js";

export function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = visible(name).replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function csv(rows) {
  const cell = (value) => /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export async function copy(text, button, page) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy it";
  }
  page.say(button.textContent);
  setTimeout(() => { button.textContent = said; }, 1500);
}
