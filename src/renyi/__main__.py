"""``python -m renyi``: the command, where its script is not on the path."""

from renyi.cli.main import main

if __name__ == "__main__":
    main()
