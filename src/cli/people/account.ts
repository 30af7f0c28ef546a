import { z } from 'zod'
import { accountById } from '../../banking/operators/index.ts'
import type { Database } from '../../database/index.ts'
import { accountByEmail } from '../../identity/index.ts'
import { type AccountId, bizId, isBizId, type Portal, portals } from '../../kernel/index.ts'
import { UsageError } from '../command.ts'

export const portalText = z.enum(portals, `--portal must be one of ${portals.join(', ')}`).optional()

export interface FoundAccount {
  id: AccountId
  portal: Portal
  email: string
}

/** Throws a UsageError without a text, and an Error if no account has the address or id. */
export async function readAccount(
  database: Database,
  text: unknown,
  portal: Portal | undefined,
): Promise<FoundAccount> {
  if (typeof text !== 'string') throw new UsageError('the account is required: its e-mail address or id')
  const found = isBizId(text)
    ? await accountById(database, bizId<'account'>(text))
    : await accountByEmail(database, portal ?? 'CONSUMER', text)
  if (found && found.portal === (portal ?? found.portal)) return found
  if (isBizId(text) && portal === undefined) throw new Error(`no account has the id ${text}`)
  const missing = `${text} has no account on the ${portal ?? 'CONSUMER'} portal`
  const isOperator = portal === undefined && (await accountByEmail(database, 'SYSTEM', text)) !== undefined
  throw new Error(isOperator ? `${missing}, but on SYSTEM: add --portal SYSTEM` : missing)
}
