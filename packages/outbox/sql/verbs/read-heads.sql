-- From when on the entries of what can run are worth a look, after a claim that looked at all of them.
-- Parameters: $1 DAGs, $2 ids of the tasks it took, $3 how many ms ago it began, $4 whether it took all there was.
-- Returns: dag, since (seconds of the epoch) for each DAG of which that is known: a second before the oldest task taken, since transactions do not commit
--   in the order of their times; of a DAG without tasks a second before the claim.
-- Cost: a lookup per task.
SELECT m.dag, extract(epoch FROM
  least(h.oldest, clock_timestamp() - $3::double precision * interval '1 ms') - interval '1 second'
)::double precision AS since
FROM unnest($1::text[]) AS m (dag)
LEFT JOIN (
  SELECT e.dag, min(e.visible_at) AS oldest FROM {schema}.outbox_evt e WHERE e.id = ANY ($2::bigint[]) GROUP BY e.dag
) h ON h.dag = m.dag
WHERE $4::boolean OR h.dag IS NOT NULL
