"""How the runtime shows what it does."""
