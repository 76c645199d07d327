"""`rarespec launcher`: what the tile in JupyterLab's launcher starts. People do not call it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rarespec.cli.exits import report_failures


@report_failures
def command(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port that Jupyter has chosen.")],
    base_url: Annotated[str, typer.Option(help="Path under which Jupyter shows the page.")],
) -> None:
    """Serve the start page that the tile in JupyterLab's launcher opens; jupyter-server-proxy calls this.

    Its key comes in the environment, never on the command line.
    """
    from rarespec.errors import UsageError
    from rarespec.inspector.launcher import KEY

    key = os.environ.pop(KEY, "")  # so that nothing started from here inherits it
    if not key:
        raise UsageError("the tile in JupyterLab's launcher starts this; call `rarespec inspect SURVEY` instead")
    from rarespec.inspector.entrance import find_entrance_of_tile
    from rarespec.inspector.jupyter_server import folder_of_jupyter
    from rarespec.inspector.server import listening
    from rarespec.inspector.start_page import StartPage, serve_sentence, serve_start_page
    from rarespec.labels.event import person_named

    with listening(port) as listener:
        try:
            person = person_named()
            entrance = find_entrance_of_tile(base_url, port)
        except UsageError as error:
            serve_sentence(str(error), listener)
        else:
            serve_start_page(StartPage(folder_of_jupyter(), person, key, port, entrance), listener)
