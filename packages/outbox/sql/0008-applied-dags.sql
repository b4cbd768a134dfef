-- DAGs that are applied as data while instances run, beside those that applications bring as code.

-- Applied at least once: pollers look for the tasks of these under every name, since their handlers may be those of any DAG.
ALTER TABLE dag ADD COLUMN applied boolean NOT NULL DEFAULT false;
CREATE INDEX dag_applied ON dag (version) WHERE applied;

-- The applied definition that new batches of a DAG take, whatever the instance that starts them has as code. Goes when code brings a definition of
-- this name that is not stored yet: then the code was changed after it was applied.
CREATE TABLE dag_in_force (
  name text PRIMARY KEY,
  version integer NOT NULL REFERENCES dag,
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);
