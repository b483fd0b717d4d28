/* Search in pages that are opened from a disk: browsers start no worker there, so that its script
   runs in a frame of the page. The theme looks for it by this name. */
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((done) => {
        const script = inside.document.createElement("script");
        script.onload = () => done(inside);
        script.src = url;
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  }
  window.Worker = window.IFrameWorker = IFrameWorker;
}
