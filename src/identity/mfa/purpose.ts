import {
  bizId,
  type Caller,
  chains,
  formatMoney,
  invalid,
  type Locale,
  type Money,
  notFound,
  type Operation,
  type OrderId,
  parseMoney,
  portalOfChain,
  Refusal,
  type WalletId,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { StepUpPurpose } from './contract.ts'

export interface PurposePorts {
  findOperation(id: string): Operation | undefined
  /** Throws ACCESS.PERMISSION_DENIED for a stranger. */
  enter(caller: Caller, workspace: WorkspaceId): Promise<WorkspaceAccess>
  readWallet(wallet: WalletId): Promise<{ workspaceBizId: WorkspaceId; currency: string } | undefined>
  readOrder(order: OrderId): Promise<PurposeDetails | undefined>
  /** Null finds payout accounts of any workspace. */
  maskedAccountOf(workspace: WorkspaceId | null, channel: string): Promise<string | undefined>
}

export interface PurposeDetails {
  amount?: Money | undefined
  payee?: string | undefined
}

const found = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw notFound(`unknown ${what}`)
  return value
}

const findOperation = ({ findOperation: find }: PurposePorts, id: string, { portal }: Caller): Operation => {
  const operation = find(id)
  const isOffered = operation?.chains.map((chain) => portalOfChain(chains[chain])).includes(portal)
  if (!operation || !isOffered) throw invalid('purpose')
  return operation
}

/** Operators name an order or payout account of any workspace. */
const readOperatorDetails = async (
  ports: PurposePorts,
  { orderBizId, withdrawalChannelBizId, walletBizId, targetWalletBizId }: StepUpPurpose,
): Promise<PurposeDetails> => {
  if (walletBizId !== undefined || targetWalletBizId !== undefined) throw invalid('purpose')
  if (orderBizId !== undefined) return found(await ports.readOrder(bizId<'order'>(orderBizId)), 'order')
  if (withdrawalChannelBizId === undefined) return {}
  return { payee: found(await ports.maskedAccountOf(null, withdrawalChannelBizId), 'withdrawal channel') }
}

/** A stranger's wallet is unknown. */
const enterWorkspaceOf = async (ports: PurposePorts, caller: Caller, workspace: WorkspaceId) => {
  try {
    return await ports.enter(caller, workspace)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'ACCESS.PERMISSION_DENIED') throw notFound('a foreign wallet')
    throw error
  }
}

/** The payee is a payout account or another wallet. */
const readMemberDetails = async (
  ports: PurposePorts,
  { orderBizId, walletBizId, amount, withdrawalChannelBizId, targetWalletBizId }: StepUpPurpose,
  { policy: { permission } }: Operation,
  caller: Caller,
): Promise<PurposeDetails> => {
  if (orderBizId !== undefined) throw invalid('purpose')
  if (walletBizId === undefined) {
    if (withdrawalChannelBizId !== undefined || targetWalletBizId !== undefined) throw invalid('purpose')
    return {}
  }
  const wallet = found(await ports.readWallet(bizId<'wallet'>(walletBizId)), 'wallet')
  const access = await enterWorkspaceOf(ports, caller, wallet.workspaceBizId)
  if (permission !== null && !access.permissions.has(permission)) throw new Refusal('ACCESS.PERMISSION_DENIED')
  const money = amount === undefined ? undefined : parseMoney(amount, wallet.currency)
  if (amount !== undefined && !money) throw invalid('purpose')
  if (withdrawalChannelBizId !== undefined) {
    const account = await ports.maskedAccountOf(wallet.workspaceBizId, withdrawalChannelBizId)
    return { amount: money, payee: found(account, 'withdrawal channel') }
  }
  if (targetWalletBizId !== undefined) found(await ports.readWallet(bizId<'wallet'>(targetWalletBizId)), 'wallet')
  return { amount: money, payee: targetWalletBizId }
}

/** An extension's operation may have only a summary. */
const nameOf = ({ id, summary }: Operation, words: Words, locale: Locale): string => {
  const key = `purpose.${id}`
  const text = words.text(key, locale)
  return text === key ? summary : text
}

/**
 * Returns what a step-up confirms, such as `Withdraw money (250.00 USD → DE89 **** 3000)`. Throws
 * VALIDATION.INVALID_PARAMETER, ACCESS.PERMISSION_DENIED or RESOURCE.NOT_FOUND.
 */
export const describePurpose = async (
  ports: PurposePorts & { words: Words },
  purpose: StepUpPurpose | undefined,
  caller: Caller,
  locale: Locale,
): Promise<string> => {
  if (!purpose) return ports.words.text('purpose.unspecified', locale)
  const operation = findOperation(ports, purpose.operationId, caller)
  const { permission } = operation.policy
  const isOperator = caller.portal === 'SYSTEM'
  if (isOperator && permission !== null && !caller.permissions.has(permission))
    throw new Refusal('ACCESS.PERMISSION_DENIED')
  const { amount, payee } = isOperator
    ? await readOperatorDetails(ports, purpose)
    : await readMemberDetails(ports, purpose, operation, caller)
  const details = [amount && `${formatMoney(amount)} ${amount.currency}`, payee].filter((part) => part !== undefined)
  const name = nameOf(operation, ports.words, locale)
  return details.length === 0 ? name : `${name} (${details.join(' → ')})`
}
