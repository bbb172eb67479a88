// The page draws itself from the JSON block.
const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);

const AT_ONCE = 60; // drawings are made as they are needed
const WIDE = 360, SHARE_TOP = 14, SHARE_BOTTOM = 104, TOP = 118, BOTTOM = 146, HIGH = 164;
const LEFT = 4, RIGHT = WIDE - 4;
const MOST = 2; // evidence that is drawn, in what an alarm takes: more looks no different
const n = data.at.length;

// --- Scales ---------------------------------------------------------------------------------------

const scaleX = (left, right) => (k) => (n < 2 ? (left + right) / 2 : left + ((right - left) * k) / (n - 1));
const x = scaleX(LEFT, RIGHT);
const half = (of) => (n < 2 ? 8 : (of(1) - of(0)) / 2);
const scaleY = (top, bottom, most) => (v) => bottom - (bottom - top) * Math.min(v / most, 1);
const spots = Array.from({ length: n }, (_, k) => k);
const placeOf = new Map(data.at.map((at, k) => [at, k]));

// Runs of windows that follow one another.
function runs(list) {
  const made = [];
  for (const k of list) {
    if (made.length && made.at(-1)[1] === k - 1) made.at(-1)[1] = k;
    else made.push([k, k]);
  }
  return made;
}
const spans = (list, name, of, top, bottom) => runs(list).map(([first, last]) => {
  // Each window reaches half the way to its neighbours; the first and the last end with the axis.
  const from = of(first) - (first > 0 || n < 2 ? half(of) : 0), to = of(last) + (last < n - 1 || n < 2 ? half(of) : 0);
  return shape("rect", { class: name, x: from, width: Math.max(to - from, 2), y: top, height: bottom - top });
});

function curve(values, y, of) {
  const known = spots.filter((k) => isKnown(values[k]));
  return known.map((k) => `${isKnown(values[k - 1]) ? "L" : "M"}${of(k).toFixed(1)} ${y(values[k]).toFixed(1)}`).join("");
}
const area = (low, high, y, of) => runs(spots.filter((k) => isKnown(low[k]) && isKnown(high[k]))).map(([first, last]) => {
  const mine = spots.slice(first, last + 1);
  // A band of one window is as wide as the window.
  const ends = mine.length > 1 ? mine.map((k) => [of(k), k]) : [[of(first) - half(of), first], [of(first) + half(of), first]];
  const there = ends.map(([at, k]) => `${at.toFixed(1)} ${y(high[k]).toFixed(1)}`);
  const back = ends.reverse().map(([at, k]) => `${at.toFixed(1)} ${y(low[k]).toFixed(1)}`);
  return `M${[...there, ...back].join("L")}Z`;
}).join("");
const upright = (list, name, of, top, bottom) =>
  shape("path", { class: name, d: list.map((k) => `M${of(k).toFixed(1)} ${top}V${bottom}`).join("") });
const zeros = spots.map(() => 0);

// --- One rule -------------------------------------------------------------------------------------

const away = spots.filter((k) => !data.baseline[k]);
const accepted = data.accepted.map((at) => placeOf.get(at));
const waivers = new Map(data.waivers.map((one) => [one.rule, one]));
const latest = n - 1;

const points = (share) => (share === 0 ? "0" : share < 0.1 ? (100 * share).toPrecision(2) : (100 * share).toFixed(0));
function sentenceAt(rule, k) {
  if (!isKnown(rule.share[k])) return `${data.at[k]}: not checked, or it applies to no rows`;
  const usual = isKnown(rule.low[k]) ? `, usual ${points(rule.low[k])} to ${points(rule.high[k])} %` : "";
  const evidence = isKnown(rule.evidence[k]) ? `; evidence ${rule.evidence[k].toFixed(2)}` : "";
  return `${data.at[k]}: ${points(rule.share[k])} % broken${usual}${evidence}`;
}

// The share at the top of a drawing. The band of a window with few rows reaches high: it is cut off.
function topShare(rule) {
  const highs = rule.high.filter(isKnown).sort((a, b) => a - b);
  const usual = highs.length ? highs[Math.floor(0.9 * (highs.length - 1))] : 0;
  return Math.max(1e-6, usual, ...rule.share.filter(isKnown));
}

