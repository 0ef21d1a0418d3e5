-- `next_no` is the place that the next run to wait on the thread gets.
ALTER TABLE threads ADD COLUMN next_no INTEGER NOT NULL DEFAULT 1;

-- `base_seq` is how far the base was built on, `thread_no` a place among those that wait for the
-- thread, `refused_by` the deployment whose code refused the run, `refused` why.
ALTER TABLE runs ADD COLUMN base_seq INTEGER;
ALTER TABLE runs ADD COLUMN thread_no INTEGER;
ALTER TABLE runs ADD COLUMN refused_by TEXT;
ALTER TABLE runs ADD COLUMN refused BLOB;
ALTER TABLE runs ADD COLUMN listens INTEGER NOT NULL DEFAULT 0;

UPDATE runs SET base_seq = (SELECT base.seq FROM runs AS base WHERE base.id = runs.base_run)
WHERE base_run IS NOT NULL;

-- By who refused it, so that a claim steps over a refused run without looking at it.
DROP INDEX runs_due;
CREATE INDEX runs_due ON runs(program, refused_by, due) WHERE due IS NOT NULL;
CREATE INDEX runs_waiting ON runs(thread, thread_no) WHERE status = 'queued' AND due IS NULL;
CREATE INDEX runs_base ON runs(base_run) WHERE base_run IS NOT NULL;
CREATE INDEX runs_ended ON runs(ended) WHERE ended IS NOT NULL;

-- They outlive runs, and so name them by their text ids.
CREATE TABLE start_keys(
  key BLOB PRIMARY KEY,
  run TEXT NOT NULL,
  digest BLOB NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `slots` are numbers of eight bytes: what is spent in each slot of the ring, then what is held.
-- `head` is the number of the newest slot since 1970; a slot's place is its number modulo theirs.
CREATE TABLE meters(
  no INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  width INTEGER NOT NULL,
  head INTEGER NOT NULL,
  slots BLOB NOT NULL
) STRICT;

-- `meters` is a JSON array of numbers of meters; model, purpose, draft and program are the charge
-- that is written if nobody settles the hold.
CREATE TABLE holds(
  run INTEGER NOT NULL,
  name BLOB NOT NULL,
  token INTEGER NOT NULL,
  nano INTEGER NOT NULL,
  meters TEXT NOT NULL,
  at INTEGER NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  draft BLOB NOT NULL,
  program TEXT,
  PRIMARY KEY(run, name)
) STRICT, WITHOUT ROWID;

-- It outlives runs. `program` is without its version.
CREATE TABLE ledger(
  run TEXT NOT NULL,
  name BLOB NOT NULL,
  nano INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  at INTEGER NOT NULL,
  tenant TEXT,
  usr TEXT,
  program TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY(run, name)
) STRICT;

CREATE INDEX ledger_at ON ledger(at);
CREATE INDEX ledger_user ON ledger(usr, at) WHERE usr IS NOT NULL;
CREATE INDEX ledger_tenant ON ledger(tenant, at) WHERE tenant IS NOT NULL;
