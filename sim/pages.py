"""Pages made of templates: whatever a template shows is escaped."""

from typing import TYPE_CHECKING, Any

from ddlsim.escape import escaped

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(package: str) -> "Environment":
    """The templates of a package, in its folder `templates`.

    Text is escaped for HTML, and characters that act but are not seen are written out; what is
    markup already (`markupsafe.Markup`) stays as it is.
    """
    from jinja2 import Environment, PackageLoader

    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )


def _visible(value: Any) -> Any:
    return escaped(value) if type(value) is str else value
