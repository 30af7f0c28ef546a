import type { DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, Clock, Ids, Permission, WorkspaceId } from '../../kernel/index.ts'
import type { ProposalKind } from './contract.ts'
import { type EffectPorts, giveOwnership } from './effects.ts'
import { queueNotices } from './notices.ts'
import { areSame } from './rules.ts'
import { lockPeople, type PersonRow, setPermissions } from './store.ts'

/* The command line changes rights without a second operator, for the first operators and as a last resort. */

export interface CommandLinePorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  ids: Ids
  /** Whether a gateway sends the mails, because the domain is on. */
  sendsMail: boolean
  reason: string
  /** Records the change, in its transaction. */
  onChanged(tx: Tx, detail: Record<string, string>): Promise<void>
}

/** Returns the new list, or null if nothing changed. */
export function changePermissions(
  ports: CommandLinePorts,
  operatorId: AccountId,
  { add = [], remove = [] }: { add?: readonly Permission[]; remove?: readonly Permission[] },
): Promise<readonly Permission[] | null> {
  return ports.transaction(async (tx) => {
    const account = await lockAccount(tx, operatorId)
    const { permissions: from } = account
    const to = [...new Set([...from, ...add])].filter((code) => !remove.includes(code))
    if (areSame(from, to)) return null
    await setPermissions(tx, operatorId, to, ports.clock.now())
    await record(ports, tx, { kind: 'PERMISSIONS', account, detail: { from: from.join(','), to: to.join(',') } })
    return to
  })
}

/** Throws STATE.CONFLICT if an owner can run the workspace. */
export function restoreOwner(
  ports: CommandLinePorts &
    Pick<EffectPorts, 'notices'> & { members: Pick<EffectPorts['members'], 'lock' | 'restoreOwner'> },
  { workspaceId, accountId }: { workspaceId: WorkspaceId; accountId: AccountId },
): Promise<void> {
  return ports.transaction(async (tx) => {
    if (!(await ports.members.lock(tx, workspaceId))) throw new Error('the workspace does not exist')
    const account = await lockAccount(tx, accountId)
    if (account.status !== 'ACTIVE') throw new Error('the account is not active')
    await giveOwnership(ports, tx, workspaceId, accountId, ports.clock.now())
    await record(ports, tx, { kind: 'RESTORE_OWNER', account, detail: { account: accountId } })
  })
}

async function lockAccount(tx: Tx, id: AccountId): Promise<PersonRow> {
  const [account] = await lockPeople(tx, [id])
  if (!account) throw new Error('the account no longer exists')
  return account
}

async function record(
  { clock, ids, onChanged, sendsMail, reason }: CommandLinePorts,
  tx: Tx,
  { kind, account, detail }: { kind: ProposalKind; account: PersonRow; detail: Record<string, string> },
): Promise<void> {
  await onChanged(tx, detail)
  if (!sendsMail) return
  const notice = { kind, subjectId: account.id, subjectEmail: account.email, reason: `portico CLI: ${reason}` }
  await queueNotices(tx, ids, notice, 'DONE', clock.now())
}
