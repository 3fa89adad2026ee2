"""The documentation site: `python3 dev.py docs` builds it with sphinx into build/docs."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from generated import fill  # noqa: E402 - found beside this file

from ddlsim import __version__  # noqa: E402 - of this tree

project = "ddlsim"
copyright = "the ddlsim authors"  # noqa: A001 - sphinx calls it so
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "fieldlist"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
highlight_language = "text"
default_role = "code"
smartquotes = False  # of flags they make dashes
html_theme = "furo"
html_title = f"ddlsim {__version__}"
html_copy_source = False
html_show_sphinx = False


def setup(app):  # type: ignore[no-untyped-def]  # sphinx's own hook
    """Put what is generated where a page asks for it, before it is parsed."""
    app.connect("source-read", lambda _, name, source: source.__setitem__(0, fill(name, source[0])))
