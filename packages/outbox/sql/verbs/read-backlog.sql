-- The whole backlog by state: tasks of running batches, and every dead letter.
-- Parameters: $1 tenant, or null for all.
-- Returns: one row; oldest_ready_age_ms is null when nothing can run.
-- Cost: a walk over the tasks of running batches and over the dead letters; finished batches cost nothing.
WITH open AS (
  SELECT e.status, e.pre_cnt, e.visible_at FROM {schema}.batch_instance b JOIN {schema}.outbox_evt e ON e.batch_id = b.id
  WHERE b.status = 'RUNNING' AND ($1::text IS NULL OR b.tenant = $1)
)
SELECT count(*) FILTER (WHERE status = 'READY' AND pre_cnt > 0)::integer AS waiting,
  count(*) FILTER (WHERE status = 'READY' AND pre_cnt = 0)::integer AS ready,
  count(*) FILTER (WHERE status = 'PROCESSING')::integer AS processing,
  count(*) FILTER (WHERE status = 'DONE')::integer AS done,
  (SELECT count(*) FROM {schema}.outbox_dead_letter l JOIN {schema}.outbox_evt f ON f.id = l.id
   JOIN {schema}.batch_instance b ON b.id = f.batch_id
   WHERE f.status = 'FAILED' AND ($1::text IS NULL OR b.tenant = $1))::integer AS failed,
  count(*) FILTER (WHERE status = 'SKIPPED')::integer AS skipped,
  count(*) FILTER (WHERE status = 'CANCELLED')::integer AS cancelled,
  extract(epoch FROM clock_timestamp() - min(visible_at) FILTER (
    WHERE status = 'READY' AND pre_cnt = 0 AND visible_at <= clock_timestamp()
  ))::double precision * 1000 AS oldest_ready_age_ms
FROM open
