-- purpose:    says that a definition which is stored already is the one in use.
-- guarantee:  changes nothing but the time of the saying.
-- parameters: $1 name of the DAG · $2 hash of its definition
-- returns:    version, or no row when this definition is not stored.
-- cost:       one row by the unique index on (name, hash).
UPDATE {schema}.dag SET registered_at = clock_timestamp()
WHERE name = $1 AND hash = $2
RETURNING version
