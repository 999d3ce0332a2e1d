"""root_motion."""

__all__: list[str] = []
