-- What the processes of a server know of each other: see docs/server-store.md.

CREATE TABLE server_instance (
  instance_id text PRIMARY KEY,
  role text NOT NULL CHECK (role IN ('all', 'api', 'worker')),
  version text NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  bulk_instance_id text NOT NULL,
  -- Null: it runs no jobs.
  worker_count integer,
  runs jsonb NOT NULL,
  -- The last wish of somebody who scales. Its time tells it from the one before, also when both wish the same.
  wanted_workers integer,
  wanted_at timestamptz,
  CONSTRAINT server_instance_wish CHECK ((wanted_workers IS NULL) = (wanted_at IS NULL))
);

-- Rings: a place is written again when the ring has come round.
CREATE TABLE server_stat (
  step smallint NOT NULL CHECK (step IN (10, 60)),
  instance_id text NOT NULL,
  place smallint NOT NULL,
  slot bigint NOT NULL,
  counted jsonb NOT NULL,
  -- Null: this instance did not look at the stores, or they did not answer.
  seen jsonb,
  PRIMARY KEY (step, instance_id, place)
);
CREATE INDEX server_stat_slot ON server_stat (step, slot);

CREATE TABLE server_audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  key_name text NOT NULL,
  role text NOT NULL,
  -- Null: a key of all tenants.
  tenant text,
  route text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  params jsonb NOT NULL,
  -- A summary, as text: it may be cut.
  body text,
  instance_id text NOT NULL,
  -- Null: written before the change, and nobody could say what came of it.
  status smallint
);
CREATE INDEX server_audit_at ON server_audit (at);
CREATE INDEX server_audit_tenant ON server_audit (tenant, id);
CREATE INDEX server_audit_route ON server_audit (route, id);
CREATE INDEX server_audit_key ON server_audit (key_name, id);
