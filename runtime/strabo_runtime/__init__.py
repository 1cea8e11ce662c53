"""The runtime of Strabo: language, engine, simulator, worker and the command line."""
