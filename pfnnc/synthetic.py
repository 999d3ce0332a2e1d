"""synthetic."""

__all__: list[str] = []
