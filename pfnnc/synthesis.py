"""synthesis."""

__all__: list[str] = []
