"""`/docs`: the OpenAPI document for people, as one page that loads nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto }
h2 { font-size: 1rem; margin-top: 2rem; border-top: 1px solid }
code { font-size: 1rem }
"""
# What a Content-Security-Policy names the style by: it stands in the page, which is public.
STYLE_HASH = f"'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}: routes</title>
<style>{style}</style>
<h1>{title}</h1>
<p>{summary} The machine's form is <a href="{openapi}">{openapi}</a>.</p>
{operations}
</html>
"""


def docs_page(document: dict[str, Any], openapi: str) -> str:
    """Return the HTML page of an OpenAPI document that is served at the path `openapi`."""
    operations = [
        _operation(method, path, operation)
        for path, methods in sorted(document["paths"].items())
        for method, operation in methods.items()
    ]
    return _PAGE.format(
        style=_STYLE,
        title=escape(document["info"]["title"]),
        summary=escape(document["info"]["summary"]),
        openapi=escape(openapi),
        operations="\n".join(operations),
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = [
        (f"{one['name']} ({one['in']})", one.get("description", ""))
        for one in operation.get("parameters", [])
    ]
    bodies = [("body", kind) for kind in operation.get("requestBody", {}).get("content", {})]
    answers = [
        (status, answer["description"]) for status, answer in sorted(operation["responses"].items())
    ]
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>\n"
        f"<p>{escape(operation['summary'])}. {escape(operation.get('description', ''))}</p>\n"
        f"{_list('Takes', parameters + bodies)}{_list('Answers', answers)}"
    )


def _list(title: str, entries: list[tuple[str, str]]) -> str:
    if not entries:
        return ""
    lines = [f"<li><code>{escape(name)}</code> {escape(about)}</li>" for name, about in entries]
    return f"<p>{title}</p>\n<ul>\n" + "\n".join(lines) + "\n</ul>\n"
