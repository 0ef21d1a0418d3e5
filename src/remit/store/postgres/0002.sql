-- `base_seq` is how far a run's base counts, `thread_no` its place among those that wait for the
-- thread. `refused_by` is the deployment whose code cannot drive it, '' if none, and `refused` why;
-- a paused run that `listens` is queued by any message.
ALTER TABLE runs
  ADD COLUMN base_seq int,
  ADD COLUMN thread_no bigint,
  ADD COLUMN refused_by text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN refused bytea,
  ADD COLUMN listens boolean NOT NULL DEFAULT false;

UPDATE runs SET base_seq = base.seq FROM runs AS base WHERE base.id = runs.base_run;

ALTER TABLE threads ADD COLUMN next_no bigint NOT NULL DEFAULT 1;

-- Which deployment refused comes before the time: a claim then steps over all that its own refused.
DROP INDEX runs_due;
CREATE INDEX runs_due ON runs(program, refused_by, due, no) WHERE due IS NOT NULL;
CREATE INDEX runs_waiting ON runs(thread, thread_no) WHERE status = 'queued' AND due IS NULL;
CREATE INDEX runs_base ON runs(base_run) WHERE base_run IS NOT NULL;
CREATE INDEX runs_ended ON runs(ended) WHERE ended IS NOT NULL;

-- They outlive their runs: what a key started must never start again.
CREATE TABLE start_keys(
  key bytea PRIMARY KEY,
  run text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  at timestamptz NOT NULL
);

-- A ring of nano-units. Slots count from 1970, each `width` microseconds; `head` is the newest.
CREATE TABLE meters(
  key bytea PRIMARY KEY,
  width bigint NOT NULL,
  head bigint NOT NULL,
  slots bigint[] NOT NULL
) WITH (fillfactor = 20);

-- Money that is reserved, and what is written of it if nobody settles it.
CREATE TABLE holds(
  run bigint NOT NULL,
  name bytea NOT NULL,
  token int NOT NULL,
  nano bigint NOT NULL,
  meters bytea[] NOT NULL,
  at timestamptz NOT NULL,
  model text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  program text COLLATE "C",
  PRIMARY KEY(run, name)
);

-- What was spent. It outlives the runs, hence their ids; `program` is without its version.
CREATE TABLE ledger(
  run text COLLATE "C" NOT NULL,
  name bytea NOT NULL,
  nano bigint NOT NULL,
  estimated boolean NOT NULL,
  at timestamptz NOT NULL,
  tenant text COLLATE "C",
  usr text COLLATE "C",
  program text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY(run, name)
);

CREATE INDEX ledger_at ON ledger(at);
CREATE INDEX ledger_user ON ledger(usr, at) WHERE usr IS NOT NULL;
CREATE INDEX ledger_tenant ON ledger(tenant, at) WHERE tenant IS NOT NULL;

CREATE FUNCTION micros(at timestamptz) RETURNS bigint LANGUAGE sql STABLE
  RETURN (extract(epoch FROM at) * 1000000)::bigint;

-- Whole numbers all the way: a float of seconds would round.
CREATE FUNCTION instant(micros bigint) RETURNS timestamptz LANGUAGE sql STABLE
  RETURN timestamptz '1970-01-01 00:00:00+00' + micros * interval '1 microsecond';

-- What a slot and a sum of slots can say: what is less, or more, stands at the end.
CREATE FUNCTION bounded(nano numeric) RETURNS bigint LANGUAGE sql IMMUTABLE
  RETURN least(greatest(nano, 0), 9223372036854775807)::bigint;

-- A ring as it is when its newest slot is `upto`, with `nanos` added to the slots `numbers`. What
-- has left the window is let go, and so is what is added there.
CREATE FUNCTION ring(slots bigint[], head bigint, upto bigint, numbers bigint[], nanos bigint[])
RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(bounded(
    CASE WHEN place.number <= head THEN slots[place.index + 1] ELSE 0 END
      + coalesce((SELECT sum(added.nano) FROM unnest(numbers, nanos) AS added(number, nano)
          WHERE added.number = place.number), 0))
    ORDER BY place.index)
  FROM (
    SELECT index, upto - mod(upto - index, cardinality(slots)) AS number
    FROM generate_series(0, cardinality(slots) - 1) AS index
  ) AS place
$$;

CREATE FUNCTION total(slots bigint[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT bounded(sum(nano)) FROM unnest(slots) AS slot(nano)
$$;

-- A ring whose newest slot is `head`, with what the ledger holds of a tenant's or user's money,
-- each by its own index, and with what is held on the meter, if it had another shape before.
CREATE FUNCTION seeded(
  key bytea, length int, width bigint, head bigint, of_tenant text, of_user text)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
  SELECT ring(array_fill(0::bigint, ARRAY[length]), head, head,
    array_agg(slot.number), array_agg(slot.nano))
  FROM (
    SELECT micros(at) / width AS number, bounded(sum(nano)) AS nano FROM (
      SELECT at, nano FROM ledger
      WHERE usr = of_user AND at >= instant((head - length + 1) * width)
        AND (of_tenant IS NULL OR tenant = of_tenant)
      UNION ALL
      SELECT at, nano FROM ledger
      WHERE of_user IS NULL AND tenant = of_tenant AND at >= instant((head - length + 1) * width)
      UNION ALL
      SELECT at, nano FROM ledger
      WHERE of_user IS NULL AND of_tenant IS NULL AND at >= instant((head - length + 1) * width)
      UNION ALL
      SELECT at, nano FROM holds WHERE seeded.key = ANY(meters)
    ) AS spent GROUP BY number
  ) AS slot
$$;
