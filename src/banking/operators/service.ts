import type { DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  type Ids,
  type Instant,
  notFound,
  type Page,
  type Portal,
  parseLocale,
  type RecoveredAccount,
  Refusal,
  type SessionId,
  type SuspendedCredentials,
  summarizeSuspended,
  type Words,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { enqueueJob } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import {
  type AccountCommand,
  assertAnotherPerson,
  assertManagerRemains,
  assertStatus,
  type Decision,
  statusChanges,
} from './rules.ts'
import {
  type AccountQuery,
  type AccountRow,
  accountById,
  activeManagers,
  listAccounts as listAccountRows,
  lockAccounts,
  setAccountStatus,
} from './store.ts'

export interface AccountPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  mailer: Mailer
  words: Words
  signInUrl(portal: Portal): string
  /** Of the deployment. */
  portals: readonly Portal[]
  /** The account's row must be locked. Returns the sessions that were active. */
  endSessions(
    tx: Tx,
    account: { portal: Portal; id: AccountId },
    reason: 'TERMINATED' | 'ACCOUNT_CLOSED',
    at: Instant,
  ): Promise<SessionId[]>
  freezeOwnWorkspace(tx: Tx, id: AccountId, at: Instant): Promise<void>
  /** The account's row must be locked. Returns the numbers by domain. */
  suspendCredentials(tx: Tx, account: RecoveredAccount): Promise<SuspendedCredentials>
  /** Called after the commit, so that this replica removes the sessions from its cache. */
  onSessionsEnded(ids: readonly SessionId[]): void
}

/** The ports of commands on accounts. The command line calls them without an operator. */
export interface AccountCommandPorts
  extends Pick<
    AccountPorts,
    'transaction' | 'ids' | 'endSessions' | 'freezeOwnWorkspace' | 'suspendCredentials' | 'onSessionsEnded'
  > {
  /** Whether a gateway sends the mails, because the domain is on. */
  sendsMail: boolean
}

export const decisionMailJob = 'operators.mailDecision'

export function listAccounts(
  { database }: Pick<AccountPorts, 'database'>,
  query: AccountQuery,
): Promise<Page<AccountRow>> {
  return listAccountRows(database, query)
}

export async function readAccount({ database }: AccountPorts, id: AccountId): Promise<AccountRow> {
  const account = assertFound(await accountById(database, id), 'no such account')
  return account
}

export interface ChangeAccountInput {
  id: AccountId
  command: AccountCommand
  reason: string | null
  /** Lets the command line suspend the last active operator who can manage operators. */
  allowsLastManager?: boolean
}

/** Suspending ends the account's sessions. Rejecting freezes the workspace that its registration opened. */
export async function changeAccountStatus(
  ports: AccountCommandPorts,
  { id, command, reason, allowsLastManager = false }: ChangeAccountInput,
  auditContext: AuditContext<AccountId | null>,
): Promise<AccountRow> {
  const { changed, ended } = await ports.transaction(async (tx) => {
    const { actor, account, managers } = await lockSubject(tx, auditContext.accountId, id)
    if (actor) assertAnotherPerson(actor, account)
    assertStatus(account.status, statusChanges[command])
    if (!actor && command === 'suspend' && !allowsLastManager) assertManagerRemains(account, managers)
    const changed = await setAccountStatus(tx, id, statusChanges[command].to, auditContext.at)
    const ended = command === 'suspend' ? await ports.endSessions(tx, account, 'ACCOUNT_CLOSED', auditContext.at) : []
    if (command === 'reject') await ports.freezeOwnWorkspace(tx, id, auditContext.at)
    const payload = { accountId: id, decision: statusChanges[command].decision, reason: reason ?? '' }
    if (ports.sendsMail) await enqueueJob(tx, ports.ids, { kind: decisionMailJob, payload, at: auditContext.at })
    const detail = reason === null ? {} : { reason }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: id, detail })
    return { changed, ended }
  })
  ports.onSessionsEnded(ended)
  return changed
}

export async function terminateSessions(
  ports: AccountCommandPorts,
  { id, reason }: Pick<ChangeAccountInput, 'id' | 'reason'>,
  auditContext: AuditContext<AccountId | null>,
): Promise<{ ended: number; suspended: Record<string, number> }> {
  const { ended, suspended } = await ports.transaction(async (tx) => {
    const { account } = await lockSubject(tx, auditContext.accountId, id)
    const sessions = await ports.endSessions(tx, account, 'TERMINATED', auditContext.at)
    const { counts, detail } = summarizeSuspended(
      await ports.suspendCredentials(tx, { accountId: id, at: auditContext.at }),
    )
    await recordSuccess(tx, auditContext, {
      workspaceId: null,
      targetId: id,
      detail: { terminatedSessions: sessions.length, ...detail, ...(reason !== null && { reason }) },
    })
    return { ended: sessions, suspended: counts }
  })
  ports.onSessionsEnded(ended)
  return { ended: ended.length, suspended }
}

export interface DecisionMail {
  accountId: AccountId
  decision: Decision
  reason: string
}

export async function mailDecision(
  ports: Pick<AccountPorts, 'database' | 'mailer' | 'words' | 'signInUrl'>,
  { accountId, decision, reason }: DecisionMail,
): Promise<void> {
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

/**
 * Locks both accounts, so that two operators cannot suspend each other concurrently and a suspended operator cannot
 * complete a decision. Without an actor, also locks the operators who can manage operators.
 */
async function lockSubject(
  tx: Tx,
  actorId: AccountId | null,
  id: AccountId,
): Promise<{ actor: AccountRow | null; account: AccountRow; managers: AccountRow[] }> {
  const managerIds = actorId === null ? await activeManagers(tx) : []
  const accounts = await lockAccounts(tx, [...(actorId === null ? managerIds : [actorId]), id])
  const actor = accounts.find((one) => one.id === actorId) ?? null
  if (actorId !== null && actor?.status !== 'ACTIVE')
    throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the operator has just been suspended' })
  const account = accounts.find((one) => one.id === id)
  if (!account) throw notFound('no such account')
  return { actor, account, managers: accounts.filter((one) => managerIds.includes(one.id)) }
}
