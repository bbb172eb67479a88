// The page draws itself from the JSON block.
const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const rules = data.rules;
const count = rules.text.length;
const ROWS_AT_ONCE = 100; // rows are made as they are needed, so that 10,000 rules open at once

// --- Facts of a rule ----------------------------------------------------------------------------

const share = (i) => (rules.applicable[i] ? rules.broken[i] / rules.applicable[i] : 0);
const shareBefore = (i) =>
  rules.before_applicable[i] ? rules.before[i] / rules.before_applicable[i] : 0;
const isGrouped = (i) => isKnown(rules.over[i]);
const samples = (i, n) =>
  `${whole(n)} ${isGrouped(i) ? "mini-batch" : "row"}${n === 1 ? "" : isGrouped(i) ? "es" : "s"}`;

function result(i) {
  if (isWaived(i)) return { rank: 2.5, text: "waived", name: "badge" };
  if (rules.significant[i]) return { rank: 3, text: "beyond chance", name: "badge beyond" };
  if (!rules.applicable[i]) return { rank: 0, text: "not applicable", name: "badge" };
  if (!rules.broken[i]) return { rank: 1, text: "held", name: "badge" };
  return { rank: 2, text: isKnown(rules.p[i]) ? "within chance" : "broken", name: "badge" };
}

const isWaived = (i) => Boolean(rules.waived && rules.waived[i]);

function resultSentence(i) {
  if (isWaived(i)) return `${whole(rules.broken[i])} times broken, and ${rules.waived[i]}`;
  if (!rules.applicable[i]) return "Nothing here that the rule speaks of.";
  const times = rules.broken[i] === 1 ? "once" : `${whole(rules.broken[i])} times`;
  const said = rules.broken[i] ? `Broken ${times}` : "Never broken";
  if (!isKnown(rules.expected[i])) return `${said}. What chance would do is not known.`;
  const chance = `${said}; chance alone would break it about ${number(round2(rules.expected[i]))} times.`;
  if (rules.significant[i]) return `${chance} That is beyond chance.`;
  return rules.broken[i] ? `${chance} That can be chance.` : chance;
}
const round2 = (x) => (x >= 10 ? Math.round(x) : Number(x.toPrecision(2)));

// --- The table's columns ------------------------------------------------------------------------

const text = (value) => document.createTextNode(value);

