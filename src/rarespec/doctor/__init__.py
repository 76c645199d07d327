"""Is this installation well? What a bug report should say: software, machine, places, and a search in seconds."""
