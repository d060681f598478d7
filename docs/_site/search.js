// A page that is opened as a file may not start a worker, which the search runs in. There the same
// script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.queue = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.append(this.frame);
      const inside = this.frame.contentDocument;
      inside.open();
      inside.write("<!doctype html><title>search</title>");
      inside.close();
      const view = this.frame.contentWindow;
      view.postMessage = (data) => this.dispatch(data);
      view.importScripts = (...urls) => Promise.all(urls.map((at) => this.load(at)));
      this.load(url).then(() => {
        const waiting = this.queue;
        this.queue = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }
    load(url) {
      return new Promise((done) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = done;
        this.frame.contentDocument.head.append(script);
      });
    }
    dispatch(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    postMessage(data) {
      if (this.queue) this.queue.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() { this.frame.remove(); }
  };
}
