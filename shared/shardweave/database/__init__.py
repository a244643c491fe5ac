"""The front door: what programs open, ask and write to, and what a table of one's own is opened from.

database        the object that programs use; async_database has the same methods as coroutines
arguments       checks of the methods' arguments; parts: the parts of a database
data_folder     the folder of an embedded table with its key formats and secrets; rewrite_keys rewrites one
project         the folders of a project: its data folder, templates and tools
"""
