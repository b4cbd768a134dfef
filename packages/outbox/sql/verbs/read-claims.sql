-- Which claims ended as DONE: asked after the reply to their completion was lost.
-- Parameters: $1 ids, $2 claim_ids.
-- Returns: the ids.
-- Cost: a lookup per task.
SELECT e.id FROM unnest($1::bigint[], $2::bigint[]) AS g (id, claim_id)
JOIN {schema}.outbox_evt e ON e.id = g.id AND e.claim_id = g.claim_id
WHERE e.status = 'DONE'
