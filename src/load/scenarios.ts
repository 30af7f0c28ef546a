import { listMyWorkspaces } from '../banking/members/contract.ts'
import { readProfile } from '../banking/profile/contract.ts'
import { createTransfer, listTransfers } from '../banking/transfers/contract.ts'
import { listFlows, listWallets, readBalance } from '../banking/wallets/contract.ts'
import type { AnyArgs, Args, OperationCaller, Result } from '../client/operation-types.ts'
import { formatMoney, type Money, money, type Operation, parseMoney, type Randomness } from '../kernel/index.ts'
import { constantRate, rampUp, type Stage } from './arrivals.ts'

/** An action of a user: one request, or a whole sign-in. */
export type Action = 'read' | 'transfer' | 'sealed-transfer' | 'sign-in'

/** Shares of the actions in percent. */
export type Mix = Readonly<Partial<Record<Action, number>>>

/** The mix of a working day, also of the benchmark's `mixed-day`. */
export const mixedDay: Mix = { read: 90, transfer: 8, 'sign-in': 2 }

/** Picks an action of a mix, whose shares add up to 100. */
export function pickAction(mix: Mix, randomness: Pick<Randomness, 'integer'>): Action {
  let rest = randomness.integer(100)
  for (const action of ['sign-in', 'transfer', 'sealed-transfer'] as const) {
    const share = mix[action] ?? 0
    if (rest < share) return action
    rest -= share
  }
  return 'read'
}

export interface Scenario {
  summary: string
  mix: Mix
  stages(perSecond: number, seconds: number): Stage[]
}

export const scenarios = {
  reads: {
    summary: 'profile, workspaces, wallets, balances, flows and orders',
    mix: { read: 100 },
    stages: constantRate,
  },
  transfers: { summary: 'transfers between wallets', mix: { transfer: 100 }, stages: constantRate },
  'encrypted-posts': {
    summary: 'transfers through the secure channel',
    mix: { 'sealed-transfer': 100 },
    stages: constantRate,
  },
  'sign-ins': {
    summary: 'sign-ins with password and code, and sign-outs',
    mix: { 'sign-in': 100 },
    stages: constantRate,
  },
  'mixed-day': { summary: '90 % reads, 8 % transfers, 2 % sign-ins', mix: mixedDay, stages: constantRate },
  ramp: { summary: 'the mixed day in five steps up to the full rate', mix: mixedDay, stages: rampUp },
  soak: { summary: 'the mixed day, for a long --duration', mix: mixedDay, stages: constantRate },
} as const satisfies Record<string, Scenario>
export type ScenarioName = keyof typeof scenarios

/** A wallet that an account can use. */
export interface Wallet {
  bizId: string
  workspaceBizId: string
  currency: string
}

/** The account or API key that sends a request, and what its replies may contain. */
export interface Reader {
  /** E-mail address of the account. Null for an API key, which has neither a profile nor a choice of workspaces. */
  email: string | null
  accountId: string | null
  workspaces: readonly string[]
  wallets: readonly Wallet[]
}

/** A client of the consumer chain or of the api chain. */
export type Caller = OperationCaller<ReadChain>
type ReadChain = 'consumer' | 'api'

/** A request of a scenario, and the check that its reply belongs to the reader. */
export interface PlannedRequest {
  operation: Operation
  args: AnyArgs
  /** Sends the request. Resolves with a description of data of another account, or null. Rejects like the client. */
  send(caller: Caller): Promise<string | null>
}

export function pick<T>(items: readonly T[], { integer }: Pick<Randomness, 'integer'>): T {
  const item = items.length > 0 ? items[integer(items.length)] : undefined
  if (item === undefined) throw new RangeError('nothing to pick from')
  return item
}

/** Returns the header that selects a wallet's workspace. An API key has one workspace and no such header. */
export function inWorkspace({ email }: Pick<Reader, 'email'>, workspaceId: string): { workspaceId?: string } {
  return email === null ? {} : { workspaceId }
}

/** Returns the parameter under the names that portals and the api chain use. */
export function walletParams(wallet: string) {
  return { wallet_id: wallet, walletBizId: wallet }
}

/** The wallet in whose list each flow was first seen. A flow belongs to one wallet. */
export type FlowOwners = Map<string, string>

