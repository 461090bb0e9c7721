-- Every change, in the order of commits. `operation` is 1 for a creation, 2 for a replacement, 3 for a deletion;
-- `previous` is the revision that this one took the place of, 0 for none.
CREATE TABLE log (
    revision  INTEGER PRIMARY KEY,
    resource  TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    operation INTEGER NOT NULL,
    created   INTEGER NOT NULL,
    previous  INTEGER NOT NULL,
    value     BLOB NOT NULL,
    at        REAL NOT NULL
);

-- What the log adds up to. Values are in the log only.
CREATE TABLE state (
    resource  TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    revision  INTEGER NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;

-- Triggers keep the state, so that a batch is one statement: each further one costs the writing thread a wait for
-- the interpreter's lock, 5 ms on a busy server.
CREATE TRIGGER log_put AFTER INSERT ON log WHEN new.operation < 3 BEGIN
    INSERT INTO state VALUES (new.resource, new.namespace, new.name, new.revision)
    ON CONFLICT DO UPDATE SET revision = excluded.revision;
END;

CREATE TRIGGER log_delete AFTER INSERT ON log WHEN new.operation = 3 BEGIN
    DELETE FROM state WHERE resource = new.resource AND namespace = new.namespace AND name = new.name;
END;

-- `compacted`: history before it is forgotten. `swept`: how far the rows that this freed have been deleted.
-- The newest revision is the greater of `compacted` and the log's last.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

INSERT INTO meta VALUES ('compacted', 0), ('swept', 0);
