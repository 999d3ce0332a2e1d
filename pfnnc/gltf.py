"""Clips as glTF 2.0 binary files, which engines, Blender and browsers open (Khronos Group, glTF 2.0 specification)."""

import json
import os
import struct

import numpy as np

from ._files import written_whole
from .rotation import quat_unroll
from .skeleton import Clip, Skeleton

__all__ = ["save_glb"]

MAGIC, VERSION, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
UNSIGNED_SHORT, UNSIGNED_INT, FLOAT = 5123, 5125, 5126
MOST_BYTES = 2**32 - 1  # the length of a file is a uint32
MOST_SKIN_JOINTS = 65536  # vertices name their joint by a uint16
BONE_WIDTH = 0.08  # of a bone's length

# an octahedron from (0, 0, 0) to (0, 0, 1): its corners and, counter-clockwise from outside, its faces
CORNERS = np.array([[0, 0, 0], [1, 0, 0.2], [0, 1, 0.2], [-1, 0, 0.2], [0, -1, 0.2], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4], [5, 1, 2], [5, 2, 3], [5, 3, 4], [5, 4, 1]])


def save_glb(path: str | os.PathLike, clip: Clip) -> None:
    """Write a clip as a glTF 2.0 binary: a tree of nodes, an animation of it, and a skin of bones to look at.

    Each joint is a node of its name with a rotation channel; the root, or every joint where the clip has
    translations, has a translation channel too. Keys stand at ``i / fps`` seconds and are linear between; numbers are
    float32. glTF is right-handed with y up and metres, as clips are, so nothing is turned. Bones are octahedra that are
    bound rigidly to their joint. The file is written whole or not at all.

    ``TypeError`` where ``clip`` is no `Clip`, ``ValueError`` where it has no frame or would not fit into 4 GiB,
    ``OSError`` where the file cannot be written.

    >>> import pathlib, tempfile
    >>> from pfnnc import Skeleton
    >>> skeleton = Skeleton(["root", "tip"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    >>> clip = Clip(skeleton, [[0, 0, 0]], [[[1, 0, 0, 0]] * 2], fps=30, name="still")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "still.glb")
    ...     save_glb(path, clip)
    ...     path.read_bytes()[:4]
    b'glTF'
    """
    path = os.fspath(path)
    if not isinstance(clip, Clip):
        raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
    if len(clip) == 0:
        raise ValueError("clip must have at least one frame, got none")
    places = len(clip.skeleton) if clip.translations is not None else 1
    size = 4 * len(clip) * (1 + 4 * len(clip.skeleton) + 3 * places) + 3000 * len(clip.skeleton)
    if size > MOST_BYTES:
        raise ValueError(f"clip must fit into a file of 4 GiB, got {len(clip)} frames of {len(clip.skeleton)} joints")

    document = _Document()
    nodes = _nodes(clip)
    roots = [j for j, parent in enumerate(clip.skeleton.parents) if parent < 0]
    content = {
        "asset": {"version": "2.0", "generator": "pfnnc"},
        "scene": 0,
        "scenes": [{"nodes": roots}],
        "nodes": nodes,
        "animations": [_animation(document, clip)],
        "extras": {"name": clip.name, "fps": clip.fps},
    }
    if len(clip.skeleton) <= MOST_SKIN_JOINTS:
        _add_bones(document, content, clip.skeleton, roots)
    data = document.pack(content)
    with written_whole(path) as file:
        file.write(data)


