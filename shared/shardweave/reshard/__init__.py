"""Live re-sharding: every record of an entity moves to another shard space while it is read and written.

phases       the protocol: phases, steps, waits, what leads from one to the next
placement    fingerprints of a declaration
control      the control record
maps         each process's leased copy of it: which maps to read and write by
work         items of work: what a step is divided into
copying      what a mover writes for one record, exactly
recomputed   a record as it must be elsewhere, computed a second time
asking       reads, asked again
carrying     transactions, carried out
tasks        what a mover does with a page of records, by step; verifying and index_check are two of them
moving       movers: one slice of an item after the other
coordinator  takes a re-shard from step to step
driver       what drives all that: the table's changes, and a clock
operator     what may be asked of a re-shard: estimate, start, status, abort, resume
wait_settings   the waits as a setting

authoritative   which changes of the stream are changes of records
signal       how full and how busy shards are
throttles    which shards' requests were throttled
policy       when more shards are proposed
watch        counts, and judges window by window
"""
