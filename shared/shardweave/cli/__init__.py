"""The command line: `shardweave keys | space | plan | size | load | query | explain`.

Standard output has only the result, standard error everything else. Exit codes: 0 done; 1 some input was refused, each
with its line; 2 the command line or a configuration is wrong, and nothing was read. Streams are read and written line
by line, so the memory does not depend on their length, and a line is written completely or not at all.
"""
