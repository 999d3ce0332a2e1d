"""Looking at motion: a page that plays clips, plots with Matplotlib. Not imported by ``import pfnnc``."""

from .gif import write_gif
from .page import write_page, write_trials
from .play import write_play_page
from .plots import plot_feet, plot_joint_angles, plot_trajectory, save_plots

__all__ = [
    "plot_feet",
    "plot_joint_angles",
    "plot_trajectory",
    "save_plots",
    "write_gif",
    "write_page",
    "write_play_page",
    "write_trials",
]
