// Makes times relative and reloads the page regularly. Everything works without it.
(() => {
  "use strict";

  const EVERY_MS = 2000;
  const SLOWEST_MS = 30000;
  const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const live = document.getElementById("live");
  let tag = document.body.dataset.tag;
  let delay = EVERY_MS;
  let timer = 0;
  let asked = 0;

  function relate(root) {
    const now = Date.now();
    for (const each of root.querySelectorAll("time[datetime]")) {
      const then = Date.parse(each.dateTime);
      if (Number.isNaN(then)) continue;
      const seconds = Math.round((then - now) / 1000);
      const [size, unit] = UNITS.find(([size]) => Math.abs(seconds) >= size) || [1, "second"];
      const text = relative.format(Math.trunc(seconds / size), unit);
      if (each.textContent !== text) each.textContent = text;
      each.title = new Date(then).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
    }
  }

  // An element with an id stays the same element when it moves, so open details, focus and selection are kept.
  function become(old, fresh) {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    // What somebody has opened, what this script has written, and the class of a new run stay.
    const kept = old.matches(".history > li") ? ["open", "title", "class"] : ["open", "title"];
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (old.matches("input, select")) return;
    becomeChildren(old, fresh);
  }

  function becomeChildren(old, fresh) {
    const known = new Map([...old.children].filter((each) => each.id).map((each) => [each.id, each]));
    let at = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      let found = wanted.id ? known.get(wanted.id) : at;
      if (found && (found.nodeName !== wanted.nodeName || (found.id || "") !== (wanted.id || ""))) found = null;
      if (!found) {
        if (wanted.id && old.matches(".history")) wanted.classList.add("fresh");
        old.insertBefore(wanted, at);
      } else {
        if (found === at) at = at.nextSibling;
        else old.insertBefore(found, at);
        become(found, wanted);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function say(text, isLost) {
    live.classList.toggle("lost", isLost);
    if (live.textContent !== text) live.textContent = text;
  }

  // Of a log, and of the output of a run, the newest lines are shown, unless somebody has scrolled up.
  const findLog = () => document.querySelector("#log, .run > pre:last-child");

  function endOfLog() {
    const log = findLog();
    return !log || log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  }

  function showEndOfLog() {
    const log = findLog();
    if (log) log.scrollTop = log.scrollHeight;
  }

  async function look() {
    const number = ++asked;
    const answer = await fetch(location.href, {
      headers: { "If-None-Match": `"${tag}"` },
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",
    });
    if (answer.type === "opaqueredirect") return location.reload();
    if (answer.status !== 304 && answer.status >= 500) throw new Error(`answered ${answer.status}`);
    if (answer.status !== 304) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (number !== asked || !page.body.dataset.tag) return undefined;
      const isAtEnd = endOfLog();
      become(document.getElementById("main"), page.getElementById("main"));
      if (isAtEnd) showEndOfLog();
      const links = document.querySelector("header nav");
      if (links) become(links, page.querySelector("header nav"));
      document.title = page.title;
      tag = page.body.dataset.tag;
      document.body.toggleAttribute("data-live", page.body.hasAttribute("data-live"));
    }
    relate(document);
    countBoxes();
    return undefined;
  }

  async function lookAgain() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        await look();
        delay = EVERY_MS;
        say(document.body.hasAttribute("data-live") ? "Live" : "", false);
      } catch {
        delay = Math.min(delay * 2, SLOWEST_MS);
        say("No connection; this page may be out of date. Retrying ...", true);
      }
    }
    clearTimeout(timer);
    if (document.body.hasAttribute("data-live") || delay > EVERY_MS) timer = setTimeout(lookAgain, delay);
  }

  // A changed filter is applied at once, in the same page.
  function follow(form) {
    let pause = 0;
    const go = () => {
      const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      history.replaceState(null, "", query.size ? `${form.action}?${query}` : form.action);
      lookAgain();
    };
    form.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(go, 200);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      go();
    });
  }

  // Dense tables, remembered by this browser.
  function offerDense(button) {
    const show = (isDense) => {
      document.documentElement.classList.toggle("dense", isDense);
      button.setAttribute("aria-pressed", String(isDense));
    };
    button.hidden = false;
    try {
      show(localStorage.getItem("dense") === "yes");
    } catch {
      show(false);
    }
    button.addEventListener("click", () => {
      const isDense = button.getAttribute("aria-pressed") !== "true";
      show(isDense);
      try {
        localStorage.setItem("dense", isDense ? "yes" : "");
      } catch {
        // Without storage, it lasts until the next page.
      }
    });
  }

  // Boxes of rows: one for all, a range with Shift, and how many are selected. Rows come and go, so the page listens.
  function followBoxes() {
    const boxes = () => [...document.querySelectorAll("td.pick input[form]")];
    let last = null;
    const count = () => {
      const picked = document.getElementById("picked");
      const all = document.getElementById("pick-all");
      if (!picked) return;
      const every = boxes();
      const number = every.filter((each) => each.checked).length;
      const text = number ? `${number} selected` : "";
      if (picked.textContent !== text) picked.textContent = text;
      all.checked = number > 0 && number === every.length;
      all.indeterminate = number > 0 && number < every.length;
    };
    document.addEventListener("click", (event) => {
      if (event.target.id === "pick-all") {
        for (const each of boxes()) each.checked = event.target.checked;
      } else if (event.target.matches("td.pick input")) {
        const every = boxes();
        const [from, to] = [every.indexOf(last), every.indexOf(event.target)].sort((one, other) => one - other);
        if (event.shiftKey && from >= 0) for (const each of every.slice(from, to)) each.checked = event.target.checked;
        last = event.target;
      } else {
        return;
      }
      count();
    });
    return count;
  }

  // A link to a run opens it.
  function openTarget() {
    const found = document.getElementById(location.hash.slice(1));
    const fold = found && found.querySelector("details");
    if (fold) fold.open = true;
  }

  // A drawing that is larger than its frame begins at the box in focus, else at its first column.
  function showFocus(frame) {
    const box = frame.querySelector(".node.focus") || frame.querySelector(".node");
    if (!box) return;
    const [here, at] = [frame.getBoundingClientRect(), box.getBoundingClientRect()];
    const isFocus = box.classList.contains("focus");
    frame.scrollTop = isFocus ? at.top - here.top - (here.height - at.height) / 2 : (frame.scrollHeight - here.height) / 2;
    if (isFocus) frame.scrollLeft = at.left - here.left - (here.width - at.width) / 2;
  }

  document.documentElement.classList.add("scripted");
  openTarget();
  window.addEventListener("hashchange", openTarget);
  const countBoxes = followBoxes();
  countBoxes();
  offerDense(document.getElementById("dense"));
  relate(document);
  showEndOfLog();
  for (const frame of document.querySelectorAll(".graph")) showFocus(frame);
  // On a narrow screen the sections scroll sideways.
  for (const here of document.querySelectorAll("header nav [aria-current], .tabs [aria-current]")) {
    const list = here.closest(".tabs") || here.closest("ul");
    list.scrollLeft = here.offsetLeft - list.offsetLeft - 40;
  }
  for (const form of document.querySelectorAll("form.filter")) follow(form);
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("q");
    if (event.key === "/" && search && !event.target.matches("input, select, textarea")) {
      event.preventDefault();
      search.focus();
    }
  });
  if (document.body.hasAttribute("data-live")) {
    document.addEventListener("visibilitychange", () => document.hidden || lookAgain());
    timer = setTimeout(lookAgain, EVERY_MS);
  } else {
    setInterval(() => relate(document), 10000);
  }
})();
