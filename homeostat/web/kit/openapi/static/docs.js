// Sends the requests that somebody fills in, and shows the answers. Without it, the page has the commands alone.
(() => {
  "use strict";

  const LONGEST = 200000;
  const token = document.getElementById("token");

  function quoted(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
  }

  // What the form says: only fields that were filled in.
  function requestOf(form) {
    let path = form.dataset.path;
    const query = new URLSearchParams();
    const headers = {};
    for (const each of form.querySelectorAll("[data-in]")) {
      const value = each.value.trim();
      if (each.dataset.in === "path") path = path.replace(`{${each.name}}`, value ? encodeURIComponent(value) : `{${each.name}}`);
      else if (value && each.dataset.in === "query") query.append(each.name, value);
      else if (value && each.dataset.in === "header") headers[each.name] = value;
    }
    const body = form.querySelector("textarea");
    if (body && body.value.trim()) headers["Content-Type"] = "application/json";
    return {
      method: form.dataset.method,
      url: query.size ? `${path}?${query}` : path,
      headers,
      body: body && body.value.trim() ? body.value : undefined,
    };
  }

  // A token is a secret: the command names it, and does not contain it.
  function commandOf({ method, url, headers, body }, isStream) {
    const words = ["curl", ...(isStream ? ["-N"] : []), ...(method === "GET" ? [] : ["-X", method]), quoted(`${location.origin}${url}`)];
    if (token.value) words.push("-H", '"Authorization: Bearer $TOKEN"');
    for (const [name, value] of Object.entries(headers)) words.push("-H", quoted(`${name}: ${value}`));
    if (body) words.push("-d", quoted(body));
    return words.join(" ");
  }

  function pretty(text, type) {
    if (!type.includes("json")) return text;
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  async function send(form) {
    const { method, url, headers, body } = requestOf(form);
    const said = form.querySelector(".answer p");
    const shown = form.querySelector(".answer pre");
    const stop = form.querySelector(".stop");
    const aborted = new AbortController();
    const started = performance.now();
    form.querySelector(".answer").hidden = false;
    said.className = "";
    said.textContent = "Waiting for the answer ...";
    shown.textContent = "";
    stop.hidden = false;
    stop.onclick = () => aborted.abort();
    try {
      if (token.value) headers.Authorization = `Bearer ${token.value.trim()}`;
      const answer = await fetch(url, { method, headers, body, cache: "no-store", credentials: "omit", signal: aborted.signal });
      const took = Math.round(performance.now() - started);
      said.className = answer.ok ? "good" : "bad";
      said.textContent = `${answer.status} ${answer.statusText} in ${took} ms`;
      const type = answer.headers.get("Content-Type") || "";
      const decoder = new TextDecoder();
      let text = "";
      for (let reader = answer.body && answer.body.getReader(); reader && text.length < LONGEST; ) {
        const { done, value } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
        if (!type.includes("json")) shown.textContent = text;
      }
      const isLong = text.length >= LONGEST;
      if (isLong) aborted.abort();
      shown.textContent = isLong ? `${text.slice(0, LONGEST)}\n... (the rest is not shown)` : pretty(text, type);
    } catch (error) {
      if (aborted.signal.aborted) {
        said.textContent += "; stopped";
      } else {
        said.className = "bad";
        said.textContent = `No answer: ${error.message}`;
      }
    }
    shown.hidden = !shown.textContent;
    stop.hidden = true;
  }

  for (const form of document.querySelectorAll("form.try")) {
    const command = form.closest(".inside").querySelector("pre.command");
    const isStream = form.hasAttribute("data-stream");
    const follow = () => { command.textContent = commandOf(requestOf(form), isStream); };
    form.hidden = false;
    form.addEventListener("input", follow);
    token.addEventListener("input", follow);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  }
  document.querySelector(".token").hidden = false;
  // A link to an operation opens it.
  const open = () => {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (found && found.matches("details")) found.open = true;
  };
  window.addEventListener("hashchange", open);
  open();
})();
