"""`python -m shardweave`: what `shardweave` does."""

from .cli.__main__ import main

if __name__ == "__main__":
    main()
