-- DAGs in the order of their names, each in the version that a start by name takes: the applied one in force, else the one registered last.
-- Parameters: $1 after this name or null, $2 exactly this name or null, $3 the most rows.
-- Returns: name, version, task_cnt, registered_at, and whether the version is in force as applied.
-- Cost: a walk over the versions of these DAGs.
SELECT DISTINCT ON (d.name) d.name, d.version, d.task_cnt, d.registered_at, f.version IS NOT NULL AS applied
FROM {schema}.dag d LEFT JOIN {schema}.dag_in_force f ON f.version = d.version
WHERE ($1::text IS NULL OR d.name > $1::text) AND ($2::text IS NULL OR d.name = $2::text)
ORDER BY d.name, f.version IS NULL, d.registered_at DESC, d.version DESC
LIMIT $3::integer
