"""PartialFile: a download that is not complete yet, on disk beside its target."""

from __future__ import annotations

from pathlib import Path

from nbfnet.graph.atomic import flush_to_disk


class PartialFile:
    """The bytes that have arrived so far, and the server's mark of the version they belong to."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.mark_path = target.with_name(target.name + ".part.version")

    def size(self) -> int:
        """How many bytes can be kept: none without a mark, which alone tells whether the file has changed."""
        is_file = self.path.is_file() and not self.path.is_symlink()  # a link would be written through
        return self.path.stat().st_size if is_file and self.mark() else 0

    def mark(self) -> str:
        """The entity tag or the date that the server gave for these bytes."""
        return self.mark_path.read_text(encoding="latin-1") if self.mark_path.exists() else ""

    def begin(self, mark: str) -> None:
        """Start over with no bytes, of the version with this mark."""
        self.discard()
        self.path.touch()
        if mark:
            self.mark_path.write_text(mark, encoding="latin-1")

    def discard(self) -> None:
        """Forget everything that has arrived."""
        self.path.unlink(missing_ok=True)
        self.mark_path.unlink(missing_ok=True)

    def move_into_place(self) -> None:
        """Become the target, once all bytes are on the disk."""
        flush_to_disk(self.path)
        self.path.replace(self.target)
        self.mark_path.unlink(missing_ok=True)
