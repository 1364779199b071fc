-- Days are proleptic Gregorian ordinals (Python's date.toordinal).
-- No table holds a time, an address, a pseudonym or a payload.

-- One row: the key of report ids, and the last closed day, which never moves back.
CREATE TABLE collector (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    id_key         BLOB    NOT NULL,
    closed_through INTEGER NOT NULL
) STRICT;

-- The key of a day's digests and accounts, for as long as the day is open. A backup leaves this table out.
CREATE TABLE day_keys (
    day INTEGER PRIMARY KEY,
    key BLOB NOT NULL
) STRICT;

-- Every registry that was ever served, so that old revisions can still be explained.
CREATE TABLE registries (
    sha256 TEXT PRIMARY KEY,
    body   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each revision of a metric: what its bits mean, and which registry said so first.
CREATE TABLE series (
    series      INTEGER PRIMARY KEY,
    metric      TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    registry    TEXT    NOT NULL REFERENCES registries (sha256),
    UNIQUE (metric, revision)
) STRICT;

-- Ids of reports of open days, by keyed hash. state: 0 counted, 1 retracted, 2 retracted before it came.
CREATE TABLE ids (
    id     BLOB    PRIMARY KEY,
    day    INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    state  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What each account of a pseudonym spent on an open day, by keyed hash, in micro-epsilon.
CREATE TABLE spend (
    day     INTEGER NOT NULL,
    account BLOB    NOT NULL,
    micro   INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    PRIMARY KEY (day, account)
) STRICT, WITHOUT ROWID;

-- Tallies in chunks of 256 cells, int64 little-endian. `reports` is counted in chunk 0 alone.
CREATE TABLE tallies (
    series  INTEGER NOT NULL REFERENCES series (series),
    day     INTEGER NOT NULL,
    cohort  INTEGER NOT NULL,
    chunk   INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    cells   BLOB    NOT NULL,
    PRIMARY KEY (series, day, cohort, chunk)
) STRICT, WITHOUT ROWID;

-- Which other collectors' reports a series counts on a day: tallies are merged once.
CREATE TABLE merged (
    series INTEGER NOT NULL REFERENCES series (series),
    day    INTEGER NOT NULL,
    source BLOB    NOT NULL,
    PRIMARY KEY (series, day, source)
) STRICT, WITHOUT ROWID;
