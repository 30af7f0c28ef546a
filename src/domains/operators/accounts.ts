import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  notFound,
  type Portal,
  parseLocale,
  Refusal,
  type SessionId,
  type Words,
} from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { enqueueJob } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { type AccountRow, accountById, lockAccounts, setAccountStatus } from './accounts-store.ts'
import { accountChanges, demandAnother, demandStatus, type Told } from './rules.ts'

export interface AccountPorts {
  database: Database
  ids: Ids
  mailer: Mailer
  words: Words
  /** Where people of a portal sign in. */
  signInUrl(portal: Portal): string
  /** Ends every session of an account, whose row is held; answers those that were live. */
  endSessions(
    tx: Tx,
    account: { portal: Portal; id: AccountId },
    reason: 'TERMINATED' | 'ACCOUNT_CLOSED',
    at: Instant,
  ): Promise<SessionId[]>
  /** Closes the workspace that an account's registration opened. */
  freezeOwnWorkspace(tx: Tx, id: AccountId, at: Instant): Promise<void>
  /** Told of sessions that have just been ended, once that is committed: this replica forgets them at once. */
  onSessionsEnded(ids: readonly SessionId[]): void
}

export const decisionMailJob = 'operators.tellDecision'

/**
 * The account that is decided over, held together with the one of who decides: of two operators who suspend each other at
 * once one remains, and who has just been suspended decides nothing more.
 */
const held = async (tx: Tx, actorId: AccountId, id: AccountId): Promise<{ actor: AccountRow; account: AccountRow }> => {
  const accounts = await lockAccounts(tx, [actorId, id])
  const actor = accounts.find((one) => one.id === actorId)
  if (actor?.status !== 'ACTIVE')
    throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the operator has just been suspended' })
  const account = accounts.find((one) => one.id === id)
  if (!account) throw notFound('no such account')
  return { actor, account }
}

export const read = async ({ database }: AccountPorts, id: AccountId): Promise<AccountRow> => {
  const account = await accountById(database, id)
  if (!account) throw notFound('no such account')
  return account
}

/**
 * Moves an account on, with a line in the audit log. The person is told by a job that is written in the same
 * transaction, so exactly of decisions that were taken; a suspension ends every session, and a
 * rejection closes the workspace that the registration opened.
 */
export const change = async (
  ports: AccountPorts,
  act: Act,
  id: AccountId,
  step: keyof typeof accountChanges,
  reason: string | null,
): Promise<AccountRow> => {
  const { changed, ended } = await inTransaction(ports.database, async (tx) => {
    const { actor, account } = await held(tx, act.accountId, id)
    demandAnother(actor, account)
    demandStatus(account.status, accountChanges[step])
    const changed = await setAccountStatus(tx, id, accountChanges[step].to, act.at)
    const ended = step === 'suspend' ? await ports.endSessions(tx, account, 'ACCOUNT_CLOSED', act.at) : []
    if (step === 'reject') await ports.freezeOwnWorkspace(tx, id, act.at)
    const payload = { accountId: id, decision: accountChanges[step].told, reason: reason ?? '' }
    await enqueueJob(tx, ports.ids, { kind: decisionMailJob, payload, at: act.at })
    const detail = reason === null ? {} : { reason }
    await recordAct(tx, act, { workspaceId: null, targetId: id, detail })
    return { changed, ended }
  })
  ports.onSessionsEnded(ended)
  return changed
}

/** Ends every session of an account; answers how many were alive. */
export const terminateSessions = async (ports: AccountPorts, act: Act, id: AccountId): Promise<number> => {
  const ended = await inTransaction(ports.database, async (tx) => {
    const { account } = await held(tx, act.accountId, id)
    const sessions = await ports.endSessions(tx, account, 'TERMINATED', act.at)
    await recordAct(tx, act, { workspaceId: null, targetId: id, detail: { terminatedSessions: sessions.length } })
    return sessions
  })
  ports.onSessionsEnded(ended)
  return ended.length
}

/** What a person is told of. */
export interface Decision {
  accountId: AccountId
  decision: Told
  reason: string
}

/** Tells a person, in the account's own language, what has been decided. */
export const tellDecision = async (ports: AccountPorts, { accountId, decision, reason }: Decision): Promise<void> => {
  const account = await accountById(ports.database, accountId)
  if (!account) return
  const locale = parseLocale(account.language)
  const values = {
    decision: ports.words.text(`notice.decision.${decision}`, locale),
    reason,
    url: ports.signInUrl(account.portal),
  }
  await ports.mailer.send({ to: account.email, template: 'account-decision', locale, values })
}
