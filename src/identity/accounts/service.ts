import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type Caller,
  invalid,
  isAcceptedMailbox,
  type Permission,
  type Portal,
  Refusal,
} from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type Account, accountByEmail, accountById, insertAccount, lockAccount } from './store.ts'

/** Throws ACCESS.TOKEN_INVALID if the account does not exist. */
export async function ownAccount(store: Database | Tx, { portal, accountId }: Caller): Promise<Account> {
  return assertExists(await accountById(store, portal, accountId))
}

export async function lockOwnAccount(tx: Tx, { portal, accountId }: Caller): Promise<Account> {
  return assertExists(await lockAccount(tx, portal, accountId))
}

/** Throws VALIDATION.INVALID_PARAMETER for an irregular address, unless a configured carrier assigned it. */
export function assertEmailAccepted({ carrierDomains }: Pick<IdentitySettings, 'carrierDomains'>, email: string): void {
  if (!isAcceptedMailbox(email, carrierDomains)) throw invalid('email', 'an irregular address of no configured carrier')
}

export interface ProvidedAccount {
  portal: Portal
  email: string
  password: string
  name: string
  /** ACTIVE by default. */
  status?: AccountStatus
  institutionId?: string
  phone?: string
  language?: string
  timezone?: string
  country?: string
  operatorPermissions?: Permission[]
}

export interface ProvideAccountPorts extends Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'passwords'> {
  maxSessions: number
}

/**
 * Creates an account with a verified address, or returns an existing account unchanged. Runs in the caller's
 * transaction if `tx` is set.
 */
export async function provideAccount(
  ports: ProvideAccountPorts,
  account: ProvidedAccount,
  tx?: Tx,
): Promise<{ accountId: AccountId; created: boolean }> {
  const store = tx ?? ports.database
  const known = await accountByEmail(store, account.portal, account.email)
  if (known) return { accountId: known.id, created: false }
  const now = ports.clock.now()
  const id = ports.ids.next<'account'>()
  const created = {
    id,
    portal: account.portal,
    institutionId: account.institutionId ?? ports.ids.next<'institution'>(),
    status: account.status ?? 'ACTIVE',
    email: account.email,
    emailVerifiedAt: now,
    name: account.name,
    phone: account.phone ?? '',
    passwordHash: await ports.passwords.hash(account.password),
    language: account.language ?? 'en',
    timezone: account.timezone ?? 'UTC',
    country: account.country ?? 'US',
    maxSessions: ports.maxSessions,
    operatorPermissions: account.operatorPermissions ?? [],
  }
  if (await insertAccount(store, created, now)) return { accountId: id, created: true }
  const existing = await accountByEmail(store, account.portal, account.email)
  if (!existing) throw new Error('an account with this e-mail was created and deleted concurrently')
  return { accountId: existing.id, created: false }
}

function assertExists(account: Account | undefined): Account {
  if (!account) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account does not exist' })
  return account
}
