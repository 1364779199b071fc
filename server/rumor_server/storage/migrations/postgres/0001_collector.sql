-- No table holds an address, a pseudonym or a payload, nor the time of a report, only its UTC day.

-- One row: the key of report ids, and the last closed day, which never moves back.
CREATE TABLE collector (
    one            boolean PRIMARY KEY CHECK (one),
    id_key         bytea   NOT NULL,
    closed_through date    NOT NULL
);

-- The key of a day's digests and accounts, for as long as the day is open. A backup leaves this table out.
CREATE TABLE day_keys (
    day date  PRIMARY KEY,
    key bytea NOT NULL
);

-- Every registry that was ever served, so that old revisions can still be explained.
CREATE TABLE registries (
    sha256 text  PRIMARY KEY,
    body   bytea NOT NULL
);

-- One row for each revision of a metric: what its bits mean, and which registry said so first.
CREATE TABLE series (
    series      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    metric      text    NOT NULL,
    revision    integer NOT NULL,
    fingerprint text    NOT NULL,
    registry    text    NOT NULL REFERENCES registries (sha256),
    UNIQUE (metric, revision)
);

-- Ids of reports of open days, by keyed hash. state: 0 counted, 1 retracted, 2 retracted before it came.
CREATE TABLE ids (
    id     bytea    PRIMARY KEY,
    day    date     NOT NULL,
    digest bytea    NOT NULL,
    state  smallint NOT NULL
);

-- What each account of a pseudonym spent on an open day, by keyed hash, in micro-epsilon.
CREATE TABLE spend (
    day     date    NOT NULL,
    account bytea   NOT NULL,
    micro   bigint  NOT NULL,
    reports integer NOT NULL,
    PRIMARY KEY (day, account)
);

-- Tallies in chunks of 256 cells, int64 little-endian. `reports` is counted in chunk 0 alone.
CREATE TABLE tallies (
    series  integer NOT NULL REFERENCES series (series),
    day     date    NOT NULL,
    cohort  integer NOT NULL,
    chunk   integer NOT NULL,
    reports bigint  NOT NULL,
    cells   bytea   NOT NULL,
    PRIMARY KEY (series, day, cohort, chunk)
);

-- What commits brought since the last compaction: appended, so that nodes never wait for one another's row.
CREATE TABLE deltas (
    delta   bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    series  integer NOT NULL REFERENCES series (series),
    day     date    NOT NULL,
    cohort  integer NOT NULL,
    chunk   integer NOT NULL,
    reports bigint  NOT NULL,
    cells   bytea   NOT NULL
);

-- Which other collectors' reports a series counts on a day: tallies are merged once.
CREATE TABLE merged (
    series integer NOT NULL REFERENCES series (series),
    day    date    NOT NULL,
    source bytea   NOT NULL,
    PRIMARY KEY (series, day, source)
);
