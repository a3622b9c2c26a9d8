"""Pictures of explanations: the layered graph of their paths, as SVG, HTML, PNG and PDF."""
