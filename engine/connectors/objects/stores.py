"""Stores of objects that are created once and never changed: buckets and local folders.

An object carries the offset at which it ends: as metadata in a bucket, as an extended attribute in a folder. So object
and end appear together or not at all.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from engine.config.rooted_files import path_problem
from engine.connectors.objects.options import endpoint_of
from engine.errors import ConfigError, RetriableError
from engine.http_rules import is_refused

END = "end-offset"
ATTRIBUTE = f"user.engine.{END}"
TEMPORARY = ".tmp"
TIMEOUT_S = 30
PROBE = ".conditional-create"


class ObjectStore(Protocol):
    """A store. Its methods raise RetriableError and ConfigError."""

    def check(self, folder: str) -> None:
        """Prepare the folder. Raises ConfigError for a store that can't keep two tasks apart."""
        ...

    def end_of(self, path: str) -> int | None:
        """Return the end offset of an object; None if there is no such object."""
        ...

    def paths(self, folder: str, after: str | None) -> Iterator[str]:
        """Yield the paths of the folder, in any order; with `after`, only those that are higher."""
        ...

    def create(self, path: str, data: bytes, end: int) -> bool:
        """Write a durable object, unless there is one with this path; return whether it was written."""
        ...


class Bucket:
    """A bucket of an S3-compatible store, whose conditional writes (`If-None-Match: *`) keep two tasks apart."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        url = endpoint_of(options)
        check_address(url)
        key, secret = options["aws.access.key.id"], options["aws.secret.access.key"]
        # The library takes whatever is not set here from AWS_… and …_PROXY of the worker's environment.
        config: dict[str, Any] = {
            "endpoint": url,
            "region": options["s3.region"],
            "virtual_hosted_style_request": False,
            "skip_signature": not key,
            "conditional_put": "etag",
        }
        client: dict[str, Any] = {
            "timeout": f"{TIMEOUT_S}s",
            "allow_http": url.startswith("http:"),
            "proxy_url": "http://127.0.0.1:9",  # keeps the environment's proxies away
            "proxy_excludes": urlsplit(url).hostname,
        }
        # The engine's own policy decides about retries. A repeated create would find its own object.
        retry: dict[str, Any] = {"max_retries": 0, "retry_timeout": timedelta(seconds=TIMEOUT_S)}
        self._store = S3Store(
            options["s3.bucket.name"],
            config=config,  # type: ignore[arg-type] # plain dicts of options
            client_options=client,  # type: ignore[arg-type]  # the stubs ask for a TypedDict
            retry_config=retry,  # type: ignore[arg-type] # its other members have defaults
            credential_provider=lambda: {  # type: ignore[arg-type]  # the stubs ask for a TypedDict
                "access_key_id": key or "",
                "secret_access_key": secret or "",
                "token": None,
                "expires_at": None,
            },
        )

    def check(self, folder: str) -> None:
        top = folder.partition("/")[0]
        if self.create(f"{top}/{PROBE}", b"", 0) and self.create(f"{top}/{PROBE}", b"", 0):
            text = "ignores If-None-Match, so two tasks could replace each other's objects; use another store"
            raise ConfigError((("store.url", None, text),))

    def end_of(self, path: str) -> int | None:
        try:
            with _translated():
                found = obstore.get(self._store, path)
        except FileNotFoundError:
            return None
        return _end(path, found.attributes.get(END))

    def paths(self, folder: str, after: str | None) -> Iterator[str]:
        with _translated():
            for page in obstore.list(self._store, prefix=folder, offset=after, chunk_size=1000):
                yield from [one["path"] for one in page]

    def create(self, path: str, data: bytes, end: int) -> bool:
        try:
            with _translated():
                obstore.put(self._store, path, data, mode="create", attributes={END: str(end)}, use_multipart=False)
        except FileExistsError:
            return False
        return True


class Folder:
    """A local folder below the worker's root. A hard link to a complete file is its conditional create."""

    def __init__(self, directory: str, root: str | None) -> None:
        problem = path_problem(directory, root)
        if problem is not None:
            raise ConfigError((("local.directory", directory, problem),))
        self._directory = Path(directory)

    def check(self, folder: str) -> None:
        place = self._directory / folder
        with _files():
            place.mkdir(parents=True, exist_ok=True)
            # They belong to tasks that were killed, or that no longer own the partition.
            for left in place.glob(f".*{TEMPORARY}"):
                left.unlink(missing_ok=True)

    def end_of(self, path: str) -> int | None:
        with _files():
            try:
                return _end(path, os.getxattr(self._directory / path, ATTRIBUTE).decode())
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno == errno.ENODATA:
                    return _end(path, None)
                raise

    def paths(self, folder: str, after: str | None) -> Iterator[str]:
        with _files():
            names = [one.name for one in (self._directory / folder).iterdir() if not one.name.startswith(".")]
        found = (f"{folder}/{name}" for name in names)
        return (path for path in found if path > (after or ""))

    def create(self, path: str, data: bytes, end: int) -> bool:
        target = self._directory / path
        temporary = target.with_name(f".{target.name}-{uuid4().hex}{TEMPORARY}")
        with _files():
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    os.setxattr(file.fileno(), ATTRIBUTE, str(end).encode())
                    file.flush()
                    os.fsync(file.fileno())
                try:
                    os.link(temporary, target)
                except FileExistsError:
                    return False
                _sync(target.parent)
            finally:
                temporary.unlink(missing_ok=True)
        return True


