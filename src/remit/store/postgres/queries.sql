-- A thread's row is what its starts and ends lock, each in order. An update where it is there:
-- it is locked then, and made anew if it was deleted meanwhile.
-- name: make_thread
INSERT INTO threads(key) SELECT key FROM unnest(:threads::bytea[]) AS thread(key) ORDER BY key
ON CONFLICT(key) DO UPDATE SET next_no = threads.next_no;

-- Two starts with one key make one run: the second waits here until the first is done.
-- name: lock_start_key
SELECT pg_advisory_xact_lock(number) FROM (
  SELECT DISTINCT hashtextextended(current_schema() || encode(key, 'hex'), 0) AS number
  FROM unnest(:keys::bytea[]) AS wanted(key) ORDER BY number
) AS wanted;

-- What a fork builds on is not deleted while it is made.
-- name: lock_base
SELECT no FROM runs WHERE id = ANY(:runs::text[]) ORDER BY id FOR KEY SHARE;

-- The same id twice is one run, and so is the same key. On a thread that is not free it waits,
-- where few enough do, or is not made. The base is pinned when its turn comes; what brings one
-- begins a thread, and takes none that had a run.
-- name: make_run
WITH item AS (
  SELECT * FROM unnest(:runs::text[], :tenants::text[], :users::text[], :programs::text[],
    :threads::bytea[], :formats::int[], :bodies::bytea[], :keys::bytea[], :digests::bytea[],
    :dues::int8[], :enqueues::int[], :bases::text[], :ends::int[])
    WITH ORDINALITY AS item(id, tenant, usr, program, thread, format, body, key, digest, due,
      enqueue, base, base_seq, ord)
), place AS (
  SELECT item.*, threads.live, threads.head_run,
    CASE WHEN threads.live IS NOT NULL THEN threads.next_no END AS no
  FROM item LEFT JOIN threads ON threads.key = item.thread
  WHERE NOT EXISTS (SELECT FROM start_keys WHERE start_keys.key = item.key)
    AND (threads.live IS NULL OR item.base IS NULL AND item.enqueue > (
      SELECT count(*) FROM runs
      WHERE runs.thread = item.thread AND status = 'queued' AND due IS NULL))
    AND (threads.head_run IS NULL OR item.base IS NULL)
), made AS (
  INSERT INTO runs(id, tenant, usr, program, thread, thread_no, base_run, base_seq, status, seq,
    due, format, created)
  SELECT place.id, place.tenant, place.usr, place.program, place.thread, place.no,
    coalesce(place.base, head.id), coalesce(place.base_seq, head.seq), 'queued', 1,
    CASE WHEN place.live IS NULL THEN coalesce(instant(place.due), clock_timestamp()) END,
    place.format, clock_timestamp()
  FROM place LEFT JOIN runs AS head
    ON head.id = place.head_run AND place.live IS NULL AND place.base IS NULL
  ORDER BY place.ord
  ON CONFLICT(id) DO NOTHING
  RETURNING no, id, thread, thread_no
), taken AS (
  UPDATE threads SET live = coalesce(live, made.id),
    next_no = next_no + (made.thread_no IS NOT NULL)::int
  FROM made WHERE threads.key = made.thread
), kept AS (
  INSERT INTO start_keys(key, run, digest, at)
  SELECT item.key, made.id, item.digest, clock_timestamp()
  FROM made JOIN item ON item.id = made.id WHERE item.key IS NOT NULL
)
INSERT INTO entries(run, seq, token, format, body)
SELECT made.no, 1, 0, item.format, item.body FROM made JOIN item ON item.id = made.id;

-- Whose run is not there is told which has its key, or which has its thread.
-- name: not_made
SELECT item.ord, start_keys.run, start_keys.digest <> item.digest,
  coalesce(threads.live, threads.head_run),
  (SELECT count(*) FROM runs
    WHERE runs.thread = item.thread AND status = 'queued' AND due IS NULL)
FROM unnest(:runs::text[], :keys::bytea[], :digests::bytea[], :threads::bytea[])
  WITH ORDINALITY AS item(run, key, digest, thread, ord)
