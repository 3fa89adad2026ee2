"""A signature that was found, in documents and on screens."""

from ddlsim.cli.documents.shapes_hunt import SeenShape
from ddlsim.search.explore import Seen


def document(seen: Seen) -> SeenShape:
    """What a document says of a signature."""
    return {
        "id": seen.id,
        "signature": seen.signature,
        "status": seen.status,
        "invariant": seen.invariant,
        "checker": seen.checker,
        "kind": seen.kind,
        "summary": seen.summary,
    }


def heading(shape: SeenShape) -> str:
    """A signature behind its status, unless it begins with that: of a crash, or a stuck run."""
    status, signature = shape["status"], shape["signature"]
    return signature if signature.startswith(status) else f"{status}: {signature}"
