-- How far groups were at times: see docs/server-store.md.

CREATE TABLE server_progress (
  -- As the engine names it: plain, or tenant/id.
  group_id text PRIMARY KEY,
  -- When the group was made, in ms: another one of the same id begins anew.
  began bigint NOT NULL,
  -- Of the last point, seconds since 1970 by 10; and how many slots lie between two points, at least.
  slot bigint NOT NULL,
  every integer NOT NULL DEFAULT 1,
  -- Of the last point: done, success, failed, in flight, registered.
  counts jsonb NOT NULL,
  -- Oldest first, each its time in ms and then its counts.
  points jsonb NOT NULL
);
CREATE INDEX server_progress_slot ON server_progress (slot);
