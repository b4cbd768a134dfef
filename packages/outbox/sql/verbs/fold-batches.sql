-- Counts ends of tasks into their batches, and ends those with none left; see 0005-fold.sql.
-- Parameters: $1 the most ticks, $2 batches to leave alone.
-- Returns: id (null for a batch that is locked by others) whether it ended now, and how many ticks that were.
-- Cost: a deletion per tick, an update per batch.
SELECT id, has_ended, ticks FROM {schema}.outbox_fold_batches($1::integer, $2::bigint[])
