import type { Database } from '../../database/index.ts'
import { type AccountId, type OrderId, Refusal } from '../../kernel/index.ts'

/*
 * The four-eyes rule: a person cannot decide on a request that the same person created. Members and operators use
 * different accounts on different portals. Two accounts belong to the same person if they have the same verified email
 * address.
 */

const accountsOfSamePerson = (database: Database) =>
  database
    .selectFrom('accounts as creator')
    .innerJoin('accounts as other', 'other.email_canonical', 'creator.email_canonical')
    .select('other.biz_id')

/** Returns the refusal of a decision by the person who created the request. */
export const ownDecision = (): Refusal =>
  new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'four-eyes rule: same person' })

/** Throws ACCESS.PERMISSION_DENIED if both accounts belong to the same person. */
export const assertDifferentPerson = async (
  database: Database,
  creator: AccountId,
  decider: AccountId,
): Promise<void> => {
  const found = accountsOfSamePerson(database).where('creator.biz_id', '=', creator).where('other.biz_id', '=', decider)
  if (creator === decider || (await found.executeTakeFirst()) !== undefined) throw ownDecision()
}

/**
 * Throws ACCESS.PERMISSION_DENIED if the account belongs to the person who created the order. Needs no lock, because
 * the creator of an order never changes.
 */
export const assertNotCreator = async (database: Database, order: OrderId, account: AccountId): Promise<void> => {
  const found = accountsOfSamePerson(database)
    .innerJoin('orders', 'orders.created_by', 'creator.biz_id')
    .where('orders.biz_id', '=', order)
    .where('other.biz_id', '=', account)
  if ((await found.executeTakeFirst()) !== undefined) throw ownDecision()
}
