-- A thread's row is what its starts and ends lock; it outlives them. Made in order, as all locks.
-- name: make_thread
INSERT INTO threads(key) SELECT key FROM unnest(:threads::bytea[]) AS thread(key) ORDER BY key
ON CONFLICT(key) DO NOTHING;

-- Each start's thread, in order, so that what is read of it below stays true.
-- name: take_thread
SELECT key FROM threads WHERE key = ANY(:threads::bytea[]) ORDER BY key FOR NO KEY UPDATE;

-- The same id twice is one run. Due at once; a free thread is taken, and tells the pinned base.
-- name: make_run
WITH item AS (
  SELECT * FROM unnest(:runs::text[], :tenants::text[], :users::text[], :programs::text[],
    :threads::bytea[], :formats::int[], :bodies::bytea[])
    WITH ORDINALITY AS item(id, tenant, usr, program, thread, format, body, ord)
), made AS (
  INSERT INTO runs(id, tenant, usr, program, thread, base_run, status, seq, due, format, created)
  SELECT item.id, item.tenant, item.usr, item.program, item.thread, threads.head_run, 'queued', 1,
    clock_timestamp(), item.format, clock_timestamp()
  FROM item LEFT JOIN threads ON threads.key = item.thread
  WHERE item.thread IS NULL OR threads.live IS NULL
  ORDER BY item.ord
  ON CONFLICT(id) DO NOTHING
  RETURNING no, id, thread
), taken AS (
  UPDATE threads SET live = made.id FROM made WHERE threads.key = made.thread
)
INSERT INTO entries(run, seq, token, format, body)
SELECT made.no, 1, 0, item.format, item.body FROM made JOIN item ON item.id = made.id;

-- Whose run is not there lost the race for its thread, and is told to whom.
-- name: thread_live
SELECT item.ord, threads.live
FROM unnest(:runs::text[], :threads::bytea[]) WITH ORDINALITY AS item(run, thread, ord)
JOIN threads ON threads.key = item.thread
WHERE NOT EXISTS (SELECT FROM runs WHERE runs.id = item.run);

-- Threads are locked before runs, in every write that touches both, and each in order.
-- name: lock_thread
SELECT key FROM threads WHERE key IN (SELECT thread FROM runs WHERE id = ANY(:runs::text[]))
ORDER BY key FOR NO KEY UPDATE;

-- First, so that what follows reads the last state, and two batches never wait for each other.
-- name: lock_run
SELECT no, status, needs FROM runs WHERE id = ANY(:runs::text[]) ORDER BY id FOR NO KEY UPDATE;

-- The fence is compared in the write itself: read-then-write would race.
-- name: append
WITH moved AS (
  UPDATE runs SET seq = seq + :count::int, format = greatest(format, :format::int), deaths = 0
  WHERE id = :run::text AND token = :token::int AND status = 'running' AND seq = :seq::int
  RETURNING no, token, inbox
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT moved.no, :seq + entry.place, moved.token, :format, entry.body
  FROM moved CROSS JOIN unnest(:bodies::bytea[]) WITH ORDINALITY AS entry(body, place)
)
SELECT inbox FROM moved;

-- The same for many runs, each of which is in it once.
-- name: append_each
WITH moved AS (
  UPDATE runs SET seq = runs.seq + item.count, format = greatest(runs.format, item.format),
    deaths = 0
  FROM unnest(:runs::text[], :tokens::int[], :seqs::int[], :counts::int[], :formats::int[])
    WITH ORDINALITY AS item(run, token, seq, count, format, ord)
  WHERE runs.id = item.run AND runs.token = item.token AND runs.status = 'running'
    AND runs.seq = item.seq
  RETURNING item.ord, item.seq, item.format, runs.no, runs.token, runs.inbox
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT moved.no, moved.seq + entry.place, moved.token, moved.format, entry.body
  FROM moved JOIN unnest(:owners::int[], :places::int[], :bodies::bytea[])
    AS entry(owner, place, body) ON entry.owner = moved.ord
)
SELECT ord, inbox FROM moved;

-- An answer or a cancel that came meanwhile must be looked at first: hence the inbox.
-- A key that was asked for earlier keeps its row, and its answer.
-- name: pause
WITH moved AS (
  UPDATE runs SET seq = seq + :count::int, format = greatest(format, :format::int), deaths = 0,
    status = 'paused', worker = NULL
  WHERE id = :run::text AND token = :token::int AND status = 'running' AND seq = :seq::int
    AND inbox = :seen::int
  RETURNING no, token, inbox
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT moved.no, :seq + entry.place, moved.token, :format, entry.body
  FROM moved CROSS JOIN unnest(:bodies::bytea[]) WITH ORDINALITY AS entry(body, place)
), asked AS (
  INSERT INTO signals(run, key)
  SELECT moved.no, ask.key FROM moved CROSS JOIN unnest(:asks::bytea[]) AS ask(key)
  ON CONFLICT(run, key) DO NOTHING
)
SELECT 1, inbox FROM moved;

