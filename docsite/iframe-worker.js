// Search in a site that was opened from a disk. Browsers start no worker from a file: address, but a script in a frame may be
// one, so there a frame plays the worker: what it posts comes here, what is posted to it goes there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const script = new URL(address, location.href).href.replace(/"/g, "%22");
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script>
        self.importScripts = (...all) => all.forEach((one) => document.write('<script src="' + one + '"><\\/script>'));
        self.postMessage = (data) => parent.postMessage({ fromWorker: data }, "*");
        self.told = (data) => dispatchEvent(new MessageEvent("message", { data }));
      <\/script><script src="${script}"><\/script>`;
      this.ready = new Promise((done) => this.frame.addEventListener("load", done));
      addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow || !event.data || !("fromWorker" in event.data)) return;
        const told = new MessageEvent("message", { data: event.data.fromWorker });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      });
      document.body.append(this.frame);
    }
    // A copy, as a worker gets one: search rewrites the query that it is given, and the box shows the page's own.
    postMessage(data) {
      const copy = structuredClone(data);
      this.ready.then(() => this.frame.contentWindow.told(copy));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
