-- Entries of the audit log, the newest first.
-- Parameters: $1 tenant, $2 route, $3 key_name, $4 an id that they come before; each null for all. $5 at most so many.
-- Returns: entries.
-- Cost: an index walk over what is returned; with several filters over what one of them finds.
SELECT id, at, key_name, role, tenant, route, method, path, params, body, instance_id, status
FROM {schema}.server_audit
WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR route = $2) AND ($3::text IS NULL OR key_name = $3)
  AND ($4::bigint IS NULL OR id < $4)
ORDER BY id DESC LIMIT $5::integer
