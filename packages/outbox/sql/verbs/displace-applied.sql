-- Code has brought a definition that was not stored before: what was applied for this DAG no longer counts.
-- Parameters: $1 name.
-- Returns: nothing.
-- Cost: one row by its key.
DELETE FROM {schema}.dag_in_force WHERE name = $1
