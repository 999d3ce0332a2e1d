"""phase."""

__all__: list[str] = []
