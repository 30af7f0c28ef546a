import { inTransaction, type Tx } from '../../database/index.ts'
import { type Caller, type Instant, invalid, Refusal, type RequestContext } from '../../kernel/index.ts'
import { actOf, recordAct, recordRefusedAct } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/account.ts'
import { ownAccount } from '../accounts/own-account.ts'
import { lockAccount } from '../accounts/store.ts'
import { voidLogins } from '../login/login-session-store.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { endOldestSessions } from '../sessions/bound-store.ts'
import type { Liveness } from '../sessions/liveness.ts'
import { ownSession } from '../sessions/own-session.ts'
import { setPassword } from './password-store.ts'
import type { PasswordRule } from './rule.ts'
import { voidPasswordTokens } from './token-store.ts'

type Request = RequestContext & { caller: Caller }

interface Parts {
  ports: IdentityPorts
  rule: PasswordRule
  liveness: Liveness
  notices: Notices
}

const wrong = (internal: string): Refusal => new Refusal('AUTH.INVALID_CREDENTIALS', { internal })

/** Changes the password of whoever knows the present one, and ends the account's other sessions. */
export const passwordChanger = ({ ports, rule, liveness, notices }: Parts) => {
  const { database, clock, passwords } = ports

  const change = async (tx: Tx, request: Request, before: Account, hash: string, at: Instant) => {
    const { portal, accountId, sessionId } = ownSession(request.caller)
    await lockAccount(tx, portal, accountId)
    // Of two changes at once the second one's present password is not the present one any more.
    if (!(await setPassword(tx, before, hash, at))) throw wrong('the password was changed meanwhile')
    await voidPasswordTokens(tx, portal, accountId, at)
    await voidLogins(tx, portal, accountId, at)
    const ending = { portal, accountId, keep: 0, except: sessionId, reason: 'PASSWORD_CHANGED' } as const
    const ended = await endOldestSessions(tx, ending, at)
    const detail = { sessions: ended.length }
    await recordAct(tx, actOf(request), { workspaceId: null, targetId: accountId, detail })
    await notices.credentialChanged(tx, before, 'PASSWORD_CHANGED', request, at)
    return ended
  }

  return async (request: Request, current: string, next: string): Promise<{ ended: number; changedAt: Instant }> => {
    const account = await ownAccount(database, request.caller)
    if (!(await passwords.verify(account.passwordHash, current))) {
      const detail = { reason: 'INVALID_CREDENTIALS' }
      await recordRefusedAct(database, actOf(request), { workspaceId: null, targetId: account.id, detail })
      throw wrong('the present password is another one')
    }
    if (current.normalize('NFKC') === next.normalize('NFKC')) throw invalid('newPassword', 'it is the present one')
    await rule(next, account)
    const hash = await passwords.hash(next)
    const changedAt = clock.now()
    const ended = await inTransaction(database, (tx) => change(tx, request, account, hash, changedAt))
    for (const id of ended) liveness.forget(id)
    return { ended: ended.length, changedAt }
  }
}
