-- Ended before then, with nothing that builds on it, and not what a living thread goes on from.
-- Whoever builds on a run is older in this search than the run, and goes with it. What was built
-- on is found by its id: a condition that IS TRUE tempts no other index.
-- name: old_runs
WITH RECURSIVE gone(id, base_run, depth) AS (
  (SELECT id, base_run, 1 FROM runs
  WHERE ended < instant(:when::int8)
    AND NOT EXISTS (SELECT FROM runs AS child WHERE child.base_run = runs.id)
    AND NOT EXISTS (SELECT FROM threads
      WHERE key = runs.thread AND head_run = runs.id AND live IS NOT NULL)
    AND NOT EXISTS (SELECT FROM holds WHERE holds.run = runs.no)
  ORDER BY ended LIMIT :limit::int)
  UNION ALL
  SELECT runs.id, runs.base_run, gone.depth + 1
  FROM gone JOIN runs ON runs.id = gone.base_run
  WHERE (runs.ended < instant(:when)) IS TRUE
    AND NOT EXISTS (SELECT FROM runs AS child
      WHERE child.base_run = runs.id AND child.id <> gone.id)
    AND NOT EXISTS (SELECT FROM threads
      WHERE key = runs.thread AND head_run = runs.id AND live IS NOT NULL)
    AND NOT EXISTS (SELECT FROM holds WHERE holds.run = runs.no)
)
SELECT id FROM gone ORDER BY depth LIMIT :limit;

-- The oldest first.
-- name: runs_of_user
SELECT id FROM runs
WHERE usr = :user::text AND tenant IS NOT DISTINCT FROM :tenant::text AND ended IS NOT NULL
ORDER BY no LIMIT :limit::int;

-- Also against a fork of one of them that is made just now.
-- name: lock_gone
SELECT no FROM runs WHERE id = ANY(:runs::text[]) ORDER BY id FOR UPDATE;

-- With a time all is looked at again: what was found may be needed by now. A thread goes on from
-- what is left of its history, and its row goes when nothing is.
-- name: delete_runs
WITH RECURSIVE gone(no, id, thread, base_run) AS (
  SELECT no, id, thread, base_run FROM runs
  WHERE id = ANY(:runs::text[]) AND ended IS NOT NULL AND (:when::int8 IS NULL OR (
    (ended < instant(:when)) IS TRUE
    AND NOT EXISTS (SELECT FROM runs AS child WHERE child.base_run = runs.id)
    AND NOT EXISTS (SELECT FROM threads
      WHERE key = runs.thread AND head_run = runs.id AND live IS NOT NULL)))
  UNION
  SELECT runs.no, runs.id, runs.thread, runs.base_run
  FROM gone JOIN runs ON runs.id = gone.base_run
  WHERE (runs.id = ANY(:runs)) IS TRUE AND (runs.ended < instant(:when)) IS TRUE
    AND NOT EXISTS (SELECT FROM runs AS child
      WHERE child.base_run = runs.id AND child.id <> gone.id)
    AND NOT EXISTS (SELECT FROM threads
      WHERE key = runs.thread AND head_run = runs.id AND live IS NOT NULL)
), link(key, id) AS (
  SELECT threads.key, gone.id FROM gone JOIN threads
    ON threads.key = gone.thread AND threads.head_run = gone.id
  UNION ALL
  SELECT link.key, gone.base_run FROM link JOIN gone ON gone.id = link.id
), head AS (
  SELECT link.key, runs.id FROM link
  LEFT JOIN runs ON runs.id = link.id AND runs.thread = link.key
  WHERE NOT EXISTS (SELECT FROM gone WHERE gone.id = link.id)
), moved AS (
  UPDATE threads SET head_run = (SELECT id FROM head WHERE head.key = threads.key)
  WHERE key = ANY(ARRAY(SELECT key FROM head WHERE id IS NOT NULL))
    OR key = ANY(ARRAY(SELECT key FROM head WHERE id IS NULL)) AND live IS NOT NULL
), emptied AS (
  DELETE FROM threads
  WHERE key = ANY(ARRAY(SELECT key FROM head WHERE id IS NULL)) AND live IS NULL
), unwritten AS (
  DELETE FROM entries USING gone WHERE entries.run = gone.no
), unsent AS (
  DELETE FROM signals USING gone WHERE signals.run = gone.no
), deleted AS (
  DELETE FROM runs USING gone WHERE runs.no = gone.no RETURNING runs.id
)
SELECT id FROM deleted;