-- Counted from the rows, so that a key asked for twice is waited for once.
-- name: count_needs
UPDATE runs
SET needs = (SELECT count(*) FROM signals WHERE signals.run = runs.no AND signals.n IS NULL)
WHERE id = :run::text AND status = 'paused' AND token = :token::int AND seq = :seq::int;

-- A pause whose every key is answered already would wait for ever.
-- name: requeue
UPDATE runs SET status = 'queued', due = clock_timestamp()
WHERE id = :run::text AND status = 'paused' AND token = :token::int AND seq = :seq::int
  AND needs = 0;

-- As a pause: a cancel that was accepted before this end must win.
-- Only the run that lives on the thread frees it.
-- name: finish
WITH moved AS (
  UPDATE runs SET seq = runs.seq + item.count, format = greatest(runs.format, item.format),
    deaths = 0, status = item.status, worker = NULL, ended = clock_timestamp()
  FROM unnest(:runs::text[], :tokens::int[], :seqs::int[], :counts::int[], :formats::int[],
    :statuses::text[], :seens::int[])
    WITH ORDINALITY AS item(run, token, seq, count, format, status, seen, ord)
  WHERE runs.id = item.run AND runs.token = item.token AND runs.status = 'running'
    AND runs.seq = item.seq AND runs.inbox = item.seen
  RETURNING item.ord, item.seq, item.format, runs.no, runs.id, runs.thread, runs.token, runs.inbox
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT moved.no, moved.seq + entry.place, moved.token, moved.format, entry.body
  FROM moved JOIN unnest(:owners::int[], :places::int[], :bodies::bytea[])
    AS entry(owner, place, body) ON entry.owner = moved.ord
), freed AS (
  UPDATE threads SET live = NULL, head_run = moved.id
  FROM moved WHERE threads.key = moved.thread AND threads.live = moved.id
)
SELECT ord, inbox FROM moved;

-- Tells news from a lost fence after a pause or an end was refused.
-- name: fence
SELECT item.ord, runs.inbox
FROM unnest(:runs::text[], :tokens::int[], :seqs::int[])
  WITH ORDINALITY AS item(run, token, seq, ord)
JOIN runs ON runs.id = item.run AND runs.token = item.token AND runs.status = 'running'
  AND runs.seq = item.seq;

-- A delivery that is tried again was carried out already.
-- name: delivered
SELECT 1 FROM signals
WHERE run = (SELECT no FROM runs WHERE id = :run::text) AND id = :id::text LIMIT 1;

-- All keys of the run, so that a delivery is judged as a whole.
-- name: run_signals
SELECT key, n, answer FROM signals WHERE run = (SELECT no FROM runs WHERE id = :run::text);

-- `needs` counts down and the last answer queues: "is none left?" asked apart would race.
-- All keys are unanswered, each for the first time, or nothing is written.
-- name: answer
WITH noted AS (
  UPDATE runs SET inbox = inbox + :count::int, needs = needs - :count::int,
    due = CASE WHEN needs = :count THEN clock_timestamp() ELSE due END,
    status = CASE WHEN needs = :count THEN 'queued' ELSE status END
  WHERE id = :run::text AND status = 'paused'
    AND :count = (SELECT count(*) FROM signals
      WHERE signals.run = runs.no AND signals.key = ANY(:keys::bytea[]) AND signals.n IS NULL)
    AND NOT EXISTS (SELECT FROM signals WHERE signals.run = runs.no AND signals.id = :id::text)
  RETURNING no, inbox, needs
), answered AS (
  UPDATE signals SET n = noted.inbox - :count + item.place, answer = item.answer, id = :id,
    at = clock_timestamp()
  FROM noted CROSS JOIN unnest(:keys::bytea[], :answers::bytea[])
    WITH ORDINALITY AS item(key, answer, place)
  WHERE signals.run = noted.no AND signals.key = item.key
)
SELECT needs FROM noted;

