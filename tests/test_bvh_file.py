"""BVH files: what is read, what is refused and where, what comes back."""

import csv
import fractions
import gzip
import io
import locale
import os
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import SHARED, plain_environment
from hypothesis import given, settings
from hypothesis import strategies as st

import pfnnc
from pfnnc import BVHData, BVHError, Clip, Skeleton, load_bvh, read_bvh, save_bvh, write_bvh

CASES = SHARED / "cases" / "bvh"
CLIPS = sorted((SHARED / "clips").glob("*/*.bvh"))
needs_clips = pytest.mark.skipif(not CLIPS, reason="needs the recordings that lie beside the checkout")

HEAD = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0 -40 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 -42 1
    }
  }
}
"""
MOTION = """MOTION
Frames: 2
Frame Time: 0.0333333
1 90 2 10 20 30 5 0 0
2 91 3 11 21 31 6 0 0
"""
FILE = HEAD + MOTION
BODY = """HIERARCHY
ROOT Scene
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Hips
  {
    OFFSET 0 94 0
    CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
    JOINT LeftLeg
    {
      OFFSET 9 0 0
      CHANNELS 3 Zrotation Xrotation Yrotation
    }
    JOINT RightLeg
    {
      OFFSET -9 0 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site { OFFSET 0 -80 0 }
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
5 6 7 0 0 90 1 95 2 10 20 30 1 2 3 4 5 6
5 6 7 0 0 90 3 95 4 11 21 31 1 2 3 4 5 6
"""


def quietly(function, *args, **options):
    """The result and the messages of the UserWarnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **options)
    assert all(w.category is UserWarning for w in caught)
    return result, [str(w.message) for w in caught]


def refused(text, **options):
    with pytest.raises(BVHError) as info:
        load_bvh(text.encode() if isinstance(text, str) else text, **options)
    return info.value


# ---- the files that odd exporters and odd people wrote --------------------------------------------


def cases():
    if not CASES.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="needs the BVH cases that lie beside the checkout"))]
    with open(CASES / "EXPECT.tsv", encoding="utf-8", newline="") as file:
        return [pytest.param(row, id=row["file"]) for row in csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize("row", cases())
def test_expectation(row):
    path = CASES / row["file"]
    if row["expect"] == "ERROR":
        with pytest.raises(BVHError) as info:
            read_bvh(path)
        assert info.value.line == int(row["error_line"])
        assert info.value.path == str(path) and str(info.value).startswith(f"{path}:{info.value.line}:")
        return
    data, messages = quietly(read_bvh, path)
    assert bool(messages) == (row["expect"] == "WARN")
    assert len(data.names) == len(data.parents) == len(data.channels) == int(row["joints"])
    assert data.frames.shape == (int(row["frames"]), int(row["channels"]))
    assert data.frame_time == float(row["frame_time"])
    for check in filter(None, row["values"].split(";")):
        check_value(check, path, data)


def check_value(check, path, data):
    what, value = check.split("=", 1)
    name = re.match(r"[a-z]+", what).group()
    index = [int(n) for n in re.findall(r"\d+", what)]
    if name == "m":
        assert data.frames[index[0], index[1]] == float(value)
    elif name == "name":
        assert data.names[index[0]] == value
    elif name == "parent":
        assert data.parents[index[0]] == int(value)
    elif name == "chan":
        assert data.channels[index[0]][index[1]] == value
    else:
        assert name == "pos"
        clip, _ = quietly(load_bvh, path)
        np.testing.assert_allclose(clip.positions()[index[1], index[0]], np.array(value.split(","), float), atol=1e-9)


@needs_clips
@pytest.mark.parametrize("path", CLIPS, ids=lambda path: path.stem)
def test_recordings_come_back(path, tmp_path):
    data, _ = quietly(read_bvh, path)
    write_bvh(tmp_path / "again.bvh", data)
    again, _ = quietly(read_bvh, tmp_path / "again.bvh")
    assert again.frames.tobytes() == data.frames.tobytes() and again.offsets.tobytes() == data.offsets.tobytes()
    assert (again.names, again.channels, again.frame_time) == (data.names, data.channels, data.frame_time)
    assert np.array_equal(again.parents, data.parents)
    assert [(j, p.tolist()) for j, p in again.end_sites] == [(j, p.tolist()) for j, p in data.end_sites]

    clip, _ = quietly(load_bvh, path)
    save_bvh(tmp_path / "clip.bvh", clip)
    back, _ = quietly(load_bvh, tmp_path / "clip.bvh", root=clip.skeleton.names[0])
    assert back.skeleton == clip.skeleton and back.fps == pytest.approx(clip.fps, rel=1e-15)
    assert np.array_equal(back.root_positions, clip.root_positions)
    assert (back.translations is None) == (clip.translations is None)
    assert clip.translations is None or np.array_equal(back.translations, clip.translations)
    assert angle_between(back.rotations, clip.rotations).max() < 1e-9


def angle_between(a, b):
    """Of unit quaternions, in radians, right also where it is tiny."""
    b = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -b, b)
    return 2 * np.linalg.norm(a - b, axis=-1)


