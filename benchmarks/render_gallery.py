"""Runs the scripts in examples/ and writes docs/gallery: story, picture, what is printed, code.

python benchmarks/render_gallery.py [NAME ...]      all of them, or those named

The index is written anew each time. Pages of reports are photographed in Chromium, so that has to
be installed, as have Lightning, Spark and the others that the scripts name.
"""

import ast
import io
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES, DOCS = ROOT / "examples", ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

MOST_BYTES = 80_000  # of a picture
COLOURS = 64
OPENING = """\
# Gallery

Each is a script that runs as it stands: `python examples/drifted_csv.py`. Data is made up in the
script, or comes with scikit-learn, and what is printed is what the script printed. They are run in
tests.
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """How a script is shown: in which part, if its picture is a page, what its figures rest on."""

    part: str
    is_page: bool = False
    packages: tuple[str, ...] = ()


GALLERY = {
    "drifted_csv": Shown("Tables", is_page=True),
    "renamed_category": Shown("Tables"),
    "llm_json": Shown("Tables", is_page=True),
    "sensor_lags": Shown("Tables"),
    "daily_history": Shown("Tables", is_page=True),
    "credit_by_group": Shown("Predictions"),
    "kitti_detector": Shown("Predictions", is_page=True),
    "image_extractors": Shown("Predictions", packages=("torch", "scikit-learn")),
    "repair_predictions": Shown("Predictions"),
    "lightning_callback": Shown("Training", packages=("torch", "lightning")),
    "camera_by_scale": Shown("Training", packages=("torch",)),
    "hugging_face_rule_loss": Shown("Training", packages=("torch", "transformers", "accelerate")),
    "dbt_tests": Shown("Where you already work"),
    "pytest_plugin": Shown("Where you already work"),
    "spark_dataframe": Shown("Where you already work"),
    "review_and_waive": Shown("Where you already work"),
}


@dataclass(frozen=True, slots=True)
class Example:
    """A script: its name, title, story, and code without these."""

    name: str
    title: str
    story: str
    code: str


def read_example(name: str) -> Example:
    """The script of this name, taken apart."""
    text = (EXAMPLES / f"{name}.py").read_text()
    opening = ast.parse(text).body[0]
    assert isinstance(opening, ast.Expr)
    assert isinstance(opening.value, ast.Constant)
    title, _, story = str(opening.value.value).partition("\n\n")
    code = "".join(text.splitlines(keepends=True)[opening.end_lineno :]).strip()
    return Example(name, title.rstrip("."), story.strip(), code)


def page(example: Example, printed: str, run_with: str = "") -> str:
    """The page of a script."""
    return f"""\
# {example.title}

{example.story}

![{example.title}](../images/gallery/{example.name}.png)

## What it prints

```text
{printed.rstrip()}
```
{run_with}
## The script

`python examples/{example.name}.py`

```python
{example.code}
```
"""


def index() -> str:
    """The page that lists all scripts, with their pictures, part by part."""
    parts = [OPENING]
    for part in dict.fromkeys(shown.part for shown in GALLERY.values()):
        lines = [f"## {part}", "", "| | |", "|---|---|"]
        for name in (name for name, shown in GALLERY.items() if shown.part == part):
            one = read_example(name)
            source = f'<img src="../images/gallery/{name}.png" alt="{one.title}" width="320">'
            lines.append(f"| [{source}]({name}.md) | **[{one.title}]({name}.md)**<br>{one.story} |")
        parts.append("\n".join(line.replace("\n", " ").rstrip() for line in lines) + "\n")
    return "\n".join(parts)


def run_with(shown: Shown) -> str:
    """What the figures of a script rest on, where that is more than its data."""
    if not shown.packages:
        return ""
    names = [f"{name} {version(name).partition('+')[0]}" for name in shown.packages]
    return (
        f"\nRun with {', '.join(names)}; sums of a model are not the same on every machine, and "
        "figures may differ a little.\n"
    )


def run(name: str, picture: Path) -> str:
    """What the script prints; its picture, or page, is written to a file."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), str(picture)]
    hidden = {"SQRL_DATA"}  # pages show what everybody has
    settings = {key: value for key, value in os.environ.items() if key not in hidden}
    settings |= {"COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=settings)
    return done.stdout


def photograph(source: Path) -> bytes:
    """A page as a browser shows the top of it."""
    from browser import open_browser  # type: ignore[import-not-found]

    with open_browser(1000, 640) as driver:
        driver.get(source.as_uri())
        taken: bytes = driver.get_screenshot_as_png()
    return taken


def small(picture: bytes) -> bytes:
    """The picture in few colours."""
    from PIL import Image

    made = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLOURS).save(made, "png", optimize=True)
    return made.getvalue()


def render(name: str) -> None:
    """Run a script, and write its page and picture."""
    shown = GALLERY[name]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made.html" if shown.is_page else "made.png")
        printed = run(name, made)
        picture = small(photograph(made) if shown.is_page else made.read_bytes())
    assert len(picture) < MOST_BYTES, (name, len(picture))
    (DOCS / "images" / "gallery" / f"{name}.png").write_bytes(picture)
    text = page(read_example(name), printed, run_with(shown))
    (DOCS / "gallery" / f"{name}.md").write_text(text)


def main() -> None:
    """Write the pages of the scripts that are named, or of all, and the index."""
    for folder in (DOCS / "gallery", DOCS / "images" / "gallery"):
        folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or GALLERY:
        render(name)
        print(name)
    (DOCS / "gallery" / "index.md").write_text(index())


if __name__ == "__main__":
    main()