-- A run that nobody drives ends here and now.
-- name: cancel
WITH moved AS (
  UPDATE runs SET seq = seq + 1, format = greatest(format, :format::int), status = 'cancelled',
    due = NULL, needs = 0, ended = clock_timestamp()
  WHERE id = :run::text AND status IN ('queued', 'paused')
  RETURNING no, id, seq, token, thread
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT no, seq, token, :format::int, :body::bytea FROM moved
), freed AS (
  UPDATE threads SET live = NULL, head_run = moved.id
  FROM moved WHERE threads.key = moved.thread AND threads.live = moved.id
)
SELECT seq FROM moved;

-- A second cancel of a running run changes nothing. The holder learns of it by the inbox.
-- name: signal
WITH sent AS (
  INSERT INTO signals(run, key, n, answer, at)
  SELECT no, :key::bytea, inbox + 1, :answer::bytea, clock_timestamp() FROM runs
  WHERE id = :run::text AND status = 'running'
  ON CONFLICT(run, key) DO UPDATE SET n = excluded.n, answer = excluded.answer, at = excluded.at
  WHERE signals.n IS NULL
  RETURNING run
)
UPDATE runs SET inbox = inbox + 1 FROM sent WHERE runs.no = sent.run;

-- An id that is known already is not made anew: it may have lapsed.
-- name: join
INSERT INTO workers(id, alive_until)
VALUES (:worker::text, clock_timestamp() + make_interval(secs => :lasts::float8))
ON CONFLICT(id) DO NOTHING;

-- A lapsed lease is never renewed: its runs may be another's already.
-- name: beat
UPDATE workers SET alive_until = clock_timestamp() + make_interval(secs => :lasts::float8)
WHERE id = :worker::text AND alive_until > clock_timestamp()
RETURNING id;

-- What the heartbeat brings back.
-- name: held
SELECT id, token, inbox FROM runs WHERE worker = :worker::text;

-- Asked before a claim writes. One program at a time, along the index; the time is a subquery,
-- because an index is not searched for what changes from row to row.
-- name: due_runs
SELECT 1 FROM unnest(:programs::text[]) AS wanted(program)
WHERE EXISTS (
  SELECT FROM runs
  WHERE program = wanted.program AND due <= (SELECT clock_timestamp()) AND status = 'queued'
    AND format <= :format::int
) LIMIT 1;

-- The same conditions for one run.
-- name: due_run
SELECT 1 FROM runs
WHERE id = :run::text AND program = ANY(:programs::text[]) AND due <= clock_timestamp()
  AND status = 'queued' AND format <= :format::int;

-- Two claimers race for a run: who finds it locked goes on to the next, hence more candidates
-- than room. The worker's row is locked too: a sweep that forgets it does not miss this claim.
-- name: claim
WITH alive AS (
  SELECT id FROM workers WHERE id = :worker::text AND alive_until > clock_timestamp()
  FOR KEY SHARE SKIP LOCKED
), candidate AS (
  SELECT found.no, found.due FROM unnest(:programs::text[]) AS wanted(program)
  CROSS JOIN LATERAL (
    SELECT no, due FROM runs
    WHERE program = wanted.program AND due <= (SELECT clock_timestamp()) AND status = 'queued'
      AND format <= :format::int
    ORDER BY due, no LIMIT 3 * :room::int + 50
  ) AS found
), taken AS (
  SELECT runs.no, candidate.due FROM candidate JOIN runs ON runs.no = candidate.no
  WHERE runs.status = 'queued' AND runs.format <= :format AND EXISTS (SELECT FROM alive)
  ORDER BY candidate.due, candidate.no LIMIT :room
  FOR NO KEY UPDATE OF runs SKIP LOCKED
), claimed AS (
  UPDATE runs SET status = 'running', worker = :worker, token = token + 1, due = NULL
  FROM taken WHERE runs.no = taken.no
  RETURNING runs.*, taken.due AS was_due
)
SELECT id, program, token, seq, inbox, deaths,
  extract(epoch FROM clock_timestamp() - lost)::float8
FROM claimed ORDER BY was_due, no;

-- The same for one run.
-- name: claim_run
WITH alive AS (
  SELECT id FROM workers WHERE id = :worker::text AND alive_until > clock_timestamp()
  FOR KEY SHARE SKIP LOCKED
)
UPDATE runs SET status = 'running', worker = alive.id, token = token + 1, due = NULL
FROM alive
WHERE runs.id = :run::text AND program = ANY(:programs::text[]) AND due <= clock_timestamp()
  AND status = 'queued' AND format <= :format::int
RETURNING runs.id, program, token, seq, inbox, deaths,
  extract(epoch FROM clock_timestamp() - lost)::float8;

