"""Where a database is: the URL of `ddlsim record`, with its password kept out of every text."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from ddlsim.problems import BadInputError

HIDDEN: Final = "***"
SECRET: Final = "pass"
"""In the name of a parameter of a URL that is secret: password, sslpassword, passwd, passfile."""


class UrlError(BadInputError):
    """A URL that names no database; the message is one line with the form to use."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL, and the whole of it; `path` is a file or the name of a database."""

    text: str
    scheme: str
    path: str
    host: str | None
    port: int | None
    user: str | None
    password: str | None
    more: tuple[tuple[str, str], ...]

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no text may show: passwords, as they are and as the URL has them, longest first."""
        given = [self.password or "", *(value for key, value in self.more if SECRET in key.lower())]
        found = {form for one in given for form in (one, quote(one, safe=""), quote_plus(one))}
        return tuple(sorted(found - {""}, key=len, reverse=True))

    def without_secrets(self, text: str) -> str:
        """A text without them, however they got there."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text


def url_of(text: str) -> Url:
    """The parts of a URL such as `sqlite:///file` or `postgresql+psycopg://user@host/name`.

    Raises `UrlError`. As in SQLAlchemy's URLs, a file has three slashes, four if it is absolute.
    """
    scheme, colon, rest = text.partition(":")
    if not colon:
        raise UrlError(f"{scheme!r} is no URL of a database; say sqlite:///FILE, for example")
    if not rest.startswith("//"):
        return Url(text, text, "", None, None, None, None, ())
    try:
        parts = urlsplit(f"any:{rest}")
        port = parts.port
    except ValueError as error:
        raise UrlError(f"the URL of the database cannot be read: {error}") from None
    password = None if parts.password is None else unquote(parts.password)
    user = None if parts.username is None else unquote(parts.username)
    path = unquote(parts.path.removeprefix("/"))
    return Url(
        text, scheme, path, parts.hostname, port, user, password, tuple(parse_qsl(parts.query))
    )