function shareBar(width, isAlarm) {
  const inner = element("i", { class: isAlarm ? "beyond" : null });
  inner.style.width = `${100 * width}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, inner);
}

const COLUMNS = [
  {
    key: "result", label: "Result", words: true, value: (i) => result(i).rank,
    cell: (i) => [element("span", { class: result(i).name }, result(i).text)],
  },
  { key: "text", label: "Rule", words: true, value: (i) => rules.text[i], cell: openButton },
  { key: "broken", label: "Broken", value: (i) => rules.broken[i], cell: (i) => [whole(rules.broken[i])] },
  { key: "of", label: "Of", value: (i) => rules.applicable[i], cell: (i) => [whole(rules.applicable[i])] },
  {
    key: "share", label: "Share", value: share,
    cell: (i) => [percent(share(i)), shareBar(share(i), rules.significant[i])],
  },
  { key: "expected", label: "Expected", value: (i) => rules.expected[i], cell: (i) => [isKnown(rules.expected[i]) ? number(round2(rules.expected[i])) : "–"] },
  { key: "p", label: "p-value", value: (i) => rules.p[i], cell: (i) => [pText(rules.p[i])] },
  {
    key: "effect", label: "How far out", value: (i) => rules.effect[i],
    title: "mean distance of what is outside from the bound, in widths of the interval",
    cell: (i) => [isKnown(rules.effect[i]) ? `${number(Number(rules.effect[i].toPrecision(2)))} ×` : "–"],
  },
];
if (rules.weighted) {
  COLUMNS.push({ key: "weighted", label: "By probabilities", value: (i) => rules.weighted[i], cell: (i) => [isKnown(rules.weighted[i]) ? number(round2(rules.weighted[i])) : "–"] });
}
if (rules.before) {
  const change = (i) => share(i) - shareBefore(i);
  COLUMNS.push(
    { key: "before", label: "Before", value: shareBefore, cell: (i) => [percent(shareBefore(i))] },
    {
      key: "change", label: "Change", value: change, title: "in percentage points",
      cell: (i) => [element("span", { class: change(i) > 0 ? "worse" : "better" }, points(change(i)))],
    },
  );
}
function points(difference) {
  const value = 100 * difference;
  if (Math.abs(value) < 0.005) return "±0";
  return `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(Math.abs(value) < 1 ? 2 : 1)}`;
}

function openButton(i) {
  return [element("button", { type: "button", class: "open-rule", "aria-expanded": "false", title: "Open or close the rule" }, rules.text[i])];
}

// --- State: what is shown, in which order ---------------------------------------------------------

const FILTERS = [
  { key: "beyond", label: "Beyond chance", keeps: (i) => rules.significant[i] },
  { key: "broken", label: "Broken", keeps: (i) => rules.broken[i] > 0 },
  { key: "all", label: "All", keeps: () => true },
];
const state = { filter: "all", only: null, search: "", sort: null, down: true, shown: [], made: 0 };
const folded = rules.text.map((one) => one.toLowerCase());

function update() {
  const keeps = state.only ? (i) => state.only.has(i) : FILTERS.find((one) => one.key === state.filter).keeps;
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  state.shown = data.order.filter((i) => keeps(i) && words.every((word) => folded[i].includes(word)));
  if (state.sort) sortShown(COLUMNS.find((one) => one.key === state.sort));
  state.made = 0;
  find("body").replaceChildren();
  makeRows();
  find("status").textContent =
    state.shown.length === count ? `${whole(count)} rules` : `${whole(state.shown.length)} of ${whole(count)} rules`;
  for (const cell of find("head").children) {
    if (cell.dataset.key === state.sort) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
}

function sortShown(column) {
  const key = new Map(state.shown.map((i) => [i, column.value(i)]));
  const sign = state.down ? -1 : 1;
  state.shown.sort((a, b) => {
    const x = key.get(a), y = key.get(b);
    if (!isKnown(x) || !isKnown(y)) return isKnown(x) ? -1 : isKnown(y) ? 1 : 0; // unknown last
    return x < y ? -sign : x > y ? sign : 0;
  });
}

function makeRows() {
  const next = state.shown.slice(state.made, state.made + ROWS_AT_ONCE);
  find("body").append(...next.map(makeRow));
  state.made += next.length;
  if (!state.shown.length) {
    const cell = element("td", { role: "cell", class: "empty", colspan: COLUMNS.length }, "No rule fits. Change the search or show all.");
    find("body").append(element("tr", { role: "row" }, cell));
  }
  find("more").hidden = state.made >= state.shown.length;
  find("more").textContent = `Show more (${whole(state.shown.length - state.made)} left)`;
}

function makeRow(i) {
  const cells = COLUMNS.map((column) =>
    element("td", { role: "cell", class: column.words ? "words" : null, "data-label": column.label }, ...column.cell(i)));
  const row = element("tr", { role: "row", class: "rule" }, ...cells);
  row.dataset.rule = i;
  return row;
}

// --- Opening a rule -------------------------------------------------------------------------------

function toggle(row) {
  const button = row.querySelector(".open-rule");
  const isOpen = row.classList.toggle("open");
  button.setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) {
    row.nextElementSibling.remove();
    return;
  }
  const inside = element("div", { class: "inside" });
  const cell = element("td", { role: "cell", colspan: COLUMNS.length }, inside);
  row.after(element("tr", { role: "row", class: "detail" }, cell));
  // After it is in the page, so that drawings know how wide they can be.
  inside.append(...details(Number(row.dataset.rule), inside.clientWidth).filter(isKnown));
}

function details(i, width) {
  const sentence = (rules.full[i] ?? rules.text[i]).replaceAll(" else ", "\n  else ");
  const half = width > 700 ? width * 0.52 : width;
  return [
    element("p", { class: "sentence wide" }, sentence),
    element("div", {}, element("h3", {}, "Checked values"), drawing(i, half)),
    element("div", {}, element("h3", {}, "Numbers"), element("p", { class: "result" }, resultSentence(i)), facts(i), comparison(i)),
    examples(i),
    boxes(i),
  ];
}

function facts(i) {
  const sources = isGrouped(i) ? "mini-batches" : "samples";
  const lines = [
    ["Applies to", samples(i, rules.applicable[i]) + (isGrouped(i) ? ` of ${rules.over[i]}` : "")],
    ["Broken by", `${samples(i, rules.broken[i])}, ${percent(share(i))}`],
    ["p-value", isKnown(rules.p[i]) ? pText(rules.p[i]) : "not known"],
    isKnown(rules.effect[i]) ? ["How far out", `${number(rules.effect[i])} widths of the interval, on average`] : null,
    rules.weighted && isKnown(rules.weighted[i]) ? ["By probabilities", `broken by about ${number(round2(rules.weighted[i]))}, the model's probabilities taken at their word`] : null,
    isKnown(rules.coverage[i]) ? ["Made to hold for", `${number(100 * rules.coverage[i])} %`] : null,
    isKnown(rules.support[i]) ? ["Learned from", `${whole(rules.support[i])} ${sources}`] : null,
    isKnown(rules.jaccard[i]) ? ["Agreement held out", number(rules.jaccard[i])] : null,
  ];
  const pairs = lines.filter(Boolean).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  return element("dl", { class: "facts" }, ...pairs);
}

