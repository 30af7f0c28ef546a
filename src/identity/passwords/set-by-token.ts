import { inTransaction, type Tx } from '../../database/index.ts'
import type { Instant, RequestContext } from '../../kernel/index.ts'
import { actBy, recordAct } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/account.ts'
import { accountById, lockAccount } from '../accounts/store.ts'
import { voidLogins } from '../login/login-session-store.ts'
import type { Throttle } from '../login/throttle.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import { endSessions } from '../sessions/bound-store.ts'
import type { Liveness } from '../sessions/liveness.ts'
import { isOpaqueToken } from '../tokens/opaque-token.ts'
import { setPassword } from './password-store.ts'
import type { PasswordRule } from './rule.ts'
import type { PasswordTokenPurpose } from './schema.ts'

import { accountOfToken, type NamedToken, spendPasswordToken, voidPasswordTokens } from './token-store.ts'

interface Parts {
  ports: IdentityPorts
  rule: PasswordRule
  throttle: Throttle
  liveness: Liveness
  notices: Notices
}

/**
 * Sets a password by a token that is good once: a mailed link, or the end of a registration. A password that breaks the
 * rule does not use the token up. Sessions end; second factors stay in force. Answers how many sessions that ended.
 */
export const passwordSetter = ({ ports, rule, throttle, liveness, notices }: Parts) => {
  const { database, clock, digest, passwords } = ports

  const accountFor = async (named: NamedToken): Promise<Account> => {
    const id = await accountOfToken(database, named, clock.now())
    const account = id && (await accountById(database, named.portal, id))
    if (!account) throw sessionNotFound('no such password token')
    return account
  }

  /** The account is held before its token is spent: whatever else changes a password takes them in this order. */
  const set = async (
    tx: Tx,
    facts: RequestContext,
    named: NamedToken,
    { portal, id }: Account,
    hash: string,
    now: Instant,
  ) => {
    const account = await lockAccount(tx, portal, id)
    if (account?.status !== 'ACTIVE' && account?.status !== 'PENDING_APPROVAL')
      throw sessionNotFound('the account is not to be used')
    if (!(await spendPasswordToken(tx, named, now))) throw sessionNotFound('the token is spent')
    if (!(await setPassword(tx, account, hash, now))) throw sessionNotFound('the password was set by another way')
    await voidPasswordTokens(tx, portal, id, now)
    await voidLogins(tx, portal, id, now)
    // Whoever reads the account's mail may try anew at once.
    await throttle.clear(tx, throttle.subject(portal, account.email))
    const ended = await endSessions(tx, account, 'PASSWORD_CHANGED', now)
    const told = { workspaceId: null, targetId: id, detail: { sessions: ended.length } }
    await recordAct(tx, actBy(id, facts, now), told)
    await notices.credentialChanged(
      tx,
      account,
      named.purpose === 'INIT' ? 'PASSWORD_SET' : 'PASSWORD_RESET',
      facts,
      now,
    )
    return ended
  }

  return async (
    facts: RequestContext,
    purpose: PasswordTokenPurpose,
    token: string,
    password: string,
  ): Promise<number> => {
    if (!isOpaqueToken(token)) throw sessionNotFound('no token of ours')
    const named = { portal: facts.portal, purpose, digest: digest('password-token', token) }
    const account = await accountFor(named)
    await rule(password, account)
    const hash = await passwords.hash(password)
    const ended = await inTransaction(database, (tx) => set(tx, facts, named, account, hash, clock.now()))
    for (const id of ended) liveness.forget(id)
    return ended.length
  }
}
