"""The site: `sphinx-build -W docs site`; warnings are errors."""

import sys
from pathlib import Path

import renyi

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "renyi"
author = copyright = "the renyi authors"
version = release = renyi.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "scripts.pages.docstrings",
    "scripts.pages.maths",
    "scripts.pages.written",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks come with their outputs: `make tutorials`
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"renyi {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
exclude_patterns = ["site"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "Array"}
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