function comparison(i) {
  if (!rules.before) return null;
  const most = Math.max(share(i), shareBefore(i), 1e-9);
  const line = (name, n, part, isAlarm) => [name, shareBar(part / most, isAlarm), `${whole(n)} (${percent(part)})`]
    .map((one) => element("span", {}, one));
  return element("div", {}, element("h3", {}, `Before and after: ${points(share(i) - shareBefore(i))} percentage points`),
    element("div", { class: "pair" },
      ...line("Before", rules.before[i], shareBefore(i), rules.before_significant[i]),
      ...line("Now", rules.broken[i], share(i), rules.significant[i])));
}

function examples(i) {
  const found = data.examples.of[i];
  if (!found) return null;
  const others = data.examples.columns.filter((name) => !found.names.includes(name));
  const places = others.map((name) => data.examples.columns.indexOf(name));
  const hasExcess = found.rows.some(([, excess]) => isKnown(excess)); // a class is right or wrong, not far out
  const lines = found.rows.map(([row, excess, own]) => ({
    row, excess, cells: [...own, ...places.map((at) => data.examples.rows[row][at])],
  }));
  const heads = [...found.names, ...others].map((name, at) => element("th", {
    scope: "col", class: `${lines.some((line) => isText(line.cells[at])) ? "text" : ""} ${at < found.names.length ? "named" : ""}`,
  }, name));
  const head = element("tr", {}, element("th", { scope: "col" }, "Row"),
    hasExcess ? element("th", { scope: "col", title: "in widths of the interval" }, "Outside by") : null, ...heads);
  const body = lines.map(({ row, excess, cells }) => element("tr", {}, element("td", {}, whole(row)),
    hasExcess ? element("td", {}, isKnown(excess) ? `${number(excess)} ×` : "–") : null, ...cells.map(exampleCell)));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  const title = rules.broken[i] <= lines.length ? "The rows that break it"
    : `${hasExcess ? `The ${lines.length} rows furthest out` : `${lines.length} rows that break it`}, of ${whole(rules.broken[i])}`;
  return element("div", { class: "wide" }, element("h3", {}, title),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table));
}