# ---- the same kinds and more, without those files -------------------------------------------------

OTHER_LINE_ENDS = {
    "cr": FILE.replace("\n", "\r"),
    "crlf": FILE.replace("\n", "\r\n"),
    "mixed": FILE.replace("{\n", "{\r\n").replace("0\n", "0\r"),
    "tabs": FILE.replace("  ", "\t").replace(" ", "\t").replace("Frame\tTime", "Frame Time"),
    "form feeds": FILE.replace(" 90 ", "\f90\v"),
    "bom": "\ufeff" + FILE,
    "blank lines": "\n \n" + FILE.replace("\n", "\n\t\n") + " \n\n\t\n",
    "trailing blanks": FILE.replace("\n", "  \t\n"),
    "no final newline": FILE.rstrip("\n"),
    "brace glued": FILE.replace("\nROOT Hips\n{", "\nROOT Hips{").replace("Site\n    {", "Site{"),
    "one line": HEAD.replace("Hips\n", "Hips ").replace("Knee\n", "Knee ").replace("\n", " ") + "\n" + MOTION,
    "upper case": FILE.upper().replace("HIPS", "Hips").replace("KNEE", "Knee"),
    "lower case": FILE.lower().replace("hips", "Hips").replace("knee", "Knee"),
    "header glued": FILE.replace(": ", ":"),
    "header spread": FILE.replace("Frames:", "Frames  :").replace("Frame Time:", "Frame   Time :"),
    "header swapped": FILE.replace("Frames: 2\nFrame Time: 0.0333333", "Frame Time: 0.0333333\nFrames: 2"),
    "header on one line": FILE.replace("MOTION\nFrames: 2\n", "MOTION Frames: 2 "),
    "leading plus": FILE.replace(" 90 ", " +90 ").replace(" 5 ", " +5e+0 "),
    "exponents": FILE.replace(" 90 ", " 9.0E1 ").replace(" 5 ", " 50e-1 "),
    "many digits": FILE.replace(" 90 ", f" 90.{'0' * 400} ").replace(" 5 ", f" {'0' * 99}5 "),
    "bare dots": FILE.replace(" 90 ", " 90. ").replace(" 0 0\n", " .0 -.0\n"),
    "offset after channels": FILE.replace(
        "    OFFSET 0 -40 0\n    CHANNELS 3 Zrotation Xrotation Yrotation\n",
        "    CHANNELS 3 Zrotation Xrotation Yrotation\n    OFFSET 0 -40 0\n",
    ),
    "channels after end site": FILE.replace("    CHANNELS 3 Zrotation Xrotation Yrotation\n", "").replace(
        "1\n    }\n", "1\n    }\n    CHANNELS 3 Zrotation Xrotation Yrotation\n"
    ),
    "named end site": FILE.replace("End Site", "End Site tip of it"),
}


@pytest.mark.parametrize("kind", OTHER_LINE_ENDS)
def test_read_alike(kind):
    text = OTHER_LINE_ENDS[kind]
    assert kind in ("crlf",) or text != FILE
    plain, data = read_bvh(FILE.encode()), read_bvh(text.encode())
    assert np.array_equal(data.frames, plain.frames) and np.array_equal(data.offsets, plain.offsets)
    assert (data.names, data.channels, data.frame_time) == (plain.names, plain.channels, plain.frame_time)
    assert np.array_equal(data.end_sites[0][1], [0, -42, 1])


WARNED = {
    "more rows": (FILE + FILE.splitlines()[-1] + "\n", "Frames: says 2, the file has 3"),
    "fewer rows": (FILE.replace("Frames: 2", "Frames: 7"), "Frames: says 7, the file has 2"),
    "no rows": (FILE[: FILE.index("1 90")], "Frames: says 2, the file has 0"),
    "huge count": (FILE.replace("Frames: 2", "Frames: 99999999999999999999"), "the file has 2"),
    "two rows in a line": (FILE.replace("0 0\n2 91", "0 0 2 91"), "line 19 is not one frame of 9 values"),
    "a value a line": (HEAD + MOTION[: MOTION.index("1 90")] + "\n".join("123456789" * 2), "line 19 is not one frame"),
    "no CHANNELS": (
        FILE.replace("    CHANNELS 3 Zrotation Xrotation Yrotation\n", "").replace(" 5 0 0", "").replace(" 6 0 0", ""),
        "the joint of line 6 has no CHANNELS",
    ),
    "channels of an end site": (FILE.replace("-42 1\n", "-42 1 CHANNELS 0\n"), "line 12 gives channels to an End Site"),
    "a name twice": (
        FILE.replace("Knee", "Hips"),
        "more than one joint is called 'Hips': a clip calls the next one 'Hips_2'",
    ),
    "another encoding": (FILE.replace("Knee", "Kn\u00e9").encode("latin-1"), "the name 'Kn\u00e9' is not UTF-8"),
}


