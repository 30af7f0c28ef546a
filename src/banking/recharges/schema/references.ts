import { sql } from 'kysely'
import { type Migration, sqlMigration, type Tx } from '../../../database/index.ts'
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

/**
 * An operator can allow one recharge a further use of a reference, such as `Rent`. The confirmation by another person
 * spends the allowance; by the same person, it fails with SQLSTATE PR003. Recharges of one workspace, day and amount can
 * be one payment, so they never share a reference.
 */
const allowances = [
  `CREATE TABLE recharge_reference_allowances (
    workspace_biz_id uuid NOT NULL REFERENCES workspaces,
    order_biz_id uuid NOT NULL,
    reference text NOT NULL,
    external_reference text NOT NULL,
    reason text NOT NULL,
    allowed_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (workspace_biz_id, order_biz_id, reference)
  )`,
  `CREATE FUNCTION recharge_references_scope(workspace uuid) RETURNS text LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (SELECT CASE workspace_kind WHEN 'SANDBOX' THEN biz_id::text ELSE 'LIVE' END
      FROM workspaces WHERE biz_id = workspace);
  END $$`,
  `CREATE FUNCTION is_recharge_paid(recharge orders, key text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN EXISTS (
      SELECT FROM recharge_references r
        JOIN orders earlier ON earlier.workspace_biz_id = r.workspace_biz_id AND earlier.biz_id = r.order_biz_id
       WHERE r.scope = recharge_references_scope(recharge.workspace_biz_id)
         AND r.channel_code = recharge.data->>'channelCode' AND r.reference = key
         AND earlier.workspace_biz_id = recharge.workspace_biz_id
         AND (earlier.created_at AT TIME ZONE 'UTC')::date = (recharge.created_at AT TIME ZONE 'UTC')::date
         AND coalesce(earlier.data->>'receivedAmount', earlier.data->>'amount')
           = coalesce(recharge.data->>'receivedAmount', recharge.data->>'amount'));
  END $$`,
  `CREATE OR REPLACE FUNCTION recharge_references_use() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    v_scope text := recharge_references_scope(NEW.workspace_biz_id);
    v_channel text := NEW.data->>'channelCode';
    v_key text := coalesce(NEW.data->>'referenceKey', ${keyOfText});
    v_actor uuid := (NEW.history->-1->>'actorBizId')::uuid;
    v_allowed_by uuid;
  BEGIN
    INSERT INTO recharge_references (scope, channel_code, reference, workspace_biz_id, order_biz_id)
      VALUES (v_scope, v_channel, v_key, NEW.workspace_biz_id, NEW.biz_id) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN NULL;
    END IF;
    UPDATE recharge_reference_allowances SET used_at = NEW.updated_at
     WHERE workspace_biz_id = NEW.workspace_biz_id AND order_biz_id = NEW.biz_id AND reference = v_key
       AND used_at IS NULL
    RETURNING allowed_by INTO v_allowed_by;
    IF v_allowed_by IS NULL OR is_recharge_paid(NEW, v_key) THEN
      RAISE EXCEPTION 'the reference of order % is already used', NEW.biz_id USING ERRCODE = 'PR002';
    END IF;
    IF v_actor IS NULL OR is_same_person(v_actor, ARRAY[v_allowed_by]) THEN
      RAISE EXCEPTION 'the same person allowed the reference of order %', NEW.biz_id USING ERRCODE = 'PR003';
    END IF;
    -- A concurrent use gets the same number, so that one of the two is refused.
    INSERT INTO recharge_references (scope, channel_code, reference, use_number, workspace_biz_id, order_biz_id)
      SELECT v_scope, v_channel, v_key, max(use_number) + 1, NEW.workspace_biz_id, NEW.biz_id
        FROM recharge_references WHERE scope = v_scope AND channel_code = v_channel AND reference = v_key
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the reference of order % is already used', NEW.biz_id USING ERRCODE = 'PR002';
    END IF;
    RETURN NULL;
  END $$`,
]

export const referenceMigrations = [canonicalReferences, sqlMigration('003-reference-allowances', allowances)]
