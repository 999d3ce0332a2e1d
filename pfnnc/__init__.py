"""Data-driven character animation: BVH clips to a walking character, with a pure C core.

The way of the data is the order of the modules::

    bvh -> skeleton -> phase + features -> dataset -> training -> network -> synthesis -> metrics -> viewer

Conventions: right-handed, y up, metres, seconds, radians; quaternions ``[w, x, y, z]``; phase in cycles.
"""

from ._threads import *
from .blendtree import *
from .build import *
from .bvh import *
from .control import *
from .dataset import *
from .describe import *
from .exchange import *
from .features import *
from .gltf import *
from .history import *
from .metrics import *
from .motion_model import *
from .network import *
from .normalizer import *
from .phase import *
from .phase_files import *
from .phase_label import *
from .phase_report import *
from .report import *
from .root_motion import *
from .rotation import *
from .scene import *
from .skeleton import *
from .synthesis import *
from .synthetic import *
from .training import *
from .trajectory import *
from .windows import *

__version__ = "0.1.0"
