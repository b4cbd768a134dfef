-- How this PostgreSQL is: for whoever looks for what is wrong.
-- Parameters: none.
-- Returns: one row. What other users do is seen only with the role pg_read_all_stats: their transactions are left out otherwise.
-- Cost: a walk over the connections.
SELECT current_setting('server_version') AS version,
  pg_is_in_recovery() AS is_standby,
  current_setting('max_connections')::integer AS connections_max,
  current_setting('superuser_reserved_connections')::integer AS connections_reserved,
  (SELECT count(*)::integer FROM pg_stat_activity
   WHERE backend_type = 'client backend' AND coalesce(application_name, '') NOT LIKE 'millrace%') AS connections_of_others,
  (SELECT jsonb_build_object('pid', pid, 'user', usename, 'application', application_name,
     'ms', extract(epoch FROM clock_timestamp() - xact_start) * 1000)
   FROM pg_stat_activity
   WHERE backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
   ORDER BY xact_start LIMIT 1) AS oldest
