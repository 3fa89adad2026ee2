"""How a bench says what it measured: a ratio beside its aim. Nothing fails for being slow."""


def show(what: str, ratio: float, *, most: float | None = None, least: float | None = None) -> None:
    """Print a ratio, its aim, and whether the aim is missed."""
    aim = f"at most {most:g}" if most is not None else f"at least {least:g}"
    missed = (most is not None and ratio > most) or (least is not None and ratio < least)
    print(f"\n  {what}: {ratio:.3g} (aim: {aim}){' MISSED' * missed}", end="")
