-- Batches without their payloads, the newest first, in pages.
-- Parameters: $1 tenant or null, $2 dag or null, $3 status or null, $4 business key or null, $5 before this id or null, $6 the most rows.
-- Returns: batches.
-- Cost: a walk from the cursor; filters other than tenant are applied on the way.
SELECT id, tenant, dag, dag_version, biz_key, run_no, status, traceparent, task_cnt, open_cnt, schedule, created_at, updated_at, ended_at
FROM {schema}.batch_instance
WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR dag = $2) AND ($3::text IS NULL OR status = $3::{schema}.batch_status)
  AND ($4::text IS NULL OR biz_key = $4) AND ($5::bigint IS NULL OR id < $5::bigint)
ORDER BY id DESC LIMIT $6::integer
