-- The same id twice is one run, so this is asked before the thread is.
-- name: run_no
SELECT no FROM runs WHERE id = :run;

-- A thread's row is what its starts and ends lock; it outlives them.
-- name: make_thread
INSERT INTO threads(key) VALUES (:thread) ON CONFLICT(key) DO NOTHING;

-- A key outlives the run that was made for it.
-- name: start_key
SELECT run, digest FROM start_keys WHERE key = :key;

-- In the transaction that makes the run.
-- name: make_start_key
INSERT INTO start_keys(key, run, digest, at) VALUES (:key, :run, :digest, :wall);

-- Two starts race for the thread: the condition lets one through and tells it the pinned base. What
-- brings a base of its own begins a thread, and takes none that had a run.
-- name: take_thread
UPDATE threads SET live = :run
WHERE key = :thread AND live IS NULL AND (head_run IS NULL OR NOT :begins)
RETURNING head_run, (SELECT seq FROM runs WHERE id = head_run);

-- Who lost the race is told to whom.
-- name: thread_taken
SELECT coalesce(live, head_run) FROM threads WHERE key = :thread;

-- Who lost the race may wait, unless as many wait already as it allows.
-- name: count_waiting
SELECT count(*) FROM runs WHERE thread = :thread AND status = 'queued' AND due IS NULL;

-- Places are given by the thread's row, which every start locks.
-- name: take_place
UPDATE threads SET next_no = next_no + 1 WHERE key = :thread RETURNING next_no - 1;

-- Without a due time it waits for its thread.
-- name: make_run
INSERT INTO runs(id, tenant, usr, program, thread, thread_no, base_run, base_seq, status, seq, due,
  format, created)
VALUES (:run, :tenant, :user, :program, :thread, :place, :base, :base_seq, 'queued', 1, :due,
  :format, :wall)
RETURNING no;

-- The key (run, seq) keeps the sequence without twins, whatever else goes wrong.
-- name: write_entry
INSERT INTO entries(run, seq, token, format, body) VALUES (:no, :seq, :token, :format, :body);

-- Threads are locked before runs, in every write that touches both.
-- name: lock_thread
SELECT key FROM threads WHERE key = (SELECT thread FROM runs WHERE id = :run);

-- The fence is compared in the write itself: read-then-write would race.
-- name: append
UPDATE runs SET seq = seq + :count, format = max(format, :format), deaths = 0
WHERE id = :run AND token = :token AND status = 'running' AND seq = :seq
RETURNING no, inbox;

-- As an append, for many runs: Python's lock changes hands with every statement of the thread.
-- name: append_each
UPDATE runs SET seq = runs.seq + new.column4, format = max(format, new.column5), deaths = 0
FROM (VALUES (:run, :token, :seq, :count, :format)) AS new
WHERE runs.id = new.column1 AND token = new.column2 AND runs.seq = new.column3
  AND status = 'running'
RETURNING id, no, inbox;

-- An answer or a cancel that came meanwhile must be looked at first: hence the inbox.
-- name: pause
UPDATE runs SET seq = seq + :count, format = max(format, :format), deaths = 0,
  status = 'paused', worker = NULL, due = :due, listens = :listens
WHERE id = :run AND token = :token AND status = 'running' AND seq = :seq AND inbox = :seen
RETURNING no, inbox;

-- As a pause: a cancel that was accepted before this end must win.
-- name: finish
UPDATE runs SET seq = seq + :count, format = max(format, :format), deaths = 0,
  status = :status, worker = NULL, ended = :wall
WHERE id = :run AND token = :token AND status = 'running' AND seq = :seq AND inbox = :seen
RETURNING no, inbox;

-- Tells news from a lost fence after a pause or an end was refused, and before work is done.
-- name: fence
SELECT inbox FROM runs WHERE id = :run AND token = :token AND status = 'running' AND seq = :seq;

-- A key that was asked for earlier keeps its row, and its answer.
-- name: ask
INSERT INTO signals(run, key) VALUES (:no, :key) ON CONFLICT(run, key) DO NOTHING;

-- A key that was answered meanwhile keeps its row.
-- name: withdraw
DELETE FROM signals WHERE run = :no AND key = :key AND n IS NULL;

-- Counted from the rows, so that a key asked for twice is waited for once.
-- name: count_needs
UPDATE runs SET needs = (SELECT count(*) FROM signals WHERE run = :no AND n IS NULL)
WHERE no = :no RETURNING needs;

-- A pause whose every key is answered already would wait for ever.
-- name: requeue
UPDATE runs SET status = 'queued', due = :wall, listens = 0 WHERE no = :no AND status = 'paused';

