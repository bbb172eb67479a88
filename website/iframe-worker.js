// Search for pages that are opened from a disk: browsers start no workers there, so a hidden frame does a worker's work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.ready = new Promise((resolve) => {
        const begin = () => {
          const element = document.createElement("iframe");
          element.hidden = true;
          document.body.append(element);
          const frame = element.contentWindow;
          frame.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = frame.document.createElement("script");
          script.src = address;
          script.onload = () => resolve(frame);
          frame.document.body.append(script);
        };
        document.body ? begin() : addEventListener("DOMContentLoaded", begin);
      });
    }

    async postMessage(data) {
      const frame = await this.ready;
      frame.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
