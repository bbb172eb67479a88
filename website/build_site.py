"""Build the documentation site: pages are gathered, mkdocs renders them, all links are checked.

make site; or, where the extra `docs` is installed: python website/build_site.py
"""

import os
import subprocess
import sys

from site_links import main as check_links
from site_pages import ROOT, write_pages

SITE = ROOT / "site"


def main() -> int:
    """Build into site/; the exit status."""
    settings = write_pages(ROOT / "build" / "website")
    # What the theme's makers say of a future mkdocs: docs/decisions/0030-documentation-site.md.
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]
    command += ["--config-file", str(settings), "--site-dir", str(SITE)]
    code = subprocess.run(command, env=quiet, cwd=ROOT, check=False).returncode
    if code == 0:
        code = check_links(SITE)
        print(f"open {SITE / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
