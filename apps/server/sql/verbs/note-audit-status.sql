-- Notes what a request was answered with.
-- Parameters: $1 id, $2 status.
-- Returns: nothing.
-- Cost: one row.
UPDATE {schema}.server_audit SET status = $2::smallint WHERE id = $1::bigint