@pytest.mark.parametrize("kind", WARNED)
def test_read_with_a_warning(kind):
    text, message = WARNED[kind]
    clip, messages = quietly(load_bvh, text if isinstance(text, bytes) else text.encode())
    assert len(messages) == 1 and message in messages[0] and messages[0].startswith("<bytes>: ")
    assert len(clip.skeleton) == 2
    with pytest.warns(UserWarning):
        read_bvh(text if isinstance(text, bytes) else text.encode())


def put(old, new, text=FILE):
    assert text.count(old) == 1, (old, text.count(old))
    return text.replace(old, new)


# text, line, column, message
REFUSED = {
    "empty": ("", 1, 1, "expected HIERARCHY, got the end of the file"),
    "blank": (" \n\n\t", 1, 1, "expected HIERARCHY, got the end of the file"),
    "comment": ("# made by me\n" + FILE, 1, 1, "expected HIERARCHY, got '#'"),
    "no HIERARCHY": (FILE[10:], 1, 1, "expected HIERARCHY, got 'ROOT'"),
    "MOTION first": (MOTION + HEAD, 1, 1, "expected HIERARCHY, got 'MOTION'"),
    "no ROOT": ("HIERARCHY\n" + MOTION, 2, 1, "expected ROOT, got 'MOTION'"),
    "JOINT for ROOT": (put("ROOT", "JOINT"), 2, 1, "expected ROOT, got 'JOINT'"),
    "no name": (put("JOINT Knee", "JOINT"), 6, 8, "expected a name after JOINT, got the end of the line"),
    "brace for name": (put("JOINT Knee\n", "JOINT "), 6, 11, "expected a name after JOINT, got '{'"),
    "NUL in a name": (put("Knee", "Kn\0e"), 6, 11, "expected a name after JOINT, got '\\x00'"),
    "no {": (put("Hips\n{", "Hips\n"), 4, 3, "expected { after the name, got 'OFFSET'"),
    "no }": (put("  }\n}\n", "}\n"), 15, 1, "expected OFFSET, CHANNELS, JOINT, End Site or }, got 'MOTION'"),
    "a } too many": (put("}\nMOTION", "}\n}\nMOTION"), 16, 1, "expected MOTION, got '}'"),
    "ROOT in a joint": (put("JOINT Knee", "ROOT Knee"), 6, 3, "got 'ROOT'"),
    "unknown keyword": (put("  JOINT", "  SCALE 1\n  JOINT"), 6, 3, "got 'SCALE'"),
    "HIERARCHY twice": (HEAD + FILE, 16, 1, "expected MOTION, got 'HIERARCHY'"),
    "no OFFSET": (put("    OFFSET 0 -40 0\n", ""), 13, 3, "expected OFFSET of the joint, got '}'"),
    "OFFSET twice": (put("-40 0\n", "-40 0\n    OFFSET 0 1 2\n"), 9, 5, "expected one OFFSET in a joint"),
    "two offsets": (put("-40 0\n", "-40\n"), 8, 17, "expected a number after OFFSET, got the end of the line"),
    "four offsets": (put("-40 0\n", "-40 0 0\n"), 8, 20, "got '0'"),
    "offset of text": (put("-40", "x"), 8, 14, "expected a number after OFFSET, got 'x'"),
    "offset nan": (put("-40", "nan"), 8, 14, "expected a number after OFFSET, got 'nan'"),
    "offset inf": (put("-40", "-1e999"), 8, 14, "expected a finite number after OFFSET, got '-1e999'"),
    "CHANNELS twice": (put("    End", "    CHANNELS 0\n    End"), 10, 5, "expected one CHANNELS in a joint"),
    "CHANNELS of text": (put("CHANNELS 3", "CHANNELS three"), 9, 14, "expected a number from 0 to 6 after CHANNELS"),
    "CHANNELS 7": (put("CHANNELS 6", "CHANNELS 7"), 5, 12, "expected a number from 0 to 6 after CHANNELS, got '7'"),
    "CHANNELS -1": (put("CHANNELS 3", "CHANNELS -1"), 9, 14, "got '-1'"),
    "CHANNELS huge": (put("CHANNELS 3", "CHANNELS 99999999999999999999"), 9, 14, "expected a number from 0 to 6"),
    "too few channels": (put("CHANNELS 3", "CHANNELS 4"), 9, 45, "expected channel 4 of 4 such as Xrotation"),
    "too many channels": (put("CHANNELS 3", "CHANNELS 2"), 9, 36, "got 'Yrotation'"),
    "unknown channel": (put("3 Zrotation", "3 Wrotation"), 9, 16, "got 'Wrotation'"),
    "a channel twice": (put("3 Zrotation X", "3 Yrotation X"), 9, 36, "a channel that the joint does not have yet"),
    "channels after children": (
        put("  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n", "").replace(
            "  }\n}\n", "  }\n  CHANNELS 1 Yrotation\n}\n"
        ),
        14,
        3,
        "expected CHANNELS before the joint's children",
    ),
    "End without Site": (put("End Site", "End"), 10, 8, "expected Site after End, got the end of the line"),
    "empty End Site": (put("      OFFSET 0 -42 1\n", ""), 12, 5, "expected OFFSET of the End Site, got '}'"),
    "channels of End Site": (
        put("-42 1\n", "-42 1\nCHANNELS 1 Xrotation\n"),
        13,
        10,
        "expected no channels in an End Site",
    ),
    "joint in End Site": (put("-42 1\n", "-42 1\nJOINT a\n"), 13, 1, "expected } of the End Site, got 'JOINT'"),
    "no MOTION": (HEAD, 15, 2, "expected MOTION, got the end of the file"),
    "ends in MOTION": (HEAD + "MOTION\n\n", 16, 7, "expected Frames:, got the end of the file"),
    "no Frames": (put("Frames: 2\n", ""), 18, 1, "expected Frames:, got '1'"),
    "Frames twice": (put("Frames: 2\n", "Frames: 2\nFrames: 2\n"), 18, 1, "expected Frame Time:, got 'Frames'"),
    "Frames without colon": (put("Frames: 2", "Frames 2"), 17, 8, "expected : after Frames, got '2'"),
    "Frames without count": (put("Frames: 2", "Frames:"), 17, 8, "got the end of the line"),
    "Frames negative": (put("Frames: 2", "Frames: -2"), 17, 9, "expected a number of frames after Frames:, got '-2'"),
    "Frames broken": (put("Frames: 2", "Frames: 2.5"), 17, 9, "got '2.5'"),
    "no Frame Time": (put("Frame Time: 0.0333333\n", ""), 18, 1, "expected Frame Time:, got '1'"),
    "frame time 0": (put("0.0333333", "0"), 18, 13, "expected a finite number greater than 0"),
    "frame time -0": (put("0.0333333", "-0.0"), 18, 13, "expected a finite number greater than 0"),
    "frame time negative": (put("0.0333333", "-0.03"), 18, 13, "expected a finite number greater than 0"),
    "frame time nan": (put("0.0333333", "nan"), 18, 13, "expected a number after Frame Time:, got 'nan'"),
    "frame time huge": (put("0.0333333", "1e999"), 18, 13, "expected a finite number"),
    "frame time tiny": (put("0.0333333", "1e-320"), 18, 13, "expected a finite number greater than 0"),
    "frame time comma": (put("0.0333333", "0,0333333"), 18, 13, "got '0,0333333'"),
    "frame time missing": (put(" 0.0333333", ""), 18, 12, "got the end of the line"),
    "row after frame time": (put("0.0333333\n", "0.0333333 "), 18, 23, "expected the end of the line, got '1'"),
    "row too short": (put(" 6 0 0\n", " 6 0\n"), 20, 20, "expected 9 values in a row, got 8"),
    "row too long": (put(" 6 0 0\n", " 6 0 0 7\n"), 20, 23, "expected 9 values in a row, got 10"),
    "row of one too few and one too many": (put(" 5 0 0\n2 ", " 5 0\n0\n2 ")[:-3] + "\n", 19, 20, "got 8"),
    "text after the data": (FILE + "END\n", 21, 1, "expected a number, got 'END'"),
    "MOTION twice": (FILE + MOTION, 21, 1, "expected a number, got 'MOTION'"),
    "brace after the data": (FILE + "}", 21, 1, "expected a number, got '}'"),
    "NUL after the data": (FILE + "\0\0", 21, 1, "expected a number, got '\\x00\\x00'"),
    "end of file mark": (FILE + "\x1a", 21, 1, "expected a number, got '\\x1a'"),
    "long token": (put(" 91 ", " " + "x" * 500 + " "), 20, 3, "got 'xxxxx"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind):
    text, line, column, message = REFUSED[kind]
    error = refused(text)
    assert (error.line, error.column) == (line, column) and message in str(error)
    assert error.path == "<bytes>" and str(error) == f"<bytes>:{line}:{column}: {error.message}"
    with pytest.raises(BVHError):
        read_bvh(text.encode())


NO_NUMBERS = "nan NaN -nan inf -Infinity 1.#QNAN -1.#IND 0x10 0x1p3 1_000 1,000 1,5 1d5 1.5f 1e 1e+ . - + -. e5 --1 +-1 1-2 1+2"
NO_NUMBERS += " 1.2.3 1.5.e2 90\u00b0 \u0663 \u00bd NULL 1e999 -1e400 1e1.5 {1 1} 1; 1/2 \u22121 \u00a01 1\u00a0"


@pytest.mark.parametrize("token", NO_NUMBERS.split(" "))
def test_no_number(token):
    error = refused(put(" 91 ", f" {token} "))
    assert (error.line, error.column) == (20, 3) and "number, got" in error.message
    assert repr(token)[1:-1] in error.message or not token.isascii()


@pytest.mark.parametrize("start", [b"\xff\xfe", b"\xfe\xff", b""], ids=["le", "be", "no mark"])
def test_utf16_is_refused(start):
    for codec in ("utf-16-le", "utf-16-be"):
        error = refused(start + FILE.encode(codec))
        assert (error.line, error.column) == (1, 1) and "UTF-16" in error.message


@pytest.mark.parametrize(
    "name",
    [
        "Left Knee",
        "rig:Knee",
        "mixamorig:Left-Up.Leg_1",
        "Knee\tL",
        "End",
        "MOTION",
        "OFFSET 1 2 3",
        "}".replace("}", "#1(x)"),
        "\u819d",
        "3",
    ],
)
def test_names(name, tmp_path):
    data = read_bvh(put("Knee", name).encode())
    assert data.names == ["Hips", name]
    write_bvh(tmp_path / "again.bvh", data)
    assert read_bvh(tmp_path / "again.bvh").names == data.names


def test_names_in_other_encodings():
    # the second byte of a letter of Shift-JIS may be a brace
    text = put("Knee", "\u30dc\u30fc\u30f3").encode("shift_jis")
    assert b"\x83{" in text
    assert read_bvh(text, encoding="shift_jis").names == ["Hips", "\u30dc\u30fc\u30f3"]
    data, messages = quietly(read_bvh, text)
    assert len(messages) == 1 and data.names[1].encode("latin-1") == "\u30dc\u30fc\u30f3".encode("shift_jis")
    assert load_bvh(put("Knee", "Kn\u00e9").encode("latin-1"), encoding="latin-1").skeleton.names[1] == "Kn\u00e9"
    with pytest.raises(ValueError, match="encoding='klingon' is unknown"):
        read_bvh(FILE.encode(), encoding="klingon")
    with pytest.raises(TypeError, match="encoding must be a string"):
        read_bvh(FILE.encode(), encoding=8)


def test_no_frames_and_no_channels():
    data = read_bvh((FILE[: FILE.index("1 90")].replace("Frames: 2", "Frames: 0")).encode())
    assert data.frames.shape == (0, 9)
    text = b"HIERARCHY ROOT a { OFFSET 1 2 3 CHANNELS 0 } MOTION\nFrames: 0\nFrame Time: 1\n"
    assert read_bvh(text).frames.shape == (0, 0) and len(load_bvh(text)) == 0
    assert "expected 0 values in a row, got 1" in refused(text + b"5\n").message


def test_every_truncation():
    text = FILE.encode()
    for size in range(len(text)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assert read_bvh(text[:size]).frames.shape[1] == 9
            except BVHError as error:
                assert 1 <= error.line <= 20 and error.column >= 1
                assert error.line <= text[:size].count(b"\n") + 1


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(FILE)), st.integers(0, 40))
def test_any_bytes(piece, at, gone):
    text = FILE.encode()
    for damaged in (piece, text[:at] + piece + text[at + gone :]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                data = read_bvh(damaged)
                assert np.isfinite(data.frames).all() and data.frame_time > 0
            except BVHError as error:
                assert error.line >= 1 and error.column >= 1


# ---- numbers --------------------------------------------------------------------------------------


def values_of(words):
    text = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xposition } MOTION\n"
    return read_bvh(f"{text}Frames: {len(words)}\nFrame Time: 1\n{chr(10).join(words)}".encode()).frames[:, 0]


