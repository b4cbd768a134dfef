-- What keeps vacuum from removing dead rows of this database: transactions, prepared ones, replication slots, and standbys that give feedback.
-- Parameters: none.
-- Returns: kind, name and xmin of each; age_ms where the server knows it; for a transaction who has it open and what it is doing.
-- Other users' transactions are seen by members of pg_read_all_stats only. Transactions of other databases do not hold back vacuum here.
-- Cost: a walk over the connections.
SELECT CASE WHEN backend_type = 'walsender' THEN 'standby' ELSE 'transaction' END AS kind, pid::text AS name,
  coalesce(backend_xmin, backend_xid)::text AS xmin,
  extract(epoch FROM clock_timestamp() - xact_start)::double precision * 1000 AS age_ms,
  usename::text AS username, application_name AS application, state
FROM pg_stat_activity
WHERE (datname = current_database() OR backend_type = 'walsender') AND coalesce(backend_xmin, backend_xid) IS NOT NULL
  AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
UNION ALL
SELECT 'prepared transaction', gid, transaction::text, extract(epoch FROM clock_timestamp() - prepared)::double precision * 1000, owner::text, NULL, NULL
FROM pg_prepared_xacts WHERE database = current_database()
UNION ALL
SELECT 'replication slot', slot_name::text, xmin::text, NULL, NULL, NULL, NULL
FROM pg_replication_slots WHERE xmin IS NOT NULL