-- Only the run that lives on the thread frees it, for the one that waits longest.
-- name: free_thread
UPDATE threads SET head_run = :run, live = (
  SELECT id FROM runs WHERE thread = threads.key AND status = 'queued' AND due IS NULL
  ORDER BY thread_no LIMIT 1
)
WHERE key = (SELECT thread FROM runs WHERE id = :run) AND live = :run
RETURNING live;

-- The base is pinned when the run's turn comes, unless it brought one.
-- name: hand_on
UPDATE runs SET due = :wall, base_run = coalesce(base_run, :base),
  base_seq = CASE WHEN base_run IS NULL THEN (SELECT seq FROM runs WHERE id = :base)
    ELSE base_seq END
WHERE id = :run;

-- The run's row is locked before its signals are read.
-- name: lock_run
SELECT no, status, needs FROM runs WHERE id = :run;

-- A delivery that is tried again was carried out already.
-- name: delivered
SELECT 1 FROM signals WHERE run = :no AND id = :id LIMIT 1;

-- All keys of the run, so that a delivery is judged as a whole.
-- name: run_signals
SELECT key, n, answer FROM signals WHERE run = :no;

-- `needs` counts down and the last answer queues: "is none left?" asked apart would race.
-- name: note_answers
UPDATE runs SET inbox = inbox + :count, needs = needs - :count,
  due = CASE WHEN status = 'paused' AND needs = :count THEN :wall ELSE due END,
  listens = CASE WHEN needs = :count THEN 0 ELSE listens END,
  status = CASE WHEN status = 'paused' AND needs = :count THEN 'queued' ELSE status END
WHERE no = :no AND status IN ('queued', 'running', 'paused')
RETURNING inbox, needs;

-- Each key for the first time only.
-- name: answer
UPDATE signals SET n = :n, answer = :answer, id = :id, at = :wall
WHERE run = :no AND key = :key AND n IS NULL;

-- A run that nobody drives ends here and now.
-- name: cancel
UPDATE runs SET seq = seq + 1, format = max(format, :format), status = 'cancelled',
  due = NULL, listens = 0, needs = 0, ended = :wall
WHERE id = :run AND status IN ('queued', 'paused')
RETURNING no, seq, token;

-- A second cancel of a running run changes nothing, and neither does a message sent again.
-- name: signal
INSERT INTO signals(run, key, n, answer, at)
SELECT no, :key, inbox + 1, :answer, :wall FROM runs WHERE no = :no
ON CONFLICT(run, key) DO UPDATE SET n = excluded.n, answer = excluded.answer, at = excluded.at
WHERE signals.n IS NULL;

-- The holder learns of the signal by this number.
-- name: raise_inbox
UPDATE runs SET inbox = inbox + 1 WHERE no = :no;

-- A message queues a paused run only if that listens.
-- name: wake
UPDATE runs SET status = 'queued', due = :wall, listens = 0
WHERE no = :no AND status = 'paused' AND listens;

-- A row of another boot, or one that beat in the future of this boot, is a dead process's.
-- name: worker_alive
SELECT 1 FROM workers
WHERE id = :worker AND boot = :boot AND beat <= :steady AND alive_until > :steady;

-- An id that is known already is not made anew: it may have lapsed.
-- name: join
INSERT INTO workers(id, boot, beat, alive_until) VALUES (:worker, :boot, :steady, :until)
ON CONFLICT(id) DO NOTHING;

-- A lapsed lease is never renewed: its runs may be another's already.
-- name: beat
UPDATE workers SET beat = :steady, alive_until = :until
WHERE id = :worker AND boot = :boot AND beat <= :steady AND alive_until > :steady
RETURNING id;

-- What the heartbeat brings back.
-- name: held
SELECT id, token, inbox FROM runs WHERE worker = :worker;

-- From one refuser of due runs to the next along the index, and not from run to run.
-- name: refusers
WITH RECURSIVE refuser(deploy) AS (
  SELECT min(refused_by) FROM runs
  WHERE program = :program AND due IS NOT NULL AND refused_by IS NOT NULL
  UNION ALL
  SELECT (SELECT min(refused_by) FROM runs
    WHERE program = :program AND due IS NOT NULL AND refused_by > deploy)
  FROM refuser WHERE deploy IS NOT NULL
)
SELECT deploy FROM refuser WHERE deploy IS NOT NULL;

-- One program and refuser at a time, along the index: all at once would be sorted.
-- name: due_runs
SELECT no, due FROM runs
WHERE program = :program AND refused_by IS :refuser AND due <= :wall
  AND status IN ('queued', 'paused') AND format <= :format
ORDER BY due, no LIMIT :room;

-- The same conditions for one run.
-- name: due_run
SELECT no, due FROM runs
WHERE id = :run AND program = :program AND refused_by IS :refuser AND due <= :wall
  AND status IN ('queued', 'paused') AND format <= :format;