def assert_read_as_python_does(words):
    assert values_of(words).tobytes() == np.array([float(word) for word in words]).tobytes()


def test_hard_numbers():
    """Half way between two doubles, just beside it, at the ends of the range: Python's float is correctly rounded."""
    words = [
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740992.999999999999999999",
        "1e23",
        "8.5e22",
        "-0",
        "0e9999",
    ]
    words += ["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "1e-400"]
    words += [
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1" + "0" * 308,
        "0." + "0" * 400 + "1",
    ]
    words += [
        "9" * 300,
        "0." + "9" * 5000,
        "1" * 3000 + "e-3000",
        "000.000e5",
        "6.1232339957367660e-17",
        "123456789012345678901234567890e-30",
    ]
    for x in (1.0, 0.1, 5e-324, 1e308, 2.2250738585072014e-308, 1 / 3, 123.456):
        above = float(np.nextafter(x, np.inf))
        half = (fractions.Fraction(x) + fractions.Fraction(above)) / 2
        bits = half.denominator.bit_length() - 1
        digits = half.numerator * 5**bits
        words += [f"{digits}e-{bits}", f"{digits * 10 + 1}e-{bits + 1}", f"{digits * 10 - 1}e-{bits + 1}"]
    assert_read_as_python_does(words)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.integers(1, 40))
