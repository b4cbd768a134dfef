-- Tasks of a batch with their results, in pages that end early when the results are large.
-- Parameters: $1 batch, $2 after this id or null, $3 the most rows, $4 status or null, $5 the most bytes of results on a page, as texts.
-- Returns: tasks in the order of their ids, the first one whatever its size, each with how many rows the page would have had (asked_cnt).
-- Cost: a walk over the tasks of the batch; the results of the asked rows are measured here, one at a time, before any is sent.
SELECT id, batch_id, task_key, handler, mode, status, pre_cnt, attempts, max_attempts, lost_cnt, worker_id, visible_at, lease_until, result, error,
  skipped_by, added_by, started_at, ended_at, asked_cnt
FROM (
  SELECT asked.*, row_number() OVER by_id AS place, sum(coalesce(octet_length(result::text), 0)) OVER by_id AS bytes,
    (count(*) OVER ())::integer AS asked_cnt
  FROM (
    SELECT * FROM {schema}.outbox_evt
    WHERE batch_id = $1::bigint AND ($2::bigint IS NULL OR id > $2::bigint) AND ($4::text IS NULL OR status = $4::{schema}.outbox_status)
    ORDER BY id LIMIT $3::integer
  ) asked
  WINDOW by_id AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
) measured
WHERE place = 1 OR bytes <= $5::bigint
ORDER BY id
