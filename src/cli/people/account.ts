import { accountById } from '../../banking/operators/index.ts'
import { type Configuration, portalNames } from '../../config/index.ts'
import type { Database } from '../../database/index.ts'
import { accountByEmail } from '../../identity/index.ts'
import { type AccountId, bizId, isBizId, type Portal } from '../../kernel/index.ts'
import { UsageError } from '../command.ts'

type Portals = Pick<Configuration, 'portals'>

export const portalHelp =
  '  --portal name            portal of the e-mail address: CONSUMER (default), SYSTEM, or one of `portals`'

/** The option `--portal`. Throws a UsageError unless the configuration has the portal. */
export function parsePortal({ portals }: Portals, text: string): Portal {
  const names = portalNames(portals)
  const found = names.find((name) => name === text)
  if (found === undefined) throw new UsageError(`--portal must be one of ${names.join(', ')}`)
  return found
}

export interface FoundAccount {
  id: AccountId
  portal: Portal
  email: string
}

/** Throws a UsageError without a text, and an Error if no account has the address or id. */
export async function readAccount(
  database: Database,
  settings: Portals,
  { account: text, portal: option }: { account: unknown; portal: string | undefined },
): Promise<FoundAccount> {
  if (typeof text !== 'string') throw new UsageError('the account is required: its e-mail address or id')
  const portal = option === undefined ? undefined : parsePortal(settings, option)
  const found = isBizId(text)
    ? await accountById(database, bizId<'account'>(text))
    : await accountByEmail(database, portal ?? 'CONSUMER', text)
  if (found && found.portal === (portal ?? found.portal)) return found
  if (isBizId(text) && portal === undefined) throw new Error(`no account has the id ${text}`)
  const missing = `${text} has no account on the ${portal ?? 'CONSUMER'} portal`
  const other = portal === undefined ? await findPortal(database, settings, text) : undefined
  throw new Error(other === undefined ? missing : `${missing}, but on ${other}: add --portal ${other}`)
}

async function findPortal(database: Database, { portals }: Portals, email: string): Promise<Portal | undefined> {
  for (const portal of portalNames(portals)) if (await accountByEmail(database, portal, email)) return portal
  return undefined
}
