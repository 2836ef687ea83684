"""The format of every error response: problem details (RFC 9457), application/problem+json."""

import sys
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import msgspec
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.views import set_rollback

from dlqadmin.logs import context
from dlqadmin.rest.documents import Document

CONTENT_TYPE = "application/problem+json"
NO_DATABASE = "The database does not respond, or is too busy. Try again in a few seconds."
FULL_DISK = "The disk of the database is full. Nothing can be changed until it has room again."
POSTGRES_DISK_FULL, SQLITE_DISK_FULL = "53100", "database or disk is full"
# PostgreSQL's words to a new connection, for which it can't write its cache of the system catalogs. They have no code.
POSTGRES_NO_INIT_FILE = "could not write init file"


class ProblemFinding(Document):
    """One finding of a problem: the parameter or field, and its error."""

    parameter: str
    message: str


class ProblemPosition(Document):
    """The faulty range of a parameter's characters, half-open, from 0."""

    start: int
    end: int


class Problem(Document):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[ProblemFinding]
    at: ProblemPosition | msgspec.UnsetType = msgspec.UNSET
    code: str | msgspec.UnsetType = msgspec.UNSET


class ParameterError(exceptions.ValidationError):
    """An invalid query parameter.

    The problem names the parameter, and the range of the fault in it if that is known.
    """

    def __init__(self, parameter: str, message: str, at: tuple[int, int] | None = None) -> None:
        super().__init__({parameter: [message]})
        self.at = at


class StateConflict(exceptions.APIException):
    """The request conflicts with the current state of the resource."""

    status_code = 409
    default_detail = "The request conflicts with the current state."
    default_code = "conflict"


class UpstreamUnavailable(exceptions.APIException):
    """A service that the dashboard depends on does not answer."""

    status_code = 503
    default_detail = "A service that the dashboard depends on does not respond."
    default_code = "unavailable"


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Convert any API exception to a problem. Returns None for bugs, which Django handles."""
    if isinstance(error, Http404):
        error = exceptions.NotFound(str(error) or "Not found.")
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        return None
    if isinstance(error, exceptions.NotAuthenticated):  # a session that ended by itself has an error with the reason
        ended: exceptions.NotAuthenticated = getattr(context["request"], "session_ended", error)
        error = ended
    set_rollback()
    at = error.at if isinstance(error, ParameterError) else None
    code = getattr(error, "problem_code", None)
    response = problem(
        context["request"].get_full_path(), error.status_code, *_sentence_and_findings(error), at=at, code=code
    )
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    if (wait := getattr(error, "wait", None)) is not None:
        response["Retry-After"] = str(int(wait))
    return response


def problem(
    instance: str,
    status: int,
    detail: str,
    errors: list[ProblemFinding] | None = None,
    at: tuple[int, int] | None = None,
    code: str | None = None,
) -> HttpResponse:
    """Return a problem document as a response.

    `at` is the faulty range of the parameter's characters. `code` is a name for clients that must
    distinguish this problem from others with the same status.
    """
    # A query string may hold surrogates, which no encoder accepts.
    body = Problem(
        type="about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=_clean(detail),
        instance=_clean(instance),
        errors=errors or [],
        at=msgspec.UNSET if at is None else ProblemPosition(start=at[0], end=at[1]),
        code=msgspec.UNSET if code is None else code,
    )
    return HttpResponse(msgspec.json.encode(body), status=status, content_type=CONTENT_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle Django's 400: a request that Django could not parse."""
    return problem(request.get_full_path(), 400, "The request is not valid.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle Django's 403."""
    return problem(request.get_full_path(), 403, "You do not have permission to do this.")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Handle Django's 404, and every unknown URL of the API."""
    return problem(request.get_full_path(), 404, "This address does not exist.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Handle Django's 500: no database, or a bug. It is reported without its details."""
    error = sys.exc_info()[1]
    if isinstance(error, OperationalError | InterfaceError):
        return problem(request.get_full_path(), 503, FULL_DISK if is_disk_full(error) else NO_DATABASE)
    of_request = f" of request {found}" if (found := context.request_id()) else ""
    return problem(request.get_full_path(), 500, f"The dashboard failed. Its log has the stack trace{of_request}.")


def is_disk_full(error: BaseException) -> bool:
    """Return whether the database refused a statement or a connection because its disk is full."""
    if getattr(error.__cause__, "sqlstate", "") == POSTGRES_DISK_FULL:
        return True
    return str(error) == SQLITE_DISK_FULL or POSTGRES_NO_INIT_FILE in str(error)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Handle a write request without a valid CSRF token."""
    return problem(request.get_full_path(), 403, f"CSRF check failed: {reason}")


def _sentence_and_findings(error: exceptions.APIException) -> tuple[str, list[ProblemFinding]]:
    """Return a problem's sentence, and its findings."""
    if not isinstance(error, exceptions.ValidationError):
        return str(error.detail), []
    errors = [ProblemFinding(parameter=name, message=_clean(message)) for name, message in _flatten("", error.detail)]
    named = [f"{row.parameter}: {row.message}" if row.parameter else row.message for row in errors]
    return "; ".join(named) or "Invalid input.", errors


def _flatten(path: str, detail: Any) -> Iterator[tuple[str, str]]:
    """Yield every message of DRF's nested error detail, with the dotted path of its field."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from _flatten(".".join(part for part in (path, own) if part), inner)
    elif isinstance(detail, list):
        for inner in detail:
            yield from _flatten(path, inner)
    else:
        yield path, str(detail)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