function drawRule(rule) {
  const most = topShare(rule);
  const y = scaleY(SHARE_TOP, SHARE_BOTTOM, most), e = scaleY(TOP, BOTTOM, MOST);
  const isOut = (k) => isKnown(rule.share[k]) && isKnown(rule.high[k]) && (rule.share[k] > rule.high[k] || rule.share[k] < rule.low[k]);
  const dots = spots.filter(isOut).map((k) => `M${x(k).toFixed(1)} ${y(rule.share[k]).toFixed(1)}h0`).join("");
  const raised = rule.alarms.map((at) => placeOf.get(at));
  const isMuch = rule.evidence.some((v) => isKnown(v) && v >= 1);
  const here = shape("path", { class: "here" });
  const svg = shape("svg", { width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${rule.text}. ${sentenceAt(rule, latest)}` },
    ...spans(rule.waived, "waived", x, SHARE_TOP, BOTTOM),
    ...spans(rule.alarms.length ? away : [], "away", x, SHARE_TOP, BOTTOM),
    shape("path", { class: "band", d: area(rule.low, rule.high, y, x) }),
    shape("path", { class: "line", d: curve(rule.share, y, x) }),
    n === 1 && isKnown(rule.share[0]) ? shape("path", { class: "dots fine", d: `M${x(0)} ${y(rule.share[0])}h0` }) : null,
    dots ? shape("path", { class: "dots out fine", d: dots }) : null,
    shape("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: SHARE_BOTTOM, y2: SHARE_BOTTOM }),
    shape("text", { x: LEFT, y: SHARE_TOP - 4 }, `${points(most)} % broken`),
    shape("path", { class: isMuch ? "evidence much" : "evidence", d: area(zeros, rule.evidence, e, x) }),
    shape("line", { class: "guide", x1: LEFT, x2: RIGHT, y1: e(1), y2: e(1) }),
    shape("text", { x: LEFT, y: TOP - 2 }, "evidence"),
    shape("text", { x: RIGHT, y: TOP - 2, "text-anchor": "end" }, "alarm at the line"),
    upright(accepted, "taken", x, SHARE_TOP, BOTTOM), upright(raised, "raised", x, SHARE_TOP, BOTTOM),
    shape("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }),
    shape("text", { x: LEFT, y: HIGH - 3 }, data.at[0]),
    n > 1 ? shape("text", { x: RIGHT, y: HIGH - 3, "text-anchor": "end" }, data.at[latest]) : null,
    here);
  return { svg, here };
}

function multiple(rule) {
  const { svg, here } = drawRule(rule);
  const said = element("p", { class: "at" });
  const say = (k) => { said.textContent = `${rule.id} · ${sentenceAt(rule, k)}`; };
  say(latest);
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDE;
    return Math.max(0, Math.min(latest, n < 2 ? 0 : Math.round(((at - LEFT) / (RIGHT - LEFT)) * (n - 1))));
  };
  svg.addEventListener("pointermove", (event) => {
    const k = nearest(event);
    here.setAttribute("d", `M${x(k)} ${SHARE_TOP}V${BOTTOM}`);
    say(k);
  });
  svg.addEventListener("pointerleave", () => { here.removeAttribute("d"); say(latest); });
  const waiver = waivers.get(rule.id);
  const waived = waiver ? `until ${waiver.until}: ${waiver.why}` : "in the rules file";
  const badge = rule.waived.includes(latest) ? element("span", { class: "badge", title: waived }, "waived")
    : rule.alarms.length ? element("span", { class: "badge beyond" }, "alarm") : null;
  return element("article", { class: rule.alarms.length ? "multiple alarmed" : "multiple" },
    element("h3", { title: rule.full ?? rule.text }, badge, rule.text), said, svg);
}

// --- What is shown --------------------------------------------------------------------------------

const FILTERS = [
  { key: "alarms", label: "In alarms", keeps: (rule) => rule.alarms.length > 0 },
  { key: "evidence", label: "With evidence", keeps: (rule) => rule.alarms.length > 0 || (rule.evidence[latest] ?? 0) >= 0.2 },
  { key: "all", label: "All", keeps: () => true },
];
const state = { filter: "all", only: null, search: "", shown: [], made: 0 };
const folded = data.rules.map((rule) => `${rule.id} ${rule.text}`.toLowerCase());

function update() {
  const { keeps } = FILTERS.find((one) => one.key === state.filter);
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  state.shown = data.rules.filter((rule, i) =>
    (state.only ? state.only.has(rule.id) : keeps(rule)) && words.every((word) => folded[i].includes(word)));
  state.made = 0;
  find("multiples").replaceChildren();
  makeMore();
  const all = whole(data.n_rules);
  find("status").textContent = state.shown.length === data.n_rules ? `${all} rules` : `${whole(state.shown.length)} of ${all} rules`;
}

function makeMore() {
  const next = state.shown.slice(state.made, state.made + AT_ONCE);
  find("multiples").append(...next.map(multiple));
  state.made += next.length;
  if (!state.shown.length) find("multiples").append(element("p", { class: "key" }, "No rule fits. Change the search or show all."));
  find("more").hidden = state.made >= state.shown.length;
  find("more").textContent = `Show more (${whole(state.shown.length - state.made)} left)`;
}

// --- Alarms, totals, decisions --------------------------------------------------------------------

const SAID = { new: "new in the last window", open: "still open", accepted: "accepted", over: "over" };

function alarmItem(alarm) {
  const between = alarm.started_low === alarm.started_high ? "" : `, ${alarm.started_low} to ${alarm.started_high} by the evidence`;
  const text = `Raised ${alarm.at}, ${SAID[alarm.status]}. Began about ${alarm.started}${between}.`;
  const drawn = new Set(data.rules.map((rule) => rule.id));
  const mine = alarm.rules.map((rule) => rule.id).filter((id) => drawn.has(id));
  const button = mine.length ? element("button", { type: "button", class: "evidence" }, `Show ${whole(mine.length)} rule${mine.length === 1 ? "" : "s"}`) : null;
  button?.addEventListener("click", () => {
    state.only = new Set(mine);
    for (const input of find("filter").querySelectorAll("input")) input.checked = false;
    update();
    find("rules").scrollIntoView();
    find("rules").focus({ preventScroll: true });
  });
  return element("li", {}, element("p", { class: "what" }, alarm.cause), element("p", { class: "said" }, text, " ", button));
}

function cards() {
  const open = data.alarms.filter((one) => one.status === "new" || one.status === "open").length;
  const nearest = data.most[latest] ?? 0;
  const list = [
    ["Windows", whole(n), n ? `${data.at[0]} to ${data.at[latest]}` : "", false],
    ["Alarms", whole(data.alarms.length), `${whole(open)} open`, open > 0],
    ["Most evidence now", nearest.toFixed(2), "an alarm takes 1", nearest >= 1],
    ["In the baseline", whole(n - away.length), `of ${whole(n)} windows`, false],
  ];
  return list.map(([name, big, small, isAlarm]) =>
    element("div", { class: isAlarm ? "alarm" : null }, element("dt", {}, name), element("dd", { class: "big" }, big), element("dd", { class: "small" }, small)));
}

function overview(width) {
  const left = 34, right = width - 8, top = 16, bottom = 120, height = 142;
  const of = scaleX(left, right), y = scaleY(top, bottom, MOST);
  const steps = Math.max(1, Math.min(6, Math.floor(width / 130), n - 1));
  const marks = [...new Set(Array.from({ length: steps + 1 }, (_, i) => Math.round((i * latest) / steps)))];
  const raised = data.alarms.map((one) => placeOf.get(one.at)).filter(isKnown);
  return [
    shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "the most evidence that any rule has, in each window, and alarms" },
      ...spans(away, "away", of, top, bottom),
      shape("path", { class: "evidence", d: area(zeros, data.most, y, of) }),
      shape("path", { class: "line", d: curve(data.most, y, of) }),
      shape("line", { class: "guide", x1: left, x2: right, y1: y(1), y2: y(1) }),
      shape("text", { x: left - 6, y: y(1) + 4, "text-anchor": "end" }, "1"),
      shape("text", { x: left - 6, y: bottom + 4, "text-anchor": "end" }, "0"),
      upright(accepted, "taken", of, top, bottom), upright(raised, "raised", of, top, bottom),
      shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
      ...marks.map((k) => shape("text", { x: of(k), y: height - 5, "text-anchor": n < 2 ? "middle" : k === 0 ? "start" : k === latest ? "end" : "middle" }, data.at[k]))),
    element("figcaption", {}, "The most evidence that any rule has; an alarm is raised at the dashed line, or by several rules together below it. More than twice that is cut off."),
  ];
}

function decisions() {
  const items = data.accepted.map((at) => element("li", {}, `Window ${at} was accepted: it is part of the baseline.`));
  for (const one of data.waivers) {
    items.push(element("li", {}, element("code", {}, one.rule), ` is waived until ${one.until}: ${one.why} `, one.text ? element("code", {}, one.text) : null));
  }
  return items;
}

function setUpFilters() {
  for (const { key, label, keeps } of FILTERS) {
    const input = element("input", { type: "radio", name: "filter", value: key });
    input.checked = key === state.filter;
    input.addEventListener("change", () => { state.filter = key; state.only = null; update(); });
    find("filter").append(element("label", {}, input, `${label} `, element("span", {}, whole(data.rules.filter(keeps).length))));
  }
  find("search").addEventListener("input", (event) => { state.search = event.target.value; update(); });
  find("more").addEventListener("click", makeMore);
}

function setUpAlarms() {
  const many = data.alarms.length;
  find("findings").classList.toggle("clean", !many);
  find("findings-title").textContent = many ? `${whole(many)} alarm${many === 1 ? "" : "s"}` : "No alarms: the windows are like the baseline.";
  find("findings-list").append(...data.alarms.toReversed().map(alarmItem));
}

document.title = data.title;
find("title").textContent = data.title;
find("checked").textContent = `${data.summary}. ${data.promise}`;
setUpAlarms();
find("cards").append(...cards());
if (n) find("overview").append(...overview(Math.max(280, Math.min(find("overview").clientWidth, 1180))));
find("decisions").hidden = !data.accepted.length && !data.waivers.length;
find("decisions-list").append(...decisions());
find("key").append(
  element("span", { class: "legend" }, "share broken"), element("span", { class: "legend band" }, "99 % of windows like the baseline"),
  element("span", { class: "legend raised" }, "alarm"), element("span", { class: "legend away" }, "not in the baseline"),
  ...(data.accepted.length ? [element("span", { class: "legend taken" }, "accepted")] : []),
  ...(data.rules.some((rule) => rule.waived.length) ? [element("span", { class: "legend waived" }, "waived")] : []));
find("footer").textContent = `Made by sqrl ${data.version}.` +
  (data.rules.length < data.n_rules ? ` The ${whole(data.rules.length)} rules with the most evidence are drawn.` : "");
setUpFilters();
setUpTheme(find("theme"), document.documentElement);
if (n) update();
