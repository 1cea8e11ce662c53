"""The command `strabo`, one module a group of verbs; heavy imports wait until a verb needs them."""
