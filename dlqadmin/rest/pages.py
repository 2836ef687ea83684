"""The frontend's HTML page, and the build of the frontend that the server has."""

from __future__ import annotations

import mimetypes
import re
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

# The routes of the frontend's router (`frontend/src/app/App.tsx`). A test compares both.
SCREENS = re.compile(
    r"/(overview|trends|groups(/[^/]+)?|fixes|records(/[^/]+(/fix)?)?|bulk-fixes/[^/]+|replays(/[^/]+)?"
    r"|connectors(/[^/]+(/[^/]+(/edit)?)?)?|new-connector|alerts(/(rules|firings)/[^/]+)?|topics(/[^/]+)?|exports|audit|profile"
    r"|invitation/[^/]+|settings(/clusters|/people|/registries|/channels|/dialects(/[^/]+)?)?)?/?"
)
ENTRY_SCRIPT = re.compile(rb'src="/assets/([\w-]+)\.js"')
NOT_BUILT = "The frontend is not built. Run `npm --prefix frontend run build`."
FOREVER = "max-age=315360000, public, immutable"  # the name of an asset contains its hash


@require_safe
@never_cache
def frontend(request: HttpRequest) -> HttpResponse:
    """Return the frontend's single page. Its router reads the URL.

    The status is 404 for a path that is no screen; the page then says so.
    """
    index = settings.FRONTEND_DIST / "index.html"
    if not index.is_file():
        return HttpResponse(NOT_BUILT, status=503, content_type="text/plain")
    status = 200 if SCREENS.fullmatch(request.path) else 404
    return HttpResponse(index.read_bytes(), status=status, content_type="text/html; charset=utf-8")


@require_safe
def asset(request: HttpRequest, name: str) -> HttpResponse:
    """Return a file of a build that is newer than this process.

    WhiteNoise serves the files that it found at the start, compressed. The page above is always the newest one, so
    its files must be served too. Raises Http404.
    """
    file = settings.FRONTEND_DIST / "assets" / name  # the URL pattern allows no slash in a name
    if not file.is_file():
        raise Http404("There is no such file in this build.")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return HttpResponse(file.read_bytes(), content_type=kind, headers={"Cache-Control": FOREVER})


def frontend_build() -> str | None:
    """Return the name of the frontend's entry script, which contains a hash. None if the frontend is not built.

    An open tab compares it with its own script to notice a new build.
    """
    index = settings.FRONTEND_DIST / "index.html"
    try:
        stat = index.stat()
        return _entry_script(index, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return None


@lru_cache(maxsize=1)  # every API response asks, so the page is only read after a change
def _entry_script(index: Path, _mtime_ns: int, _size: int) -> str | None:
    found = ENTRY_SCRIPT.search(index.read_bytes())
    return found[1].decode() if found else None
