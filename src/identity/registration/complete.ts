import { inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  addMs,
  type Instant,
  invalid,
  Refusal,
  type RequestContext,
} from '../../kernel/index.ts'

import { actBy, recordAct } from '../../platform/audit/index.ts'
import type { NewAccount } from '../accounts/account.ts'
import { insertAccount } from '../accounts/store.ts'
import { spendLoginSession } from '../login/login-session-store.ts'
import { insertPasswordToken } from '../passwords/token-store.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { IdentitySettings } from '../settings.ts'
import { mintToken } from '../tokens/opaque-token.ts'
import { findRegistration, type LiveRegistration, openRegistration } from './live-registration.ts'

export interface Person {
  accountName: string
  accountPhone?: string | undefined
  defaultLanguage?: string | undefined
  defaultTimezone?: string | undefined
  defaultCountry?: string | undefined
}

export interface NewcomerAccount {
  accountId: AccountId
  status: AccountStatus
  passwordInitToken: string
}

const fallbackCountry = 'US'

/** Makes the account, its workspace and the token that sets its password, all or nothing, once per registration. */
export const registrationCompleter = (ports: IdentityPorts, settings: IdentitySettings) => {
  const { database, clock, digest, ids, isCountry, openWorkspace, randomness } = ports

  const accountOf = (facts: RequestContext, { email }: LiveRegistration, person: Person, now: Instant): NewAccount => ({
    id: ids.next<'account'>(),
    portal: facts.portal,
    institutionId: ids.next<'institution'>(),
    status: openRegistration(settings.portals, facts.portal) === 'open' ? 'ACTIVE' : 'PENDING_APPROVAL',
    email,
    emailVerifiedAt: now,
    name: person.accountName,
    phone: person.accountPhone ?? '',
    passwordHash: null,
    language: person.defaultLanguage ?? facts.locale,
    timezone: person.defaultTimezone ?? 'UTC',
    country: person.defaultCountry ?? (isCountry(facts.country) ? facts.country : fallbackCountry),
    maxSessions: settings.sessions.maxConcurrent,
    operatorPermissions: [],
  })

  const make = async (
    tx: Tx,
    facts: RequestContext,
    registration: LiveRegistration,
    account: NewAccount,
    now: Instant,
  ) => {
    if (!(await spendLoginSession(tx, facts.portal, registration.digest, now)))
      throw sessionNotFound('the registration is spent')
    if (!(await insertAccount(tx, account, now)))
      throw new Refusal('STATE.CONFLICT', { internal: 'the address got an account meanwhile' })
    const opening = { ownerId: account.id, name: account.name, kind: 'LIVE', joinSource: 'REGISTRATION' } as const
    await openWorkspace(tx, { ...opening, at: now })
    const token = mintToken(randomness)
    const kept = { digest: digest('password-token', token), portal: facts.portal, accountId: account.id }
    const expiresAt = addMs(now, settings.passwords.initTtlMs)
    await insertPasswordToken(tx, { ...kept, purpose: 'INIT', expiresAt }, now)
    const told = { workspaceId: null, targetId: account.id, detail: { status: account.status } }
    await recordAct(tx, actBy(account.id, facts, now), told)
    return token
  }

  return async (facts: RequestContext, sessionId: string, person: Person): Promise<NewcomerAccount> => {
    const now = clock.now()
    openRegistration(settings.portals, facts.portal)
    const registration = await findRegistration(ports, facts, sessionId, now)
    if (registration.emailVerifiedAt === null)
      throw new Refusal('STATE.CONFLICT', { internal: 'the address is not verified' })
    if (person.defaultCountry !== undefined && !isCountry(person.defaultCountry)) throw invalid('defaultCountry')
    const account = accountOf(facts, registration, person, now)
    const passwordInitToken = await inTransaction(database, (tx) => make(tx, facts, registration, account, now))
    return { accountId: account.id, status: account.status, passwordInitToken }
  }
}
