"""Sphinx' configuration of the site; build.py copies it beside the pages."""

project = "Tidepool"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "Tidepool"
# addresses stay the same when a page changes
html_copy_source = False
html_show_copyright = False
# links to headings, as GitHub names them
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# a file that is no page is offered as it is
myst_all_links_external = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# a page may begin at any level of heading; a lexer that stumbles says nothing of the page
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
highlight_language = "text"
# the notebook is executed, and must not fail
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
