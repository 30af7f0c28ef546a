import { canDemandStepUp, canonicalPurpose, confirmedSchemas, purposeOf } from '../../contract/step-up-purpose.ts'
import {
  type AccountId,
  bizId,
  type Caller,
  chains,
  denied,
  formatMoney,
  invalid,
  isChainOf,
  isCurrency,
  type Locale,
  type Money,
  notFound,
  type Operation,
  type OrderId,
  type Portal,
  type Purpose,
  parseMoney,
  passkeyRequired,
  type RoleId,
  type WalletId,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { digestOfPurpose } from '../step-ups/digest.ts'
import type { StepUpPurpose } from './contract.ts'

export interface PurposePorts {
  /** Undefined for an operation that the portal does not offer. */
  findOperation(id: string, portal: Portal): Operation | undefined
  /** Null means the default workspace. Throws ACCESS.PERMISSION_DENIED for a stranger. */
  enter(caller: Caller, workspace: WorkspaceId | null, operation: Operation): Promise<WorkspaceAccess>
  readWallet(wallet: WalletId): Promise<{ workspaceBizId: WorkspaceId; currency: string } | undefined>
  readOrder(order: OrderId): Promise<PurposeDetails | undefined>
  /** Null finds payout accounts of any workspace. */
  maskedAccountOf(workspace: WorkspaceId | null, channel: string): Promise<string | undefined>
  /** Returns the email address. Null finds any account of the portal CONSUMER or SYSTEM, as operators do. */
  memberEmail(workspace: WorkspaceId | null, account: AccountId): Promise<string | undefined>
  roleName(workspace: WorkspaceId, role: RoleId): Promise<string | undefined>
}

export interface PurposeDetails {
  amount?: Money | undefined
  role?: string | undefined
  payee?: string | undefined
}

/** The command that a step-up confirms. */
export interface ConfirmedCommand {
  operation: Operation
  workspaceId: WorkspaceId | null
  fields: Record<string, unknown>
  /** Hex SHA-256 of the canonical form. */
  digest: string
}

/**
 * Checks a purpose like the command that it names. Throws VALIDATION.INVALID_PARAMETER, ACCESS.PERMISSION_DENIED,
 * ACCESS.PASSKEY_REQUIRED or WORKSPACE.NOT_ACTIVE.
 */
export async function parsePurpose(
  ports: PurposePorts,
  { operationId, workspaceBizId, ...given }: StepUpPurpose,
  caller: Caller,
): Promise<ConfirmedCommand> {
  const operation = findOperation(ports, operationId, caller)
  const isOfWorkspace = operation.policy.workspace !== 'none'
  if (!isOfWorkspace && workspaceBizId !== undefined) throw invalid('purpose', 'the operation has no workspace')
  const fields = parseFields(operation, given)
  const named = workspaceBizId === undefined ? null : bizId<'workspace'>(workspaceBizId)
  const access = isOfWorkspace ? await ports.enter(caller, named, operation) : null
  assertPermission(operation, access ?? caller, access?.withPasskey?.permissions ?? caller.withheld)
  const workspaceId = access?.id ?? null
  return { operation, workspaceId, fields, digest: digestOfPurpose(canonicalPurpose(operation, workspaceId, fields)) }
}

/**
 * Returns a description for the mail, such as `Withdraw money (250.00 USD → DE89 **** 3000)` or
 * `Invite a person (Clerks → nora@example.com)`. Throws VALIDATION.INVALID_PARAMETER or
 * RESOURCE.NOT_FOUND.
 */
export async function describePurpose(
  ports: PurposePorts & { words: Words },
  purpose: ConfirmedCommand | null,
  locale: Locale,
): Promise<string> {
  if (!purpose) return ports.words.text('purpose.unspecified', locale)
  const { amount, role, payee } = await readDetails(ports, purpose)
  const money = amount && `${formatMoney(amount)} ${amount.currency}`
  const details = [money, role, payee].filter((part) => part !== undefined)
  const name = nameOf(purpose.operation, ports.words, locale)
  return details.length === 0 ? name : `${name} (${details.join(' → ')})`
}

/** Only operations that can demand a step-up. */
function findOperation({ findOperation: find }: PurposePorts, id: string, { portal }: Caller): Operation {
  const operation = find(id, portal)
  const isOffered = operation?.chains.some((chain) => isChainOf(chains[chain], portal))
  if (!operation || !isOffered || !canDemandStepUp(operation)) throw invalid('purpose', `not an operation: ${id}`)
  return operation
}

async function readWallet(
  ports: PurposePorts,
  workspace: WorkspaceId | null,
  id: string,
): Promise<{ currency: string }> {
  const wallet = found(await ports.readWallet(bizId<'wallet'>(id)), 'wallet')
  if (workspace !== null && wallet.workspaceBizId !== workspace) throw notFound('a foreign wallet')
  return wallet
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFound(`unknown ${what}`)
  return value
}

/** A purpose has exactly the confirmed fields. */
function parseFields(operation: Operation, given: Record<string, unknown>): Record<string, unknown> {
  const schemas = confirmedSchemas(operation)
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(schemas, name))
  if (unknown !== undefined) throw invalid('purpose', `${operation.id} confirms no field ${unknown}`)
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const { success, data } = schema.safeParse(given[name])
      if (!success) throw invalid('purpose', `invalid or missing ${name}`)
      return [name, data]
    }),
  )
}

