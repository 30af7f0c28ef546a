import { type Database, type Tx, validAt } from '../../database/index.ts'
import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'

/** A pair has one rate for both directions. */
export interface Pair {
  source: string
  target: string
}

/** The rate is a decimal string, in units of target per unit of source. */
export interface PairRate extends Pair {
  rate: string
}

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

const keyOf = ({ source, target }: Pair): string => [source, target].sort().join('/')

const toRow = ({ source, target, rate }: PairRate) => ({ source_currency: source, target_currency: target, rate })

export const saveRate = async (tx: Tx, set: SetRate): Promise<void> => {
  const row = {
    ...toRow(set),
    updated_by: set.updatedBy,
    confirmed_by: set.confirmedBy,
    updated_at: toDate(set.updatedAt),
    expires_at: toDate(set.expiresAt),
  }
  await tx
    .insertInto('exchange_rates')
    .values({ pair: keyOf(set), ...row })
    .onConflict((conflict) => conflict.column('pair').doUpdateSet(row))
    .execute()
}

export const saveProposal = async (tx: Tx, proposed: ProposedRate): Promise<void> => {
  const row = {
    ...toRow(proposed),
    proposed_by: proposed.proposedBy,
    proposed_at: toDate(proposed.proposedAt),
    expires_at: toDate(proposed.expiresAt),
  }
  await tx
    .insertInto('exchange_rate_proposals')
    .values({ pair: keyOf(proposed), ...row })
    .onConflict((conflict) => conflict.column('pair').doUpdateSet(row))
    .execute()
}

/** Deletes a proposal and returns the operator who made it. Returns undefined unless the rate is proposed at `at`. */
export const takeProposal = async (
  tx: Tx,
  { source, target, rate }: PairRate,
  at: Instant,
): Promise<AccountId | undefined> => {
  const taken = await tx
    .deleteFrom('exchange_rate_proposals')
    .where('source_currency', '=', source)
    .where('target_currency', '=', target)
    .where('rate', '=', rate)
    .where(validAt('proposed_at', 'expires_at', at))
    .returning('proposed_by')
    .executeTakeFirst()
  return taken?.proposed_by
}

export const deleteProposal = async (tx: Tx, pair: Pair): Promise<boolean> => {
  const { numDeletedRows } = await tx
    .deleteFrom('exchange_rate_proposals')
    .where('pair', '=', keyOf(pair))
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export const deleteRate = async (tx: Tx, pair: Pair): Promise<boolean> => {
  const { numDeletedRows } = await tx.deleteFrom('exchange_rates').where('pair', '=', keyOf(pair)).executeTakeFirst()
  return numDeletedRows > 0n
}

const selectRates = (database: Database, at: Instant) =>
  database
    .selectFrom('exchange_rates')
    .where(validAt('updated_at', 'expires_at', at))
    .select(['source_currency as source', 'target_currency as target', 'rate'])
    .select(['updated_by as updatedBy', 'confirmed_by as confirmedBy'])
    .select(['updated_at as updatedAt', 'expires_at as expiresAt'])

/** Finds the rate in either direction. */
export const readSetRate = (database: Database, pair: Pair, at: Instant): Promise<SetRate | undefined> =>
  selectRates(database, at).where('pair', '=', keyOf(pair)).executeTakeFirst()

export const listSetRates = (database: Database, at: Instant): Promise<SetRate[]> =>
  selectRates(database, at).orderBy('pair').execute()

export const listProposals = (database: Database, at: Instant): Promise<ProposedRate[]> =>
  database
    .selectFrom('exchange_rate_proposals')
    .where(validAt('proposed_at', 'expires_at', at))
    .select(['source_currency as source', 'target_currency as target', 'rate'])
    .select(['proposed_by as proposedBy', 'proposed_at as proposedAt', 'expires_at as expiresAt'])
    .orderBy('pair')
    .execute()
