-- The meter's number and shape: a slot is two numbers.
-- name: meter
SELECT no, width, length(slots) / 16 FROM meters WHERE key = :key;

-- A hold names its meters by their numbers.
-- name: ring
SELECT width, head, slots FROM meters WHERE no = :meter;

-- A meter of another shape takes the place of what was there.
-- name: make_meter
INSERT INTO meters(key, width, head, slots) VALUES (:key, :width, :head, :slots)
ON CONFLICT(key) DO UPDATE SET width = excluded.width, head = excluded.head,
  slots = excluded.slots
RETURNING no;

-- Written once an append, however much of it concerns the meter.
-- name: move_meter
UPDATE meters SET head = :head, slots = :slots WHERE no = :meter;

-- What a meter that is made anew in another shape still holds.
-- name: held_on
SELECT holds.at, holds.nano FROM meters, holds, json_each(holds.meters) AS named
WHERE meters.key = :key AND named.value = meters.no;

-- Whether the run has used the name.
-- name: used
SELECT 1 FROM holds WHERE run = :no AND name = :name
UNION ALL SELECT 1 FROM ledger WHERE run = (SELECT id FROM runs WHERE no = :no) AND name = :name
LIMIT 1;

-- The name is used once, and its key keeps it so.
-- name: hold
INSERT INTO holds(run, name, token, nano, meters, at, model, purpose, draft, program)
VALUES (:no, :name, :token, :nano, :meters, :at, :model, :purpose, :body, :program);

-- A hold goes when it is settled.
-- name: settle
DELETE FROM holds WHERE run = :no AND name = :name RETURNING nano, meters, at;

-- What an end leaves behind is settled as it was drafted.
-- name: open_holds
SELECT name, nano, model, purpose, draft, program FROM holds WHERE run = :no;

-- A settlement that was written already is not written again.
-- name: charged
SELECT 1 FROM ledger WHERE run = (SELECT id FROM runs WHERE no = :no) AND name = :name;

-- Whose money it was is taken from the run, which may be deleted later; who spent it, where the
-- call does not tell.
-- name: charge
INSERT INTO ledger(run, name, nano, estimated, at, tenant, usr, program, model, purpose, body)
SELECT id, :name, :nano, :estimated, :at, tenant, usr,
  coalesce(:program, substr(program, 1, instr(program || '@', '@') - 1)), :model, :purpose, :body
FROM runs WHERE no = :no
ON CONFLICT(run, name) DO NOTHING;

-- What the ledger holds in each slot of a meter, as high and low halves: a sum of whole numbers
-- may be too great for one. The conditions below are added.
-- name: usage_slots
SELECT at / :width AS slot, sum(nano >> 32), sum(nano & 0xffffffff) FROM ledger WHERE 1

-- Part of usage_slots.
-- name: usage_by_slot
GROUP BY slot;

-- What a query does not group by is nothing everywhere, and sums are in halves. The conditions below
-- are added.
-- name: usage
SELECT CASE WHEN :by_user THEN usr END, CASE WHEN :by_tenant THEN tenant END,
  CASE WHEN :by_run THEN run END, CASE WHEN :by_program THEN program END,
  CASE WHEN :by_model THEN model END, CASE WHEN :by_purpose THEN purpose END,
  CASE WHEN :by_day THEN strftime('%Y-%m-%d', at / 1000000, 'unixepoch') END,
  sum(nano >> 32), sum(nano & 0xffffffff), sum((nano >> 32) * estimated),
  sum((nano & 0xffffffff) * estimated), count(*)
FROM ledger WHERE 1

-- Part of usage, and of usage_slots.
-- name: usage_user
AND usr = :user

-- Part of usage, and of usage_slots.
-- name: usage_tenant
AND tenant = :tenant

-- Part of usage.
-- name: usage_run
AND run = :run

-- Part of usage.
-- name: usage_name
AND program = :name

-- Part of usage, and of usage_slots.
-- name: usage_since
AND at >= :since

-- Part of usage, and of usage_slots.
-- name: usage_until
AND at < :until

-- Part of usage.
-- name: usage_groups
GROUP BY 1, 2, 3, 4, 5, 6, 7;
