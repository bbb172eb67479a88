// The review page, after makers.js of the report: the same in a browser and in a notebook.

const ROW = 64, SPARE = 8; // height of a row, and rows made beyond those in sight

// --- Counting beyond bounds -----------------------------------------------------------------------

// About how many values lie below x, and whether that is exact: as Sketch.below in sketch.py.
function below(sketch, x, isInclusive) {
  const { values, ranks, n } = sketch;
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x || (isInclusive && values[middle] === x)) low = middle + 1;
    else high = middle;
  }
  if (low === values.length) return [n, true];
  const rank = ranks[low], before = low ? ranks[low - 1] : -1;
  if (rank - before <= 1) return [rank, true];
  return [before + 1 + (rank - before - 1) * (x - values[low - 1]) / (values[low] - values[low - 1]), false];
}

function beyond(sketch, lower, upper) {
  const under = isKnown(lower) ? below(sketch, lower, false) : [0, true];
  const up_to = isKnown(upper) ? below(sketch, upper, true) : [sketch.n, true];
  return { under: under[0], over: sketch.n - up_to[0], isExact: under[1] && up_to[1] };
}

const WIDTH = 640, HEIGHT = 200, EDGE = 14, BINS = 64;

function range(rule) {
  const { values, ranks, n } = rule.sketch;
  const ends = [rule.lower, rule.upper].filter(isKnown);
  const at = (share) => values[Math.min(values.length - 1, ranks.findIndex((rank) => rank >= share * (n - 1)))];
  let low = Math.min(at(0.002), ...ends), high = Math.max(at(0.998), ...ends);
  if (low === high) [low, high] = [low - 1, high + 1];
  const room = 0.08 * (high - low);
  return [low - room, high + room];
}

// Bins of whole numbers begin between two of them, and hold equally many: else they look like a comb.
function binned(rule) {
  const [low, high] = range(rule);
  if (!rule.sketch.values.every(Number.isInteger)) return [low, high, BINS];
  const first = Math.floor(low) - 0.5, width = Math.ceil((high - first) / BINS);
  const bins = Math.ceil((high - first) / width);
  return [first, first + bins * width, bins];
}

const parse = (text) => {
  const value = text.trim() === "" ? null : Number(text.trim().replace(",", "."));
  return value === null || Number.isFinite(value) ? value : undefined;
};

// --- The page -------------------------------------------------------------------------------------

