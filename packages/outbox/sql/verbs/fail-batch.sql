-- Lets nothing more start in a batch: what is READY is cancelled, what runs may finish.
-- Guarantee: under the lock of the batch, so a task that is given back at the same time is either cancelled here or sees the mark.
-- Parameters: $1 batch.
-- Returns: the number of cancelled tasks.
-- Cost: a walk over the tasks of the batch; they are locked in the order of their ids.
WITH marked AS (
  UPDATE {schema}.batch_instance SET failing = true, updated_at = now() WHERE id = $1::bigint AND status = 'RUNNING' RETURNING id
), held AS (
  SELECT e.id FROM marked m JOIN {schema}.outbox_evt e ON e.batch_id = m.id WHERE e.status = 'READY' ORDER BY e.id FOR UPDATE OF e
), cancelled AS (
  UPDATE {schema}.outbox_evt e SET status = 'CANCELLED', ended_at = clock_timestamp(), updated_at = now()
  FROM held h WHERE e.id = h.id AND e.status = 'READY'
  RETURNING e.batch_id
), ticked AS (
  INSERT INTO {schema}.outbox_tick (batch_id, task_key, ok_cnt, end_cnt)
  SELECT batch_id, NULL, 0, count(*) FROM cancelled GROUP BY batch_id
)
SELECT count(*)::integer AS cancelled FROM cancelled
