import type { Tx } from '../../database/index.ts'
import type { AccountId, AccountStatus, Permission, Portal } from '../../kernel/index.ts'

import type { IdentityPorts } from '../ports.ts'
import { accountByEmail, insertAccount } from './store.ts'

/** An account that a deployment provides itself: the development seed's, or an operator's from the command line. */
export interface ProvidedAccount {
  portal: Portal
  email: string
  password: string
  name: string
  /** ACTIVE unless told. */
  status?: AccountStatus
  institutionId?: string
  phone?: string
  language?: string
  timezone?: string
  country?: string
  operatorPermissions?: Permission[]
}

export type ProvideAccount = (account: ProvidedAccount, tx?: Tx) => Promise<{ accountId: AccountId; created: boolean }>

/**
 * Makes the account with its e-mail verified, or answers the one that has the e-mail already, unchanged.
 * With `tx` it is part of the caller's transaction; hashing takes some 11 ms, so not in one that others wait for.
 */
export const accountProvider =
  (ports: Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'passwords'>, maxSessions: number): ProvideAccount =>
  async (account, tx) => {
    const store = tx ?? ports.database
    const known = await accountByEmail(store, account.portal, account.email)
    if (known) return { accountId: known.id, created: false }
    const now = ports.clock.now()
    const id = ports.ids.next<'account'>()
    const made = {
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
      maxSessions,
      operatorPermissions: account.operatorPermissions ?? [],
    }
    if (await insertAccount(store, made, now)) return { accountId: id, created: true }
    const existing = await accountByEmail(store, account.portal, account.email)
    if (!existing) throw new Error('an account with this e-mail came and went')
    return { accountId: existing.id, created: false }
  }
