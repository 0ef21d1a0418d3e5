-- Looked for without the write lock. No run builds on them, no living thread ends with them.
-- name: old_runs
SELECT no FROM runs WHERE ended < :when
  AND NOT EXISTS (SELECT 1 FROM runs AS child WHERE child.base_run = runs.id)
  AND NOT EXISTS (SELECT 1 FROM threads
    WHERE key = runs.thread AND head_run = runs.id AND live IS NOT NULL)
LIMIT :limit;

-- The same conditions for one run, under the write lock.
-- name: old_run
SELECT no FROM runs WHERE no = :no AND ended < :when
  AND NOT EXISTS (SELECT 1 FROM runs AS child WHERE child.base_run = runs.id)
  AND NOT EXISTS (SELECT 1 FROM threads
    WHERE key = runs.thread AND head_run = runs.id AND live IS NOT NULL);

-- The oldest first.
-- name: runs_of_user
SELECT no FROM runs WHERE usr = :user AND tenant IS :tenant AND ended IS NOT NULL
ORDER BY no LIMIT :limit;

-- It tells what its thread may go back to.
-- name: delete_run
DELETE FROM runs WHERE no = :no RETURNING id, thread, base_run;

-- The journal goes with its run.
-- name: delete_entries
DELETE FROM entries WHERE run = :no;

-- What was asked and sent goes with its run.
-- name: delete_signals
DELETE FROM signals WHERE run = :no;

-- A thread goes back to the run that its newest one built on there, if that still is.
-- name: move_head
UPDATE threads SET head_run = (SELECT id FROM runs WHERE id = :base AND thread = :thread)
WHERE key = :thread AND head_run = :run;

-- A thread that has no run left is forgotten.
-- name: delete_thread
DELETE FROM threads WHERE key = :thread AND live IS NULL AND head_run IS NULL;
