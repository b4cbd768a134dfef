-- Forgets an instance that ends.
-- Parameters: $1 instance_id.
-- Returns: nothing.
-- Cost: one row.
DELETE FROM {schema}.server_instance WHERE instance_id = $1