/** Plans every kind of read that a reader can send for one of its wallets. */
export function planReads(reader: Reader, wallet: Wallet, flowOwners: FlowOwners): PlannedRequest[] {
  const { email, accountId, workspaces, wallets } = reader
  const at = inWorkspace(reader, wallet.workspaceBizId)
  const params = walletParams(wallet.bizId)
  const ownWallets = wallets.map(({ bizId }) => bizId)
  const shared = [
    plan(listWallets, at, (found) =>
      firstForeign(
        'workspace',
        found.map(({ workspaceBizId }) => workspaceBizId),
        [wallet.workspaceBizId],
      ),
    ),
    plan(readBalance, { ...at, params }, ({ walletBizId }) => firstForeign('wallet', [walletBizId], [wallet.bizId])),
    plan(listFlows, { ...at, params }, ({ items }) => {
      for (const { bizId } of items) if (!flowOwners.has(bizId)) flowOwners.set(bizId, wallet.bizId)
      return firstForeign(
        'a flow of wallet',
        items.map(({ bizId }) => flowOwners.get(bizId) ?? wallet.bizId),
        [wallet.bizId],
      )
    }),
    plan(listTransfers, { ...at, query: { pageSize: 10 } }, ({ items }) =>
      foreign(
        'order',
        items.find(
          ({ workspaceBizId, targetWalletBizId }) =>
            workspaceBizId !== wallet.workspaceBizId && !ownWallets.includes(targetWalletBizId),
        )?.bizId,
        [`an order of workspace ${wallet.workspaceBizId}`],
      ),
    ),
  ]
  if (email === null) return shared
  return [
    ...shared,
    plan(
      readProfile,
      {},
      ({ bizId, accountEmail }) =>
        (accountId === null ? null : firstForeign('account', [bizId], [accountId])) ??
        firstForeign('address', [accountEmail], [email]),
    ),
    plan(
      listMyWorkspaces,
      {},
      (found) =>
        firstForeign(
          'workspace',
          found.map(({ workspaceBizId }) => workspaceBizId),
          workspaces,
        ) ??
        (accountId === null
          ? null
          : firstForeign(
              'account',
              found.map(({ userBizId }) => userBizId),
              [accountId],
            )),
    ),
  ]
}

export interface TransferTerms {
  source: Wallet
  target: Wallet
  amount: Money
  clientReference: string
}

/** Returns an amount between 1 and 100 minor units. */
export function smallAmount(currency: string, { integer }: Pick<Randomness, 'integer'>): Money {
  return money(BigInt(integer(100) + 1), currency)
}

/** Plans a transfer. `onOrder` receives the id of the acknowledged order. */
export function planTransfer(
  reader: Pick<Reader, 'email'>,
  { source, target, amount, clientReference }: TransferTerms,
  options: { requestId: string; seal: boolean },
  onOrder: (order: { bizId: string; status: string }) => void,
): PlannedRequest {
  return plan(
    createTransfer,
    {
      ...inWorkspace(reader, source.workspaceBizId),
      ...options,
      body: {
        sourceWalletBizId: source.bizId,
        targetWalletBizId: target.bizId,
        amount: formatMoney(amount),
        currency: source.currency,
        clientReference,
      },
    },
    (order) => {
      onOrder({ bizId: order.bizId, status: order.transferStatus.code })
      return (
        firstForeign('reference', [order.clientReference ?? 'null'], [clientReference]) ??
        firstForeign('source wallet', [order.sourceWalletBizId], [source.bizId]) ??
        firstForeign('target wallet', [order.targetWalletBizId], [target.bizId]) ??
        (parseMoney(order.amount, order.currency)?.minor === amount.minor
          ? null
          : `amount ${order.amount} instead of ${formatMoney(amount)}`)
      )
    },
  )
}

function plan<O extends Operation>(
  operation: O,
  args: Args<O, ReadChain>,
  findForeign: (data: Result<O>) => string | null,
): PlannedRequest {
  return {
    operation,
    args,
    send: async (caller) => findForeign((await caller.answer(operation, args)).data),
  }
}

function firstForeign(name: string, found: readonly string[], expected: readonly string[]): string | null {
  return foreign(
    name,
    found.find((each) => !expected.includes(each)),
    expected,
  )
}

function foreign(name: string, found: string | undefined, expected: readonly (string | null)[]): string | null {
  return found === undefined ? null : `${name} ${found} instead of ${expected.join(' or ')}`
}
