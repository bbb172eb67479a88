// The review page as `sqrl review` serves it: it asks the server that it came from.

async function fetched(path, options) {
  let answer, content;
  try {
    answer = await fetch(path, options);
    content = await answer.json();
  } catch {
    throw new Error("The server does not answer; it may have been stopped. Nothing was saved.");
  }
  if (!answer.ok) throw new Error(content.error);
  return content;
}

const server = {
  rule: (id) => fetched(`rule?id=${encodeURIComponent(id)}`),
  step: (step) => fetched("step", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(step) }),
  follow() {}, // nobody tells a page of steps in another tab
};
const review = openReview(document, JSON.parse(document.getElementById("data").textContent), server, document.documentElement);
document.getElementById("list").focus();
