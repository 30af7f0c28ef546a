import { type RawBuilder, type SqlBool, sql } from 'kysely'
import {
  type Database,
  differsByAtLeast,
  type Param,
  query,
  type Statements,
  statement,
  type Tx,
  validAt,
} from '../../database/index.ts'
import { type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { CodePurpose } from './schema.ts'

/** A sign-in attempt, a registration, or a session during a step-up. */
export interface CodeOwner {
  portal: Portal
  owner: string
  purpose: CodePurpose
  /** Digest of the command that the code confirms. The code is wrong for any other command. */
  confirms?: string
}

type NewCode = CodeOwner & { codeDigest: Uint8Array; sentAt: Date; expiresAt: Date }

const upsertCode = statement((store, param: Param<NewCode>) => {
  const code = {
    codeDigest: param('codeDigest'),
    sentAt: param('sentAt'),
    expiresAt: param('expiresAt'),
    usedAt: null,
  }
  return store
    .insertInto('one_time_codes')
    .values({ portal: param('portal'), owner: param('owner'), purpose: param('purpose'), ...code })
    .onConflict((conflict) => conflict.columns(['owner', 'purpose']).doUpdateSet(code))
})

export async function replaceCode(
  tx: Tx,
  owner: CodeOwner,
  codeDigest: Uint8Array,
  sentAt: Instant,
  expiresAt: Instant,
): Promise<void> {
  await upsertCode.all(tx, { ...owner, codeDigest, sentAt: toDate(sentAt), expiresAt: toDate(expiresAt) })
}

/**
 * Stores a code. The previous code stays valid until its own end, so that up to two codes are valid. Returns false if the
 * previous code was sent less than `resendMs` ago.
 */
export function renewCode(
  { portal, owner, purpose }: CodeOwner,
  codeDigest: Uint8Array,
  sentAt: Instant,
  expiresAt: Instant,
  resendMs: number,
): Statements<boolean> {
  const code = { codeDigest: codeDigest, sentAt: toDate(sentAt), expiresAt: toDate(expiresAt), usedAt: null }
  const renewed = query((store) =>
    store
      .insertInto('one_time_codes')
      .values({ portal, owner, purpose, ...code })
      .onConflict((conflict) =>
        conflict
          .columns(['owner', 'purpose'])
          .doUpdateSet({
            ...code,
            earlierDigest: sql`CASE WHEN one_time_codes.used_at IS NULL THEN one_time_codes.code_digest END`,
            earlierSentAt: sql.ref('one_time_codes.sentAt'),
            earlierExpiresAt: sql.ref('one_time_codes.expiresAt'),
          })
          .where(differsByAtLeast('one_time_codes.sentAt', sentAt, resendMs)),
      )
      .returning('owner'),
  )
  return renewed.hasRow()
}

export async function readCodeSentAt(
  database: Database,
  { portal, owner, purpose }: CodeOwner,
): Promise<Instant | null> {
  const known = await database
    .selectFrom('one_time_codes')
    .select('sentAt')
    .where('portal', '=', portal)
    .where('owner', '=', owner)
    .where('purpose', '=', purpose)
    .executeTakeFirst()
  return known?.sentAt ?? null
}

type SpentCode = CodeOwner & { candidates: readonly Uint8Array[]; now: Date }

const spendMatching = statement((store, param: Param<SpentCode>) =>
  store
    .updateTable('one_time_codes')
    .set({ usedAt: param('now') })
    .where('portal', '=', param('portal'))
    .where('owner', '=', param('owner'))
    .where('purpose', '=', param('purpose'))
    .where('usedAt', 'is', null)
    .where(({ or }) =>
      or([
        isCode(param, 'codeDigest', 'sentAt', 'expiresAt'),
        isCode(param, 'earlierDigest', 'earlierSentAt', 'earlierExpiresAt'),
      ]),
    )
    .returning('owner'),
)

/** Returns false if the code is wrong, used or expired. Uses up the owner's other code, too. */
export function spendCode(owner: CodeOwner, candidates: readonly Uint8Array[], now: Instant): Statements<boolean> {
  return spendMatching.with({ ...owner, candidates, now: toDate(now) }).hasRow()
}

function isCode(param: Param<SpentCode>, digest: string, from: string, until: string): RawBuilder<SqlBool> {
  const matches = sql`${sql.ref(digest)} = any(${param('candidates')}::bytea[])`
  return sql<SqlBool>`(${matches} AND ${validAt(from, until, param('now'))})`
}
