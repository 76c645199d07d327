"""A hundred texts that run as a script, or break out of where they stand, on a page that reads text as markup."""

from __future__ import annotations

RUN = "window.hacked=1"
TAGS = ("script", "img", "svg", "iframe", "object", "embed", "video", "audio", "math", "style", "link", "base", "meta")
HANDLERS = (
    "onerror",
    "onload",
    "onclick",
    "onfocus autofocus",
    "onmouseover",
    "ontoggle",
    "onanimationstart",
    "onbegin",
)
SHELLS = (
    "{}",
    '">{}',
    "'>{}",
    "</title>{}",
    "</textarea>{}",
    "</script>{}",
    "-->{}",
    "]]>{}",
)
BARE = (
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}//",
    f"data:text/html,<script>{RUN}</script>",
    f"<a href=javascript:{RUN}>x</a>",
    f"<form action=javascript:{RUN}><button>x</button></form>",
    "${" + RUN + "}",
    "{{constructor.constructor('" + RUN + "')()}}",
    f"`;{RUN};`",
    f"';{RUN};'",
    f'";{RUN};"',
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"%3Cscript%3E{RUN}%3C/script%3E",
    "__proto__",
    "constructor",
    "../../api/session",
    "#detail/x",
    "id&id=other",
    "\u202egpj.exe",
    "‘“<b>”’",
)


def payloads() -> list[str]:
    tags = [f"<{tag} src=x onerror={RUN} onload={RUN}>" for tag in TAGS]
    handlers = [f"<svg {handler}={RUN}>" for handler in HANDLERS]
    shells = [shell.format(f"<img src=x onerror={RUN}>{i}") for i, shell in enumerate(SHELLS)]
    scripts = [f"{i}<scr<script>ipt>{RUN}</script>" for i in range(3)] + [
        f"<ScRiPt {i}>{RUN}</sCrIpT>" for i in range(3)
    ]
    found = [*tags, *handlers, *shells, *scripts, *BARE]
    doubled = [f"{one}{other}" for one, other in zip(found, reversed(found), strict=True)]
    return (found + doubled)[:100]
