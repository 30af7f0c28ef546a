import { sql } from 'kysely'
import { type Database, type Tx, validAt } from '../../database/index.ts'
import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'
import type { Pair, PairRate } from '../../platform/exchange-rates.ts'
import { pairKey } from './table.ts'

export interface SetRate extends PairRate {
  updatedBy: AccountId
  /** Null if the rate needed no confirmation. */
  confirmedBy: AccountId | null
  updatedAt: Instant
  expiresAt: Instant
}

/** Applies once a second operator confirms it. */
export interface ProposedRate extends PairRate {
  proposedBy: AccountId
  proposedAt: Instant
  expiresAt: Instant
}

/** Changes of rates wait for each other, because each is judged with the whole table. Reads do not wait. */
export async function lockRates(tx: Tx): Promise<void> {
  await sql`LOCK TABLE exchange_rates IN SHARE ROW EXCLUSIVE MODE`.execute(tx)
}

export async function saveRate(tx: Tx, set: SetRate): Promise<void> {
  const row = {
    ...toRow(set),
    updatedBy: set.updatedBy,
    confirmedBy: set.confirmedBy,
    updatedAt: toDate(set.updatedAt),
    expiresAt: toDate(set.expiresAt),
  }
  await tx
    .insertInto('exchange_rates')
    .values({ pair: pairKey(set), ...row })
    .onConflict((conflict) => conflict.column('pair').doUpdateSet(row))
    .execute()
}

export async function saveProposal(tx: Tx, proposed: ProposedRate): Promise<void> {
  const row = {
    ...toRow(proposed),
    proposedBy: proposed.proposedBy,
    proposedAt: toDate(proposed.proposedAt),
    expiresAt: toDate(proposed.expiresAt),
  }
  await tx
    .insertInto('exchange_rate_proposals')
    .values({ pair: pairKey(proposed), ...row })
    .onConflict((conflict) => conflict.column('pair').doUpdateSet(row))
    .execute()
}

/** Deletes a proposal and returns the operator who made it. Returns undefined unless the rate is proposed at `at`. */
export async function takeProposal(
  tx: Tx,
  { source, target, rate }: PairRate,
  at: Instant,
): Promise<AccountId | undefined> {
  const taken = await tx
    .deleteFrom('exchange_rate_proposals')
    .where('sourceCurrency', '=', source)
    .where('targetCurrency', '=', target)
    .where('rate', '=', rate)
    .where(validAt('proposedAt', 'expiresAt', at))
    .returning('proposedBy')
    .executeTakeFirst()
  return taken?.proposedBy
}

export async function deleteProposal(tx: Tx, pair: Pair): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('exchange_rate_proposals')
    .where('pair', '=', pairKey(pair))
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends a rate. The row stays, because its time counts for the next change. */
export async function endRate(tx: Tx, pair: Pair, { by, at }: { by: AccountId; at: Instant }): Promise<void> {
  await tx
    .updateTable('exchange_rates')
    .set({ updatedBy: by, confirmedBy: null, updatedAt: toDate(at), expiresAt: toDate(at) })
    .where('pair', '=', pairKey(pair))
    .execute()
}

/** Returns when an operator last set, confirmed or unset the rate of a pair, also if it has expired since. */
export async function readLastMove(tx: Tx, pair: Pair): Promise<Instant | undefined> {
  const row = tx.selectFrom('exchange_rates').where('pair', '=', pairKey(pair)).select('updatedAt as movedAt')
  return (await row.executeTakeFirst())?.movedAt
}

/** Finds the rate in either direction. */
export function readSetRate(database: Database, pair: Pair, at: Instant): Promise<SetRate | undefined> {
  return selectRates(database, at).where('pair', '=', pairKey(pair)).executeTakeFirst()
}

export function listSetRates(database: Database, at: Instant): Promise<SetRate[]> {
  return selectRates(database, at).orderBy('pair').execute()
}

export function listProposals(database: Database, at: Instant): Promise<ProposedRate[]> {
  return database
    .selectFrom('exchange_rate_proposals')
    .where(validAt('proposedAt', 'expiresAt', at))
    .select(['sourceCurrency as source', 'targetCurrency as target', 'rate'])
    .select(['proposedBy', 'proposedAt', 'expiresAt'])
    .orderBy('pair')
    .execute()
}

function toRow({ source, target, rate }: PairRate) {
  return { sourceCurrency: source, targetCurrency: target, rate }
}

function selectRates(database: Database, at: Instant) {
  return database
    .selectFrom('exchange_rates')
    .where(validAt('updatedAt', 'expiresAt', at))
    .select(['sourceCurrency as source', 'targetCurrency as target', 'rate'])
    .select(['updatedBy', 'confirmedBy'])
    .select(['updatedAt', 'expiresAt'])
}
