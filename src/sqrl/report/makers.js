"use strict";
// What all pages draw with. Text from the data is only ever set as text, never as markup: that, and
// a page's policy, is why nothing in a column name or a value can run.

// --- Small makers -------------------------------------------------------------------------------

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter(isKnown));
  return made;
}
const element = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const whole = (n) => Math.round(n).toLocaleString("en");
const isKnown = (x) => x !== null && x !== undefined;

function number(x) {
  if (!isKnown(x)) return "–";
  const size = Math.abs(x);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return x.toExponential(2);
  if (Number.isInteger(x) || size >= 1e4) return whole(x);
  return String(Number(x.toPrecision(4)));
}
function pText(p) {
  if (!isKnown(p)) return "–";
  if (p === 0) return "< 1e-300";
  return p < 1e-3 ? p.toExponential(1) : String(Number(p.toPrecision(2)));
}
function percent(share) {
  const value = 100 * share;
  const digits = value === 0 || value >= 9.95 ? 0 : value >= 0.1 ? 1 : 2;
  return `${value.toFixed(digits)} %`;
}

// --- Light and dark -------------------------------------------------------------------------------

// The button turns what is shown in `place`, which begins as the system has it unless told.
function setUpTheme(button, place, isDarkNow) {
  const show = (isDark) => {
    button.setAttribute("aria-pressed", String(isDark));
    button.textContent = isDark ? "Light" : "Dark";
  };
  let isDark = isDarkNow ?? matchMedia("(prefers-color-scheme: dark)").matches;
  show(isDark);
  button.addEventListener("click", () => {
    isDark = !isDark;
    place.dataset.theme = isDark ? "dark" : "light";
    show(isDark);
  });
}
