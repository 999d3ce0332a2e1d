"""blendtree."""

__all__: list[str] = []
