-- Forgets versions with their tasks and edges.
-- Guarantee: under lock-old-dags, in a statement of its own: a batch that was started before the lock is seen, and none can be started after it.
-- Parameters: $1 versions.
-- Returns: versions.
-- Cost: a deletion per task and edge; each version reads batch_instance once for its foreign key, which has no index of its own because every start
--   would pay for it.
DELETE FROM {schema}.dag d
WHERE d.version = ANY ($1::integer[])
  AND NOT EXISTS (SELECT FROM {schema}.batch_instance b WHERE b.dag = d.name AND b.dag_version = d.version)
RETURNING d.version
