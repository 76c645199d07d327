"""How the documentation site is built: `sphinx-build -W docs docs/_build`, without any network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from rarespec._version import __version__  # noqa: E402

project = "rarespec"
author = "The rarespec developers"
copyright = "The rarespec developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "plain_docstrings",
    "short_signatures",
    "numpydoc",
    "sphinx_copybutton",
    "command_line",
    "files_outside",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"
highlight_language = "none"

myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = True
toc_object_entries_show_parents = "hide"

numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_copy_empty_lines = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = (
    "div.highlight-python pre, div.highlight-console pre, div.highlight-bash pre, div.highlight-none pre"
)

html_theme = "pydata_sphinx_theme"
html_title = "rarespec"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "rarespec"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
