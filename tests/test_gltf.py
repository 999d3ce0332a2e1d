"""glTF files, read back by a reader written here from the specification, and by pygltflib where it is installed."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from test_skeleton import make_clip

import pfnnc

TYPES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}
COMPONENTS = {5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Reader:
    """The nodes, skin and animation of a glb file, evaluated with 4x4 matrices."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data)) and length % 4 == 0
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON" and size % 4 == 0
        self.json = json.loads(data[20 : 20 + size])
        binary, kind = struct.unpack_from("<I4s", data, 20 + size)
        assert kind == b"BIN\0" and 28 + size + binary == len(data)
        assert self.json["buffers"] == [{"byteLength": binary}]
        self.binary = data[28 + size :]
        self.nodes = self.json["nodes"]
        self.parents = dict.fromkeys(range(len(self.nodes)))
        for i, node in enumerate(self.nodes):
            for child in node.get("children", []):
                assert self.parents[child] is None
                self.parents[child] = i

    def array(self, index):
        accessor = self.json["accessors"][index]
        view = self.json["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0 and view["byteOffset"] + view["byteLength"] <= len(self.binary)
        count = accessor["count"] * TYPES[accessor["type"]]
        array = np.frombuffer(self.binary, COMPONENTS[accessor["componentType"]], count, view["byteOffset"])
        array = array.reshape(accessor["count"], -1)
        if "min" in accessor:
            np.testing.assert_array_equal(array.min(0), np.float32(accessor["min"]))
            np.testing.assert_array_equal(array.max(0), np.float32(accessor["max"]))
        return array.astype(float)

    def world(self, time):
        """World matrices of all nodes at a time, keys between linear and spherical-linear as players do it."""
        local = [dict(node) for node in self.nodes]
        for channel in self.json["animations"][0]["channels"]:
            sampler = self.json["animations"][0]["samplers"][channel["sampler"]]
            times, values = self.array(sampler["input"])[:, 0], self.array(sampler["output"])
            i = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, max(len(times) - 2, 0)))
            j = min(i + 1, len(times) - 1)
            share = 0.0 if i == j else (time - times[i]) / (times[j] - times[i])
            a, b = values[i], values[j]
            if channel["target"]["path"] == "rotation":
                angle = np.arccos(np.clip(a @ b, -1, 1))
                weights = (1 - share, share) if angle < 1e-6 else np.sin([(1 - share) * angle, share * angle]) / np.sin(angle)
            else:
                weights = (1 - share, share)
            local[channel["target"]["node"]][channel["target"]["path"]] = weights[0] * a + weights[1] * b
        matrices = [matrix(node) for node in local]
        for i in range(len(matrices)):  # parents stand first in these files
            if self.parents[i] is not None:
                assert self.parents[i] < i
                matrices[i] = matrices[self.parents[i]] @ matrices[i]
        return np.array(matrices)


