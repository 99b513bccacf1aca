"""Where a store is, in a form that can be shown: a password never reaches a log or an error."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from renyi.errors import InvalidInput
from renyi.ledger.paths import path_of

_SECRET_OPTION = re.compile(r"pas|pw|secret", re.IGNORECASE)
"""Names of options of a URL that may hold a secret, mistyped ones too, beside the password before its @."""

_MISTYPED = re.compile(
    r"^(postgres|psycopg|mysql|mariadb|sqlite)[^/\\]*:|^(?![a-z]:[/\\]).*:.*@|passw\w*\s*=", re.IGNORECASE | re.DOTALL
)
"""What the name of a file hardly ever looks like, and a URL that lost a character does: it may hold a password. Only a path
on a drive of Windows has a colon before an @."""

_UNREADABLE = (
    "this URL cannot be read (it is not shown, as it may hold a password). Write sqlite:///budget.db or "
    "postgresql+psycopg://user:password@host/database, with %-escapes for special characters."
)


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
            if _MISTYPED.search(text):
                raise InvalidInput(
                    "this is neither a URL nor likely to be the name of a file (it is not shown, as it may hold a password). "
                    "Write postgresql+psycopg://user:password@host/database; or sqlite:///, and the file after it."
                )
            return cls._file(text)
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise InvalidInput(_UNREADABLE) from None
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
            return cls._file(url.database)
        if "@" in (url.host or ""):  # what follows an @ in a password would be taken for the host
            raise InvalidInput(_UNREADABLE)
        hidden = {option: "***" for option in url.query if _SECRET_OPTION.search(option)}
        shown = url.update_query_dict(hidden).render_as_string(hide_password=True)
        return cls(url, shown, tuple(_secrets(url)))

    @classmethod
    def _file(cls, name: str) -> Address:
        path = os.path.abspath(path_of(ledger=name))
        return cls(URL.create("sqlite", database=path), path)

    def hide(self, message: object) -> str:
        """The first line of a message of the database, with passwords struck out."""
        text = str(message).strip().partition("\n")[0]
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _secrets(url: URL) -> list[str]:
    found = [str(url.password)] if url.password else []
    for option, value in url.query.items():
        if _SECRET_OPTION.search(option):
            found += [value] if isinstance(value, str) else value
    return sorted(filter(None, found), key=len, reverse=True)
