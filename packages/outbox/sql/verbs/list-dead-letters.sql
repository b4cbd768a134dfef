-- Tasks that failed for good, the newest first, in pages.
-- Parameters: $1 tenant or null, $2 handler or null, $3 before this id or null, $4 the most rows.
-- Returns: tasks without results, which a failed one does not have.
-- Cost: a walk along the dead letters from the cursor.
SELECT e.id, e.batch_id, e.task_key, e.handler, e.mode, e.status, e.pre_cnt, e.attempts, e.max_attempts, e.lost_cnt, e.worker_id, e.visible_at,
  e.lease_until, e.error, e.skipped_by, e.added_by, e.started_at, e.ended_at
FROM {schema}.outbox_dead_letter l JOIN {schema}.outbox_evt e ON e.id = l.id JOIN {schema}.batch_instance b ON b.id = e.batch_id
WHERE e.status = 'FAILED' AND ($1::text IS NULL OR b.tenant = $1) AND ($2::text IS NULL OR l.handler = $2)
  AND ($3::bigint IS NULL OR l.id < $3::bigint)
ORDER BY l.id DESC LIMIT $4::integer
