-- What the collector's operator decides and watches, beside the tallies. A database of version 0.1 may have these
-- tables already, made outside of the steps. No table holds an address, a pseudonym, a payload or a secret: of a
-- key there is a SHA-256.

-- One row: the registry in force, which is the one declared last.
CREATE TABLE IF NOT EXISTS control_registry (
    one     BIGINT PRIMARY KEY CHECK (one = 1),
    sha256  TEXT   NOT NULL,
    adopted BIGINT NOT NULL
);

-- Keys. A limit of 0 is no limit. `revoked` and `last_used` are days, 0 where there is none.
CREATE TABLE IF NOT EXISTS control_keys (
    id              TEXT   PRIMARY KEY,
    name            TEXT   NOT NULL UNIQUE,
    scope           TEXT   NOT NULL,
    sha256          TEXT   NOT NULL,
    created         BIGINT NOT NULL,
    expires         BIGINT NOT NULL,
    revoked         BIGINT NOT NULL,
    last_used       BIGINT NOT NULL,
    minute_requests BIGINT NOT NULL,
    day_reports     BIGINT NOT NULL
);

-- What processes took of a key's limit in one minute or on one day (kind "requests" or "reports").
CREATE TABLE IF NOT EXISTS control_leases (
    id            TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    minute_or_day BIGINT NOT NULL,
    taken         BIGINT NOT NULL,
    PRIMARY KEY (id, kind, minute_or_day)
);

-- How many of a day's reports were looked at, and how many were too light or heavy for their law.
CREATE TABLE IF NOT EXISTS control_shapes (
    metric   TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    day      BIGINT NOT NULL,
    reports  BIGINT NOT NULL,
    light    BIGINT NOT NULL,
    heavy    BIGINT NOT NULL,
    PRIMARY KEY (metric, revision, day)
);

-- What analysts are shown of a day that is still open, and what they are shown next: whole tallies, each of many
-- reports more than the one before. A row dies with its open day.
CREATE TABLE control_open_days (
    metric   TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    day      BIGINT NOT NULL,
    step     BIGINT NOT NULL,
    stepped  BIGINT NOT NULL,
    shown    BYTEA  NOT NULL,
    waiting  BYTEA  NOT NULL,
    PRIMARY KEY (metric, revision, day)
);

DROP TABLE IF EXISTS control_schema;

-- Nodes of version 0.1 that still run write this column and read it; those of today leave it out. It must not be 0,
-- since to those a row with 0 reports is a row that isn't there.
ALTER TABLE spend ALTER COLUMN reports SET DEFAULT 1;
