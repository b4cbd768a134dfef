-- The functions that run all the time keep one plan for all their calls: making one took half of the time of a call. It is made when the tables may be
-- empty and has to be right when they are large, so it may only walk along indexes, in their order: a plan with a sequential or bitmap scan, or a join
-- that reads a table whole, looks cheap on an empty table and gets slower with every row.
-- CREATE OR REPLACE forgets these settings: a later migration that changes one of the functions sets them again.
DO $$
DECLARE
  hot regprocedure;
  setting text;
BEGIN
  FOR hot IN
    SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = current_schema() AND p.proname = ANY (ARRAY[
      'operation_accept', 'operation_settle', 'operation_claim', 'operation_reap', 'operation_watch', 'operation_begin', 'operation_extend'
    ])
  LOOP
    FOREACH setting IN ARRAY ARRAY[
      'plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'enable_bitmapscan = off', 'enable_hashjoin = off', 'enable_mergejoin = off',
      'enable_material = off'
    ] LOOP
      EXECUTE format('ALTER FUNCTION %s SET %s', hot, setting);
    END LOOP;
  END LOOP;
END
$$;