class _Document:
    """The binary part of a file with the views and accessors into it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.length = 0
        self.views: list[dict] = []
        self.accessors: list[dict] = []

    def add(self, array: np.ndarray, kind: str, component: int, *, bounds: bool = False, target: int | None = None) -> int:
        """The index of a new accessor over a copy of ``array``."""
        data = array.tobytes()
        view = {"buffer": 0, "byteOffset": self.length, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        accessor = {"bufferView": len(self.views), "componentType": component, "count": len(array), "type": kind}
        if bounds:
            rows = array.reshape(len(array), -1)
            accessor |= {"min": rows.min(0).tolist(), "max": rows.max(0).tolist()}
        self.views.append(view)
        self.accessors.append(accessor)
        self.parts += [data, b"\0" * (-len(data) % 4)]
        self.length += len(data) + -len(data) % 4
        return len(self.accessors) - 1

    def pack(self, content: dict) -> bytes:
        """The whole file: a header, the JSON padded with spaces, the binary part."""
        content |= {"buffers": [{"byteLength": self.length}], "bufferViews": self.views, "accessors": self.accessors}
        text = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        length = 12 + 8 + len(text) + 8 + self.length
        if length > MOST_BYTES:
            raise ValueError(f"clip must fit into a file of 4 GiB, got {length} bytes")
        header = struct.pack("<III", MAGIC, VERSION, length)
        chunk = struct.pack("<II", len(text), JSON_CHUNK), text, struct.pack("<II", self.length, BINARY_CHUNK)
        return b"".join([header, *chunk, *self.parts])


def _nodes(clip: Clip) -> list[dict]:
    """The joints as they stand in the first frame."""
    names, parents = clip.skeleton.names, clip.skeleton.parents
    places = clip.skeleton.offsets if clip.translations is None else clip.translations[0]
    rotations = _float32(np.roll(clip.rotations[0], -1, axis=-1))
    nodes = []
    for j, name in enumerate(names):
        place = clip.root_positions[0] if j == 0 else places[j]
        nodes.append({"name": name, "translation": _float32(place).tolist(), "rotation": rotations[j].tolist()})
        if parents[j] >= 0:
            nodes[parents[j]].setdefault("children", []).append(j)
    return nodes


def _animation(document: _Document, clip: Clip) -> dict:
    times = document.add(_float32(np.arange(len(clip)) / clip.fps), "SCALAR", FLOAT, bounds=True)
    # [x, y, z, w] in glTF; the sign goes on from frame to frame, so that every player takes the shorter way
    rotations = _float32(np.roll(quat_unroll(clip.rotations), -1, axis=-1))
    samplers, channels = [], []

    def add(joint: int, path: str, values: np.ndarray, kind: str) -> None:
        channels.append({"sampler": len(samplers), "target": {"node": joint, "path": path}})
        samplers.append({"input": times, "output": document.add(values, kind, FLOAT), "interpolation": "LINEAR"})

    for j in range(len(clip.skeleton)):
        add(j, "rotation", rotations[:, j], "VEC4")
        if j == 0:
            add(j, "translation", _float32(clip.root_positions), "VEC3")
        elif clip.translations is not None:
            add(j, "translation", _float32(clip.translations[:, j]), "VEC3")
    return {"name": clip.name or "clip", "channels": channels, "samplers": samplers}


def _add_bones(document: _Document, content: dict, skeleton: Skeleton, roots: list[int]) -> None:
    """A mesh of one octahedron a bone, bound to the joint that the bone starts from."""
    rest = _rest_places(skeleton)
    bones = [(int(parent), rest[j]) for j, parent in enumerate(skeleton.parents) if parent >= 0]
    bones += [(j, rest[j] + place) for j, place in skeleton.end_sites]
    bones = [(j, rest[j], end) for j, end in bones if np.linalg.norm(end - rest[j]) > 1e-6]
    if not bones:
        return
    starts, ends = np.array([b[1] for b in bones]), np.array([b[2] for b in bones])
    points, normals = _octahedra(starts, ends)
    joints = np.zeros((len(bones), points.shape[1], 4), "<u2")
    joints[..., 0] = np.array([b[0] for b in bones])[:, None]
    weights = np.zeros(joints.shape, "<f4")
    weights[..., 0] = 1
    inverse = np.tile(np.eye(4, dtype="<f4"), (len(skeleton), 1, 1))
    inverse[:, 3, :3] = -rest  # column-major, so the translation is the last row

    count = points.shape[0] * points.shape[1]
    attributes = {
        "POSITION": document.add(_float32(points).reshape(count, 3), "VEC3", FLOAT, bounds=True, target=34962),
        "NORMAL": document.add(_float32(normals).reshape(count, 3), "VEC3", FLOAT, target=34962),
        "JOINTS_0": document.add(joints.reshape(count, 4), "VEC4", UNSIGNED_SHORT, target=34962),
        "WEIGHTS_0": document.add(weights.reshape(count, 4), "VEC4", FLOAT, target=34962),
    }
    indices = document.add(np.arange(count, dtype="<u4"), "SCALAR", UNSIGNED_INT, target=34963)
    matrices = document.add(inverse.reshape(len(skeleton), 16), "MAT4", FLOAT)
    content["materials"] = [
        {"name": "bones", "pbrMetallicRoughness": {"baseColorFactor": [0.85, 0.55, 0.2, 1], "metallicFactor": 0}}
    ]
    content["meshes"] = [{"name": "bones", "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}]
    content["skins"] = [{"joints": list(range(len(skeleton))), "inverseBindMatrices": matrices, "skeleton": roots[0]}]
    if len(roots) > 1:
        del content["skins"][0]["skeleton"]  # it must be above all joints
    content["nodes"] = [*content["nodes"], {"name": "bones", "mesh": 0, "skin": 0}]
    content["scenes"][0]["nodes"] = [*roots, len(content["nodes"]) - 1]


def _rest_places(skeleton: Skeleton) -> np.ndarray:
    """World places with no joint turned and the root at the origin."""
    rest = skeleton.offsets.copy()
    rest[0] = 0
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            rest[j] += rest[parent]
    return rest


def _octahedra(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners and normals (bones, 24, 3) of slim octahedra from starts to ends, three corners of its own a face."""
    along = ends - starts
    length = np.linalg.norm(along, axis=1, keepdims=True)
    z = along / length
    helper = np.where(np.abs(z[:, 1:2]) < 0.9, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    x = np.cross(helper, z)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    axes = np.stack([x * length * BONE_WIDTH, np.cross(z, x) * length * BONE_WIDTH, along], axis=1)
    faces = (starts[:, None] + CORNERS @ axes)[:, FACES]
    normals = np.cross(faces[:, :, 1] - faces[:, :, 0], faces[:, :, 2] - faces[:, :, 0])
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    return faces.reshape(len(starts), -1, 3), np.repeat(normals, 3, axis=1)


def _float32(values: np.ndarray) -> np.ndarray:
    """Little-endian float32, as in the file; a number that float32 does not hold is ``ValueError``."""
    with np.errstate(over="ignore"):
        result = np.asarray(values, "<f4")
    if not np.isfinite(result).all():
        raise ValueError("clip must have places that float32 holds, got one beyond 3.4e38")
    return result
