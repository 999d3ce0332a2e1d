"""dataset."""

__all__: list[str] = []
