import { inTransaction, run, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  addMs,
  conflict,
  type Instant,
  invalid,
  type RequestContext,
} from '../../kernel/index.ts'
import { recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { parsePhone } from '../../platform/countries.ts'
import { insertAccount, type NewAccount } from '../accounts/store.ts'
import { spendAttempt } from '../attempts/store.ts'
import { insertPasswordToken } from '../passwords/store.ts'
import { mintToken, sessionNotFound } from '../tokens/rules.ts'
import {
  assertRegistrationOpen,
  findRegistration,
  type PendingRegistration,
  type RegistrationPorts,
} from './service.ts'

export interface Profile {
  accountName: string
  accountPhone?: string | undefined
  defaultLanguage?: string | undefined
  defaultTimezone?: string | undefined
  defaultCountry?: string | undefined
}

export interface RegisteredAccount {
  accountId: AccountId
  status: AccountStatus
  passwordInitToken: string
}

const fallbackCountry = 'US'

/**
 * A registration can be completed only once. Throws AUTH.SESSION_NOT_FOUND, or STATE.CONFLICT if the address is not
 * verified or has an account.
 */
export async function completeRegistration(
  ports: RegistrationPorts,
  { sessionId, ...profile }: Profile & { sessionId: string },
  context: RequestContext,
): Promise<RegisteredAccount> {
  const now = ports.clock.now()
  assertRegistrationOpen(ports, context.portal)
  const registration = await findRegistration(ports, sessionId, context, now)
  if (registration.emailVerifiedAt === null) throw conflict('the address is not verified')
  const { defaultCountry } = profile
  if (defaultCountry !== undefined && !ports.isCountry(defaultCountry)) throw invalid('defaultCountry')
  const account = toNewAccount(ports, registration, profile, context, now)
  const passwordInitToken = await inTransaction(ports.database, (tx) =>
    insertRegistered(ports, tx, registration, account, context, now),
  )
  return { accountId: account.id, status: account.status, passwordInitToken }
}

function toNewAccount(
  ports: RegistrationPorts,
  { email }: PendingRegistration,
  profile: Profile,
  context: RequestContext,
  now: Instant,
): NewAccount {
  const country = profile.defaultCountry ?? (ports.isCountry(context.country) ? context.country : fallbackCountry)
  const phone = parsePhone(profile.accountPhone ?? '', country)
  if (phone === undefined) throw invalid('accountPhone')
  return {
    id: ports.ids.next<'account'>(),
    portal: context.portal,
    institutionId: ports.ids.next<'institution'>(),
    status: assertRegistrationOpen(ports, context.portal) === 'open' ? 'ACTIVE' : 'PENDING_APPROVAL',
    email,
    emailVerifiedAt: now,
    name: profile.accountName,
    phone,
    passwordHash: null,
    language: profile.defaultLanguage ?? context.locale,
    timezone: profile.defaultTimezone ?? 'UTC',
    country,
    maxSessions: ports.settings.sessions.maxConcurrent,
    operatorPermissions: [],
  }
}

async function insertRegistered(
  { digest, openWorkspace, randomness, settings }: RegistrationPorts,
  tx: Tx,
  registration: PendingRegistration,
  account: NewAccount,
  context: RequestContext,
  now: Instant,
): Promise<string> {
  const { portal } = context
  if (!(await run(tx, spendAttempt(portal, registration.digest, now))))
    throw sessionNotFound('the registration is spent')
  if (!(await insertAccount(tx, account, now))) throw conflict('an account with this address was created concurrently')
  const opening = { ownerId: account.id, name: account.name, kind: 'LIVE', joinSource: 'REGISTRATION' } as const
  await openWorkspace(tx, { ...opening, at: now })
  const token = mintToken(randomness)
  const stored = { digest: digest('password-token', token), portal, accountId: account.id }
  const expiresAt = addMs(now, settings.passwords.initTtlMs)
  await insertPasswordToken(tx, { ...stored, purpose: 'INIT', expiresAt }, now)
  const target = { workspaceId: null, targetId: account.id, detail: { status: account.status } }
  await recordSuccess(tx, unauthenticatedAuditContext(account.id, context, now), target)
  return token
}
