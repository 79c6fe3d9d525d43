"""A list of words or characters, each with the id of its place, and the file it is kept in.

The file is a JSON list of strings: no line breaks to lose, nothing to trim, any code point. Ids 0 to 3 are the specials and
stand in no file; the first entry is id 4.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from hexapla.config.model import Specials
from hexapla.data.opening import shown
from hexapla.data.stored import MOST_VOCABULARY, in_brief, read_json
from hexapla.errors import DataError

SPECIALS = Specials()
"""pad 0, unk 1, bos 2, eos 3: the same in every vocabulary that is learned here"""
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
"""how those ids are shown; the same characters in a text are text"""
FIRST = len(SPECIAL_PIECES)
UNKNOWN = "⁇"
"""how an unknown token is written when ids become text"""


class Vocabulary:
    """Entries in order of their ids.

    Raises DataError for an entry that is there twice; `where` begins the message.
    """

    def __init__(self, entries: Iterable[str], *, where: str = "vocabulary") -> None:
        self.entries = list(entries)
        self.ids: dict[str, int] = {}
        for place, entry in enumerate(self.entries):
            if entry in self.ids:
                first = self.ids[entry] - FIRST
                raise DataError(
                    f"{where}: {in_brief(entry)} is entry {first + 1} and again entry {place + 1}; every entry may be there once"
                )
            self.ids[entry] = FIRST + place

    def __len__(self) -> int:
        """How many ids there are, the specials included."""
        return FIRST + len(self.entries)

    def __getitem__(self, number: int) -> str:
        return SPECIAL_PIECES[number] if number < FIRST else self.entries[number - FIRST]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(tuple(self.entries))

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(self.entries, ensure_ascii=True, indent=0) + "\n", encoding="ascii")

    @classmethod
    def load(cls, file: Path) -> "Vocabulary":
        """Raises DataError: no such file, or not a JSON list of different strings; StorageError."""
        entries = read_json(file, MOST_VOCABULARY)
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise DataError(f"{shown(file)}: must be a JSON list of strings, one for each vocabulary entry")
        return cls(entries, where=shown(file))
