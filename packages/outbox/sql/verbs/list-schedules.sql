-- Schedules in the order of tenant and name, in pages.
-- Parameters: $1 tenant or null, $2 dag or null, $3 and $4 after this tenant and name or null, $5 the most rows.
-- Returns: schedules.
-- Cost: a walk from the cursor; filters are applied on the way.
SELECT * FROM {schema}.outbox_schedule
WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR dag = $2) AND ($3::text IS NULL OR (tenant, name) > ($3, $4::text))
ORDER BY tenant, name LIMIT $5::integer
