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
    value     bytea NOT NULL
);

-- Where the server has it: with values of some kilobytes, commits take half as long as with the older way.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE log ALTER COLUMN value SET COMPRESSION lz4';
EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN
    NULL;
END
$$;

-- Every commit: which revisions it gave, which replica made it, and that replica's number for it, by which one that
-- lost its connection finds out. Two batches that begin at one revision exclude each other. The last row says which
-- revision is the newest. A row that is updated by each commit would do as well, until somebody's old snapshot keeps
-- all its versions alive.
CREATE TABLE batch (
    first  bigint PRIMARY KEY,
    last   bigint NOT NULL,
    writer uuid NOT NULL,
    number bigint NOT NULL,
    at     timestamptz NOT NULL
);

-- History before `compacted` is forgotten.
CREATE TABLE mark (
    id        smallint PRIMARY KEY CHECK (id = 1),
    compacted bigint NOT NULL
);

INSERT INTO mark VALUES (1, 0);

-- `swept`: how far the rows that compaction freed have been deleted; whoever does that holds the row's lock.
-- `tidied`: when a replica last took its turn at it.
CREATE TABLE sweep (
    id     smallint PRIMARY KEY CHECK (id = 1),
    swept  bigint NOT NULL,
    tidied timestamptz NOT NULL
);

INSERT INTO sweep VALUES (1, 0, '-infinity');

CREATE TABLE meta (
    name  text PRIMARY KEY,
    value text NOT NULL
);
