"""Known datasets: the registry, downloads, and the layouts of their publishers."""
