-- Every change, in the order of commits. `operation` is 1 for a creation, 2 for a replacement, 3 for a deletion;
-- `previous` is the revision that this one took the place of, 0 for none. What no row took the place of is current.
CREATE TABLE log (
    revision  bigint PRIMARY KEY,
    resource  text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    operation smallint NOT NULL,
    created   bigint NOT NULL,
    previous  bigint NOT NULL,
    value     bytea NOT NULL,
    at        timestamptz NOT NULL
);

-- The newest revision, in one row. Its lock is the commit section: who changes it gives out revisions, one replica
-- at a time, until its transaction ends. Nearly empty pages let each update stay on its page.
CREATE TABLE head (
    id       smallint PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
) WITH (fillfactor = 20);

INSERT INTO head VALUES (1, 0);

-- The newest batch of each replica, written with it, so that one who lost its connection in a commit can look.
CREATE TABLE writer (
    id    uuid PRIMARY KEY,
    batch bigint NOT NULL,
    at    timestamptz NOT NULL
) WITH (fillfactor = 20);

-- `compacted`: history before it is forgotten. `swept`: how far the rows that this freed have been deleted. Whoever
-- sweeps holds the row's lock. `tidied`: when a replica last took its turn at it.
CREATE TABLE compaction (
    id        smallint PRIMARY KEY CHECK (id = 1),
    compacted bigint NOT NULL,
    swept     bigint NOT NULL,
    tidied    timestamptz NOT NULL
);

INSERT INTO compaction VALUES (1, 0, 0, '-infinity');

CREATE TABLE meta (
    name  text PRIMARY KEY,
    value text NOT NULL
);
