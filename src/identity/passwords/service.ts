import { inTransaction, run, type Tx } from '../../database/index.ts'
import {
  addMs,
  type Instant,
  invalid,
  Refusal,
  type RequestContext,
  summarizeSuspended,
  wholeMinutes,
} from '../../kernel/index.ts'
import {
  auditContextOf,
  recordRefusal,
  recordSuccess,
  unauthenticatedAuditContext,
} from '../../platform/audit/index.ts'
import { assertEmailAccepted, ownAccount } from '../accounts/service.ts'
import { type Account, accountByEmail, lockAccount } from '../accounts/store.ts'
import { cancelLoginAttempts } from '../attempts/store.ts'
import { addressSubject, countMail } from '../codes/service.ts'
import { deleteDevices } from '../devices/store.ts'
import type { Lockout } from '../lockout/service.ts'
import { queueNotice } from '../notices/service.ts'
import type { CallerContext, IdentityPorts } from '../ports.ts'
import { rotateCookie } from '../sessions/cookie.ts'
import { assertSession } from '../sessions/rules.ts'
import type { SessionPorts } from '../sessions/service.ts'
import { endOldestSessions } from '../sessions/store.ts'
import { type IdentitySettings, rulesOf } from '../settings.ts'
import { mintToken } from '../tokens/rules.ts'
import { assertPasswordAllowed } from './policy.ts'
import { cancelPasswordTokens, insertPasswordToken, replaceHash, setPassword } from './store.ts'

export interface PasswordPorts extends SessionPorts {
  settings: IdentitySettings
  lockout: Lockout
}

/**
 * Account-dependent work runs in the background, so that the response does not reveal accounts. Throws
 * ACCESS.RATE_LIMITED, or VALIDATION.INVALID_PARAMETER for `turnstileToken`.
 */
export async function requestPasswordReset(
  ports: PasswordPorts,
  { email, turnstileToken }: { email: string; turnstileToken: string },
  context: RequestContext,
): Promise<void> {
  const { background, cache, digest, captcha, settings } = ports
  const { portal, clientIp } = context
  assertEmailAccepted(settings, email)
  if (!(await captcha.passes(turnstileToken, clientIp))) throw invalid('turnstileToken')
  const limit = rulesOf(settings, portal).forgot
  await countMail(cache, { portal, subject: addressSubject(digest, email), kind: 'forgot', limit })
  background.run('password-forgot', () => sendResetLink(ports, email, context))
}

export interface PasswordChange {
  currentPassword: string
  newPassword: string
  suspendCredentials: boolean
}

export interface ChangedPassword {
  ended: number
  suspended: Record<string, number> | undefined
  changedAt: Instant
  /** The new cookie of a browser session. */
  cookie: string | undefined
}

/**
 * Ends the other sessions. Throws AUTH.INVALID_CREDENTIALS for a wrong current password, and
 * VALIDATION.INVALID_PARAMETER if the policy rejects `newPassword`.
 */
export async function changePassword(
  ports: PasswordPorts,
  { currentPassword, newPassword, suspendCredentials: suspends }: PasswordChange,
  context: CallerContext,
): Promise<ChangedPassword> {
  const { clock, database, passwords, sessionCache } = ports
  const account = await ownAccount(database, context.caller)
  if (!(await passwords.verify(account.passwordHash, currentPassword))) {
    const detail = { reason: 'INVALID_CREDENTIALS' }
    await inTransaction(database, async (tx) => {
      await recordRefusal(tx, auditContextOf(context), { workspaceId: null, targetId: account.id, detail })
      await queueNotice(tx, ports.ids, account, 'CONFIRMATION_FAILED', context, clock.now())
    })
    throw wrongPassword('the current password is wrong')
  }
  if (currentPassword.normalize('NFKC') === newPassword.normalize('NFKC'))
    throw invalid('newPassword', 'the new password is the current one')
  await assertPasswordAllowed(ports, newPassword, account)
  const hash = await passwords.hash(newPassword)
  const changedAt = clock.now()
  const { ended, suspended, cookie } = await inTransaction(database, (tx) =>
    replacePassword(ports, tx, account, { hash, suspends }, context, changedAt),
  )
  for (const id of ended) sessionCache.invalidate(id)
  if (cookie !== undefined && context.caller.sessionId) sessionCache.invalidate(context.caller.sessionId)
  return { ended: ended.length, suspended, changedAt, cookie }
}

export function rehashPassword(
  { background, database, passwords }: Pick<IdentityPorts, 'background' | 'database' | 'passwords'>,
  { portal, id, passwordHash }: Account,
  password: string,
): void {
  if (passwordHash === null || !passwords.isOutdated(passwordHash)) return
  background.run('password-upgrade', async () => {
    await replaceHash(database, portal, id, passwordHash, await passwords.hash(password))
  })
}

async function sendResetLink(ports: PasswordPorts, email: string, context: RequestContext): Promise<void> {
  const { clock, database, digest, mailer, randomness, settings } = ports
  const { portal, locale } = context
  const account = await accountByEmail(database, portal, email)
  if (!canReset(account)) return
  const token = mintToken(randomness)
  const now = clock.now()
  const { resetTtlMs } = settings.passwords
  const stored = { digest: digest('password-token', token), portal, accountId: account.id, purpose: 'RESET' } as const
  await inTransaction(database, async (tx) => {
    await insertPasswordToken(tx, { ...stored, expiresAt: addMs(now, resetTtlMs) }, now)
    // The account is the target of an anonymous request, not the actor.
    await recordSuccess(tx, unauthenticatedAuditContext(null, context, now), {
      workspaceId: null,
      targetId: account.id,
    })
  })
  // Browsers send a URL fragment neither to servers nor in a Referer header.
  const url = `${rulesOf(settings, portal).links.passwordReset}#token=${token}`
  const minutes = String(wholeMinutes(resetTtlMs))
  await mailer.send({ to: account.email, template: 'password-reset', locale, values: { url, minutes } })
}

function canReset(account: Account | undefined): account is Account {
  return account?.status === 'ACTIVE' || account?.status === 'PENDING_APPROVAL'
}

function wrongPassword(internal: string): Refusal {
  return new Refusal('AUTH.INVALID_CREDENTIALS', { internal })
}

async function replacePassword(
  ports: PasswordPorts,
  tx: Tx,
  account: Account,
  { hash, suspends }: { hash: string; suspends: boolean },
  context: CallerContext,
  at: Instant,
) {
  const { digest, ids, suspendCredentials } = ports
  const { portal, accountId, sessionId } = assertSession(context.caller)
  await lockAccount(tx, portal, accountId)
  // A concurrent change was faster.
  if (!(await setPassword(tx, account, hash, at))) throw wrongPassword('the password was changed concurrently')
  await cancelPasswordTokens(tx, portal, accountId, at)
  await cancelLoginAttempts(tx, portal, accountId, at)
  const ending = { portal, accountId, maxRemaining: 0, except: sessionId, reason: 'PASSWORD_CHANGED' } as const
  const ended = await run(tx, endOldestSessions(ending, at))
  if (suspends) await deleteDevices(tx, accountId, digest.candidates('client-hash', context.clientHash))
  const suspended = suspends ? summarizeSuspended(await suspendCredentials(tx, { accountId, at })) : undefined
  const detail = { sessions: ended.length, ...suspended?.detail }
  await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: accountId, detail })
  await queueNotice(tx, ids, account, 'PASSWORD_CHANGED', context, at)
  const cookie = await rotateCookie(ports, tx, context.caller, at)
  return { ended, suspended: suspended?.counts, cookie }
}