def test_any_number(values, digits):
    assert_read_as_python_does([repr(x) for x in values])
    assert_read_as_python_does([f"{x:.{digits}e}" for x in values if abs(x) < 1e300] or ["0"])
    assert_read_as_python_does([f"{x:.{digits}f}" for x in values if abs(x) < 1e40] or ["0"])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**25), st.integers(-360, 280))
def test_any_digits_and_exponent(digits, exponent):
    assert_read_as_python_does([f"{digits}e{exponent}"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_written_numbers_are_short_and_come_back(tmp_path_factory, values):
    data = BVHData(["a"], [-1], [[0, 0, 0]], [["Xposition"]], [], np.array(values)[:, None], 1.0)
    path = tmp_path_factory.mktemp("numbers") / "a.bvh"
    write_bvh(path, data)
    assert read_bvh(path).frames.tobytes() == data.frames.tobytes()
    for word, value in zip(path.read_text().splitlines()[-len(values) :], values, strict=True):
        digits = word.lstrip("-").split("e")[0].replace(".", "").strip("0")
        assert len(digits) <= max(len(repr(abs(value)).split("e")[0].replace(".", "").strip("0")), 17)


def test_locale_does_not_matter():
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("needs a locale with a decimal comma, and none is installed")
    try:
        assert_read_as_python_does(["1.5", "123.456e-7"])
        assert "got '1,5'" in refused(put(" 91 ", " 1,5 ")).message
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


# ---- writing ---------------------------------------------------------------------------------------


def good_data():
    return read_bvh(FILE.encode())


BAD_DATA = [
    (dict(names=[]), ValueError, "names"),
    (dict(names=None), TypeError, "names must be a sequence"),
    (dict(names="ab"), TypeError, "names must be a sequence of strings"),
    (dict(names=["a"]), ValueError, "parents"),
    (dict(names=["a", 5]), TypeError, r"names\[1\] must be a string, got int"),
    (dict(names=["a", ""]), ValueError, r"names\[1\]=''"),
    (dict(names=["a", "b{"]), ValueError, r"names\[1\]='b\{'"),
    (dict(names=["a", "b\n"]), ValueError, r"names\[1\]"),
    (dict(names=["a", " b"]), ValueError, r"names\[1\]"),
    (dict(names=["a", "b\0"]), ValueError, r"names\[1\]"),
    (dict(names=["a", "\ud800"]), ValueError, r"names\[1\]"),
    (dict(parents=[-1, 1]), ValueError, r"parents\[1\]=1"),
    (dict(parents=[-1, -2]), ValueError, r"parents\[1\]=-2"),
    (dict(parents=[0.0, 1.0]), TypeError, "parents"),
    (dict(offsets=[[0, 0, 0]]), ValueError, "offsets"),
    (dict(offsets=[[0, 0, 0], [0, np.nan, 0]]), ValueError, r"offsets\[1, 1\]=nan"),
    (dict(channels=[["Xrotation"]]), ValueError, "channels"),
    (dict(channels=[["Xrotation"], ["Wrotation"]]), ValueError, r"channels\[1\]\[0\]='Wrotation'"),
    (dict(channels=[["Xrotation"], ["Xrotation"] * 2]), ValueError, r"channels\[1\]\[1\]='Xrotation'"),
    (dict(end_sites=[(2, [0, 0, 0])]), ValueError, r"end_sites\[0\]"),
    (dict(end_sites=[(0, [0, np.inf, 0])]), ValueError, r"end_sites\[0\]"),
    (dict(frames=np.zeros((2, 8))), ValueError, r"frames must have shape \(T, 9\)"),
    (dict(frames=np.zeros(9)), ValueError, "frames"),
    (dict(frames=np.full((2, 9), np.nan)), ValueError, r"frames\[0, 0\]=nan"),
    (dict(frames=[["x"] * 9]), TypeError, "frames"),
    (dict(frame_time=0), ValueError, "frame_time must be greater than 0"),
    (dict(frame_time=-1.0), ValueError, "frame_time"),
    (dict(frame_time=np.nan), ValueError, "frame_time"),
    (dict(frame_time="fast"), TypeError, "frame_time"),
    (
        dict(names=["a"], parents=[-1], offsets=[[0] * 3], channels=[[]], end_sites=[], frames=np.zeros((2, 0))),
        ValueError,
        "frames",
    ),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD_DATA, ids=lambda value: str(value)[:40])
def test_bad_data_is_not_written(changes, error, message, tmp_path):
    data = good_data()
    for name, value in changes.items():
        setattr(data, name, value)
    with pytest.raises(error, match=message):
        write_bvh(tmp_path / "a.bvh", data)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("length", range(80, 100))
def test_a_message_that_is_cut_stays_a_message(length, tmp_path):
    name = "x" * (length % 2) + "é" * length + "{"  # cut where the message has no more room, or within a letter
    with pytest.raises(ValueError, match=r"^names\[0\]='x?é{39}") as caught:
        save_bvh(tmp_path / "a.bvh", Clip(Skeleton([name], [-1], [[0, 0, 0]]), [[0, 0, 0]], [[[1, 0, 0, 0]]], 30))
    assert type(caught.value) is ValueError


def test_written_whole_or_not_at_all(tmp_path):
    clip = load_bvh(FILE.encode())
    with pytest.raises(FileNotFoundError) as caught:
        save_bvh(tmp_path / "no" / "a.bvh", clip)
    assert caught.value.filename == str(tmp_path / "no" / "a.bvh")  # and not the file that would be renamed
    for folder in (tmp_path, ""):
        with pytest.raises(IsADirectoryError):
            save_bvh(folder, clip)
    if hasattr(os, "mkfifo"):  # a device would be gone, too
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="not a regular file"):
            save_bvh(tmp_path / "pipe", clip)
        (tmp_path / "pipe").unlink()
    for function, thing in ((save_bvh, clip), (write_bvh, good_data())):
        for path in (None, 5, b"a.bvh" and 3.0, [tmp_path]):
            with pytest.raises(TypeError, match="path must be a path"):
                function(path, thing)
        with pytest.raises(TypeError, match="must be a (Clip|BVHData)"):
            function(tmp_path / "a.bvh", "no clip")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs the modes of POSIX files")
def test_the_mode_of_a_file_is_that_of_other_new_files_or_stays(tmp_path):
    path = tmp_path / "a.bvh"
    (tmp_path / "plain").touch()
    write_bvh(path, good_data())
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    write_bvh(path, good_data())
    assert path.stat().st_mode & 0o777 == 0o640


# ---- where files come from ------------------------------------------------------------------------


def test_sources(tmp_path):
    path = tmp_path / "my.walk.bvh"
    path.write_text(FILE)
    packed = tmp_path / "run.bvh.gz"
    packed.write_bytes(gzip.compress(FILE[:100].encode()) + gzip.compress(FILE[100:].encode()))
    frames = good_data().frames
    for source in (
        path,
        str(path),
        path.read_bytes(),
        bytearray(path.read_bytes()),
        memoryview(path.read_bytes()),
        packed,
        packed.read_bytes(),
    ):
        assert np.array_equal(read_bvh(source).frames, frames)
    with open(path, "rb") as file:
        assert load_bvh(file).name == "my.walk"
    assert load_bvh(io.BytesIO(FILE.encode())).name == "" and load_bvh(FILE.encode()).name == ""
    assert load_bvh(path).name == "my.walk" and load_bvh(packed).name == "run"
    assert load_bvh(os.fspath(tmp_path) + "/./my.walk.bvh").name == "my.walk"

    write_bvh(packed, good_data())
    assert packed.read_bytes()[:2] == b"\x1f\x8b" and np.array_equal(read_bvh(packed).frames, frames)
    path.write_text(FILE.replace(" 91 ", " x "))
    for source in (path, str(path)):
        with pytest.raises(BVHError) as info:
            load_bvh(source)
        assert info.value.path == str(path) and str(info.value) == f"{path}:20:3: expected a number, got 'x'"
    with open(path, "rb") as file, pytest.raises(BVHError, match=re.escape(f"{path}:20:3: ")):
        load_bvh(file)


@pytest.mark.parametrize("source", [None, 5, True, 1.5, [FILE], {}, object(), np.zeros(3)], ids=repr)
def test_sources_of_a_wrong_type(source):
    for function in (read_bvh, load_bvh, pfnnc.describe):
        with pytest.raises(TypeError, match="path must be a path, bytes or a binary file"):
            function(source)
    with pytest.raises(TypeError, match="binary file"):
        load_bvh(io.StringIO(FILE))


def test_files_that_cannot_be_opened(tmp_path):
    for function in (read_bvh, load_bvh):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "none.bvh")
        with pytest.raises(IsADirectoryError):
            function(tmp_path)
        with pytest.raises(ValueError):
            function("a\0b.bvh")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a file that never ends")
