"""The review page as a notebook shows it, without one: a plain page and a stub of a model."""

from browser import until
from made_review import patients
from sqrl import as_table
from sqrl._review.review import Review, widget_module
from sqrl._review.session import Session

# What a notebook could have: styles for everything, and keys of its own.
NOTEBOOK = """<!doctype html><html lang="en"><title>notebook</title>
<style>
body { background: #ffffff; } button { letter-spacing: 7px; } #list, .row { display: none; }
</style>
<main>
<h1>Notebook</h1><button id="own">Run</button><div id="cell"></div><div id="other"></div>
</main>
<script>
const sent = [], heard = [], keys = [], views = {};
const model = {
  send: (message) => sent.push(message),
  on: (name, act) => heard.push(act),
  off: (name, act) => heard.splice(heard.indexOf(act), 1),
};
document.addEventListener("keydown", (event) => keys.push(event.key));
</script>
"""
SHOW = """
const [source, id, done] = arguments;
const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
import(address).then(async (module) => {
  views[id] = await module.default.render({ model, el: document.getElementById(id) });
  done();
});
"""
INSIDE = "const root = document.querySelector(`#${arguments[0]} > div`).shadowRoot;"


class StubWidget:
    """Keeps what Python tells the page."""

    def __init__(self):
        self.told = []

    def on_msg(self, act):
        self.hear = act

    def send(self, message):
        self.told.append(message)


def stub_review(rules, *, by="Ann"):
    """A review of rules beside rows of the ward, with a stub in place of the notebook's widget."""
    rows = as_table(patients(4000), source="ward.parquet")
    return Review(Session(rules, rows, by=by), StubWidget())


class Cell:
    """A cell of the page that shows a review; messages go to and fro when somebody looks."""

    def __init__(self, driver, reviewed, id="cell", *, patience="10_000"):
        self.driver, self.reviewed, self.id = driver, reviewed, id
        module = widget_module().replace("PATIENCE = 10_000", f"PATIENCE = {patience}")
        driver.execute_async_script(SHOW, module, id)

    def exchange(self):
        """Give Python what the page sent, and the page what Python answers."""
        stub = self.reviewed.widget
        for message in self.driver.execute_script("return sent.splice(0)"):
            stub.hear(None, message, [])
        for answer in stub.told:
            self.driver.execute_script("heard.forEach((act) => act(arguments[0]))", answer)
        stub.told.clear()

    def until(self, holds):
        """Wait until something holds, while messages go to and fro."""

        def is_so():
            self.exchange()
            return holds()

        until(is_so)

    def inside(self, code, *arguments):
        """The value of some JavaScript about `root`, the page in this cell."""
        return self.driver.execute_script(f"{INSIDE} return {code}", self.id, *arguments)

    def text(self, selector):
        """The text of what a selector finds in this cell."""
        return self.inside("root.querySelector(arguments[1])?.innerText ?? ''", selector)
