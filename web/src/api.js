// Asks the server: the only place that sends requests, and only to where the page came from.
const SESSION = "nbfnet.session", TOKEN = "nbfnet.token";

export class ApiError extends Error {
  constructor(message, status, fault = {}) {
    super(message);
    this.status = status;
    this.kind = fault.kind;
    this.suggestions = fault.suggestions ?? [];
  }
}

export const session = {
  get id() { return sessionStorage.getItem(SESSION); },
  set id(value) { value ? sessionStorage.setItem(SESSION, value) : sessionStorage.removeItem(SESSION); },
};

export const token = {
  get value() { return sessionStorage.getItem(TOKEN); },
  set value(given) { given ? sessionStorage.setItem(TOKEN, given) : sessionStorage.removeItem(TOKEN); },
  // A link may carry the token behind '#', which no request ever contains.
  takeFromAddress() {
    const found = /^#token=(.+)$/.exec(location.hash);
    if (!found) return;
    this.value = decodeURIComponent(found[1]);
    history.replaceState(null, "", location.pathname + location.search);
  },
};

export async function get(path, parameters = {}, { whatIf = true, signal } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined && value !== null) query.append(name, value);
  const text = query.toString();
  return send("GET", text ? `${path}?${text}` : path, undefined, whatIf, signal);
}

export async function changeFacts(add, remove) {
  const found = await send("POST", "/api/facts", { add, remove }, true);
  session.id = found.session;
  return found;
}

export async function forgetFacts() {
  await send("DELETE", "/api/facts", undefined, true);
  session.id = null;
}

export async function sessionFacts() {
  if (!session.id) return { added: [], removed: [] };
  return get("/api/facts");
}

async function send(method, path, body, whatIf, signal) {
  const headers = { accept: "application/json" };
  if (token.value) headers.authorization = `Bearer ${token.value}`;
  if (whatIf && session.id) headers["nbfnet-session"] = session.id;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response, found;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
    found = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server cannot be reached. Is nbfnet serve still running?", 0);
  }
  if (response.ok) return found;
  const fault = found.error ?? {};
  if (fault.kind === "unknown_session") {
    session.id = null;  // the facts are gone; ask again without them
    return send(method, path, body, false, signal);
  }
  throw new ApiError(fault.message ?? `The server answered ${response.status}.`, response.status, fault);
}