LEFT JOIN start_keys ON start_keys.key = item.key
LEFT JOIN threads ON threads.key = item.thread
WHERE NOT EXISTS (SELECT FROM runs WHERE runs.id = item.run);

-- Threads are locked before runs, in every write that touches both, and each in order.
-- name: lock_thread
SELECT key FROM threads WHERE key IN (SELECT thread FROM runs WHERE id = ANY(:runs::text[]))
ORDER BY key FOR NO KEY UPDATE;

-- First, so that what follows reads the last state, and two batches never wait for each other.
-- name: lock_run
SELECT id, status, needs FROM runs WHERE id = ANY(:runs::text[]) ORDER BY id FOR NO KEY UPDATE;

-- The same with the runs whose turn comes when these end. Their threads are locked already.
-- name: lock_end
SELECT id, status, needs FROM runs WHERE no IN (
  SELECT no FROM runs WHERE id = ANY(:runs::text[])
  UNION ALL
  SELECT following.no FROM runs AS ending CROSS JOIN LATERAL (
    SELECT no FROM runs WHERE thread = ending.thread AND status = 'queued' AND due IS NULL
    ORDER BY thread_no LIMIT 1
  ) AS following
  WHERE ending.id = ANY(:runs) AND ending.thread IS NOT NULL
)
ORDER BY id FOR NO KEY UPDATE;

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

-- Before the run is moved on, by the same fence. A key that was asked for earlier keeps its row,
-- and its answer.
-- name: ask
INSERT INTO signals(run, key)
SELECT runs.no, asked.key
FROM unnest(:runs::text[], :tokens::int[], :seqs::int[], :seens::int[], :keys::bytea[])
  AS asked(run, token, seq, seen, key)
JOIN runs ON runs.id = asked.run AND runs.token = asked.token AND runs.status = 'running'
  AND runs.seq = asked.seq AND runs.inbox = asked.seen
ON CONFLICT(run, key) DO NOTHING;

-- The same for keys that want no answer any more.
-- name: withdraw
DELETE FROM signals USING runs, unnest(:runs::text[], :tokens::int[], :seqs::int[], :seens::int[],
  :keys::bytea[]) AS gone(run, token, seq, seen, key)
WHERE runs.id = gone.run AND runs.token = gone.token AND runs.status = 'running'
  AND runs.seq = gone.seq AND runs.inbox = gone.seen
  AND signals.run = runs.no AND signals.key = gone.key AND signals.n IS NULL;

-- An answer or a cancel that came meanwhile must be looked at first: hence the inbox. `needs` is
-- counted from the rows, so that a key asked for twice is waited for once; a pause whose every key
-- is answered already would wait for ever. Without a status the run goes on.
-- name: move
WITH item AS (
  SELECT item.*, (
    SELECT count(*) FROM runs JOIN signals ON signals.run = runs.no
    WHERE runs.id = item.run AND signals.n IS NULL
  ) AS needs
  FROM unnest(:runs::text[], :tokens::int[], :seqs::int[], :counts::int[], :formats::int[],
    :seens::int[], :statuses::text[], :dues::int8[], :listens::int[], :asks::int[])
    WITH ORDINALITY
    AS item(run, token, seq, count, format, seen, status, due, listens, asks, ord)
), target AS (
  SELECT item.*, asks > 0 AND needs = 0 AS answered FROM item
), moved AS (
  UPDATE runs SET seq = runs.seq + item.count, format = greatest(runs.format, item.format),
    deaths = 0, needs = item.needs,
    status = CASE WHEN item.answered THEN 'queued' ELSE coalesce(item.status, runs.status) END,
    worker = CASE WHEN item.status IS NULL THEN runs.worker END,
    due = CASE WHEN item.answered THEN clock_timestamp() ELSE instant(item.due) END,
    listens = item.listens > 0 AND NOT item.answered,
    ended = CASE WHEN item.status <> 'paused' THEN clock_timestamp() END
  FROM target AS item
  WHERE runs.id = item.run AND runs.token = item.token AND runs.status = 'running'
    AND runs.seq = item.seq AND runs.inbox = item.seen
  RETURNING item.ord, item.seq, item.format, runs.no, runs.token, runs.inbox
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT moved.no, moved.seq + entry.place, moved.token, moved.format, entry.body
  FROM moved JOIN unnest(:owners::int[], :places::int[], :bodies::bytea[])
    AS entry(owner, place, body) ON entry.owner = moved.ord
)
SELECT ord, inbox FROM moved;

