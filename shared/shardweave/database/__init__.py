"""The front door: what programs open, ask and write to, and what a table of one's own is opened from.

database        the object that programs use; async_database has the same methods, awaitable
arguments       what its methods are given, checked; parts: what it is put together of
data_folder     the folder of an embedded table with its key formats and secrets; rewrite_keys rewrites one
project         where a project, its data folder, its templates and its tools are
"""
