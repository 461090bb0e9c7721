// Views that somebody saves: the address of a page with its filter, and its title, kept by this browser.
(() => {
  "use strict";

  const ROOT = "/dashboard";
  const MOST = 50;
  const box = document.getElementById("saved");
  const list = document.createElement("ul");

  // Another program of this site may have written anything there.
  function read() {
    try {
      const found = JSON.parse(localStorage.getItem("views") || "[]");
      const isView = (each) => each && typeof each.title === "string" && typeof each.path === "string";
      const isHere = ({ path }) => path === ROOT || path.startsWith(`${ROOT}/`) || path.startsWith(`${ROOT}?`);
      return Array.isArray(found) ? found.filter(isView).filter(isHere) : [];
    } catch {
      return [];
    }
  }

  function write(views) {
    try {
      localStorage.setItem("views", JSON.stringify(views.slice(-MOST)));
    } catch {
      // Without storage, a bookmark does the same.
    }
    show();
  }

  function make(tag, text, attributes) {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  function item(view) {
    const remove = make("button", "Remove", { type: "button", class: "link", "aria-label": `Remove ${view.title}` });
    remove.addEventListener("click", () => write(read().filter(({ path }) => path !== view.path)));
    const element = document.createElement("li");
    element.append(make("a", view.title, { href: view.path }), " ", remove);
    return element;
  }

  function titleOf() {
    const words = [...new URLSearchParams(location.search)].map(([name, value]) => `${name}: ${value}`);
    return [document.title.replace(" · Homeostat", ""), ...words].join(", ").slice(0, 200);
  }

  function show() {
    const save = make("button", "Save this view", { type: "button", class: "link" });
    save.addEventListener("click", () => {
      const path = location.pathname + location.search;
      write([...read().filter((each) => each.path !== path), { path, title: titleOf() }]);
    });
    const last = document.createElement("li");
    last.append(save);
    list.replaceChildren(...read().map(item), last);
  }

  const fold = document.createElement("details");
  fold.append(make("summary", "Saved views", {}), list);
  box.append(fold);
  box.hidden = !document.querySelector("header nav");
  window.addEventListener("storage", show);
  show();
})();