-- Only the run that lives on a thread frees it. Who waits longest is next, and builds on what
-- ended, unless it brought a base of its own.
-- name: hand_on
WITH freed AS (
  SELECT threads.key, runs.id, runs.seq, following.no, following.id AS live
  FROM runs JOIN threads ON threads.key = runs.thread AND threads.live = runs.id
  LEFT JOIN LATERAL (
    SELECT waiting.no, waiting.id FROM runs AS waiting
    WHERE waiting.thread = threads.key AND waiting.status = 'queued' AND waiting.due IS NULL
    ORDER BY waiting.thread_no LIMIT 1
  ) AS following ON true
  WHERE runs.id = ANY(:runs::text[]) AND runs.ended IS NOT NULL
), handed AS (
  UPDATE threads SET live = freed.live, head_run = freed.id
  FROM freed WHERE threads.key = freed.key
)
UPDATE runs SET due = clock_timestamp(), base_run = coalesce(base_run, freed.id),
  base_seq = CASE WHEN base_run IS NULL THEN freed.seq ELSE base_seq END
FROM freed WHERE runs.no = freed.no;

-- Tells news from a lost fence.
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
    due = CASE WHEN status = 'paused' AND needs = :count THEN clock_timestamp() ELSE due END,
    listens = listens AND needs <> :count,
    status = CASE WHEN status = 'paused' AND needs = :count THEN 'queued' ELSE status END
  WHERE id = :run::text AND status IN ('queued', 'running', 'paused')
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

-- A message's id is in its key, and not told twice. A paused run that listens is queued.
-- name: send
WITH noted AS (
  UPDATE runs SET inbox = inbox + 1,
    due = CASE WHEN status = 'paused' AND listens THEN clock_timestamp() ELSE due END,
    status = CASE WHEN status = 'paused' AND listens THEN 'queued' ELSE status END,
    listens = false
  WHERE id = :run::text AND status IN ('queued', 'running', 'paused')
    AND NOT EXISTS (SELECT FROM signals WHERE signals.run = runs.no AND signals.key = :key::bytea)
  RETURNING no, inbox
)
INSERT INTO signals(run, key, n, answer, at)
SELECT no, :key, inbox, :answer::bytea, clock_timestamp() FROM noted;