def test_endless_files_end_in_an_error(tmp_path):
    with pytest.raises(BVHError, match="^/dev/zero:1:1: gives more than 256 MiB, and nothing tells where it ends"):
        load_bvh("/dev/zero")
    for function in (pfnnc.load_phase, pfnnc.load_labels, pfnnc.load_scene):
        with pytest.raises(ValueError, match="/dev/zero gives more than"):
            function("/dev/zero")
    spec = pfnnc.FeatureSpec(["a"])
    with pytest.raises(ValueError, match="no recording can be used: /dev/zero: it cannot be read: .*not a regular file"):
        pfnnc.build_dataset(["/dev/zero"], spec, tmp_path / "out")


class Trickle:
    """A stream that gives a few bytes at a time, as a pipe may, and for ever if it is told to."""

    def __init__(self, text: bytes, again: bool = False):
        self.text, self.at, self.again = text, 0, again

    def read(self, size):
        part = self.text[self.at : self.at + min(size, 7)]
        self.at += len(part)
        if self.again and not part:
            return b"0" * size
        return part


def test_streams_are_read_to_their_end_or_to_a_limit(monkeypatch):
    assert np.array_equal(read_bvh(Trickle(FILE.encode())).frames, read_bvh(FILE.encode()).frames)
    monkeypatch.setattr("pfnnc.bvh_file.LARGE", 1 << 25)
    with pytest.raises(BVHError, match="^<file>:1:1: gives more than 32 MiB"):
        read_bvh(Trickle(FILE.encode(), again=True))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_and_a_file_that_is_too_large(tmp_path, monkeypatch):
    pipe = tmp_path / "walk.bvh"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        written = threads.submit(pipe.write_bytes, FILE.encode())
        assert load_bvh(pipe).name == "walk"
        assert written.result() == len(FILE)
    monkeypatch.setattr("pfnnc.bvh_file.MOST_BYTES", 1 << 20)
    (tmp_path / "large.bvh").write_bytes(b" " * (3 << 20))
    with pytest.raises(BVHError, match="large.bvh:1:1: has 3 MiB, more than 1: that is no motion"):
        load_bvh(tmp_path / "large.bvh")


