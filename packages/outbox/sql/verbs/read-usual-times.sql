-- How long the tasks of a DAG took lately, on average of each handler.
-- Parameters: $1 dag, $2 how many of its batches to look at, $3 the most tasks such a batch may have.
-- Returns: handler and ms.
-- Cost: a walk over the tasks of those batches.
SELECT e.handler, avg(extract(epoch FROM e.ended_at - e.started_at))::double precision * 1000 AS ms
FROM (
  SELECT b.id FROM {schema}.batch_instance b
  WHERE b.dag = $1 AND b.status = 'DONE' AND b.task_cnt <= $3::integer ORDER BY b.id DESC LIMIT $2::integer
) l
JOIN {schema}.outbox_evt e ON e.batch_id = l.id
WHERE e.status = 'DONE' AND e.started_at IS NOT NULL
GROUP BY e.handler
