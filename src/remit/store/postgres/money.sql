-- In order, and before any is locked, so that two who make and lock never wait for each other. A
-- meter of another shape takes the place of what was there.
-- name: make_meter
INSERT INTO meters(key, width, head, slots)
SELECT wanted.key, wanted.width, newest.head,
  seeded(wanted.key, wanted.length, wanted.width, newest.head, wanted.tenant, wanted.usr)
FROM unnest(:keys::bytea[], :lengths::int[], :widths::int8[], :tenants::text[], :users::text[])
  AS wanted(key, length, width, tenant, usr)
CROSS JOIN LATERAL (SELECT micros(clock_timestamp()) / wanted.width AS head) AS newest
WHERE NOT EXISTS (
  SELECT FROM meters WHERE meters.key = wanted.key AND meters.width = wanted.width
    AND cardinality(meters.slots) = wanted.length)
ORDER BY wanted.key
ON CONFLICT(key) DO UPDATE
SET width = excluded.width, head = excluded.head, slots = excluded.slots
WHERE meters.width <> excluded.width
  OR cardinality(meters.slots) <> cardinality(excluded.slots);

-- After threads and runs, each in order: the named ones, and those on which these runs hold.
-- What is asked of them below is true until the commit.
-- name: lock_meter
SELECT key FROM meters WHERE key IN (
  SELECT key FROM unnest(:keys::bytea[]) AS named(key)
  UNION ALL
  SELECT unnest(holds.meters) FROM runs JOIN holds ON holds.run = runs.no
  WHERE runs.id = ANY(:runs::text[])
)
ORDER BY key FOR NO KEY UPDATE;

-- By the fence of the write that follows. Money belongs to the instant of its hold, and on the
-- meters of its hold replaces what was held; others have seen nothing of it. The first settlement
-- of a name is the one that counts.
-- name: settle
WITH moment AS MATERIALIZED (
  SELECT greatest(clock_timestamp(), (
    SELECT max(instant(head * width)) FROM meters WHERE key = ANY(:keys::bytea[]))) AS at
), item AS (
  SELECT item.ord, runs.no, runs.id, runs.tenant, runs.usr, runs.program
  FROM unnest(:runs::text[], :tokens::int[], :seqs::int[], :seens::int[])
    WITH ORDINALITY AS item(run, token, seq, seen, ord)
  JOIN runs ON runs.id = item.run AND runs.token = item.token AND runs.status = 'running'
    AND runs.seq = item.seq AND (item.seen IS NULL OR runs.inbox = item.seen)
), told AS MATERIALIZED (
  SELECT settled.*, item.no, item.id, item.tenant, item.usr,
    coalesce(settled.made_by, split_part(item.program, '@', 1)) AS program, holds.nano AS held,
    coalesce(holds.at, moment.at) AS at, coalesce(holds.meters, '{}') AS meters
  FROM (
    SELECT DISTINCT ON (owner, name) * FROM unnest(:owners::int[], :names::bytea[],
      :nanos::int8[], :estimated::int[], :models::text[], :purposes::text[], :bodies::bytea[],
      :programs::text[])
      WITH ORDINALITY AS settled(owner, name, nano, estimated, model, purpose, body, made_by, ord)
    ORDER BY owner, name, ord
  ) AS settled
  JOIN item ON item.ord = settled.owner CROSS JOIN moment
  LEFT JOIN holds ON holds.run = item.no AND holds.name = settled.name
  WHERE NOT EXISTS (
    SELECT FROM ledger WHERE ledger.run = item.id AND ledger.name = settled.name)
), change AS (
  SELECT held.key, told.at, told.nano - told.held AS nano
  FROM told CROSS JOIN unnest(told.meters) AS held(key)
  UNION ALL
  SELECT named.key, told.at, told.nano
  FROM unnest(:places::int[], :keys) AS named(place, key)
  JOIN told ON told.ord = named.place AND named.key <> ALL(told.meters)
), changed AS (
  UPDATE meters SET head = sum.upto, slots = ring(slots, head, sum.upto, sum.numbers, sum.nanos)
  FROM (
    SELECT meters.key, greatest(head, micros((SELECT at FROM moment)) / width) AS upto,
      array_agg(micros(change.at) / width) AS numbers, array_agg(change.nano) AS nanos
    FROM change JOIN meters ON meters.key = change.key GROUP BY meters.key
  ) AS sum
  WHERE meters.key = sum.key
), written AS (
  INSERT INTO ledger(run, name, nano, estimated, at, tenant, usr, program, model, purpose, body)
  SELECT id, name, nano, estimated > 0, at, tenant, usr, program, model, purpose, body
  FROM told WHERE body IS NOT NULL
  ON CONFLICT(run, name) DO NOTHING
)
DELETE FROM holds USING told WHERE holds.run = told.no AND holds.name = told.name;

