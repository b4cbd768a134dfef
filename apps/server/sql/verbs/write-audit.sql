-- Writes down who is about to change what.
-- Parameters: $1 key_name, $2 role, $3 tenant or null, $4 route, $5 method, $6 path, $7 params, $8 body or null, $9 instance_id.
-- Returns: the id.
-- Cost: one row.
INSERT INTO {schema}.server_audit (key_name, role, tenant, route, method, path, params, body, instance_id)
VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9) RETURNING id