def test_damaged_gzip():
    packed = gzip.compress(FILE.encode())
    for damaged in (
        packed[:20],
        packed[:-9],
        packed[:10],
        packed[:2],
        packed[:40] + bytes([packed[40] ^ 255]) + packed[41:],
    ):
        error = refused(damaged)
        assert "gzip" in error.message and error.line == 1
    bomb = gzip.compress(b" " * (1 << 24))
    with pytest.raises(BVHError, match="expected HIERARCHY"):
        read_bvh(bomb)


def test_errors_survive_pickling():
    error = refused(put(" 91 ", " x "))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is BVHError and str(again) == str(error) and again.column == error.column
    assert isinstance(error, ValueError)


# ---- size -----------------------------------------------------------------------------------------


def test_a_chain_of_100_000_joints(tmp_path):
    joints = 100_000
    parts = ["HIERARCHY\nROOT j0\n{\nOFFSET 0 1 0\nCHANNELS 1 Zrotation\n"]
    parts += [f"JOINT j{j}\n{{\nOFFSET 0 1 0\nCHANNELS 0\n" for j in range(1, joints)]
    parts += ["}\n" * joints, "MOTION\nFrames: 1\nFrame Time: 0.01\n90\n"]
    clip = load_bvh("".join(parts).encode())
    assert len(clip.skeleton) == joints and clip.skeleton.parents[-1] == joints - 2
    np.testing.assert_allclose(clip.positions()[0, -1], [-joints + 1, 1, 0], atol=1e-6)
    save_bvh(tmp_path / "deep.bvh", clip)
    assert (tmp_path / "deep.bvh").stat().st_size < 300 * joints
    assert len(load_bvh(tmp_path / "deep.bvh").skeleton) == joints
    # an error at the bottom, and 100,000 joints of one name
    assert refused("".join(parts[:-1]) + "}").line == 5 * joints + 2
    same = re.sub(r"j\d+", "j", "".join(parts))
    data, messages = quietly(read_bvh, same.encode())
    assert len(data.names) == joints and len(messages) == 1


