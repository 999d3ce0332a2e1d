"""skeleton."""

__all__: list[str] = []
