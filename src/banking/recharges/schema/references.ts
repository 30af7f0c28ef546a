import { sql } from 'kysely'
import type { Migration, Tx } from '../../../database/index.ts'
import { canonicalReference } from '../../../platform/identifiers/index.ts'

/** A replica of the previous release sends no key. Its letters depend on the locale of the database. */
const keyOfText = `coalesce(nullif(regexp_replace(upper(normalize(NEW.data->>'externalReference', NFKC)),
    '[^[:alnum:]]', '', 'g'), ''), upper(NEW.data->>'externalReference'))`

const use = `CREATE OR REPLACE FUNCTION recharge_references_use() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO recharge_references (scope, channel_code, reference, workspace_biz_id, order_biz_id)
      SELECT CASE workspace_kind WHEN 'SANDBOX' THEN biz_id::text ELSE 'LIVE' END, NEW.data->>'channelCode',
             coalesce(NEW.data->>'referenceKey', ${keyOfText}), biz_id, NEW.biz_id
        FROM workspaces WHERE biz_id = NEW.workspace_biz_id
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the reference of order % is already used', NEW.biz_id USING ERRCODE = 'PR002';
    END IF;
    RETURN NULL;
  END $$`

const pageSize = 1_000

/**
 * Compares references by letters and digits. Two earlier references can become equal: both remain as uses of one
 * reference, which no third recharge gets.
 */
const canonicalReferences: Migration = {
  name: '002-canonical-references',
  up: async (tx) => {
    const run = (statement: string) => sql.raw(statement).execute(tx)
    await run(`ALTER TABLE recharge_references DROP CONSTRAINT recharge_references_pkey,
      ADD COLUMN use_number integer NOT NULL DEFAULT 0`)
    await convert(tx)
    await run(`UPDATE recharge_references r SET use_number = n.number
      FROM (SELECT ctid, row_number() OVER (PARTITION BY scope, channel_code, reference ORDER BY order_biz_id) AS number
              FROM recharge_references) n WHERE r.ctid = n.ctid`)
    await run(`ALTER TABLE recharge_references ALTER COLUMN use_number SET DEFAULT 1,
      ADD PRIMARY KEY (scope, channel_code, reference, use_number)`)
    await run(use)
  },
}

/** Gives converted rows a negative number. A reference without letters and digits keeps its text. */
async function convert(tx: Tx): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ reference: string }>`
      SELECT DISTINCT reference FROM recharge_references WHERE use_number = 0 LIMIT ${pageSize}`.execute(tx)
    const texts = rows.map(({ reference }) => reference)
    if (texts.length === 0) return
    await sql`
      UPDATE recharge_references r SET reference = c.canonical, use_number = -1
        FROM unnest(${texts}::text[], ${texts.map((text) => canonicalReference(text) || text)}::text[])
          AS c(earlier, canonical)
       WHERE r.reference = c.earlier AND r.use_number = 0`.execute(tx)
  }
}

export const referenceMigrations = [canonicalReferences]