def test_memory_follows_the_file_and_not_its_header():
    """Counts of 10^18 frames and of 6 channels a joint in 4 kB: the process must not grow by what they would take."""
    code = f"""
import resource, warnings, pfnnc
warnings.simplefilter("ignore")
with open("/proc/self/statm") as file:  # what is taken already, by other libraries' threads too
    taken = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30),) * 2)
text = {FILE!r}
for count in (10**9, 10**18, 10**30):
    assert pfnnc.load_bvh(text.replace("Frames: 2", f"Frames: {{count}}").encode()).rotations.shape == (2, 2, 4)
print("ok")
"""
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs to know how much address space is taken, as Linux tells")
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the address sanitizer itself takes all of the address space")
    one = plain_environment(PFNNC_NUM_THREADS="1")  # each thread reserves address space
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=one)
    assert done.stdout == "ok\n", done.stderr


def test_joints_without_channels_cannot_fill_the_memory():
    joints, frames = 20_000, 200_000
    text = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xposition " + "JOINT b { OFFSET 0 0 0 CHANNELS 0 } " * joints
    text += f"}}\nMOTION\nFrames: {frames}\nFrame Time: 1\n" + "1\n" * frames
    data, _ = quietly(read_bvh, text.encode())
    assert data.frames.shape == (frames, 1)
    with pytest.raises(ValueError, match=f"<bytes>: {frames} frames of {joints + 1} joints are too many"):
        quietly(load_bvh, text.encode())


# ---- the core alone, under sanitizers -------------------------------------------------------------


CORE = "bvh bvh_hierarchy bvh_motion bvh_write decimal error".split()


@pytest.mark.slow
def test_mutations_under_sanitizers(tmp_path):
    """100,000 damaged files end in a value or in an error with a line; every truncation of the cases too."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    root = Path(__file__).resolve().parents[1] / "csrc"
    if not compiler or not root.exists():
        pytest.skip("needs a C compiler and the sources of the core")
    sources = [
        root / "tests" / "fuzz_bvh.c",
        *(root / "core" / f"{name}.c" for name in CORE),
    ]
    flags = [
        "-std=c11",
        "-O1",
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-I",
        str(root / "core"),
    ]
    built = subprocess.run(
        [compiler, *flags, *map(str, sources), "-lm", "-o", tmp_path / "fuzz"], capture_output=True, text=True
    )
    if built.returncode and "sanitize" in built.stderr:
        pytest.skip("needs a C compiler with sanitizers")
    assert built.returncode == 0, built.stderr
    (tmp_path / "file.bvh").write_text(FILE)
    (tmp_path / "body.bvh").write_text(BODY)
    files = [tmp_path / "file.bvh", tmp_path / "body.bvh", *sorted(CASES.glob("*.bvh"))]
    environment = plain_environment(ASAN_OPTIONS="max_allocation_size_mb=128")
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(
        [tmp_path / "fuzz", "100000", "1", *files], capture_output=True, text=True, env=environment, timeout=500
    )
    assert done.returncode == 0 and "all read or refused" in done.stdout, done.stderr[-3000:]