-- By the fence of the write that follows. One after the other, since each leaves less room for
-- the next; all at one instant, which no meter has passed. Tells who was denied, and by what.
-- name: hold
WITH RECURSIVE moment AS MATERIALIZED (
  SELECT greatest(clock_timestamp(), (
    SELECT max(instant(head * width)) FROM meters WHERE key = ANY(:keys::bytea[]))) AS at
), meter AS MATERIALIZED (
  SELECT named.number, newest.upto, meters.key, meters.width, cardinality(meters.slots) AS length,
    total(ring(meters.slots, meters.head, newest.upto, NULL, NULL)) AS used
  FROM unnest(:keys) WITH ORDINALITY AS named(key, number)
  JOIN meters ON meters.key = named.key CROSS JOIN moment
  CROSS JOIN LATERAL (SELECT micros(moment.at) / meters.width AS upto) AS newest
), item AS (
  SELECT item.ord, runs.no, runs.id, runs.token
  FROM unnest(:runs::text[], :tokens::int[], :seqs::int[], :seens::int[])
    WITH ORDINALITY AS item(run, token, seq, seen, ord)
  JOIN runs ON runs.id = item.run AND runs.token = item.token AND runs.status = 'running'
    AND runs.seq = item.seq AND (item.seen IS NULL OR runs.inbox = item.seen)
), wanted AS MATERIALIZED (
  SELECT wanted.*, item.no, item.token, row_number() OVER (ORDER BY wanted.ord) AS turn
  FROM unnest(:owners::int[], :names::bytea[], :nanos::int8[], :models::text[],
    :purposes::text[], :bodies::bytea[], :programs::text[])
    WITH ORDINALITY AS wanted(owner, name, nano, model, purpose, body, program, ord)
  JOIN item ON item.ord = wanted.owner
  WHERE NOT EXISTS (SELECT FROM holds WHERE holds.run = item.no AND holds.name = wanted.name)
    AND NOT EXISTS (
      SELECT FROM ledger WHERE ledger.run = item.id AND ledger.name = wanted.name)
), ceiling AS MATERIALIZED (
  SELECT * FROM unnest(:places::int[], :numbers::int[], :limits::int8[])
    WITH ORDINALITY AS ceiling(place, number, most, ord)
), step(turn, used, full_at) AS (
  SELECT 0::bigint, (SELECT array_agg(used ORDER BY number) FROM meter), NULL::bigint
  UNION ALL
  SELECT wanted.turn, CASE WHEN verdict.full_at IS NULL THEN (
      SELECT array_agg(bounded(step.used[number]::numeric + CASE WHEN number IN (
        SELECT ceiling.number FROM ceiling WHERE ceiling.place = wanted.ord
      ) THEN wanted.nano ELSE 0 END) ORDER BY number)
      FROM generate_subscripts(step.used, 1) AS number
    ) ELSE step.used END, verdict.full_at
  FROM step JOIN wanted ON wanted.turn = step.turn + 1
  CROSS JOIN LATERAL (
    SELECT min(ceiling.ord) AS full_at FROM ceiling
    WHERE ceiling.place = wanted.ord
      AND step.used[ceiling.number]::numeric + wanted.nano > ceiling.most
  ) AS verdict
), granted AS (
  INSERT INTO holds(run, name, token, nano, meters, at, model, purpose, body, program)
  SELECT wanted.no, wanted.name, wanted.token, wanted.nano, ARRAY(
      SELECT DISTINCT meter.key FROM ceiling JOIN meter ON meter.number = ceiling.number
      WHERE ceiling.place = wanted.ord
    ), moment.at, wanted.model, wanted.purpose, wanted.body, wanted.program
  FROM step JOIN wanted ON wanted.turn = step.turn CROSS JOIN moment
  WHERE step.full_at IS NULL
), raised AS (
  UPDATE meters SET head = meter.upto,
    slots = ring(meters.slots, meters.head, meter.upto, ARRAY[meter.upto], ARRAY[added.nano])
  FROM meter CROSS JOIN LATERAL (
    SELECT max(step.used[meter.number]) - meter.used AS nano FROM step
  ) AS added
  WHERE meters.key = meter.key AND added.nano <> 0
)
SELECT wanted.ord, ceiling.number, ceiling.most,
  bounded(step.used[ceiling.number] - held.nano::numeric), held.nano
