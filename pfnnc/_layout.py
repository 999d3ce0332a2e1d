"""Where things stand in a row of features, as the training step in C wants it told."""

from dataclasses import dataclass

import numpy as np

WIDTHS = {"quat": 4, "exp_map": 3, "6d": 6}
NONE = (0, 0)


@dataclass(frozen=True)
class Layout:
    """Columns of a frame and of the network's output; -1 or an empty range stands for what is absent."""

    dim: int
    width: int = 0  # numbers a rotation has, 0 where that is not known
    slots: int = 0
    heading: bool = False
    yaw_rate: int = -1
    contacts: int = -1
    root: tuple[int, int] = NONE
    points: tuple[int, int] = NONE
    phase: tuple[int, int] = NONE
    trajectory: tuple[int, int] = NONE
    delta: bool = False
    times: tuple[float, ...] = ()
    joints: tuple[int, ...] | None = None  # of the skeleton, in the order of their slots; None: all


def from_spec(spec, skeleton) -> Layout:
    """The layout of a FeatureSpec; its joints are looked up in the skeleton where there is one."""
    slices = spec.slices
    width = WIDTHS[spec.representation]
    joints = slices["joints"]
    scalars = [slices[name] for name in ("yaw_rate", "height") if name in slices]
    root = (scalars[0].start, scalars[-1].stop) if scalars else NONE
    points = (slices["points"].start, slices["points"].stop) if "points" in slices else NONE
    phase = (spec.dim, spec.dim + 1) if spec.phase_step else NONE
    control = spec.control
    future = spec.out_dim - phase[1] if spec.phase_step else spec.out_dim - spec.dim
    named = None
    if skeleton is not None and not isinstance(spec.joints, (int, np.integer)):
        named = tuple(skeleton.index(name) for name in spec.joints)
    return Layout(
        dim=spec.dim,
        width=width,
        slots=1 + (joints.stop - joints.start) // width,
        heading=spec.frame == "heading",
        yaw_rate=slices["yaw_rate"].start if "yaw_rate" in slices else -1,
        contacts=slices["contacts"].start if "contacts" in slices else -1,
        root=root,
        points=points,
        phase=phase,
        trajectory=(spec.out_dim - future, spec.out_dim) if future else NONE,
        delta=spec.predict == "delta",
        times=tuple(control.times) if control is not None else (),
        joints=named,
    )


def from_skeleton(dim: int, skeleton, feet: int) -> Layout:
    """The layout of bare frames: velocity, orientation, all joints of the skeleton, one contact a foot."""
    joints = len(skeleton.names)
    for width in sorted(WIDTHS.values()):
        if 3 + width * (1 + joints) + feet == dim:
            return Layout(dim, width, 1 + joints, contacts=dim - feet if feet else -1)
    wanted = ", ".join(f"{3 + WIDTHS[name] * (1 + joints) + feet} ({name})" for name in WIDTHS)
    raise ValueError(
        f"skeleton has {joints} joints and there are {feet} feet, so a frame should have {wanted} columns, got {dim}; "
        "give spec= for another layout"
    )


def kinematics(layout: Layout, skeleton, feet) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(parents, offsets, slots, feet) of the joints that the feet hang on, parents first; end sites are joints too.

    ``feet`` are names or indices of joints, or ``<joint>_end`` for an end site. ``ValueError`` for one that is absent.
    """
    if skeleton is None:
        return np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros(0, np.int32), np.zeros(0, np.int32)
    parents = [int(p) for p in skeleton.parents]
    offsets = [tuple(map(float, o)) for o in skeleton.offsets]
    order = range(len(parents)) if layout.joints is None else layout.joints
    slots = [-1] * len(parents)
    for slot, joint in enumerate(order, 1):
        slots[joint] = slot
    slots = [0 if parent < 0 else slot for parent, slot in zip(parents, slots, strict=True)]
    places = []
    for foot in feet:
        place = _place(skeleton, foot, parents, offsets, slots)
        places.append(place)
    wanted = set()
    for place in places:
        while place >= 0:
            wanted.add(place)
            place = parents[place]
    kept = sorted(wanted)  # an end site follows its parent, so the order holds
    new = {old: i for i, old in enumerate(kept)}
    return (
        np.array([new.get(parents[i], -1) for i in kept], np.int32),
        np.array([offsets[i] for i in kept], np.float64).reshape(-1, 3),
        np.array([slots[i] for i in kept], np.int32),
        np.array([new[p] for p in places], np.int32),
    )


def _place(skeleton, foot, parents: list, offsets: list, slots: list) -> int:
    """The index of a foot; an end site is appended to the lists."""
    if isinstance(foot, (int, np.integer)) and not isinstance(foot, bool):
        if not 0 <= foot < len(skeleton.names):
            raise ValueError(f"feet must be joints of the skeleton, got {foot} of {len(skeleton.names)}")
        return int(foot)
    if not isinstance(foot, str):
        raise TypeError(f"feet must be names or indices of joints, got {type(foot).__name__}")
    if foot in skeleton.names:
        return list(skeleton.names).index(foot)
    for name, number in ((foot[: -len("_end")], 1), (foot[: -len("_end2")], 2)):
        if foot == f"{name}_end{'' if number == 1 else number}" and name in skeleton.names:
            joint = list(skeleton.names).index(name)
            ends = [offset for parent, offset in skeleton.end_sites if parent == joint]
            if len(ends) >= number:
                parents.append(joint), offsets.append(tuple(map(float, ends[number - 1]))), slots.append(-1)
                return len(parents) - 1
    raise ValueError(f"feet names {foot!r}, which is no joint or end site of the skeleton")
