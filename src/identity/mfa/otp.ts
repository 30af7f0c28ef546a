import { inTransaction, type Tx } from '../../database/index.ts'
import { areWithin, type Caller, Refusal, type RequestContext } from '../../kernel/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/account.ts'
import { lockOwnAccount, ownAccount } from '../accounts/own-account.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { ownSession } from '../sessions/own-session.ts'
import { lastStepUp } from '../sessions/step-up-store.ts'
import type { IdentitySettings } from '../settings.ts'
import type { TryCode } from './attempts.ts'
import { openSecret, sealSecret } from './otp-secret.ts'
import { activatePendingSecret, putPendingSecret, readOtp, removeOtp } from './otp-store.ts'
import type { FactorProver } from './prove.ts'
import { otpauthUri, secretBytes, secretText, stepOf } from './totp.ts'

type Request = RequestContext & { caller: Caller }

interface Parts {
  ports: IdentityPorts
  prove: FactorProver
  tryCode: TryCode
  notices: Notices
  settings: IdentitySettings['mfa']
}

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

/** The authenticator of an account: set up, verified, removed. */
export const otpChanges = ({ ports, prove, tryCode, notices, settings }: Parts) => {
  const { database, clock, randomness, secretBox } = ports

  /** A secret that waits to be verified; one that is in force stays so until then. */
  const setup = async (request: Request) => {
    const secret = randomness.bytes(secretBytes)
    const account = await inTransaction(database, async (tx) => {
      const own = await lockOwnAccount(tx, request.caller)
      const sealed = sealSecret(secretBox, own.portal, own.id, secret)
      await putPendingSecret(tx, own.portal, own.id, sealed, clock.now())
      await recordAct(tx, actOf(request), { workspaceId: null, targetId: own.id })
      return own
    })
    const { issuer } = settings
    const qrCodeUri = otpauthUri(issuer, account.email, secret)
    return { secret: secretText(secret), qrCodeUri, issuer, accountName: account.email }
  }

  const activate = async (tx: Tx, request: Request, account: Account, code: string): Promise<true | undefined> => {
    const { portal, id } = account
    const now = clock.now()
    const { pendingSecret: pending, pendingAt } = (await readOtp(tx, portal, id)) ?? {}
    if (!pending || !pendingAt) throw conflict('no authenticator was set up')
    const step = stepOf(openSecret(secretBox, portal, id, pending), code, now)
    if (step === undefined) return undefined
    if (Math.abs(now - pendingAt) >= settings.setupTtlMs) throw conflict('set up too long ago')
    if (!(await activatePendingSecret(tx, portal, id, pending, step, now))) throw conflict('set up anew meanwhile')
    await recordAct(tx, actOf(request), { workspaceId: null, targetId: id })
    await notices.credentialChanged(tx, account, 'OTP_ENABLED', request, now)
    return true
  }

  const verify = async (request: Request, code: string): Promise<void> => {
    const { portal, id } = await ownAccount(database, request.caller)
    if (!(await readOtp(database, portal, id))?.pendingSecret) throw conflict('no authenticator was set up')
    await tryCode(request, ownSession(request.caller), async (tx) =>
      activate(tx, request, await lockOwnAccount(tx, request.caller), code),
    )
  }

  const remove = async (tx: Tx, request: Request, account: Account): Promise<true> => {
    if (!(await removeOtp(tx, account.portal, account.id))) throw conflict('no authenticator is in force')
    await recordAct(tx, actOf(request), { workspaceId: null, targetId: account.id })
    await notices.credentialChanged(tx, account, 'OTP_REMOVED', request, clock.now())
    return true
  }

  /** By its own code or a backup code. */
  const removeByCode = async (tx: Tx, request: Request, code: string): Promise<true | undefined> => {
    const account = await lockOwnAccount(tx, request.caller)
    const { portal, accountId, sessionId } = ownSession(request.caller)
    const owner = { portal, accountId, code: { portal, owner: sessionId, purpose: 'STEP_UP' } } as const
    const now = clock.now()
    const proved =
      (await prove(tx, owner, { method: 'OTP', code }, request, now)) ||
      (await prove(tx, owner, { method: 'BACKUP_CODE', code }, request, now))
    return proved ? remove(tx, request, account) : undefined
  }

  const removeByStepUp = async (request: Request): Promise<void> => {
    const at = await lastStepUp(database, ownSession(request.caller))
    if (at === null || !areWithin(settings.stepUpMs, at, clock.now())) throw new Refusal('ACCESS.STEP_UP_REQUIRED')
    await inTransaction(database, async (tx) => remove(tx, request, await lockOwnAccount(tx, request.caller)))
  }

  const revoke = async (request: Request, code: string | undefined): Promise<void> => {
    const { portal, id } = await ownAccount(database, request.caller)
    if (!(await readOtp(database, portal, id))?.secret) throw conflict('no authenticator is in force')
    if (code === undefined) await removeByStepUp(request)
    else await tryCode(request, ownSession(request.caller), (tx) => removeByCode(tx, request, code))
  }

  return { setup, verify, revoke }
}
