-- The target table of the demo connector. Its constraints let an analyst compute with every column.
CREATE TABLE IF NOT EXISTS earthquakes (
    id         TEXT             NOT NULL PRIMARY KEY,
    mag        DOUBLE PRECISION NOT NULL CHECK (mag BETWEEN -2 AND 10),
    mag_type   TEXT             NOT NULL,
    place      TEXT             NOT NULL,
    time_ms    BIGINT           NOT NULL CHECK (time_ms > 0),
    status     TEXT             NOT NULL CHECK (status IN ('automatic', 'reviewed', 'deleted')),
    sig        INTEGER          NOT NULL CHECK (sig >= 0),
    gap        DOUBLE PRECISION NOT NULL CHECK (gap BETWEEN 0 AND 360),
    dmin       DOUBLE PRECISION NOT NULL CHECK (dmin >= 0),
    nst        INTEGER          NOT NULL CHECK (nst > 0),
    rms        DOUBLE PRECISION NOT NULL CHECK (rms >= 0)
);
