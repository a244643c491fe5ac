"""Live re-sharding: every record of an entity moves to another shard space while it is read and written.

phases                 the protocol: phases, steps, waits, transitions
declaration_guard      fingerprints of a declaration
control                the control record
leased_maps            each process's leased copy of the control records, with the shard maps to use
targets                the possible targets of a re-shard
work_items             the parts of a step
copy_actions           the actions of movers on one record
independent_keys       a record's keys in another shard space, computed independently
retrying_reads         reads with retries
transaction_executor   transactions of movers
tasks                  the work of movers on a page of records; also verify and index_check
mover                  movers: one slice of a work item after another
coordinator            moves a re-shard from step to step
driver                 runs all that, with the table's changes and a clock
admin                  the operators' commands: estimate, start, status, abort, resume
timings                the waits as a setting
change_handler         the interface to the table's stream
stream_filter          which changes of the stream are changes of records
load/                  the load of each shard, throttled requests, and the policy that proposes re-shards
"""
