"""python -m hexapla.cli, where the `hexapla` command is not on the path."""

from hexapla.cli.main import main

if __name__ == "__main__":
    main()
