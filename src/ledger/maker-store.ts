import type { Database } from '../database/index.ts'
import type { AccountId, OrderId } from '../kernel/index.ts'

/**
 * Accounts with those of the same person. What is decided over was made at one portal and is decided over at another one, where
 * whoever made it has another account: they have the address in common, which was proved at both.
 */
const people = (database: Database) =>
  database
    .selectFrom('accounts as maker')
    .innerJoin('accounts as other', 'other.email_canonical', 'maker.email_canonical')
    .select('other.biz_id')

/** Whether two accounts are the same person's. */
export const isSamePerson = async (database: Database, maker: AccountId, other: AccountId): Promise<boolean> => {
  const found = people(database).where('maker.biz_id', '=', maker).where('other.biz_id', '=', other)
  return (await found.executeTakeFirst()) !== undefined
}

/** Whether an order was made by the person that an account is of. */
export const isMadeBy = async (database: Database, order: OrderId, other: AccountId): Promise<boolean> => {
  const found = people(database)
    .innerJoin('orders', 'orders.created_by', 'maker.biz_id')
    .where('orders.biz_id', '=', order)
    .where('other.biz_id', '=', other)
  return (await found.executeTakeFirst()) !== undefined
}
