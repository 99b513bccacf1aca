"""Where a store is, in a form that can be shown: a password never reaches a log or an error."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from renyi.errors import InvalidInput
from renyi.ledger.paths import path_of

_SECRET_OPTIONS = ("password", "sslpassword", "passfile")
"""Options of a PostgreSQL URL that may hold a secret, beside the password before its @."""


@dataclass(frozen=True, slots=True)
class Address:
    """A URL of SQLAlchemy, and what of it may be shown."""

    url: URL = field(repr=False)
    shown: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, where: str | os.PathLike[str]) -> Address:
        """The address that a path or URL names."""
        text = os.fspath(where) if isinstance(where, os.PathLike) else where
        if not isinstance(text, str) or not text:
            raise InvalidInput(
                "name a file, such as budget.db, or a URL, such as postgresql+psycopg://user@host/database."
            )
        if "://" not in text:
            path = os.path.abspath(path_of(ledger=text))
            return cls(URL.create("sqlite", database=path), path)
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise InvalidInput(
                "this URL cannot be read (it is not shown, as it may hold a password). Write sqlite:///budget.db or "
                "postgresql+psycopg://user:password@host/database, with %-escapes for special characters."
            ) from None
        if url.drivername in ("postgresql", "postgres"):  # the second is what hosting services hand out
            url = url.set(drivername="postgresql+psycopg")
        if url.get_backend_name() != "sqlite" and url.drivername != "postgresql+psycopg":
            raise InvalidInput(
                f"a ledger is kept by SQLite or by PostgreSQL through psycopg; {url.drivername!r} is neither. Write "
                "sqlite:///budget.db or postgresql+psycopg://user@host/database."
            )
        if url.get_backend_name() == "sqlite":
            if not url.database or url.database == ":memory:":
                raise InvalidInput("a ledger that is kept in memory records nothing: name a file.")
            return cls.of(url.database)
        hidden = {option: "***" for option in _SECRET_OPTIONS if option in url.query}
        shown = url.update_query_dict(hidden).render_as_string(hide_password=True)
        return cls(url, shown, tuple(_secrets(url)))

    def hide(self, message: object) -> str:
        """The first line of a message of the database, with passwords struck out."""
        text = str(message).strip().partition("\n")[0]
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _secrets(url: URL) -> list[str]:
    found = [str(url.password)] if url.password else []
    for option in _SECRET_OPTIONS:
        value = url.query.get(option)
        found += [value] if isinstance(value, str) else list(value or ())
    return sorted(filter(None, found), key=len, reverse=True)
