/** The result of the last integrity check, one row: one replica checks, and all replicas read the result. */
export const ledgerCheck = [
  `CREATE TABLE ledger_check (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    checked_at timestamptz NOT NULL,
    rule text,
    subject text,
    violations bigint NOT NULL,
    CHECK ((rule IS NULL) = (violations = 0)),
    CHECK ((rule IS NULL) = (subject IS NULL))
  )`,
]
