-- Takes tasks that can run now; see 0003-claim-ready.sql.
-- Parameters: $1 DAGs, $2 from when on in each, $3 their versions, $4 the most tasks, $5 worker_id, $6 lease in ms.
-- Returns: one row per task, with what its handler is given, under the names of ClaimedTask: a copy of each would be most of the garbage.
-- Cost: a lookup per task and per predecessor.
SELECT id, claim_id AS "claimId", batch_id AS "batchId", task_key AS "taskKey", handler, mode, on_failure AS "onFailure", attempts AS attempt,
  max_attempts AS "attemptsMax", timeout_ms AS "timeoutMs", lost_cnt AS lost, tenant, dag, biz_key AS "bizKey", run_no AS "runNo", traceparent,
  payload, inputs
FROM {schema}.outbox_claim_ready(
  $1::text[], $2::double precision[], $3::integer[], $4::integer, $5::text, $6::double precision
)
