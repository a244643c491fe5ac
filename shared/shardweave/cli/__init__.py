"""The command line: `shardweave keys | space | plan | size | load | query | explain`.

Standard output carries only the answer, standard error all else. Exit codes: 0 done; 1 some input was refused, each
with its line; 2 the command line or a configuration is wrong, and nothing was read. Streams are read and written line
by line, so any length takes the same memory, and a line is written whole or not at all.
"""
