// The search runs in a worker. A browser starts none for a page that was opened from a disk; a hidden frame runs the same script.
if (location.protocol === "file:") {
  // As between threads: a copy, and later.
  const send = (data, deliver) => {
    const copy = structuredClone(data);
    setTimeout(() => deliver(new MessageEvent("message", { data: copy })));
  };
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.terminate = () => frame.remove();
      this.started = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => send(data, (event) => this.deliver(event));
          const script = inside.document.createElement("script");
          script.addEventListener("load", () => resolve(inside));
          script.src = url;
          inside.document.head.append(script);
        }, { once: true });
      });
      document.documentElement.append(frame);
    }

    deliver(event) {
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.started.then((inside) => send(data, (event) => inside.dispatchEvent(event)));
    }
  };
}
