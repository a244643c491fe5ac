"""A deterministic simulation of many processes on one table that is as weak as DynamoDB is allowed to be.

scheduler   processes in virtual time: one runs at a time, and which is the seed's choice
server      the table: items, transactions that become visible item by item, indexes that lag, a stream
client      a process's connection to it: what networks and dying processes do to a request
oracle      what may be stored and seen, from what was asked and answered
clients     the work of application processes: writes, reads, walks, each checked
movers      the work of the processes that move records
feeders     the work of the processes that feed read models from the stream, and of one that rebuilds them
writers     writes in every way there is: `revising` those at a revision, `repeating` those under idempotency keys,
            `hosting` those of records that change over to other parents (`guests` knows of them), `numberers` those of
            records that a sequence numbers (`serials` knows of them), `tallying` those of what is counted (`tallies`
            knows of it); `rewriters` bring records to the current version
fillers     a process that fills a lookup, and `examiners` one that looks for faults as the doctor does
history     one history: a seed, a configuration, what came of it
evolution   the same of a declaration that evolves (see `evolving`) while programs of the old and of the new one write

Everything that decides is drawn from one seeded generator, so a seed is a history.
"""
