import { inTransaction, type Tx } from '../../database/index.ts'
import { addMs, assertSteppedUp, conflict, Refusal } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { lockOwnAccount, ownAccount } from '../accounts/service.ts'
import type { Account } from '../accounts/store.ts'
import { queueNotice } from '../notices/service.ts'
import type { CallerContext } from '../ports.ts'
import { assertSession, type OwnSession } from '../sessions/rules.ts'
import { lockAccountOfSession } from '../sessions/service.ts'
import { readPasskeys } from '../webauthn/store.ts'
import { keepFormerAuthenticator } from './recovery/young.ts'
import { allowsMailCodes, usablePasskeys } from './rules.ts'
import type { MfaPorts } from './service.ts'
import { keepShown, readShown, repeatMs } from './shown.ts'
import { activatePendingSecret, lockOtp, putPendingSecret, readOtp, removeOtp } from './store.ts'
import { openSecret, otpauthUri, sealSecret, secretBytes, secretText, timeStepOf } from './totp.ts'
import { verifyCode, verifyStrongFactor } from './verify.ts'

/**
 * The active secret stays valid until the first code of the new one is verified. A repeated request gets the pending
 * secret again.
 */
export async function setupAuthenticator(ports: MfaPorts, context: CallerContext) {
  const { account, secret } = await inTransaction(ports.database, async (tx) => {
    const own = await lockOwnAccount(tx, context.caller)
    const pending = await pendingSecretFor(ports, tx, assertSession(context.caller))
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: own.id })
    return { account: own, secret: pending }
  })
  const { issuer } = ports.settings.mfa
  const qrCodeUri = otpauthUri(issuer, account.email, secret)
  return { secret: secretText(secret), qrCodeUri, issuer, accountName: account.email }
}

/** Throws AUTH.CODE_INVALID, or STATE.CONFLICT if no authenticator is pending. */
export async function verifyAuthenticator(ports: MfaPorts, code: string, context: CallerContext): Promise<void> {
  const { portal, id } = await ownAccount(ports.database, context.caller)
  if (!(await readOtp(ports.database, portal, id))?.pendingSecret) throw conflict('no authenticator is pending')
  await verifyCode(ports, assertSession(context.caller), context, (tx) => activate(ports, tx, code, context))
}

/**
 * Requires a valid code or a recent step-up. Throws AUTH.CODE_INVALID, ACCESS.STEP_UP_REQUIRED,
 * AUTH.AUTHENTICATOR_REQUIRED if the account cannot use mailed codes, or STATE.CONFLICT if no authenticator is active.
 */
export async function revokeAuthenticator(
  ports: MfaPorts,
  code: string | undefined,
  context: CallerContext,
): Promise<void> {
  const { portal, id } = await ownAccount(ports.database, context.caller)
  if (!(await readOtp(ports.database, portal, id))?.secret) throw conflict('no authenticator is active')
  if (code === undefined) return removeByStepUp(ports, context)
  await verifyCode(ports, assertSession(context.caller), context, (tx) => removeByCode(ports, tx, code, context))
}

async function pendingSecretFor(ports: MfaPorts, tx: Tx, session: OwnSession): Promise<Uint8Array> {
  const { portal, accountId: id } = session
  const now = ports.clock.now()
  const factorAt = (await readOtp(tx, portal, id))?.pendingAt ?? null
  const shown = await readShown(ports, tx, session, 'OTP', { factorAt, now })
  if (shown) return shown
  const secret = ports.randomness.bytes(secretBytes)
  await putPendingSecret(tx, portal, id, sealSecret(ports.secretBox, portal, id, secret), now)
  const until = addMs(now, Math.min(repeatMs, ports.settings.mfa.setupTtlMs))
  await keepShown(ports, tx, session, 'OTP', secret, { from: now, until })
  return secret
}

async function activate(
  { clock, ids, secretBox, settings }: MfaPorts,
  tx: Tx,
  code: string,
  context: CallerContext,
): Promise<true | undefined> {
  const account = await lockAccountOfSession(tx, context.caller)
  const { portal, id } = account
  const now = clock.now()
  const { pendingSecret: pending, pendingAt } = (await lockOtp(tx, portal, id)) ?? {}
  if (!pending || !pendingAt) throw conflict('no authenticator is pending')
  const step = timeStepOf(openSecret(secretBox, portal, id, pending), code, now)
  if (step === undefined) return undefined
  if (Math.abs(now - pendingAt) >= settings.mfa.setupTtlMs) throw conflict('the setup has expired')
  await keepFormerAuthenticator({ settings }, tx, account, now)
  if (!(await activatePendingSecret(tx, portal, id, pending, step, now))) throw conflict('concurrent setup')
  await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: id })
  await queueNotice(tx, ids, account, 'OTP_ENABLED', context, now)
  return true
}

async function removeByStepUp(ports: MfaPorts, context: CallerContext): Promise<void> {
  const { database, clock, settings } = ports
  assertSteppedUp(context.caller, clock.now(), settings.mfa.stepUpMs)
  await inTransaction(database, async (tx) => remove(ports, tx, await lockOwnAccount(tx, context.caller), context))
}

async function remove(
  { clock, ids, settings }: MfaPorts,
  tx: Tx,
  account: Account,
  context: CallerContext,
): Promise<true> {
  // Otherwise, the account could not sign in again.
  const passkeys = await readPasskeys(tx, account)
  const isOnlyFactor = usablePasskeys(settings, account.portal, passkeys).length === 0
  if (isOnlyFactor && !allowsMailCodes(settings, account, { otp: undefined, passkeys }))
    throw new Refusal('AUTH.AUTHENTICATOR_REQUIRED')
  const now = clock.now()
  await keepFormerAuthenticator({ settings }, tx, account, now)
  if (!(await removeOtp(tx, account.portal, account.id))) throw conflict('no authenticator is active')
  await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: account.id })
  await queueNotice(tx, ids, account, 'OTP_REMOVED', context, now)
  return true
}

/** Accepts backup codes, too. */
async function removeByCode(ports: MfaPorts, tx: Tx, code: string, context: CallerContext): Promise<true | undefined> {
  const account = await lockOwnAccount(tx, context.caller)
  const now = ports.clock.now()
  const verified =
    (await verifyStrongFactor(ports, tx, account, { method: 'OTP', code }, context, now)) ||
    (await verifyStrongFactor(ports, tx, account, { method: 'BACKUP_CODE', code }, context, now))
  return verified ? remove(ports, tx, account, context) : undefined
}