def matrix(node):
    x, y, z, w = node.get("rotation", [0, 0, 0, 1])
    m = np.eye(4)
    m[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    m[:3, 3] = node.get("translation", [0, 0, 0])
    return m


@pytest.mark.parametrize("translations", [False, True])
def test_world_positions_are_the_clip_s(tmp_path, translations):
    clip = make_clip(translations=translations)
    flipped = pfnnc.Clip(
        clip.skeleton,
        clip.root_positions,
        clip.rotations * np.where(np.arange(20) % 3, 1, -1)[:, None, None],
        30,
        "walk",
        translations=clip.translations,
    )
    path = tmp_path / "clip.glb"
    pfnnc.save_glb(path, flipped)
    reader = Reader(path)
    assert [node["name"] for node in reader.nodes] == [*clip.skeleton.names, "bones"]
    assert reader.json["extras"] == {"name": "walk", "fps": 30.0}
    places = clip.positions()
    for frame in (0, 1, 7, 19):
        np.testing.assert_allclose(reader.world(frame / 30)[:6, :3, 3], places[frame], atol=2e-6)
    between = clip.resample(60).positions()
    np.testing.assert_allclose(reader.world(7.5 / 30)[:6, :3, 3], between[15], atol=1e-5)


def test_bones_follow_their_joints(tmp_path):
    clip = make_clip()
    path = tmp_path / "clip.glb"
    pfnnc.save_glb(path, clip)
    reader = Reader(path)
    mesh, skin = reader.json["meshes"][0]["primitives"][0], reader.json["skins"][0]
    assert skin["joints"] == list(range(6)) and reader.nodes[-1] == {"name": "bones", "mesh": 0, "skin": 0}
    points = np.insert(reader.array(mesh["attributes"]["POSITION"]), 3, 1, axis=1)
    joints, weights = (
        reader.array(mesh["attributes"]["JOINTS_0"]).astype(int),
        reader.array(mesh["attributes"]["WEIGHTS_0"]),
    )
    np.testing.assert_array_equal(weights, np.tile([1, 0, 0, 0], (len(points), 1)))
    np.testing.assert_array_equal(reader.array(mesh["indices"])[:, 0], np.arange(len(points)))
    bind = reader.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(1, 2)
    skinned = np.einsum("nij,nj->ni", (reader.world(5 / 30)[:6] @ bind)[joints[:, 0]], points)[:, :3]
    for joint in clip.positions()[5]:
        assert np.linalg.norm(skinned - joint, axis=1).min() < 1e-5
    normals = reader.array(mesh["attributes"]["NORMAL"])
    faces = points[:, :3].reshape(-1, 3, 3)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
    centres = points[:, :3].reshape(5, 24, 3).mean(1).repeat(8, axis=0)
    assert (np.einsum("fi,fi->f", normals[::3], faces.mean(1) - centres) > 0).all()


def test_pygltflib_reads_it(tmp_path):
    pygltflib = pytest.importorskip("pygltflib")
    clip = make_clip()
    path = tmp_path / "clip.glb"
    pfnnc.save_glb(path, clip)
    document = pygltflib.GLTF2().load(str(path))
    assert [node.name for node in document.nodes][:6] == clip.skeleton.names
    assert len(document.animations[0].channels) == 7
    assert document.accessors[document.animations[0].samplers[0].input].max == [pytest.approx(19 / 30)]


@pytest.mark.parametrize("frames", [1, 2])
def test_short_clips_and_odd_names(tmp_path, frames):
    skeleton = pfnnc.Skeleton(['joint "1" \udce9', "膝"], [-1, 0], [[0, 0, 0], [0, 0, 0]], end_sites=[(1, [0, 1, 0])])
    clip = pfnnc.Clip(skeleton, np.zeros((frames, 3)), np.tile([1.0, 0, 0, 0], (frames, 2, 1)), 30)
    pfnnc.save_glb(tmp_path / "x.glb", clip)
    assert Reader(tmp_path / "x.glb").nodes[1]["name"] == "膝"
    lone = pfnnc.Skeleton(["only"], [-1], [[0, 0, 0]])
    pfnnc.save_glb(tmp_path / "y.glb", pfnnc.Clip(lone, [[0, 1, 0]], [[[1, 0, 0, 0]]], 30))
    assert "meshes" not in Reader(tmp_path / "y.glb").json


def test_wrong_arguments(tmp_path):
    clip = make_clip()
    path = tmp_path / "clip.glb"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="at least one frame"):
        pfnnc.save_glb(path, clip[:0])
    with pytest.raises(ValueError, match="float32"):
        pfnnc.save_glb(path, pfnnc.Clip(clip.skeleton, clip.root_positions * 1e300, clip.rotations, 30))
    with pytest.raises(TypeError, match="clip"):
        pfnnc.save_glb(path, "clip")
    for wrong in (None, 3.5, clip):
        with pytest.raises(TypeError):
            pfnnc.save_glb(wrong, clip)
    for missing in (tmp_path / "none" / "x.glb", tmp_path):
        with pytest.raises(OSError):
            pfnnc.save_glb(missing, clip)
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["clip.glb"]
