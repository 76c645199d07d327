"""The inspector: a page in the browser to look at candidates and to label them, served to this machine alone."""
