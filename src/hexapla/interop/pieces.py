"""Each id of a vocabulary as a string of its own, for a program that knows tokens by their text alone."""

from collections.abc import Sequence

MARK = "\ufdd0"
"""a noncharacter, which no text for interchange holds"""


def told_apart(pieces: Sequence[str], specials: Sequence[int]) -> list[str]:
    """The pieces, ids in order; where a text's piece reads as another, as the word "<s>" does, `MARK` is put behind it.

    The specials keep their names.
    """
    taken = {pieces[i] for i in specials}
    named = list(pieces)
    for i, piece in enumerate(pieces):
        if i not in specials:
            while piece in taken:
                piece += MARK
            taken.add(piece)
            named[i] = piece
    return named
