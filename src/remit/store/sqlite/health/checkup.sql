-- The file's own consistency, without comparing the indexes row by row.
-- name: quick_check
PRAGMA quick_check(5);

-- As a claim counts them: a row of another boot, or of this boot's future, is a dead process's.
-- name: alive
SELECT count(*) FROM workers WHERE boot = :boot AND beat <= :steady AND alive_until > :steady;

-- One that holds nothing ended in peace.
-- name: lapsed
SELECT workers.id, CASE WHEN boot = :boot AND beat <= :steady THEN :steady - alive_until END,
  count(*)
FROM workers JOIN runs ON runs.worker = workers.id
WHERE boot <> :boot OR beat > :steady OR alive_until <= :steady
GROUP BY workers.id ORDER BY workers.id LIMIT 100;

-- A single death is what recovery is there for.
-- name: dying
SELECT id, program, deaths FROM runs
WHERE deaths >= 2 AND status IN ('queued', 'running', 'paused') ORDER BY no LIMIT 100;

-- By the wall clock, as claims see it; a paused run may be due as well, after a sleep.
-- name: overdue
SELECT program, count(*), :wall - min(due) FROM runs
WHERE due <= :before GROUP BY program ORDER BY program LIMIT 100;

-- Whatever program they are of: which of them an app has, it tells itself.
-- name: live
SELECT program, count(*) FROM runs
WHERE status IN ('queued', 'running', 'paused') GROUP BY program ORDER BY program LIMIT 1000;

-- The newest entry tells when the run paused; the row does not.
-- name: waiting
SELECT runs.id, runs.program, runs.created, entries.body
FROM runs JOIN entries ON entries.run = runs.no AND entries.seq = runs.seq
WHERE runs.status = 'paused' AND runs.created <= :before ORDER BY runs.no LIMIT 100;
