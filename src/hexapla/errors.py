"""What can go wrong, and the exit code a shell sees for each.

HexaplaError            1   anything below
├── ConfigError         2   a setting or a command line that cannot be
├── DivergenceError     3   training met NaN or infinity and stopped
├── DataError          65   a file of the user's that cannot be read as what it should be
├── CheckpointError    66   a run folder or checkpoint that is missing, damaged or of another model
├── OutOfMemoryError   71   memory ran out
└── StorageError       74   the disk or the file system refused

A message reads: where, what was given, what is allowed, what to do. It is one line: the command line prints it and no
traceback. A traceback is therefore always a bug of ours.
"""


class HexaplaError(Exception):
    exit_code = 1


class ConfigError(HexaplaError, ValueError):
    exit_code = 2


class DivergenceError(HexaplaError):
    exit_code = 3


class DataError(HexaplaError):
    exit_code = 65


class CheckpointError(HexaplaError):
    exit_code = 66


class OutOfMemoryError(HexaplaError):
    exit_code = 71


class StorageError(HexaplaError):
    exit_code = 74
