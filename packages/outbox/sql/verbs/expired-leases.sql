-- Tasks whose worker has been silent for longer than its lease.
-- Parameters: $1 what the ids of workers to pass over begin with, or null, $2 the most rows, $3 whether every other worker is dead (embedded database).
-- Returns: what a decision about each needs. Nothing is locked: the decision is fenced by the claim.
-- Cost: a walk along the notes of claims that are due, a lookup per task of theirs and per row of its batch. Joined with unnest(evt_ids) it was a hash join that read all
--   tasks there are, where the statistics were old: 170 ms with 500,000 of them.
SELECT e.id, e.claim_id AS "claimId", e.batch_id AS "batchId", e.task_key AS "taskKey", e.handler, e.lost_cnt AS lost, e.on_failure AS "onFailure",
  (SELECT b.traceparent FROM {schema}.batch_instance b WHERE b.id = e.batch_id) AS traceparent
FROM {schema}.outbox_lease l
JOIN {schema}.outbox_evt e ON e.id = ANY (l.evt_ids)
WHERE ($3::boolean OR l.look_at <= (SELECT clock_timestamp()))
  AND e.status = 'PROCESSING' AND ($3::boolean OR e.lease_until <= clock_timestamp())
  AND ($1::text IS NULL OR NOT starts_with(e.worker_id, $1::text))
ORDER BY l.look_at
LIMIT $2::integer
