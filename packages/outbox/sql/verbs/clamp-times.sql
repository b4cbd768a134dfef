-- Brings times back that are further ahead than anything sets them: the clock of the server has jumped back.
-- Parameters: $1 how far ahead a lease or delay can be, in ms, $2 DAGs.
-- Returns: how many were brought back.
-- One time for all: a task and its entry know each other by it.
-- Cost: nothing to do: a look at the ends of two indexes.
WITH far AS MATERIALIZED (
  SELECT t.now, t.now + $1::double precision * interval '1 ms' AS ahead FROM (SELECT clock_timestamp() AS now) t
), notes AS (
  UPDATE {schema}.outbox_lease SET look_at = (SELECT now FROM far) WHERE look_at > (SELECT ahead FROM far) RETURNING evt_ids
), leases AS (
  UPDATE {schema}.outbox_evt e SET lease_until = (SELECT now FROM far)
  FROM (SELECT unnest(evt_ids) AS id FROM notes) n
  WHERE e.id = n.id AND e.status = 'PROCESSING' AND e.lease_until > (SELECT ahead FROM far)
  RETURNING e.id
), gone AS (
  DELETE FROM {schema}.outbox_ready WHERE dag = ANY ($2::text[]) AND visible_at > (SELECT ahead FROM far) RETURNING id, dag, version
), again AS (
  INSERT INTO {schema}.outbox_ready (id, dag, version, visible_at) SELECT id, dag, version, (SELECT now FROM far) FROM gone
), delays AS (
  UPDATE {schema}.outbox_evt e SET visible_at = (SELECT now FROM far) FROM gone g WHERE e.id = g.id AND e.status = 'READY'
)
SELECT ((SELECT count(*) FROM leases) + (SELECT count(*) FROM gone))::integer AS clamped
