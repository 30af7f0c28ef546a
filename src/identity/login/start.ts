import { commitWith, type LastStatements, type Statements, type Tx } from '../../database/index.ts'
import type { AccountId, Instant, RequestContext, SessionId } from '../../kernel/index.ts'
import { type Account, recordLastLogin } from '../accounts/store.ts'
import { deleteOldestDevices } from '../devices/store.ts'
import { noticeQueued } from '../notices/service.ts'
import { recordLogin } from '../sessions/history-store.ts'
import type { TokenPair } from '../sessions/refresh.ts'
import { type NewSession, type StartedSession, startSession } from '../sessions/service.ts'
import type { LoginPorts } from './service.ts'

/* The end of every sign-in. */

export type SessionClient = Omit<NewSession, 'signedInBy' | 'enrolledPasskey' | 'provider'>

export interface StartedLogin extends StartedSession {
  accountId: AccountId
  isNewDevice: boolean
  /** Sessions that the session limit ended. Invalidate them after the commit. */
  displaced: SessionId[]
}

/**
 * Returns the last statements of the transaction in which a person proved to be the owner of the account: they start the
 * session and record the sign-in. The caller must have locked the account's row, checked its status, and recorded the
 * device. `also` are further statements.
 */
export function startLogin(
  ports: LoginPorts,
  tx: Tx,
  account: Account,
  { isNewDevice, passkeyId, ...session }: NewSession & { isNewDevice: boolean; passkeyId?: string | undefined },
  also: readonly Statements<unknown>[],
  context: RequestContext,
  now: Instant,
): LastStatements<StartedLogin> {
  const { id } = account
  const { started, statements } = startSession(ports, account, context, now, session)
  const ofNewDevice = [deleteOldestDevices(id), noticeQueued(tx, ports.ids, account, 'NEW_DEVICE', context, now)]
  const last = [
    statements,
    recordLastLogin(account, context.clientIp, now),
    ...also,
    recordLogin(ports, { accountId: id, method: session.signedInBy, passkeyId }, context, now),
    ...(isNewDevice ? ofNewDevice : []),
  ] as const
  return commitWith(last, ([[displaced]]): StartedLogin => ({ ...started, accountId: id, isNewDevice, displaced }))
}

export interface CompletedLogin extends TokenPair {
  tokenType: 'Bearer' | 'DPoP'
  /** Seconds, regardless of activity. */
  refreshExpiresIn: number
  sessionId: string
  isNewDevice: boolean
}

/** The reply to a client that keeps tokens. Call it after the commit. */
export async function issueTokens(
  ports: LoginPorts,
  { accountId, sessionId, secret, expiresAt, isNewDevice, keyThumbprint }: StartedLogin,
  { portal, clientHash }: RequestContext,
): Promise<CompletedLogin> {
  const bound = { clientHash, keyThumbprint }
  const access = await ports.tokens.issue({ portal, accountId, sessionId, ...bound, sessionExpiresAt: expiresAt })
  const refreshExpiresIn = Math.floor((expiresAt - ports.clock.now()) / 1_000)
  const tokenType = keyThumbprint === null ? 'Bearer' : 'DPoP'
  return { ...access, refreshToken: secret, tokenType, refreshExpiresIn, sessionId, isNewDevice }
}
