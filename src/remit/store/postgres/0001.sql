-- The lease of one process. `lapsed` marks those that a sweep takes apart; it is never committed.
CREATE TABLE workers(
  id text COLLATE "C" PRIMARY KEY,
  alive_until timestamptz NOT NULL,
  lapsed boolean NOT NULL DEFAULT false
);

CREATE TABLE threads(
  key bytea PRIMARY KEY,
  live text COLLATE "C",
  head_run text COLLATE "C"
) WITH (fillfactor = 80);

-- `no` is the order of making; entries and signals name a run by it, which is a third of the size.
-- The free part of each page takes the row's next version, which then touches no index.
CREATE TABLE runs(
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  tenant text COLLATE "C",
  usr text COLLATE "C",
  program text COLLATE "C" NOT NULL,
  thread bytea,
  base_run text COLLATE "C",
  status text COLLATE "C" NOT NULL
    CHECK(status IN ('queued', 'running', 'paused', 'succeeded', 'failed', 'cancelled')),
  seq int NOT NULL DEFAULT 0,
  token int NOT NULL DEFAULT 0,
  worker text COLLATE "C",
  inbox int NOT NULL DEFAULT 0,
  needs int NOT NULL DEFAULT 0,
  due timestamptz,
  deaths int NOT NULL DEFAULT 0,
  lost timestamptz,
  format int NOT NULL,
  created timestamptz NOT NULL,
  ended timestamptz,
  CHECK((status = 'running') = (worker IS NOT NULL)),
  CHECK(status IN ('queued', 'paused') OR due IS NULL)
) WITH (fillfactor = 60);

CREATE INDEX runs_due ON runs(program, due, no) WHERE due IS NOT NULL;
CREATE INDEX runs_held ON runs(worker) WHERE worker IS NOT NULL;
CREATE INDEX runs_thread ON runs(thread, no) WHERE thread IS NOT NULL;
CREATE INDEX runs_user ON runs(usr, no) WHERE usr IS NOT NULL;
CREATE INDEX runs_tenant ON runs(tenant, no) WHERE tenant IS NOT NULL;

CREATE TABLE entries(
  run bigint NOT NULL,
  seq int NOT NULL,
  token int NOT NULL,
  format int NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY(run, seq)
);

-- Without `n` the key is asked for and not answered; `n` is the inbox with which its answer came.
CREATE TABLE signals(
  run bigint NOT NULL,
  key bytea NOT NULL,
  n int,
  answer bytea,
  id text COLLATE "C",
  at timestamptz,
  PRIMARY KEY(run, key),
  CHECK((n IS NULL) = (answer IS NULL))
);