function assertPermission(
  { policy: { permission } }: Operation,
  { permissions }: Pick<Caller, 'permissions'>,
  withPasskey: Caller['withheld'],
): void {
  if (permission === null || permissions.has(permission)) return
  throw withPasskey?.has(permission) ? passkeyRequired(`lacks ${permission}`) : denied(`lacks ${permission}`)
}

/** Reads names and amounts from the store, so that the mail contains no free text of the client. */
async function readDetails(
  ports: PurposePorts,
  { operation, workspaceId, fields }: ConfirmedCommand,
): Promise<PurposeDetails> {
  const { order, wallet: walletId, role: roleId, amount, currency, payee } = purposeOf(operation, fields)
  if (order !== undefined) {
    const details = found(await ports.readOrder(bizId<'order'>(order)), 'order')
    return amount === undefined ? details : { ...details, amount: toMoney(amount, details.amount?.currency) }
  }
  const wallet = walletId === undefined ? undefined : await readWallet(ports, workspaceId, walletId)
  const role = roleId && workspaceId ? found(await ports.roleName(workspaceId, bizId(roleId)), 'role') : undefined
  const money = amount === undefined ? undefined : toMoney(amount, wallet?.currency ?? currency)
  return { amount: money, role, payee: await readPayee(ports, workspaceId, payee) }
}

function toMoney(amount: string, currency: string | undefined): Money | undefined {
  if (currency === undefined || !isCurrency(currency)) return undefined
  const money = parseMoney(amount, currency)
  if (!money) throw invalid('purpose', 'an amount that the currency does not have')
  return money
}

async function readPayee(
  ports: PurposePorts,
  workspaceId: WorkspaceId | null,
  { withdrawalChannel, wallet, account, email }: Purpose['payee'] = {},
): Promise<string | undefined> {
  if (withdrawalChannel !== undefined)
    return found(await ports.maskedAccountOf(workspaceId, withdrawalChannel), 'withdrawal channel')
  if (wallet !== undefined) return found(await ports.readWallet(bizId<'wallet'>(wallet)), 'wallet') && wallet
  if (account !== undefined) return ports.memberEmail(workspaceId, bizId<'account'>(account))
  return email
}

/** An extension's operation may have only a summary. */
function nameOf({ id, summary }: Operation, words: Words, locale: Locale): string {
  const key = `purpose.${id}`
  const text = words.text(key, locale)
  return text === key ? summary : text
}
