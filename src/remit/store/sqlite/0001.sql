-- The lease of one process. Times are microseconds of the steady clock, which `boot` dates.
CREATE TABLE workers(
  id TEXT PRIMARY KEY,
  boot TEXT NOT NULL,
  beat INTEGER NOT NULL,
  alive_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE threads(
  key BLOB PRIMARY KEY,
  live TEXT,
  head_run TEXT
) STRICT, WITHOUT ROWID;

-- `no` is the order of making; entries and signals name a run by it, which is a third of the size.
CREATE TABLE runs(
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT,
  usr TEXT,
  program TEXT NOT NULL,
  thread BLOB,
  base_run TEXT,
  status TEXT NOT NULL
    CHECK(status IN ('queued', 'running', 'paused', 'succeeded', 'failed', 'cancelled')),
  seq INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL DEFAULT 0,
  worker TEXT,
  inbox INTEGER NOT NULL DEFAULT 0,
  needs INTEGER NOT NULL DEFAULT 0,
  due INTEGER,
  deaths INTEGER NOT NULL DEFAULT 0,
  lost INTEGER,
  lost_boot TEXT,
  format INTEGER NOT NULL,
  created INTEGER NOT NULL,
  ended INTEGER,
  CHECK((status = 'running') = (worker IS NOT NULL)),
  CHECK(status IN ('queued', 'paused') OR due IS NULL)
) STRICT;

CREATE INDEX runs_due ON runs(program, due) WHERE due IS NOT NULL;
CREATE INDEX runs_held ON runs(worker) WHERE worker IS NOT NULL;
CREATE INDEX runs_thread ON runs(thread) WHERE thread IS NOT NULL;
CREATE INDEX runs_user ON runs(usr) WHERE usr IS NOT NULL;
CREATE INDEX runs_tenant ON runs(tenant) WHERE tenant IS NOT NULL;

-- With a rowid: the rows of many runs that are written together share their pages.
CREATE TABLE entries(
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  token INTEGER NOT NULL,
  format INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY(run, seq)
) STRICT;

-- Without `n` the key is asked for and not answered; `n` is the inbox with which its answer came.
CREATE TABLE signals(
  run INTEGER NOT NULL,
  key BLOB NOT NULL,
  n INTEGER,
  answer BLOB,
  id TEXT,
  at INTEGER,
  PRIMARY KEY(run, key),
  CHECK((n IS NULL) = (answer IS NULL))
) STRICT;
