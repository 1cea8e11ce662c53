"""The task auction, live: its agents and client as separate processes, every step on the screen."""
