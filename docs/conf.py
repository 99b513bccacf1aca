"""The site: `sphinx-build -W docs site`; warnings are errors."""

from importlib.metadata import version as installed

project = "renyi"
author = copyright = "the renyi authors"
version = release = installed("renyi")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "renyi"
exclude_patterns = ["site"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "Array"}
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
