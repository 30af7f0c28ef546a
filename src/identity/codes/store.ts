import { sql } from 'kysely'
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

/** Stores a code. Returns false if the owner's previous code was sent less than `resendMs` ago. */
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
          .doUpdateSet(code)
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

const spendMatching = statement((store, param: Param<CodeOwner & { candidates: readonly Uint8Array[]; now: Date }>) =>
  store
    .updateTable('one_time_codes')
    .set({ usedAt: param('now') })
    .where('portal', '=', param('portal'))
    .where('owner', '=', param('owner'))
    .where('purpose', '=', param('purpose'))
    .where('codeDigest', '=', sql<Uint8Array>`any(${param('candidates')}::bytea[])`)
    .where('usedAt', 'is', null)
    .where(validAt('sentAt', 'expiresAt', param('now')))
    .returning('owner'),
)

/** Returns false if the code is wrong, used or expired. */
export function spendCode(owner: CodeOwner, candidates: readonly Uint8Array[], now: Instant): Statements<boolean> {
  return spendMatching.with({ ...owner, candidates, now: toDate(now) }).hasRow()
}
