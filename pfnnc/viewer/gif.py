"""A clip as an animated GIF, with Pillow (which comes with Matplotlib)."""

import os
from collections.abc import Sequence
from io import BytesIO

import numpy as np

from .. import _check
from .._files import written_whole
from .._progress import Progress
from ..skeleton import Clip
from .page import clip_geometry, titles_of

SHADES = (((122, 174, 255), (38, 92, 190), (78, 132, 226)), ((244, 178, 106), (196, 98, 32), (226, 138, 62)))
SKY, GRID, SHADOW, INK = (238, 241, 245), (205, 211, 219), (200, 204, 210), (32, 38, 46)
COLOURS = 128
MOST_FRAMES = 3000
PITCH, DISTANCE = 0.2, 1.9  # of the camera: radians, heights of the figure


def write_gif(
    path: str | os.PathLike,
    clips: Clip | Sequence[Clip],
    *,
    titles: Sequence[str] | None = None,
    fps: float = 20.0,
    size: int = 360,
    yaw: float = 0.85,
) -> None:
    """Write one or two clips side by side as a GIF that loops. The camera follows the root.

    ``titles``: one a clip, shown above it; the clips' names by default. ``fps``: pictures a second (GIF keeps hundredths of a
    second). ``size``: pixels of each clip's square. ``yaw``: where the camera stands, radians about y from the front.
    ``ImportError`` without Pillow; ``ValueError`` for more than 3000 pictures.
    """
    from PIL import Image

    clips = [clips] if isinstance(clips, Clip) else _check.sequence(clips, "clips", "one or two clips")
    if not 1 <= len(clips) <= 2:
        raise ValueError(f"clips must be one or two clips, got {len(clips)}")
    for i, clip in enumerate(clips):
        if not isinstance(clip, Clip):
            raise TypeError(f"clips[{i}] must be a Clip, got {type(clip).__name__}")
        if len(clip) == 0:
            raise ValueError(f"clips[{i}] has no frames")
    titles = titles_of(clips, titles)
    fps = _check.number(fps, "fps", above=0, most=50)
    size = _check.integer(size, "size", least=32, most=2000)
    yaw = _check.number(yaw, "yaw", least=-100, most=100)
    seconds = max((len(clip) - 1) / clip.fps for clip in clips)
    pictures = int(seconds * fps) + 1
    if pictures > MOST_FRAMES:
        raise ValueError(f"{seconds:.0f} s at {fps:g} pictures a second are more than {MOST_FRAMES} pictures")
    figures = [_Figure(clip, i, size, yaw) for i, clip in enumerate(clips)]
    images = []
    with Progress(pictures, "drawing") as bar:
        for n in range(pictures):
            image = Image.new("RGB", (size * len(clips), size), SKY)
            for i, (figure, title) in enumerate(zip(figures, titles, strict=True)):
                image.paste(figure.draw(n / fps), (size * i, 0))
                figure.label(image, size * i, title)
            # all with the colours of the first one: what stands still must not flicker
            images.append(image.quantize(palette=images[0], dither=Image.Dither.NONE) if images else image.quantize(COLOURS))
            bar.update()
    packed = BytesIO()
    images[0].save(packed, "GIF", save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0)
    with written_whole(path) as file:
        file.write(packed.getvalue())


class _Figure:
    """A clip before a camera that follows it."""

    def __init__(self, clip: Clip, index: int, size: int, yaw: float):
        self.points, self.bones, self.height, self.floor = clip_geometry(clip)
        self.fps, self.size, self.shades = clip.fps, size, SHADES[index % 2]
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(PITCH), np.sin(PITCH)
        self.axes = np.array([[cy, 0, -sy], [-sy * sp, cp, -cy * sp], [sy * cp, sp, cy * cp]])  # right, up, back

    def project(self, points: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Screen x, y and pixels a metre of points (N, 3)."""
        local = (points - target) @ self.axes.T
        depth = np.maximum(DISTANCE * self.height - local[:, 2], 0.05 * self.height)
        scale = 1.15 * self.size / depth
        return np.stack([self.size / 2 + scale * local[:, 0], self.size / 2 - scale * local[:, 1], scale], axis=1)

    def label(self, image, left: int, title: str) -> None:
        """The title, behind a dot of the figure's colour."""
        from PIL import ImageDraw, ImageFont

        high = max(11, self.size // 24)
        try:
            font = ImageFont.load_default(high)
        except TypeError:  # Pillow before 10.1 has none of that size
            return
        pen = ImageDraw.Draw(image)
        if title:
            pen.ellipse([left + 0.7 * high, 0.8 * high, left + 1.4 * high, 1.5 * high], fill=self.shades[2])
            pen.text((left + 1.8 * high, 1.15 * high), title, INK, font, anchor="lm")

    def draw(self, time: float):
        from PIL import Image, ImageDraw

        frame = min(round(time * self.fps), len(self.points) - 1)
        points = self.points[frame]
        target = np.array([points[0, 0], self.floor + 0.5 * self.height, points[0, 2]])
        twice = 2  # drawn at twice the size: smooth edges
        image = Image.new("RGB", (twice * self.size, twice * self.size), SKY)
        pen = ImageDraw.Draw(image)
        self.grid(pen, target, twice)
        flat = points.copy()
        flat[:, 1] = self.floor
        shown, shadow = self.project(points, target), self.project(flat, target)
        for child, parent, width, _ in self.bones:
            self.limb(pen, shadow[parent], shadow[child], width, SHADOW, twice)
        far = sorted(self.bones, key=lambda bone: shown[bone[0], 2] + shown[bone[1], 2])
        for child, parent, width, side in far:
            edge = tuple(round(0.6 * part) for part in self.shades[side])
            self.limb(pen, shown[parent], shown[child], width, edge, twice, rim=2)
            self.limb(pen, shown[parent], shown[child], width, self.shades[side], twice)
        return image.reduce(twice)

    def grid(self, pen, target: np.ndarray, twice: int) -> None:
        cell = 10.0 ** np.round(np.log10(self.height / 1.7))
        centre = np.round(target / cell) * cell
        reach = 6 * cell
        for k in range(-6, 7):
            for axis in (0, 2):
                ends = np.array([centre, centre])
                ends[:, 1] = self.floor
                ends[:, axis] += k * cell
                ends[:, 2 - axis] += [-reach, reach]
                near = (ends - target) @ self.axes[2] < 0.9 * DISTANCE * self.height
                if near.all():
                    a, b = self.project(ends, target)
                    pen.line([*(twice * a[:2]), *(twice * b[:2])], fill=GRID, width=2)

    def limb(self, pen, a, b, width, colour, twice: int, rim: float = 0) -> None:
        thick = max(2.0, twice * width * 0.5 * (a[2] + b[2])) + rim
        pen.line([*(twice * a[:2]), *(twice * b[:2])], fill=colour, width=round(thick))
        for point in (a, b):
            x, y = twice * point[:2]
            pen.ellipse([x - thick / 2, y - thick / 2, x + thick / 2, y + thick / 2], fill=colour)
