-- Whether any version of a DAG is stored.
-- Parameters: $1 name.
-- Returns: one row, known.
-- Cost: one lookup.
SELECT EXISTS (SELECT FROM {schema}.dag WHERE name = $1) AS known
