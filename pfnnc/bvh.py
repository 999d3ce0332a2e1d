"""bvh."""

__all__: list[str] = []