def open_store(options: Mapping[str, Any], root: str | None) -> ObjectStore:
    """Return the store that the options name. Raises ConfigError."""
    return Folder(options["local.directory"], root) if options["local.directory"] else Bucket(options)


def _end(path: str, text: str | None) -> int:
    if text is None or not text.isdecimal():
        reason = f"has an object that this sink did not write: {path}; choose another folder"
        raise ConfigError((("topics.dir", None, reason),))
    return int(text)


@contextmanager
def _translated() -> Iterator[None]:
    """Translate the exceptions of a bucket. FileExistsError and FileNotFoundError are answers."""
    try:
        yield
    except (AlreadyExistsError, PreconditionError):
        raise FileExistsError from None
    except (NotFoundError, FileNotFoundError) as error:
        if "NoSuchBucket" in str(error):
            raise ConfigError((("s3.bucket.name", None, "does not exist; create the bucket"),)) from None
        raise FileNotFoundError from None
    except (PermissionDeniedError, UnauthenticatedError, PermissionError):
        text = "may not read and write objects in the bucket; correct the key, or its rights"
        raise ConfigError((("aws.access.key.id", None, text),)) from None
    except NotSupportedError:
        raise ConfigError((("store.url", None, "does not support conditional writes"),)) from None
    except BaseError as error:
        raise RetriableError(f"the object store can't be used: {reason_of(error)}") from None


def reason_of(error: BaseException) -> str:
    """Return the first line of a library's error, without the request before it."""
    return str(error).partition("\n")[0].rpartition(" - ")[2][:200]


@contextmanager
def _files() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOTSUP, errno.EOPNOTSUPP}:
            text = "is on a file system without extended attributes; choose another folder"
            raise ConfigError((("local.directory", None, text),)) from None
        raise RetriableError(f"the folder can't be used: {error.strerror}") from None


def _sync(folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(at)
    finally:
        os.close(at)


def check_address(url: str) -> None:
    """Refuse a store whose host leads to a link-local or metadata address."""
    parts = urlsplit(url)
    try:
        rows = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RetriableError(f"the name {parts.hostname} can't be resolved: {error}") from None
    for row in rows:
        if is_refused(str(row[4][0])):
            text = f"leads to {row[4][0]}, a link-local, multicast or metadata address, which is never allowed"
            raise ConfigError((("store.url", None, text),))
