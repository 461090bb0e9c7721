// Zooms and drags drawings of boxes and arrows. Without it, they scroll.
(() => {
  "use strict";

  const STEP = 1.25;
  const LEAST = 0.2;
  const MOST = 3;
  const KEYS = { "+": "in", "=": "in", "-": "out", "_": "out", "0": "fit" };
  const main = document.getElementById("main");
  let scale = 1;
  let drag = null;
  let wasDragged = false;

  const frameOf = (target) => target.closest && target.closest(".graph");
  const sizeOf = (svg) => [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];

  // A page that changes brings its drawings in their own size, so this is called again.
  function apply() {
    for (const svg of main.querySelectorAll(".graph > svg")) {
      const [width, height] = sizeOf(svg).map((each) => (scale === 1 ? "" : `${Math.round(each * scale)}px`));
      if (svg.style.width !== width) svg.style.width = width;
      if (svg.style.height !== height) svg.style.height = height;
    }
    const text = `${Math.round(scale * 100)}%`;
    for (const each of main.querySelectorAll(".zoom output")) if (each.textContent !== text) each.textContent = text;
  }

  // What is at this point of the frame stays there.
  function zoom(frame, wanted, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
    const before = scale;
    scale = Math.min(Math.max(wanted, LEAST), MOST);
    if (Math.abs(scale - 1) < 0.01) scale = 1;
    const [left, top] = [frame.scrollLeft + x, frame.scrollTop + y].map((each) => (each * scale) / before);
    apply();
    frame.scrollLeft = left - x;
    frame.scrollTop = top - y;
    try {
      sessionStorage.setItem("zoom", String(scale));
    } catch {
      // Without storage, it lasts until the next page.
    }
  }

  function fit(frame) {
    const [width, height] = sizeOf(frame.querySelector("svg"));
    const style = getComputedStyle(frame);
    const wide = frame.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const high = parseFloat(style.maxHeight) - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    zoom(frame, Math.min(wide / width, high / height || 1, 1));
  }

  function act(frame, what) {
    if (what === "fit") fit(frame);
    else zoom(frame, what === "in" ? scale * STEP : scale / STEP);
  }

  document.addEventListener("click", (event) => {
    if (wasDragged && frameOf(event.target)) {
      event.preventDefault();
      return;
    }
    const button = event.target.closest("[data-zoom]");
    const frame = button && button.closest("figure").querySelector(".graph");
    if (frame) act(frame, button.dataset.zoom);
  }, true);

  document.addEventListener("keydown", (event) => {
    const frame = frameOf(event.target);
    if (!frame || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    act(frame, KEYS[event.key]);
  });

  // The wheel scrolls; with Ctrl, which also stands for two fingers, it zooms.
  document.addEventListener("wheel", (event) => {
    const frame = frameOf(event.target);
    if (!frame || !event.ctrlKey) return;
    event.preventDefault();
    const here = frame.getBoundingClientRect();
    zoom(frame, scale * Math.exp(-event.deltaY / 300), event.clientX - here.left, event.clientY - here.top);
  }, { passive: false });

  // A finger scrolls by itself.
  document.addEventListener("pointerdown", (event) => {
    const frame = frameOf(event.target);
    wasDragged = false;
    drag = frame && event.button === 0 && event.pointerType !== "touch" ? { frame, x: event.clientX, y: event.clientY } : null;
  });
  document.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!wasDragged && Math.hypot(x, y) < 5) return;
    wasDragged = true;
    drag.frame.classList.add("dragged");
    drag.frame.scrollBy(-x, -y);
    [drag.x, drag.y] = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, () => {
      if (drag) drag.frame.classList.remove("dragged");
      drag = null;
    });
  }
  // Boxes are links, and a browser would drag those themselves.
  document.addEventListener("dragstart", (event) => {
    if (frameOf(event.target)) event.preventDefault();
  });

  const frame = main.querySelector(".graph");
  try {
    if (frame) zoom(frame, Number(sessionStorage.getItem("zoom")) || 1);
  } catch {
    // Without storage, each page begins with its own size.
  }
  new MutationObserver(apply).observe(main, { attributes: true, attributeFilter: ["style", "viewBox"], childList: true, subtree: true });
})();
