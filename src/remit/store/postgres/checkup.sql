-- What the server promises of a commit; asked before the session changes anything for itself.
-- name: health
SELECT current_setting('fsync') = 'on', current_setting('synchronous_commit'),
  pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on';

-- Asked alone, between two looks at this machine's clock.
-- name: time
SELECT extract(epoch FROM clock_timestamp())::float8;

-- A look must not write, nor hold anything up for long.
-- name: quiet
SELECT set_config('default_transaction_read_only', 'on', false),
  set_config('statement_timeout', '60s', false),
  set_config('lock_timeout', '5s', false),
  set_config('search_path', %(schema)s, false);

-- Where nothing is made yet the schema is to be made, which takes a right on the database.
-- name: may_make
SELECT has_database_privilege(current_database(), 'CREATE');

-- NULL where there is no such schema.
-- name: may_use
SELECT has_schema_privilege(to_regnamespace(quote_ident(%(schema)s)), 'USAGE');

-- Rows are all that the store touches; `migrations` it only reads.
-- name: missing
SELECT privilege || ' on ' || relname
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) WITH ORDINALITY
  AS needed(privilege, place)
WHERE nspname = %(schema)s AND relkind IN ('r', 'p')
  AND (relname <> 'migrations' OR privilege = 'SELECT')
  AND NOT has_table_privilege(pg_class.oid, privilege)
ORDER BY relname, place;

-- By the database's own clock, as all leases are.
-- name: alive
SELECT count(*) FROM workers WHERE alive_until > %(now)s;

-- One that holds nothing ended in peace.
-- name: lapsed
SELECT workers.id, extract(epoch FROM %(now)s - alive_until)::float8, count(*)
FROM workers JOIN runs ON runs.worker = workers.id
WHERE alive_until <= %(now)s
GROUP BY workers.id, alive_until ORDER BY workers.id LIMIT 100;

-- A single death is what recovery is there for.
-- name: dying
SELECT id, program, deaths FROM runs
WHERE deaths >= 2 AND status IN ('queued', 'running', 'paused') ORDER BY no LIMIT 100;

-- By the clock that claims see; a paused run may be due as well, after a sleep.
-- name: overdue
SELECT program, count(*), extract(epoch FROM %(now)s - min(due))::float8 FROM runs
WHERE due <= %(before)s GROUP BY program ORDER BY program LIMIT 100;

-- Whatever program they are of: which of them an app has, it tells itself.
-- name: live
SELECT program, count(*) FROM runs
WHERE status IN ('queued', 'running', 'paused') GROUP BY program ORDER BY program LIMIT 1000;

-- The newest entry tells when the run paused; the row does not.
-- name: waiting
SELECT runs.id, runs.program, runs.created, entries.body
FROM runs JOIN entries ON entries.run = runs.no AND entries.seq = runs.seq
WHERE runs.status = 'paused' AND runs.created <= %(before)s ORDER BY runs.no LIMIT 100;
