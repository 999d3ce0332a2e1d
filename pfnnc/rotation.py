"""rotation."""

__all__: list[str] = []