// The boxes of the examples, each in the frame of its image and in scale; no image is needed.
function boxes(i) {
  if (!data.boxes || !data.boxes.of.includes(i)) return null;
  const rows = data.examples.of[i].rows.map(([row]) => row).filter((row) => data.boxes.rows[row]);
  if (!rows.length) return null;
  const isGuessed = rows.some((row) => !isKnown(data.boxes.rows[row][4]));
  return element("div", { class: "wide" }, element("h3", {}, "Where these boxes are"),
    element("div", { class: "frames" }, ...rows.map(boxFigure)),
    isGuessed ? element("p", { class: "guessed" }, "The sizes of the images are not known: a dashed frame reaches as far as the boxes of all rows.") : null);
}

function boxFigure(row) {
  const [left, top, right, bottom, width, height] = data.boxes.rows[row];
  const isGuessed = !isKnown(width);
  const [wide, high] = isGuessed ? data.boxes.reach : [width, height];
  // A box may lie partly or wholly outside of its image, and is still to be seen.
  const x = Math.min(0, left), y = Math.min(0, top);
  const spanX = Math.max(wide, right) - x || 1, spanY = Math.max(high, bottom) - y || 1;
  const cell = (name) => data.examples.rows[row][data.examples.columns.indexOf(name)];
  const words = [`Row ${whole(row)}`, cell("type"), cell("image")].filter(isKnown).map(String);
  const label = `${words.join(", ")}: a box from ${number(left)}, ${number(top)} to ${number(right)}, ${number(bottom)}`;
  const room = 200, scale = room / Math.max(spanX, 1.5 * spanY); // no taller than two thirds of its width
  return element("figure", {},
    shape("svg", { class: "frame", width: scale * spanX, height: scale * spanY, viewBox: `${x} ${y} ${spanX} ${spanY}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      shape("rect", { class: isGuessed ? "image guess" : "image", x: 0, y: 0, width: wide, height: high }),
      shape("rect", { class: "box", x: left, y: top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) })),
    element("figcaption", {}, words.join(" · ")));
}

const isText = (value) => typeof value === "string";

function exampleCell(value) {
  if (!isKnown(value)) return element("td", { class: "missing" }, "missing");
  if (isText(value)) return element("td", { class: "text", title: value }, value);
  const isExact = typeof value === "boolean" || Number.isInteger(value); // perhaps an id: no commas
  return element("td", {}, isExact ? String(value) : number(value));
}

// --- Drawings -------------------------------------------------------------------------------------

const MARGIN = 56; // room for a bound's number beside its line

function drawing(i, room) {
  const drawn = data.drawings[i];
  const width = Math.max(260, Math.min(room, 620));
  if (!drawn) return element("p", {}, `Drawn for the ${whole(data.n_drawn)} rules to look at first; this one is further down.`);
  if (drawn.bar) return barDrawing(drawn, width);
  if (drawn.dots) return dotDrawing(drawn, width);
  return binDrawing(drawn.bins, width, isGrouped(i));
}

function scale(low, high, width) {
  const span = high - low || 1;
  return (x) => MARGIN + ((x - low) / span) * (width - 2 * MARGIN);
}

function boundLines(one, x, top, bottom) {
  const at = (value) => x(one.log ? Math.log10(value) : value);
  const line = (value, anchor, shift) => isKnown(value) ? [
    shape("line", { class: "bound", x1: at(value), x2: at(value), y1: top - 4, y2: bottom }),
    shape("text", { class: "strong", x: at(value) + shift, y: top + 5, "text-anchor": anchor }, number(value)),
  ] : [];
  return [...line(one.lower, "end", -5), ...line(one.upper, "start", 5)];
}

function binDrawing(bins, width, isOfBatches) {
  const ends = bins.map((one) => [one.first, one.first + one.width * one.counts.length]);
  const spans = ends.map(([low, high]) => high - low);
  // Pieces share an axis, so that the eye sees the interval move, unless one would become a sliver.
  const isShared = Math.max(...spans) <= 4 * Math.min(...spans);
  const all = [Math.min(...ends.map((one) => one[0])), Math.max(...ends.map((one) => one[1]))];
  const height = bins.length > 1 ? 64 : 130;
  const panels = bins.map((one, at) => binPanel(one, scale(...(isShared ? all : ends[at]), width), height, width));
  const caption = [
    element("span", { class: "legend" }, "held"), element("span", { class: "legend broken" }, "outside the bounds"),
    bins[0].other ? element("span", { class: "legend other" }, data.behind) : null,
    element("br"),
    text((isOfBatches ? "Mini-batches" : "Rows") + ` by value${bins[0].log ? " on a logarithmic scale" : ""}; the outermost bars hold all that lies further out.` +
      (data.rows_drawn < data.totals.rows && !isOfBatches ? ` Drawn from ${whole(data.rows_drawn)} of the rows.` : "")),
  ];
  return element("figure", {}, ...panels.flat(), element("figcaption", {}, ...caption.filter(Boolean)));
}

function binPanel(one, x, height, width) {
  const top = 14, bottom = height - 18;
  const total = (counts) => Math.max(1, counts.reduce((a, b) => a + b, 0));
  const parts = one.counts.map((n) => n / total(one.counts));
  const behind = one.other ? one.other.map((n) => n / total(one.other)) : [];
  const most = Math.max(...parts, ...behind, 1e-9);
  const y = (part) => bottom - (bottom - top - 8) * (part / most);
  const edge = (k) => x(one.first + k * one.width);
  const bars = parts.map((part, k) => {
    if (!part) return null;
    const isHeld = k >= one.below && k < one.below + one.inside;
    const tall = Math.max(2, bottom - y(part)); // a single row must still be seen
    return shape("rect", { class: isHeld ? "held" : "broken", x: edge(k) + 0.5, width: Math.max(1, edge(k + 1) - edge(k) - 1), y: bottom - tall, height: tall });
  });
  const steps = behind.map((part, k) => `${k ? "L" : "M"}${edge(k)} ${y(part)}H${edge(k + 1)}`).join("");
  const outside = parts.reduce((sum, part, k) => (k < one.below || k >= one.below + one.inside ? sum + part : sum), 0);
  const range = isKnown(one.least) ? `, values from ${number(one.least)} to ${number(one.most)}` : "";
  const label = `${one.test ? one.test + ": " : ""}${percent(outside)} outside${range}`;
  const ends = isKnown(one.least) && !one.test ? [
    shape("text", { x: edge(0), y: height - 3 }, `least ${number(one.least)}`),
    shape("text", { x: edge(one.counts.length), y: height - 3, "text-anchor": "end" }, `most ${number(one.most)}`),
  ] : [];
  const drawn = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...bars, steps ? shape("path", { class: "outline", d: steps }) : null,
    shape("line", { class: "axis", x1: MARGIN, x2: width - MARGIN, y1: bottom, y2: bottom }),
    ...boundLines(one, x, top, bottom),
    ...ends);
  return one.test ? [element("figcaption", {}, label), drawn] : [drawn];
}

function dotDrawing(drawn, width) {
  const values = [...drawn.dots, ...(drawn.other ?? []), drawn.lower, drawn.upper].filter(isKnown);
  const x = scale(Math.min(...values), Math.max(...values), width);
  const isOut = (v) => (isKnown(drawn.lower) && v < drawn.lower) || (isKnown(drawn.upper) && v > drawn.upper);
  // Dots of equal value would hide one another: each takes the next of five heights.
  const path = (list, from) => list.map((v, k) => `M${x(v)} ${from + 11 * (k % 5)}h0`).join("");
  const bottom = drawn.other ? 148 : 92;
  const left = isKnown(drawn.lower) ? x(drawn.lower) : MARGIN;
  const right = isKnown(drawn.upper) ? x(drawn.upper) : width - MARGIN;
  const height = bottom + 8;
  const picture = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "the statistic of each mini-batch, and the bounds" },
    shape("rect", { class: "between", x: left, width: right - left, y: 14, height: bottom - 14 }),
    shape("path", { class: "dots", d: path(drawn.dots.filter((v) => !isOut(v)), 32) }),
    shape("path", { class: "dots out", d: path(drawn.dots.filter(isOut), 32) }),
    drawn.other ? shape("path", { class: "dots other", d: path(drawn.other, 96) }) : null,
    shape("line", { class: "axis", x1: MARGIN, x2: width - MARGIN, y1: bottom, y2: bottom }),
    ...boundLines(drawn, x, 14, bottom));
  return element("figure", {}, picture, element("figcaption", {},
    `Each dot is the statistic of one mini-batch; the band lies between the bounds.${drawn.other ? ` Below, in grey: ${data.behind}.` : ""}`));
}

function barDrawing(drawn, width) {
  const bar = ([right, wrong], y) => {
    const middle = (width * right) / Math.max(1, right + wrong);
    return [
      shape("rect", { class: "held", x: 0, width: middle, y, height: 22, rx: 3 }),
      shape("rect", { class: "broken", x: middle, width: width - middle, y, height: 22, rx: 3 }),
      shape("text", { x: 0, y: y + 38 }, `${whole(right)} as the rule says`),
      shape("text", { x: width, y: y + 38, "text-anchor": "end" }, `${whole(wrong)} otherwise`),
    ];
  };
  const height = drawn.other ? 104 : 46;
  const picture = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "how often the class was as the rule says" },
    ...bar(drawn.bar, 0), ...(drawn.other ? bar(drawn.other, 56) : []));
  return element("figure", {}, picture, element("figcaption", {},
    `Rows where the condition holds, by whether the class was as the rule says.${drawn.other ? ` Below: ${data.behind}.` : ""}`));
}

// --- Summary --------------------------------------------------------------------------------------

function cards() {
  const now = data.totals, before = data.before;
  const was = (value, kind = whole) => (before ? `before: ${kind(value)}` : null);
  const list = [
    ["Rules beyond chance", whole(now.significant), was(before?.significant) ?? `of ${whole(now.rules)}`, now.significant > 0],
    ["Rules broken at all", whole(now.broken), was(before?.broken) ?? `of ${whole(now.rules)}`, false],
    ["Violations", whole(now.violations), was(before?.violations) ?? `${number(now.per_sample)} a sample`, false],
    now.single ? ["Rows that break a rule", whole(now.rows_broken), was(before?.rows_broken) ?? `${percent(now.rows_broken / Math.max(1, now.rows))} of ${whole(now.rows)}`, false] : null,
  ];
  return list.filter(Boolean).map(([name, big, small, isAlarm]) =>
    element("div", { class: isAlarm ? "alarm" : null }, element("dt", {}, name), element("dd", { class: "big" }, big), element("dd", { class: "small" }, small)));
}

function overview() {
  const known = data.order.filter((i) => isKnown(rules.expected[i]));
  if (!known.length) return [];
  const width = 400, height = 300, left = 46, bottom = 262;
  const most = known.reduce((top, i) => Math.max(top, rules.broken[i], rules.expected[i]), 1);
  const top = Math.log10(1 + most);
  const x = (v) => left + ((width - left - 12) * Math.log10(1 + v)) / top;
  const y = (v) => bottom - ((bottom - 14) * Math.log10(1 + v)) / top;
  const dots = (list) => list.map((i) => `M${x(rules.expected[i]).toFixed(1)} ${y(rules.broken[i]).toFixed(1)}h0`).join("");
  const ticks = [0, ...Array.from({ length: 9 }, (_, k) => 10 ** k)].filter((v) => v <= most);
  const marks = ticks.flatMap((v) => [
    shape("line", { class: "axis", x1: left, x2: width - 12, y1: y(v), y2: y(v) }),
    shape("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, whole(v)),
    shape("text", { x: x(v), y: bottom + 15, "text-anchor": "middle" }, whole(v)),
  ]);
  const small = known.length > 1000 ? " small" : "";
  return [
    shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "each rule by how often chance would break it and how often it was broken" },
      ...marks,
      shape("path", { class: "guide", d: `M${x(0)} ${y(0)}L${x(most)} ${y(most)}` }),
      shape("path", { class: `dots${small}`, d: dots(known.filter((i) => !rules.significant[i])) }),
      shape("path", { class: `dots out${small}`, d: dots(known.filter((i) => rules.significant[i])) }),
      shape("text", { x: width - 12, y: height - 4, "text-anchor": "end" }, "broken by chance alone →"),
      shape("text", { x: left, y: 6 }, "↑ broken")),
    element("figcaption", {}, "Each dot is a rule. On the dashed line a rule is broken as often as chance would; red ones are beyond chance."),
  ];
}

// --- Findings -------------------------------------------------------------------------------------

function finding(one) {
  const rulesText = `Show ${whole(one.rules.length)} rule${one.rules.length === 1 ? "" : "s"}`;
  const button = one.rules.length ? element("button", { type: "button", class: "evidence" }, rulesText) : null;
  button?.addEventListener("click", () => {
    state.only = new Set(one.rules);
    for (const input of find("filter").querySelectorAll("input")) input.checked = false;
    update();
    find("rules").scrollIntoView();
    find("rules").focus({ preventScroll: true });
  });
  return element("li", {}, element("p", { class: "what" }, one.text), element("p", { class: "said" }, one.said, " ", button));
}

function setUpFindings() {
  const n = data.findings.length;
  find("findings").classList.toggle("clean", !n);
  find("findings-title").textContent = n ? `${whole(n)} finding${n === 1 ? "" : "s"}` : data.nothing;
  find("findings-list").append(...data.findings.map(finding));
}

// --- Wiring ---------------------------------------------------------------------------------------

function setUpHead() {
  for (const column of COLUMNS) {
    const button = element("button", { type: "button", title: column.title ?? null }, column.label);
    const cell = element("th", { role: "columnheader", scope: "col", class: column.words ? "words" : null }, button);
    cell.dataset.key = column.key;
    button.addEventListener("click", () => {
      // Numbers are first sorted from the largest, sentences and p-values from the smallest.
      const firstDown = column.key !== "text" && column.key !== "p";
      state.down = state.sort === column.key ? !state.down : firstDown;
      state.sort = column.key;
      update();
    });
    find("head").append(cell);
  }
}

function setUpFilters() {
  for (const { key, label, keeps } of FILTERS) {
    const input = element("input", { type: "radio", name: "filter", value: key });
    input.checked = key === state.filter;
    input.addEventListener("change", () => { state.filter = key; state.only = null; update(); });
    const number = data.order.filter(keeps).length;
    find("filter").append(element("label", {}, input, `${label} `, element("span", {}, whole(number))));
  }
  find("search").addEventListener("input", (event) => { state.search = event.target.value; update(); });
}

function setUpRows() {
  find("body").addEventListener("click", (event) => {
    const row = event.target.closest("tr.rule");
    const isSelecting = String(getSelection()) !== "" && event.detail > 0;
    if (row && !isSelecting) toggle(row);
  });
  find("body").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.matches(".open-rule")) return;
    const buttons = [...find("body").querySelectorAll(".open-rule")];
    buttons[buttons.indexOf(event.target) + step]?.focus();
    event.preventDefault();
  });
  find("more").addEventListener("click", makeRows);
  new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting) && !find("more").hidden) makeRows(); },
    { rootMargin: "600px" }).observe(find("more"));
}

document.title = data.title;
find("title").textContent = data.title;
find("checked").textContent = data.checked;
setUpFindings();
find("cards").append(...cards());
find("story").append(...data.story.map((one) => element("p", {}, one)));
find("notes").append(...data.notes.map((one) => element("li", {}, one)));
find("overview").append(...overview());
find("explanation").hidden = !data.explanation;
find("explanation-text").textContent = data.explanation ?? "";
find("footer").textContent = `Made by sqrl ${data.version}. Row numbers count from 1, without the header.` +
  (data.n_drawn < count ? ` The ${whole(data.n_drawn)} rules to look at first have drawings and examples.` : "");
setUpHead();
setUpFilters();
setUpRows();
setUpTheme(find("theme"), document.documentElement);
update();
