-- The latest run of a business key.
-- Parameters: $1 tenant, $2 dag, $3 business key.
-- Returns: the batch, or no row.
-- Cost: one lookup.
SELECT * FROM {schema}.batch_instance
WHERE tenant = $1 AND dag = $2 AND biz_key = $3
ORDER BY run_no DESC LIMIT 1
