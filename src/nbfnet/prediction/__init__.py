"""Named answers from a trained network: who is asked, how sure it is, and whether that is known already."""
