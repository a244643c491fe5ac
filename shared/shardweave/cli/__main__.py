"""`python -m shardweave.cli`."""

from .main import command

if __name__ == "__main__":
    command()
