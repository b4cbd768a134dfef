-- Takes batches that ended longer ago than they are kept, the first that ended first, until the transaction ends. Those that somebody else has locked
-- (another pruner, a retry) are passed over.
-- Parameters: $1 how long they are kept in ms, $2 the most batches.
-- Returns: id and task_cnt.
-- Cost: a walk along an index of what has ended.
SELECT id, task_cnt FROM {schema}.batch_instance
WHERE ended_at < (SELECT clock_timestamp() - $1::double precision * interval '1 ms')
ORDER BY ended_at LIMIT $2::integer
FOR UPDATE SKIP LOCKED
