"""Build the documentation site: pages are gathered, mkdocs renders them, all links are checked.

make site; or, where the extra `docs` is installed: python website/build_site.py
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from api_pages import FOLDER
from site_links import main as check_links
from site_pages import ROOT, write_pages

SITE = ROOT / "site"


def private_names(site: Path) -> list[str]:
    """Where the API reference shows names of private modules, such as imports of examples."""
    found = []
    for page in sorted((site / FOLDER).glob("*.html")):
        text = re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8"))
        names = sorted(set(re.findall(r"\bsqrl\._[a-z][\w.]*", text)))
        found += [
            f"{page.name}: {name} is private; import it from where it is public" for name in names
        ]
    return found


def main() -> int:
    """Build into site/; the exit status."""
    settings = write_pages(ROOT / "build" / "website")
    # What the theme's makers say of a future mkdocs: docs/decisions/0030-documentation-site.md.
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    # Not --quiet: warnings that are not shown are not counted, and --strict would let them pass.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    command += ["--config-file", str(settings), "--site-dir", str(SITE)]
    code = subprocess.run(command, env=quiet, cwd=ROOT, check=False).returncode
    if code == 0:
        private = private_names(SITE)
        print(*private, sep="\n", end="\n" if private else "")
        code = check_links(SITE) or bool(private)
        print(f"open {SITE / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
