-- Takes versions that nobody has and no batch of theirs is seen of, until the transaction ends. The latest of each DAG always stays, and the applied one
-- in force: who starts a batch by name alone gets it.
-- Parameters: $1 how long a version is kept after an instance last had it, in ms, $2 the most versions.
-- Returns: versions.
-- Cost: a walk over the versions, and for old ones over the batches of their DAG.
SELECT d.version FROM {schema}.dag d
WHERE greatest(d.registered_at, d.used_at) < (SELECT clock_timestamp() - $1::double precision * interval '1 ms')
  AND EXISTS (
    SELECT FROM {schema}.dag l WHERE l.name = d.name AND (l.registered_at, l.version) > (d.registered_at, d.version)
  )
  AND NOT EXISTS (SELECT FROM {schema}.dag_in_force f WHERE f.version = d.version)
  AND NOT EXISTS (SELECT FROM {schema}.batch_instance b WHERE b.dag = d.name AND b.dag_version = d.version)
ORDER BY d.version LIMIT $2::integer
FOR UPDATE OF d SKIP LOCKED
