// The review page in a notebook, as a module of anywidget: messages of the model reach Python.

const STYLE = {{style}};
const BODY = {{body}};
const PATIENCE = 10_000; // milliseconds until a kernel is said not to answer

// Every view of a model hears all answers; a view knows its own by their ids.
function messagesOf(model) {
  const name = Math.random().toString(36).slice(2), waiting = new Map(), followers = [];
  let n = 0;
  const hear = ({ id, step, answer, error }) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (asked) error === undefined ? asked.resolve(answer) : asked.reject(new Error(error));
    else if (step && error === undefined) followers.forEach((act) => act(answer));
  };
  const ask = (question, patience) => new Promise((resolve, reject) => {
    const id = `${name}-${n += 1}`;
    waiting.set(id, { resolve, reject });
    model.send({ id, ...question });
    if (patience) setTimeout(() => {
      waiting.delete(id); // should an answer come later, it is followed as that of another view
      reject(new Error("The kernel does not answer. If it is busy, this is done when it is free; if it was stopped, run the cell again."));
    }, patience);
  });
  model.on("msg:custom", hear);
  return {
    open: () => ask({ open: true }),
    rule: (id) => ask({ rule: id }, PATIENCE),
    step: (step) => ask({ step }, PATIENCE),
    follow: (act) => followers.push(act),
    close: () => model.off("msg:custom", hear),
  };
}

// Whether what a notebook shows behind an element is dark; undefined where it shows nothing.
function isDarkBehind(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    const [red, green, blue, alpha = 1] = (colour.startsWith("rgb") ? colour.match(/[\d.]+/g) : [0, 0, 0, 0]).map(Number);
    if (alpha > 0.5) return 0.3 * red + 0.6 * green + 0.1 * blue < 128;
  }
  return undefined;
}

// Nothing of the page's style comes out of a shadow root, and no style of the notebook in.
async function render({ model, el }) {
  const host = document.createElement("div"), root = host.attachShadow({ mode: "open" });
  const style = new CSSStyleSheet(), link = messagesOf(model);
  style.replaceSync(STYLE);
  root.adoptedStyleSheets = [style];
  root.innerHTML = '<div class="page review embedded" role="region" aria-label="Review of rules"><div class="sheet">Waiting for the kernel</div></div>';
  // Keys of the page are none of the notebook's, where x would cut a cell.
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  el.append(host);
  const sheet = root.querySelector(".sheet");
  link.open().then((data) => {
    const isDark = isDarkBehind(el);
    if (isDark !== undefined) host.dataset.theme = isDark ? "dark" : "light";
    sheet.innerHTML = BODY;
    openReview(root, data, link, host, isDark);
  }).catch((error) => { sheet.textContent = error.message; });
  return () => { link.close(); host.remove(); };
}

export default { render };