-- No death; `lost` is kept unless the holder leaves work behind that may go on.
-- name: release
UPDATE runs SET status = 'queued', worker = NULL, due = clock_timestamp(),
  lost = CASE WHEN :abandoned::bool THEN clock_timestamp() ELSE lost END
WHERE id = :run::text AND status = 'running' AND worker = :worker::text AND token = :token::int
  AND EXISTS (SELECT FROM workers WHERE id = :worker AND alive_until > clock_timestamp())
RETURNING no;

-- Asked before a sweep writes.
-- name: any_lapsed
SELECT 1 FROM workers WHERE alive_until <= clock_timestamp() LIMIT 1;

-- First and apart: what these workers claimed until now is then seen. A row that is locked is
-- renewed, claims or is swept by another just now.
-- name: mark_lapsed
WITH ended AS (
  SELECT id FROM workers WHERE alive_until <= clock_timestamp() ORDER BY id
  FOR UPDATE SKIP LOCKED
)
UPDATE workers SET lapsed = true FROM ended WHERE workers.id = ended.id;

-- In the order of all locks.
-- name: lock_held
SELECT no FROM runs WHERE worker IN (SELECT id FROM workers WHERE lapsed)
ORDER BY id FOR NO KEY UPDATE;

-- The token rises here, so that the lost holder is fenced before anyone else claims.
-- name: take_back
UPDATE runs SET status = 'queued', worker = NULL, token = token + 1, deaths = deaths + 1,
  due = clock_timestamp(), lost = workers.alive_until
FROM workers WHERE workers.lapsed AND runs.worker = workers.id
RETURNING runs.id;

-- Holders are forgotten in the transaction that queues their runs.
-- name: forget_lapsed
DELETE FROM workers WHERE lapsed;

-- In the order of their writing.
-- name: read
SELECT seq, token, format, body FROM entries
WHERE run = (SELECT no FROM runs WHERE id = :run::text) AND seq > :after::int ORDER BY seq;

-- Each run's base was pinned when it was made, so that the chain has an end.
-- name: lineage
WITH RECURSIVE chain(id, depth) AS (
  SELECT base_run, 1 FROM runs WHERE id = :run::text AND base_run IS NOT NULL
  UNION ALL
  SELECT runs.base_run, depth + 1 FROM chain JOIN runs ON runs.id = chain.id
  WHERE runs.base_run IS NOT NULL
)
SELECT depth, entries.seq, entries.token, entries.format, entries.body
FROM chain JOIN runs ON runs.id = chain.id JOIN entries ON entries.run = runs.no
ORDER BY depth DESC, entries.seq;

-- The row, in the order of RunRow's fields.
-- name: get
SELECT id, program, status, seq, token, tenant, usr, thread, deaths,
  (extract(epoch FROM created) * 1000000)::bigint, (extract(epoch FROM ended) * 1000000)::bigint
FROM runs WHERE id = :run::text;

-- One query for all that are watched.
-- name: heads
SELECT id, seq, status FROM runs WHERE id = ANY(:runs::text[]);

-- The conditions below are added as the query has them, so that each finds its index.
-- name: find
SELECT id, program, status, seq, token, tenant, usr, thread, deaths,
  (extract(epoch FROM created) * 1000000)::bigint, (extract(epoch FROM ended) * 1000000)::bigint
FROM runs WHERE true

-- Part of find.
-- name: find_status
AND status = :status::text

-- Part of find: every version of each program.
-- name: find_names
AND split_part(program, '@', 1) = ANY(:names::text[])

-- Part of find.
-- name: find_user
AND usr = :user::text

-- Part of find.
-- name: find_tenant
AND tenant = :tenant::text

-- Part of find.
-- name: find_thread
AND thread = :thread::bytea

-- Part of find: a page goes on where the one before ended.
-- name: find_before
AND no < (SELECT no FROM runs WHERE id = :before::text)

-- Part of find: `no` is the order of making.
-- name: find_limit
ORDER BY no DESC LIMIT :limit::int;

-- The run that the next one builds on.
-- name: thread_head
SELECT head_run FROM threads WHERE key = :thread::bytea;

-- Answered ones in the order of their answers.
-- name: signals
SELECT key, answer, id, (extract(epoch FROM at) * 1000000)::bigint FROM signals
WHERE run = (SELECT no FROM runs WHERE id = :run::text) ORDER BY n IS NULL, n, key;

-- Others are told that something changed, and nothing else: a payload might be too long. What
-- may be lost needs no flush.
-- name: tell
SELECT set_config('synchronous_commit', 'off', true), pg_notify(current_schema(), '');
