// Every view has its own address; back and forward show it again.
const views = new Map();
let render = () => {};

export function address(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) query.set(name, value === true ? "1" : value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export const entityAddress = (name) => address("/entity", { name });

export function view(path, show) {
  views.set(path, show);
}

export function navigate(to, { replace = false } = {}) {
  if (to === location.pathname + location.search) replace = true;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  render({ moved: !replace });
}

// Changes the address without drawing the view again: what a control inside of the view selects.
export function noteInAddress(parameters) {
  const now = Object.fromEntries(new URLSearchParams(location.search));
  history.replaceState(null, "", address(location.pathname, { ...now, ...parameters }));
}

export function start(draw) {
  render = (how) => draw(views.get(location.pathname), new URLSearchParams(location.search), how);
  addEventListener("popstate", () => render({ moved: true }));
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='/']");
    const plain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link || !plain || link.hasAttribute("download") || link.pathname.startsWith("/api/")) return;
    event.preventDefault();
    navigate(link.getAttribute("href"));
  });
  render({ moved: false });
}

export const redraw = () => render({ moved: false });
