import type { Database } from '../../database/index.ts'
import type { AccountId, OrderId } from '../../kernel/index.ts'
import type { OrderCommand, OrderMove } from './command.ts'
import { ownDecision } from './errors.ts'

/*
 * The four-eyes rule: nobody decides on a request that they created. A request is created on one portal and decided on another,
 * with another account. Both accounts of a person have the same email address, verified on both portals.
 */

const accountsOfSamePerson = (database: Database) =>
  database
    .selectFrom('accounts as creator')
    .innerJoin('accounts as other', 'other.email_canonical', 'creator.email_canonical')
    .select('other.biz_id')

const isCreatedBy = async (database: Database, order: OrderId, account: AccountId): Promise<boolean> => {
  const found = accountsOfSamePerson(database)
    .innerJoin('orders', 'orders.created_by', 'creator.biz_id')
    .where('orders.biz_id', '=', order)
    .where('other.biz_id', '=', account)
  return (await found.executeTakeFirst()) !== undefined
}

/** Throws ACCESS.PERMISSION_DENIED if both accounts belong to the same person. */
export const assertDifferentPerson = async (
  database: Database,
  creator: AccountId,
  decider: AccountId,
): Promise<void> => {
  const found = accountsOfSamePerson(database).where('creator.biz_id', '=', creator).where('other.biz_id', '=', decider)
  if (creator === decider || (await found.executeTakeFirst()) !== undefined) throw ownDecision()
}

/** Throws for an operator's decision on their own order. The creator never changes, so the check may run before the command. */
export const assertNotCreator = async (database: Database, command: OrderCommand): Promise<void> => {
  if (!('move' in command) || !command.move.notByCreator || command.actor === null) return
  if (await isCreatedBy(database, command.move.id, command.actor)) throw ownDecision()
}

/** The part of a move that all operator decisions share: orders of every workspace, except those of the same person. */
export const operatorDecision = <T extends OrderMove['type']>(type: T, id: OrderId) =>
  ({ type, id, workspace: null, notByCreator: true }) as const
