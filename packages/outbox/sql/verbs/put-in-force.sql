-- Makes an applied version the one that new batches of its DAG take, and tells the instances.
-- Guarantee: of many that do so at once, the last to commit counts, for all instances alike.
-- Parameters: $1 name, $2 version, stored in this transaction, $3 the most DAGs that may be in force, $4 channel, $5 what is told there.
-- Returns: the version, or no row when too many others are in force.
-- Cost: a count of a small table, two rows.
WITH marked AS (
  UPDATE {schema}.dag SET applied = true WHERE version = $2::integer AND NOT applied
), put AS (
  INSERT INTO {schema}.dag_in_force (name, version)
  SELECT $1::text, $2::integer WHERE (SELECT count(*) FROM {schema}.dag_in_force WHERE name <> $1::text) < $3::integer
  ON CONFLICT (name) DO UPDATE SET version = EXCLUDED.version, since = clock_timestamp()
  RETURNING version
)
SELECT put.version, pg_notify($4::text, $5::text) FROM put
