// The keyboard palette (Ctrl+K, or the button in the header): pages, kinds and objects by name; and copying of commands.
(() => {
  "use strict";

  const button = document.getElementById("palette-open");

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function makePalette() {
    const entry = make("input", {
      type: "search", id: "palette-q", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-found",
      "aria-autocomplete": "list", "aria-label": "Go to", placeholder: "Go to a page, a kind or an object", autocomplete: "off", spellcheck: "false",
      maxlength: "253",
    });
    const found = make("ul", { id: "palette-found", role: "listbox", "aria-label": "Found" });
    const hint = make("p", { class: "note" }, "↑ ↓ to choose, Enter to go, Esc to close. “deploy web” searches one kind.");
    const dialog = make("dialog", { class: "palette", "aria-label": "Go to" }, entry, found, hint);
    document.body.append(dialog);
    let places = [];
    let chosen = 0;
    let asked = 0;
    let pause = 0;

    function choose(at) {
      chosen = Math.max(0, Math.min(at, places.length - 1));
      [...found.children].forEach((each, index) => {
        each.setAttribute("aria-selected", String(index === chosen));
        if (index === chosen) {
          each.scrollIntoView({ block: "nearest" });
          entry.setAttribute("aria-activedescendant", each.id);
        }
      });
    }

    function show(list) {
      places = list;
      found.replaceChildren(...list.map((each, at) => {
        const link = make("a", { href: each.path, tabindex: "-1" }, each.title, make("span", { class: "note" }, each.note));
        return make("li", { role: "option", id: `palette-${at}`, "aria-selected": "false" }, link);
      }));
      hint.hidden = false;
      if (!list.length && entry.value) found.replaceChildren(make("li", { class: "quiet", role: "option", "aria-selected": "false" }, "Nothing found."));
      choose(0);
    }

    async function find() {
      const number = ++asked;
      try {
        const answer = await fetch(`/dashboard/find?${new URLSearchParams({ q: entry.value })}`, { credentials: "same-origin", cache: "no-store" });
        const body = await answer.json();
        if (number === asked) show(body.found || []);
      } catch {
        if (number === asked) show([]);
      }
    }

    entry.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(find, 120);
    });
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (places[chosen]) location.assign(places[chosen].path);
      }
    });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    return () => {
      if (dialog.open) return;
      entry.value = "";
      show([]);
      dialog.showModal();
      entry.focus();
      find();
    };
  }

  if (button) {
    let open = null;
    const toggle = () => (open = open || makePalette())();
    button.hidden = false;
    button.addEventListener("click", toggle);
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        toggle();
      }
    });
  }

  async function copy(command) {
    if (!command || !navigator.clipboard) return;
    try {
      await navigator.clipboard.writeText(command.textContent);
      command.classList.add("copied");
      setTimeout(() => command.classList.remove("copied"), 1200);
    } catch {
      // Without the permission, somebody selects and copies.
    }
  }

  // A click selects the whole command first. Somebody who has selected something else is about to copy that.
  document.addEventListener("click", (event) => {
    const command = event.target.closest("code.command");
    if (command && ["", command.textContent].includes(String(getSelection()).trim())) copy(command);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("code.command")) copy(event.target);
  });
})();
