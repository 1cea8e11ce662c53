"""The simulator: protocols run in memory, by scenarios or at random, on the engine that production uses."""

from strabo_runtime.simulator.catalogue import Catalogue, Family, load_family
from strabo_runtime.simulator.clock import Clock
from strabo_runtime.simulator.coverage import Coverage, cover
from strabo_runtime.simulator.directory import Directory, RoleDirectory
from strabo_runtime.simulator.errands import Errand
from strabo_runtime.simulator.errors import RecoveryError, SimulatorError, UnreadableScenarioError
from strabo_runtime.simulator.host import Host
from strabo_runtime.simulator.play import PlayReport, play, play_run, render_play, render_run
from strabo_runtime.simulator.reading import read_scenarios
from strabo_runtime.simulator.report import Report, load_scenarios, render_report, run_file
from strabo_runtime.simulator.running import ScenarioResult, run_scenario
from strabo_runtime.simulator.scenario import Scenario, Scenarios

__all__ = [
    "Catalogue",
    "Clock",
    "Coverage",
    "Directory",
    "Errand",
    "Family",
    "Host",
    "PlayReport",
    "RecoveryError",
    "Report",
    "RoleDirectory",
    "Scenario",
    "ScenarioResult",
    "Scenarios",
    "SimulatorError",
    "UnreadableScenarioError",
    "cover",
    "load_family",
    "load_scenarios",
    "play",
    "play_run",
    "read_scenarios",
    "render_play",
    "render_report",
    "render_run",
    "run_file",
    "run_scenario",
]
