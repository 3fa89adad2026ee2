"""Where a database is: the URL of `ddlsim record`, with its password kept out of every text.

SQLAlchemy is imported where a URL is read: `list faults`, which names its types, does without it.
"""

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

from ddlsim.problems import BadInputError

if TYPE_CHECKING:
    import sqlalchemy

    URL = sqlalchemy.URL
else:
    URL = Any

HIDDEN: Final = "***"
SECRET: Final = "pass"
"""In the name of a parameter of a URL that is secret: password, sslpassword, passwd, passfile."""
GIVEN: Final = re.compile(
    rf"(?<=://)([^:/]*:)[^@]*(?=@)|([?&][^=&]*{SECRET}[^=&]*=)[^&]*", re.IGNORECASE
)
"""A password in the text of a URL, and a secret parameter of it, as SQLAlchemy divides them."""
EMBEDDED: Final = "postgresql:embedded"
"""What is asked for instead of a URL: a server of the recorder's own."""


class UrlError(BadInputError):
    """A URL that names no database; the message is one line with the form to use."""


def url_of(text: str) -> URL:
    """The parts of a URL such as `sqlite:///file` or `postgresql+psycopg://user@host/name`.

    Raises `UrlError`, which shows no more of the text than the scheme.
    """
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if text == EMBEDDED:
        return URL.create(EMBEDDED)
    scheme, between, _ = text.partition("://")
    if not between:
        named = text.partition(":")[0]
        raise UrlError(f"{named!r} is no URL of a database; say sqlite:///FILE, for example")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        form = f"{scheme}://USER:PASSWORD@HOST:PORT/NAME"
        raise UrlError(f"the URL of the database cannot be read; its form is {form}") from None
    if "@" in (url.host or ""):
        raise UrlError("the URL of the database has two @; write %40 for one of a password")
    return url


def without_password(text: str) -> str:
    """The text of a URL without its secrets."""
    return GIVEN.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}", text)


def without_secrets(url: URL, text: str) -> str:
    """A text without the secrets of a URL, however they got there."""
    given = [str(url.password or "")]
    given += [
        one for key, of in url.normalized_query.items() if SECRET in key.lower() for one in of
    ]
    found = {form for one in given for form in (one, quote(one, safe=""), quote_plus(one))}
    for secret in sorted(found - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
