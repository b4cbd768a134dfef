-- Counts ends of parents into wide joins; see 0005-fold.sql.
-- Parameters: $1 the most ticks.
-- Returns: rows of what and id.
-- Cost: a deletion per tick, an update per join.
SELECT what, id FROM {schema}.outbox_fold_joins($1::integer)
