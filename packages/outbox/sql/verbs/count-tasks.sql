-- Notes with batches that have ended how many of their tasks are in which state.
-- A statement of its own: it has to see the ends that others counted while outbox_fold_batches waited for them.
-- Parameters: $1 batches.
-- Returns: the batches.
-- Cost: a walk over the tasks of each.
UPDATE {schema}.batch_instance b SET counts = (
  SELECT jsonb_object_agg(c.status, c.n)
  FROM (SELECT e.status, count(*) AS n FROM {schema}.outbox_evt e WHERE e.batch_id = b.id GROUP BY e.status) c
)
WHERE b.id = ANY ($1::bigint[])
RETURNING b.*
