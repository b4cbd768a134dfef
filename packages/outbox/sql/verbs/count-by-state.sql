-- How many tasks of a batch are in which state.
-- Parameters: $1 batch.
-- Returns: one row.
-- Cost: a walk over the tasks of the batch.
SELECT count(*) FILTER (WHERE status = 'READY' AND pre_cnt > 0)::integer AS waiting,
  count(*) FILTER (WHERE status = 'READY' AND pre_cnt = 0)::integer AS ready,
  count(*) FILTER (WHERE status = 'PROCESSING')::integer AS processing,
  count(*) FILTER (WHERE status = 'DONE')::integer AS done,
  count(*) FILTER (WHERE status = 'FAILED')::integer AS failed,
  count(*) FILTER (WHERE status = 'SKIPPED')::integer AS skipped,
  count(*) FILTER (WHERE status = 'CANCELLED')::integer AS cancelled
FROM {schema}.outbox_evt WHERE batch_id = $1::bigint
