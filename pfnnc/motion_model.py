"""motion_model."""

__all__: list[str] = []