FROM step JOIN wanted ON wanted.turn = step.turn
JOIN ceiling ON ceiling.ord = step.full_at JOIN meter ON meter.number = ceiling.number
CROSS JOIN LATERAL (
  SELECT bounded(step.used[ceiling.number] - meter.used + coalesce(sum(holds.nano), 0)) AS nano
  FROM holds WHERE meter.key = ANY(holds.meters)
    AND micros(holds.at) / meter.width > meter.upto - meter.length
) AS held;

-- Nobody settles what an ended run still holds: it counts at its bound, as on the meters already.
-- name: close_holds
WITH closed AS (
  DELETE FROM holds USING runs
  WHERE holds.run = runs.no AND runs.id = ANY(:runs::text[]) AND runs.ended IS NOT NULL
  RETURNING runs.id, holds.name, holds.nano, holds.at, runs.tenant, runs.usr,
    coalesce(holds.program, split_part(runs.program, '@', 1)) AS program,
    holds.model, holds.purpose, holds.body
)
INSERT INTO ledger(run, name, nano, estimated, at, tenant, usr, program, model, purpose, body)
SELECT id, name, nano, true, at, tenant, usr, program, model, purpose, body
FROM closed
ON CONFLICT(run, name) DO NOTHING;

-- One that is not there yet would begin with what the ledger holds.
-- name: meters
SELECT bounded(total(now.slots) - held.nano::numeric), held.nano
FROM unnest(:keys::bytea[], :lengths::int[], :widths::int8[], :tenants::text[], :users::text[])
  WITH ORDINALITY AS wanted(key, length, width, tenant, usr, ord)
LEFT JOIN meters ON meters.key = wanted.key AND meters.width = wanted.width
  AND cardinality(meters.slots) = wanted.length
CROSS JOIN LATERAL (
  SELECT greatest(meters.head, micros(clock_timestamp()) / wanted.width) AS upto
) AS newest
CROSS JOIN LATERAL (
  SELECT CASE WHEN meters.key IS NULL
    THEN seeded(wanted.key, wanted.length, wanted.width, newest.upto, wanted.tenant, wanted.usr)
    ELSE ring(meters.slots, meters.head, newest.upto, NULL, NULL) END AS slots
) AS now
CROSS JOIN LATERAL (
  SELECT bounded(coalesce(sum(holds.nano), 0)) AS nano FROM holds
  WHERE wanted.key = ANY(holds.meters)
    AND micros(holds.at) / wanted.width > newest.upto - cardinality(now.slots)
) AS held
ORDER BY wanted.ord;

-- Columns that are no group are NULL in all rows. The conditions are added as with find.
-- name: usage
SELECT
  CASE WHEN 'user' = ANY(:by::text[]) THEN usr END,
  CASE WHEN 'tenant' = ANY(:by) THEN tenant END,
  CASE WHEN 'run' = ANY(:by) THEN run END,
  CASE WHEN 'program' = ANY(:by) THEN program END,
  CASE WHEN 'model' = ANY(:by) THEN model END,
  CASE WHEN 'purpose' = ANY(:by) THEN purpose END,
  CASE WHEN 'day' = ANY(:by) THEN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END,
  sum(nano)::text, coalesce(sum(nano) FILTER (WHERE estimated), 0)::text, count(*)
FROM ledger WHERE true

-- Part of usage.
-- name: usage_user
AND usr = :user::text

-- Part of usage.
-- name: usage_tenant
AND tenant = :tenant::text

-- Part of usage.
-- name: usage_run
AND run = :run::text

-- Part of usage: every version of the program.
-- name: usage_name
AND program = :name::text

-- Part of usage: its first instant is in it.
-- name: usage_since
AND at >= instant(:since::int8)

-- Part of usage: its last one is not.
-- name: usage_until
AND at < instant(:until::int8)

-- Part of usage: one row a group.
-- name: usage_groups
GROUP BY 1, 2, 3, 4, 5, 6, 7;