// Draws the page in `root`, a document or a shadow root that holds review_body.html. `link` reaches
// Python: rule(id) and step(step) promise an answer or fail with what to tell, and follow(act) has
// `act` called with the answers to steps that were taken in another view. Colours are set on `place`.
function openReview(root, data, link, place, isDark) {
  const find = (id) => root.getElementById(id);
  const rules = data.rules, count = rules.id.length;

  // --- State ----------------------------------------------------------------------------------------

  let decisions = new Map(data.decisions.map((one) => [one.id, one]));
  const folded = rules.text.map((text, i) => `${text} ${rules.id[i]}`.toLowerCase());
  const state = { shown: [], at: 0, opened: null, axis: null };
  const cache = new Map(); // rule id -> what Python said of it

  const hasEnded = (one) => isKnown(one.until) && one.until < data.today;
  const verdictOf = (i) => decisions.get(rules.id[i])?.verdict ?? "open";
  const FILTERS = [
    ["all", "all", () => true],
    ["open", "not decided", (i) => verdictOf(i) === "open"],
    ["accepted", "accepted", (i) => verdictOf(i) === "accepted"],
    ["rejected", "rejected", (i) => verdictOf(i) === "rejected"],
    ["waived", "waived", (i) => verdictOf(i) === "waived"],
  ];

  // --- The list -------------------------------------------------------------------------------------

  const list = find("list"), tall = find("tall");

  function refilter(keep) {
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const keeps = FILTERS.find(([key]) => key === find("filter").value)[2];
    state.shown = [];
    for (let i = 0; i < count; i += 1) {
      if (keeps(i) && words.every((word) => folded[i].includes(word))) state.shown.push(i);
    }
    const place = isKnown(keep) ? state.shown.indexOf(keep) : -1;
    tall.style.height = `${Math.max(1, state.shown.length) * ROW}px`;
    find("status").textContent = state.shown.length === count
      ? `${whole(count)} rules` : `${whole(state.shown.length)} of ${whole(count)} rules`;
    move(place >= 0 ? place : Math.min(state.at, Math.max(0, state.shown.length - 1)));
  }

  function paint() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
    const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
    const made = [];
    for (let place = first; place < last; place += 1) made.push(makeRow(place));
    if (!state.shown.length) made.push(element("div", { class: "nothing", role: "presentation" }, "No rule fits. Change the search or show all."));
    tall.replaceChildren(...made);
    const here = find(`row-${state.at}`);
    if (here) list.setAttribute("aria-activedescendant", here.id);
    else list.removeAttribute("aria-activedescendant");
  }

  function badge(i) {
    const one = decisions.get(rules.id[i]);
    if (!one) return element("span", { class: "badge" }, "not decided");
    const text = one.verdict === "waived" ? (hasEnded(one) ? "waiver ended" : `waived to ${one.until}`) : one.verdict;
    return element("span", { class: `badge ${one.verdict}` }, text);
  }

  function makeRow(place) {
    const i = state.shown[place];
    const row = element("div", {
      role: "option", id: `row-${place}`, class: "row", "aria-selected": String(place === state.at),
      "aria-setsize": state.shown.length, "aria-posinset": place + 1,
    },
    element("span", {}, element("span", { class: "words" }, rules.text[i])),
    element("span", {}, badge(i)));
    row.style.top = `${place * ROW}px`;
    row.dataset.place = place;
    return row;
  }

  function move(place) {
    state.at = Math.max(0, Math.min(place, state.shown.length - 1));
    const top = state.at * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    paint();
    openSoon();
  }

  const here = () => state.shown[state.at];

  // --- One rule -------------------------------------------------------------------------------------

  let waiting = null;
  function openSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(() => open(here()), cache.has(rules.id[here()]) ? 0 : 60);
  }

  async function open(i) {
    if (!isKnown(i)) {
      find("detail-title").textContent = "Choose a rule";
      find("inside").replaceChildren();
      state.opened = null;
      return;
    }
    const id = rules.id[i];
    if (!cache.has(id)) {
      const answer = await heard(link.rule(id));
      if (!answer) return;
      cache.set(id, answer);
      if (cache.size > 200) cache.delete(cache.keys().next().value);
    }
    if (here() === i) show(i, cache.get(id));
  }

  function isMoved() {
    const { rule, lower, upper } = state.opened ?? {};
    return Boolean(rule) && rule.can_edit && (lower !== rule.lower || upper !== rule.upper);
  }

  function show(i, rule) {
    const one = decisions.get(rule.id);
    if (isMoved() && state.opened.rule.id !== rule.id) {
      find("said").textContent = `The new bounds of ${state.opened.rule.id} were not saved.`;
    }
    state.opened = { i, rule, lower: rule.lower, upper: rule.upper };
    find("detail-title").textContent = `Rule ${rule.id}`;
    const verbs = [["a", "Accept", () => decide("accept")], ["r", "Reject", () => decide("reject")], ["w", "Waive", () => decide("waive")]];
    const buttons = verbs.map(([key, word, act]) => {
      const made = element("button", { type: "button" }, `${word} `, element("kbd", {}, key));
      made.addEventListener("click", act);
      return made;
    });
    if (one) {
      const made = element("button", { type: "button" }, "Withdraw ", element("kbd", {}, "x"));
      made.addEventListener("click", () => decide("withdraw"));
      buttons.push(made);
    }
    find("inside").replaceChildren(
      element("p", { class: "sentence" }, rules.text[i].replaceAll(" else ", "\n  else ")),
      element("div", { class: "verbs", role: "group", "aria-label": "Decide" }, ...buttons),
      ...(rule.can_edit ? boundsEditor(rule) : [element("p", { class: "guessed" }, "Its bounds are edited in the rules file.")]),
      element("h3", {}, "What is known"),
      facts(rule, one, rules.text[i]),
    );
  }

  function facts(rule, one, shown) {
    const said = one ? `${one.verdict}${one.until ? ` until ${one.until}${hasEnded(one) ? ", and has ended" : ""}` : ""} by ${one.by} on ${one.when}: ${one.why}` : "not yet";
    const lines = [["Decided", said]];
    if (rule.text !== shown) lines.push(["In full", rule.text]);
    if (rule.learned) lines.push(["Learned as", rule.learned]);
    if (isKnown(rule.coverage)) lines.push(["Made to hold for", `${number(100 * rule.coverage)} %`]);
    if (isKnown(rule.support)) lines.push(["Learned from", `${whole(rule.support)} ${isKnown(rule.over) ? "mini-batches" : "samples"}`]);
    if (isKnown(rule.jaccard)) lines.push(["Agreement held out", String(rule.jaccard)]);
    if (rule.note) lines.push(["Not drawn", rule.note]);
    return element("dl", { class: "facts" }, ...lines.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }

  // --- Bounds that can be dragged -------------------------------------------------------------------

  function boundsEditor(rule) {
    const fields = ["lower", "upper"].map((side) => {
      const input = element("input", { type: "text", inputmode: "decimal", id: `end-${side}`, autocomplete: "off", "aria-describedby": "beyond" });
      input.value = isKnown(rule[side]) ? String(rule[side]) : "";
      input.addEventListener("input", () => setEnd(side, parse(input.value), "field"));
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") save();
      });
      return element("label", {}, side === "lower" ? "Lower" : "Upper", input);
    });
    const keep = element("button", { type: "button", id: "keep", class: "first", disabled: "" }, "Save bounds");
    const back = element("button", { type: "button", id: "back", disabled: "" }, "Put back");
    keep.addEventListener("click", save);
    back.addEventListener("click", () => { setEnd("lower", rule.lower); setEnd("upper", rule.upper); });
    const made = [element("div", { class: "ends" }, ...fields, element("div", { class: "buttons" }, keep, back))];
    if (!rule.sketch) return [element("h3", {}, "Bounds"), ...made];
    if (!rule.sketch.n) return [element("h3", {}, "Bounds"), element("p", {}, "It applies to no row here."), ...made];
    const figure = element("figure", {}, plot(rule), element("p", { class: "beyond-text", id: "beyond", role: "status", "aria-live": "polite" }));
    requestAnimationFrame(redraw);
    return [element("h3", {}, `Values of ${whole(rule.sketch.n)} rows`), figure, ...made];
  }

  function plot(rule) {
    const [low, high, bins] = binned(rule);
    const x = (value) => EDGE + Math.max(0, Math.min(1, (value - low) / (high - low))) * (WIDTH - 2 * EDGE);
    const value = (px) => low + ((px - EDGE) / (WIDTH - 2 * EDGE)) * (high - low);
    const counts = [];
    for (let bin = 0; bin < bins; bin += 1) {
      const [from, to] = [bin, bin + 1].map((one) => low + (one / bins) * (high - low));
      counts.push(Math.max(0, below(rule.sketch, to, false)[0] - below(rule.sketch, from, false)[0]));
    }
    const most = Math.max(...counts, 1e-9), floor = HEIGHT - 26, top = 12;
    const bar = (name) => (n, bin) => shape("rect", {
      class: name, x: EDGE + (bin / bins) * (WIDTH - 2 * EDGE) + 0.5, width: (WIDTH - 2 * EDGE) / bins - 1,
    });
    const bars = counts.map(bar("held")), reds = counts.map(bar("broken"));
    const unit = (floor - top) / most;
    const olds = ["lower", "upper"].filter((side) => isKnown(rule[side])).map((side) =>
      shape("line", { class: "old", x1: x(rule[side]), x2: x(rule[side]), y1: top, y2: floor }));
    const handles = ["lower", "upper"].filter((side) => isKnown(rule[side])).map((side) => handle(side, rule, floor, low, high));
    state.axis = { x, value, low, high, bins, bars, reds, counts, unit, floor, rule };
    const svg = shape("svg", { id: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "group", "aria-label": "Histogram with bounds that can be moved" },
      shape("line", { class: "axis", x1: EDGE, x2: WIDTH - EDGE, y1: floor, y2: floor }), ...bars, ...reds, ...olds, ...handles);
    return element("div", {}, svg, element("p", { class: "guessed" }, `from ${number(low)} to ${number(high)}; few values lie further out`));
  }

  function handle(side, rule, floor, low, high) {
    const made = shape("g", {
      class: "handle", id: `handle-${side}`, tabindex: "0", role: "slider", "aria-label": `${side} bound`,
      "aria-valuemin": low, "aria-valuemax": high, "aria-orientation": "horizontal",
    },
    shape("line", { x1: 0, x2: 0, y1: 4, y2: floor }), shape("rect", { x: -6, y: floor, width: 12, height: 20, rx: 3 }),
    shape("rect", { class: "grip", x: -14, y: 0, width: 28, height: HEIGHT }));
    let isHeld = false;
    const follow = (event) => {
      const box = find("plot").getBoundingClientRect();
      setEnd(side, state.axis.value(((event.clientX - box.left) / box.width) * WIDTH));
    };
    made.addEventListener("pointerdown", (event) => {
      isHeld = true;
      made.setPointerCapture(event.pointerId);
      made.focus();
      event.preventDefault();
    });
    made.addEventListener("pointermove", (event) => { if (isHeld) follow(event); });
    for (const name of ["pointerup", "pointercancel"]) made.addEventListener(name, () => { isHeld = false; });
    made.addEventListener("keydown", (event) => {
      const ways = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
      if (event.key in ways) {
        const step = ((high - low) / 400) * ways[event.key] * (event.shiftKey ? 10 : 1);
        setEnd(side, (state.opened[side] ?? rule[side]) + step);
        event.preventDefault();
        event.stopPropagation();
      } else if (event.key === "Enter") {
        save();
      }
    });
    return made;
  }

  // A bound is rounded to what the histogram can show, so that a drag leaves no long number.
  function rounded(value) {
    const { low, high } = state.axis, digits = Math.max(0, Math.ceil(-Math.log10((high - low) / 2000)));
    return Number(value.toFixed(Math.min(digits, 12)));
  }

  let isPlanned = false;
  function setEnd(side, value, from) {
    if (!state.opened || value === undefined) return;
    let wanted = value;
    if (state.axis?.rule === state.opened.rule && from !== "field" && isKnown(wanted) && wanted !== state.opened.rule[side]) {
      const other = state.opened[side === "lower" ? "upper" : "lower"];
      wanted = rounded(wanted);
      if (isKnown(other)) wanted = side === "lower" ? Math.min(wanted, other) : Math.max(wanted, other);
    }
    state.opened[side] = wanted;
    if (from !== "field") find(`end-${side}`).value = isKnown(wanted) ? String(wanted) : "";
    if (!isPlanned) {
      isPlanned = true;
      requestAnimationFrame(() => { isPlanned = false; redraw(); });
    }
  }

  // How much of a bin lies beyond the bounds: only that much of its bar is red.
  function beyondIn(bin, lower, upper) {
    const { axis } = state, { sketch } = axis.rule;
    const [from, to] = [bin, bin + 1].map((one) => axis.low + (one / axis.bins) * (axis.high - axis.low));
    const until = (x, isInclusive = false) => below(sketch, x, isInclusive)[0];
    const under = isKnown(lower) && lower > from ? until(Math.min(to, lower)) - until(from) : 0;
    const over = isKnown(upper) && upper < to ? until(to) - (upper < from ? until(from) : until(upper, true)) : 0;
    return Math.max(0, Math.min(axis.counts[bin], under + over));
  }

  // Whether the bounds as they were moved are bounds: asked anew, for what is drawn is a frame behind.
  function isRange() {
    const { lower, upper } = state.opened;
    return (isKnown(lower) || isKnown(upper)) && !(isKnown(lower) && isKnown(upper) && lower > upper);
  }

  function redraw() {
    if (!state.opened) return;
    const { axis } = state, { rule, lower, upper } = state.opened;
    const isChanged = isMoved(), isRight = isRange();
    if (find("keep")) {
      find("keep").disabled = !isChanged || !isRight;
      find("back").disabled = !isChanged;
    }
    if (!rule.sketch || !find("beyond")) return;
    const now = beyond(rule.sketch, lower, upper), n = rule.sketch.n;
    const about = now.isExact ? "" : "about ";
    find("beyond").textContent = isRight
      ? `${about}${whole(now.under + now.over)} of ${whole(n)} rows beyond (${percent((now.under + now.over) / n)}): ${whole(now.under)} below, ${whole(now.over)} above`
      : "The lower bound is above the upper one.";
    axis.bars.forEach((bar, bin) => {
      const out = axis.unit * beyondIn(bin, lower, upper), held = axis.unit * axis.counts[bin] - out;
      bar.setAttribute("y", axis.floor - held);
      bar.setAttribute("height", Math.max(0, held));
      axis.reds[bin].setAttribute("y", axis.floor - held - out);
      axis.reds[bin].setAttribute("height", out);
    });
    for (const [side, value] of [["lower", lower], ["upper", upper]]) {
      const made = find(`handle-${side}`);
      if (!made || !isKnown(value)) continue;
      made.setAttribute("transform", `translate(${axis.x(value)} 0)`);
      made.setAttribute("aria-valuenow", value);
      made.setAttribute("aria-valuetext", `${Number(value.toPrecision(6))}, ${whole(side === "lower" ? now.under : now.over)} rows beyond`);
    }
  }

  // --- Steps ----------------------------------------------------------------------------------------

  // The answer, or null after the fault was told.
  async function heard(answer) {
    try {
      const content = await answer;
      find("fault").hidden = true;
      return content;
    } catch (error) {
      find("fault").textContent = error.message;
      find("fault").hidden = false;
      return null;
    }
  }

  // What is different after a step, whoever took it.
  function adopt(answer) {
    decisions = new Map(answer.decisions.map((one) => [one.id, one]));
    find("undo").disabled = !answer.can_undo;
    for (const [id, text] of Object.entries(answer.texts)) {
      const place = rules.id.indexOf(id);
      rules.text[place] = text;
      folded[place] = `${text} ${id}`.toLowerCase();
      cache.delete(id);
    }
  }

  // Steps are taken one after the other: none is lost because the one before is still being saved.
  let last = Promise.resolve(null);
  function take(step, word) {
    last = last.then(() => taken(step, word), () => taken(step, word));
    return last;
  }

  async function taken(step, word) {
    const answer = await heard(link.step(step));
    if (!answer) return null;
    adopt(answer);
    find("said").textContent = data.is_saved ? `${word} · saved to ${data.source}` : word;
    // Who has moved on meanwhile stays there.
    refilter(answer.changed.length && step.do === "undo" ? rules.id.indexOf(answer.changed[0]) : here());
    return answer;
  }

  let why = "looked at in review", until = "";
  async function decide(verb) {
    if (!isKnown(here())) return;
    const i = here(), ids = [rules.id[i]];
    if (verb === "withdraw" && !decisions.has(ids[0])) {
      find("said").textContent = `Nothing was decided about ${ids[0]}.`;
      return;
    }
    if (verb === "accept" && isMoved()) await save(); // what is accepted is what is seen
    if (verb === "accept" || verb === "withdraw") {
      await take(verb === "accept" ? { do: verb, ids, why: "looked at in review" } : { do: verb, ids }, `${verb === "accept" ? "Accepted" : "Withdrawn"} ${ids[0]}`);
      return;
    }
    find("ask-title").textContent = verb === "waive" ? "Waive this rule" : "Reject this rule";
    find("ask-rule").textContent = rules.text[i];
    find("ask-until-label").hidden = verb !== "waive";
    find("ask-until").required = verb === "waive";
    find("ask-until").min = data.today;
    find("ask-until").value = until;
    find("ask-why").value = why;
    find("ask").dataset.verb = verb;
    find("ask").showModal();
    (verb === "waive" ? find("ask-until") : find("ask-why")).focus();
  }

  find("ask-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const verb = find("ask").dataset.verb, ids = [rules.id[here()]];
    why = find("ask-why").value.trim();
    until = find("ask-until").value;
    find("ask").close();
    await take(verb === "waive" ? { do: verb, ids, why, until } : { do: verb, ids, why }, `${verb === "waive" ? "Waived" : "Rejected"} ${ids[0]}`);
    list.focus();
  });
  find("ask-no").addEventListener("click", () => find("ask").close());

  async function save() {
    if (!isMoved() || !isRange()) return;
    const { rule, lower, upper } = state.opened;
    await take({ do: "edit", ids: [rule.id], lower, upper }, `New bounds for ${rule.id}`);
    list.focus();
  }
  const undo = () => take({ do: "undo" }, "Undone");

  // --- Keys -----------------------------------------------------------------------------------------

  const page = () => Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const KEYS = [
    [["j", "ArrowDown"], "next rule", () => move(state.at + 1)],
    [["k", "ArrowUp"], "rule before", () => move(state.at - 1)],
    [["PageDown"], "a page on", () => move(state.at + page())],
    [["PageUp"], "a page back", () => move(state.at - page())],
    [["Home"], "first rule", () => move(0)],
    [["End"], "last rule", () => move(state.shown.length - 1)],
    [["a"], "accept", () => decide("accept")],
    [["r"], "reject, with a reason", () => decide("reject")],
    [["w"], "waive until a day, with a reason", () => decide("waive")],
    [["x"], "withdraw what was decided", () => decide("withdraw")],
    [["e"], "edit the bounds: arrows move, Enter saves", () => (find("handle-lower") ?? find("handle-upper") ?? find("end-lower"))?.focus()],
    [["u"], "undo the last step", undo],
    [["/"], "search", () => find("search").focus()],
    [["f"], "show some alone: arrows choose", () => find("filter").focus()],
    [["?"], "these keys", () => find("help").showModal()],
  ];
  find("keys").append(...KEYS.flatMap(([keys, what]) => [
    element("dt", {}, ...keys.map((key) => element("kbd", {}, key.replace("Arrow", "")))), element("dd", {}, what)]),
  element("dt", {}, element("kbd", {}, "Esc")), element("dd", {}, "back to the list"));

  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || root.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      list.focus();
      return;
    }
    if (event.target.closest("input, select, textarea")) {
      if (["search", "filter"].includes(event.target.id) && event.key === "Enter") list.focus();
      return;
    }
    const isArrow = event.key.length > 1;
    if (isArrow && event.target !== list && event.target !== document.body) return;
    const found = KEYS.find(([keys]) => keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[2]();
  });

  // --- Start ----------------------------------------------------------------------------------------

  find("title").textContent = `Review ${data.source}`;
  find("checked").textContent = `${whole(count)} rules beside ${whole(data.n_rows)} rows of ${data.rows}. You decide as ${data.by}; ${data.is_saved ? "every step is saved at once" : "no file is written, what you decide is in .rules"}.`;
  find("filter").append(...FILTERS.map(([key, label]) => element("option", { value: key }, label)));
  find("undo").disabled = !data.can_undo;
  find("undo").addEventListener("click", undo);
  find("help-button").addEventListener("click", () => find("help").showModal());
  find("help-close").addEventListener("click", () => find("help").close());
  find("search").addEventListener("input", () => { state.at = 0; list.scrollTop = 0; refilter(); });
  find("filter").addEventListener("change", () => refilter(here()));
  setUpTheme(find("theme"), place, isDark);
  list.addEventListener("scroll", () => requestAnimationFrame(paint));
  list.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) move(Number(row.dataset.place));
  });
  new ResizeObserver(paint).observe(list);
  link.follow((answer) => { find("fault").hidden = true; adopt(answer); refilter(here()); });
  refilter();
  return { state, setEnd };
}
