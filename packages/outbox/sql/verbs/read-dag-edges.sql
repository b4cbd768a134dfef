-- Who depends on whom in versions of DAGs.
-- Parameters: $1 versions, $2 the most edges of each.
-- Returns: version, from_key and to_key.
-- Cost: a row per edge.
SELECT e.version, e.from_key, e.to_key FROM unnest($1::integer[]) AS v (version)
CROSS JOIN LATERAL (
  SELECT d.version, d.from_key, d.to_key FROM {schema}.task_dep d WHERE d.version = v.version
  ORDER BY d.from_key, d.to_key LIMIT $2::integer
) e