-- A run that nobody drives ends here and now.
-- name: cancel
WITH moved AS (
  UPDATE runs SET seq = seq + 1, format = greatest(format, :format::int), status = 'cancelled',
    due = NULL, listens = false, needs = 0, ended = clock_timestamp()
  WHERE id = :run::text AND status IN ('queued', 'paused')
  RETURNING no, seq, token
), written AS (
  INSERT INTO entries(run, seq, token, format, body)
  SELECT no, seq, token, :format::int, :body::bytea FROM moved
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

-- A lapsed lease is never renewed: its runs may be another's already. One row at least, if it is
-- alive, with what the heartbeat brings back.
-- name: beat
WITH renewed AS (
  UPDATE workers SET alive_until = clock_timestamp() + make_interval(secs => :lasts::float8)
  WHERE id = :worker::text AND alive_until > clock_timestamp()
  RETURNING id
)
SELECT runs.id, runs.token, runs.inbox
FROM renewed LEFT JOIN runs ON runs.worker = renewed.id;

-- Asked before a claim writes. Program by program and refusal by refusal, along the index; the
-- time is a subquery, because an index is not searched for what changes from row to row.
-- name: due_runs
WITH RECURSIVE side(program, refuser) AS (
  SELECT program, (SELECT min(refused_by) FROM runs
    WHERE runs.program = wanted.program AND due IS NOT NULL)
  FROM unnest(:programs::text[]) AS wanted(program)
  UNION
  SELECT program, (SELECT min(refused_by) FROM runs
    WHERE runs.program = side.program AND due IS NOT NULL AND refused_by > side.refuser)
  FROM side WHERE refuser IS NOT NULL
)
SELECT 1 FROM side
WHERE (refuser <> :deploy::text OR :deploy = '') AND EXISTS (
  SELECT FROM runs
  WHERE program = side.program AND refused_by = side.refuser
    AND due <= (SELECT clock_timestamp()) AND format <= :format::int
) LIMIT 1;

-- The same conditions for one run.
-- name: due_run
SELECT 1 FROM runs
WHERE id = :run::text AND program = ANY(:programs::text[]) AND due <= clock_timestamp()
  AND format <= :format::int AND (refused_by <> :deploy::text OR :deploy = '');

-- One look into the index for each program and refusal.
-- name: next_due
WITH RECURSIVE side(program, refuser) AS (
  SELECT program, (SELECT min(refused_by) FROM runs
    WHERE runs.program = wanted.program AND due IS NOT NULL)
  FROM unnest(:programs::text[]) AS wanted(program)
  UNION
  SELECT program, (SELECT min(refused_by) FROM runs
    WHERE runs.program = side.program AND due IS NOT NULL AND refused_by > side.refuser)
  FROM side WHERE refuser IS NOT NULL
), moment AS MATERIALIZED (
  SELECT clock_timestamp() AS at
)
SELECT (extract(epoch FROM min(found.due) - (SELECT at FROM moment)))::float8
FROM side CROSS JOIN LATERAL (
  SELECT min(due) AS due FROM runs
  WHERE program = side.program AND refused_by = side.refuser AND due > (SELECT at FROM moment)
) AS found;

-- Two claimers race for a run: who finds it locked goes on to the next, hence more candidates
-- than room. The worker's row is locked too: a sweep that forgets it does not miss this claim.
-- name: claim
WITH RECURSIVE alive AS (
  SELECT id FROM workers WHERE id = :worker::text AND alive_until > clock_timestamp()
  FOR KEY SHARE SKIP LOCKED
), side(program, refuser) AS (
  SELECT program, (SELECT min(refused_by) FROM runs
    WHERE runs.program = wanted.program AND due IS NOT NULL)
  FROM unnest(:programs::text[]) AS wanted(program)
  UNION
  SELECT program, (SELECT min(refused_by) FROM runs
    WHERE runs.program = side.program AND due IS NOT NULL AND refused_by > side.refuser)
  FROM side WHERE refuser IS NOT NULL
), candidate AS (
  SELECT found.no, found.due FROM side
  CROSS JOIN LATERAL (
    SELECT no, due FROM runs
    WHERE program = side.program AND refused_by = side.refuser
      AND due <= (SELECT clock_timestamp()) AND format <= :format::int
    ORDER BY due, no LIMIT 3 * :room::int + 50
  ) AS found
  WHERE side.refuser <> :deploy::text OR :deploy = ''
), taken AS (
  SELECT runs.no, candidate.due FROM candidate JOIN runs ON runs.no = candidate.no
  WHERE runs.due = candidate.due AND runs.format <= :format AND EXISTS (SELECT FROM alive)
  ORDER BY candidate.due, candidate.no LIMIT :room
  FOR NO KEY UPDATE OF runs SKIP LOCKED
), claimed AS (
  UPDATE runs SET status = 'running', worker = :worker, token = token + 1, due = NULL,
    listens = false, refused = NULL
  FROM taken WHERE runs.no = taken.no
  RETURNING runs.*, taken.due AS was_due
)
SELECT id, program, token, seq, inbox, deaths, micros(greatest(clock_timestamp(), was_due)),
  extract(epoch FROM clock_timestamp() - lost)::float8
FROM claimed ORDER BY was_due, no;

-- The same for one run.
-- name: claim_run
WITH alive AS (
  SELECT id FROM workers WHERE id = :worker::text AND alive_until > clock_timestamp()
  FOR KEY SHARE SKIP LOCKED
)
UPDATE runs SET status = 'running', worker = alive.id, token = token + 1, due = NULL,
  listens = false, refused = NULL
FROM alive
WHERE runs.id = :run::text AND program = ANY(:programs::text[]) AND due <= clock_timestamp()
  AND format <= :format::int AND (refused_by <> :deploy::text OR :deploy = '')
RETURNING runs.id, program, token, seq, inbox, deaths, micros(clock_timestamp()),
  extract(epoch FROM clock_timestamp() - lost)::float8;

-- No death; `lost` is kept unless the holder leaves work behind that may go on.
-- name: release
UPDATE runs SET status = 'queued', worker = NULL, due = clock_timestamp(),
  lost = CASE WHEN :abandoned::bool THEN clock_timestamp() ELSE lost END,
  refused_by = coalesce(:deploy::text, refused_by), refused = coalesce(:reason::bytea, refused)
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

-- The token rises here, so that the lost holder is fenced before anyone else claims.
-- name: take_back
WITH lost AS (
  SELECT no FROM runs WHERE worker IN (SELECT id FROM workers WHERE lapsed)
  ORDER BY id LIMIT :limit::int FOR NO KEY UPDATE
)
UPDATE runs SET status = 'queued', worker = NULL, token = token + 1, deaths = deaths + 1,
  due = clock_timestamp(), lost = workers.alive_until
FROM lost, workers WHERE runs.no = lost.no AND runs.worker = workers.id AND workers.lapsed
RETURNING runs.id;

-- Holders are forgotten in the transaction that queues their last runs.
-- name: forget_lapsed
DELETE FROM workers WHERE lapsed AND NOT EXISTS (SELECT FROM runs WHERE runs.worker = workers.id);

-- The mark is for one sweep alone.
-- name: unmark_lapsed
UPDATE workers SET lapsed = false WHERE lapsed;

-- In the order of their writing.
-- name: read
SELECT seq, token, format, body FROM entries
WHERE run = (SELECT no FROM runs WHERE id = :run::text) AND seq > :after::int ORDER BY seq;

-- Each run's base is older than its turn, so that the chain has an end. It begins after what was
-- deleted, and each link reaches as far as was built on.
-- name: lineage
WITH RECURSIVE chain(id, upto, depth) AS (
  SELECT base_run, base_seq, 1 FROM runs WHERE id = :run::text AND base_run IS NOT NULL
  UNION ALL
  SELECT runs.base_run, runs.base_seq, depth + 1 FROM chain JOIN runs ON runs.id = chain.id
  WHERE runs.base_run IS NOT NULL
)
SELECT depth, entries.seq, entries.token, entries.format, entries.body
FROM chain JOIN runs ON runs.id = chain.id
JOIN entries ON entries.run = runs.no AND entries.seq <= chain.upto
ORDER BY depth DESC, entries.seq;

-- The row, in the order of RunRow's fields.
-- name: get
SELECT id, program, status, seq, token, tenant, usr, thread, deaths, micros(created),
  micros(ended), micros(due), base_run, base_seq, refused
FROM runs WHERE id = :run::text;

-- One query for all that are watched.
-- name: heads
SELECT id, seq, status FROM runs WHERE id = ANY(:runs::text[]);

-- The conditions below are added as the query has them, so that each finds its index.
-- name: find
SELECT id, program, status, seq, token, tenant, usr, thread, deaths, micros(created),
  micros(ended), micros(due), base_run, base_seq, refused
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

-- The work of a transaction that is not the store's alone must not find the store's own tables,
-- and no default of the database may weaken its commit.
-- name: enter
SELECT pg_current_xact_id()::text, current_setting('search_path'),
  set_config('search_path', :path::text, true),
  set_config('idle_in_transaction_session_timeout', '60s', true),
  set_config('synchronous_commit',
    replace(current_setting('synchronous_commit'), 'off', 'on'), true);

-- What was searched before.
-- name: leave
SELECT set_config('search_path', :path::text, true);