-- As due_runs, for what is not due yet.
-- name: next_due
SELECT min(due) FROM runs
WHERE program = :program AND refused_by IS :refuser AND due > :wall;

-- Two claimers race for the run: the status lets one through.
-- name: claim
UPDATE runs SET status = 'running', worker = :worker, token = token + 1, due = NULL, listens = 0,
  refused = NULL
WHERE no = :no AND status IN ('queued', 'paused')
RETURNING id, program, token, seq, inbox, deaths, lost, lost_boot;

-- No death; `lost` is kept unless the holder leaves work behind that may go on.
-- name: release
UPDATE runs SET status = 'queued', worker = NULL, due = :wall,
  refused_by = coalesce(:refuser, refused_by), refused = :reason,
  lost = CASE WHEN :abandoned THEN :steady ELSE lost END,
  lost_boot = CASE WHEN :abandoned THEN :boot ELSE lost_boot END
WHERE id = :run AND status = 'running' AND worker = :worker AND token = :token
RETURNING no;

-- Asked before a sweep takes the write lock.
-- name: any_lapsed
SELECT 1 FROM workers WHERE boot <> :boot OR beat > :steady OR alive_until <= :steady LIMIT 1;

-- Holders whose runs are taken back, and when each was lost, if that was since this boot.
-- name: lapsed
SELECT id, CASE WHEN boot = :boot AND beat <= :steady THEN alive_until END FROM workers
WHERE boot <> :boot OR beat > :steady OR alive_until <= :steady;

-- The token rises here, so that the lost holder is fenced before anyone else claims.
-- name: take_back
UPDATE runs SET status = 'queued', worker = NULL, token = token + 1, deaths = deaths + 1,
  due = :wall, lost = :lost, lost_boot = :boot
WHERE no IN (SELECT no FROM runs WHERE worker = :worker LIMIT :limit)
RETURNING id;

-- A holder is forgotten when no run names it any more.
-- name: forget_lapsed
DELETE FROM workers WHERE id = :worker
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.worker = workers.id);

-- In the order of their writing. A body that is too long is left out: its pages are not even read.
-- name: read
SELECT seq, token, format, CASE WHEN length(body) <= :bytes THEN body END FROM entries
WHERE run = (SELECT no FROM runs WHERE id = :run) AND seq > :after ORDER BY seq LIMIT :rows;

-- Each run's base was pinned before it began, so that the chain has an end.
-- name: lineage
WITH RECURSIVE chain(id, seq, depth) AS (
  SELECT base_run, base_seq, 1 FROM runs WHERE id = :run AND base_run IS NOT NULL
  UNION ALL
  SELECT runs.base_run, runs.base_seq, depth + 1 FROM chain JOIN runs ON runs.id = chain.id
  WHERE runs.base_run IS NOT NULL
)
SELECT depth, entries.seq, entries.token, entries.format, entries.body
FROM chain JOIN runs ON runs.id = chain.id
  JOIN entries ON entries.run = runs.no AND entries.seq <= chain.seq
ORDER BY depth DESC, entries.seq;

-- The row, in the order of RunRow's fields.
-- name: get
SELECT id, program, status, seq, token, tenant, usr, thread, deaths, created, ended, due, refused,
  base_run, base_seq
FROM runs WHERE id = :run;

-- One query for all that are watched.
-- name: heads
SELECT id, seq, status FROM runs WHERE id IN (SELECT value FROM json_each(:runs));

-- The conditions below are added as the query has them, so that each finds its index.
-- name: find
SELECT id, program, status, seq, token, tenant, usr, thread, deaths, created, ended, due, refused,
  base_run, base_seq
FROM runs WHERE 1

-- Part of find.
-- name: find_status
AND status = :status

-- Part of find: every version of each program.
-- name: find_names
AND substr(program, 1, instr(program || '@', '@') - 1)
  IN (SELECT value FROM json_each(:names))

-- Part of find.
-- name: find_user
AND usr = :user

-- Part of find.
-- name: find_tenant
AND tenant = :tenant

-- Part of find.
-- name: find_thread
AND thread = :thread

-- Part of find: a page goes on where the one before ended.
-- name: find_before
AND no < (SELECT no FROM runs WHERE id = :before)

-- Part of find: `no` is the order of making.
-- name: find_limit
ORDER BY no DESC LIMIT :limit;

-- The run that the next one builds on.
-- name: thread_head
SELECT head_run FROM threads WHERE key = :thread;

-- Answered ones in the order of their answers.
-- name: signals
SELECT key, answer, id, at FROM signals
WHERE run = (SELECT no FROM runs WHERE id = :run) ORDER BY n IS NULL, n, key;
