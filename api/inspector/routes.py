"""`/inspector`: static files without data. The page calls the API with its visitor's key."""

from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response, status
from starlette.exceptions import HTTPException

from api.settings import api_settings

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent
PAGE = "page.html"
SCRIPTS = (
    *("answers", "artifacts", "catalogs", "diff", "elements", "fields", "inspector", "lists", "log", "names"),
    *("picture", "place", "served", "session", "summaries", "theme", "usage", "window", "work"),
)
ASSETS = frozenset({"inspector.css", *(f"{name}.js" for name in SCRIPTS)})
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",  # what a visitor read stays in no cache, and an update shows at once
}


@router.get("/inspector")
def show_page() -> Response:
    """Answer with the page."""
    return _file(PAGE)


@router.get("/inspector/{name}")
def show_asset(name: str) -> Response:
    """Answer with a file of the page, from a fixed list of names."""
    if name not in ASSETS:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    return _file(name)


def _file(name: str) -> Response:
    """Answer with a file, or 404 if the page is off.

    Raises:
        HTTPException: `AFTERTURN_INSPECTOR` is false.
    """
    if not api_settings().inspector:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    return Response(_content(name), headers=HEADERS, media_type=TYPES[Path(name).suffix])


@cache
def _content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
