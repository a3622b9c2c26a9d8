"""``python -m nbfnet`` is the command ``nbfnet``."""

from nbfnet.cli import main

main()
