"""`python -m shardweave`: what `shardweave` does."""

from .cli.__main__ import main

main()
