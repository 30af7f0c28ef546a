import { createTransfers, type TransfersOptions } from '../../src/banking/transfers/index.ts'
import { createWallets } from '../../src/banking/wallets/index.ts'
import type { Database } from '../../src/database/index.ts'
import {
  type AccountId,
  days,
  formatMoney,
  type Money,
  parseMoney,
  toDate,
  type WalletId,
  type WorkspaceId,
} from '../../src/kernel/index.ts'
import { createLedger, type Ledger, type OutgoingRules } from '../../src/ledger/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import {
  type TestClock,
  testClock,
  transactionOf,
  types,
  unlimitedOutgoing,
  unlimitedPayouts,
  walletMembers,
  words,
} from '../banking/world.ts'

import { handlerCaller } from './handler-caller.ts'

export interface TestWallet {
  id: WalletId
  workspace: WorkspaceId
  currency: string
}

function moneyOf(text: string, currency: string): Money {
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is not an amount of ${currency}`)
  return parsed
}

export interface TestBank {
  database: Database
  clock: TestClock
  ledger: Ledger
  call: ReturnType<typeof handlerCaller>
  workspace(kind?: 'LIVE' | 'SANDBOX'): Promise<WorkspaceId>
  /** Creates a workspace unless one is passed. */
  wallet(currency: string, funds?: string, workspace?: WorkspaceId): Promise<TestWallet>
  /** Decimal string. */
  available(wallet: TestWallet): Promise<string>
  account(): AccountId
}

export async function createTestBank(
  database: Database,
  rules: Partial<Pick<TransfersOptions, 'approvalThreshold' | 'fixedFee' | 'approvalLifeMs'>> = {},
  outgoing: Partial<OutgoingRules> = {},
): Promise<TestBank> {
  const clock = testClock()
  const ids = systemIds
  // As in the development profile, one operator takes several decisions.
  const separationOfDuties = { enabled: false, from: {} }
  const ledger = createLedger({
    database,
    clock,
    ids,
    types,
    separationOfDuties,
    outgoing: { ...unlimitedOutgoing, ...outgoing },
  })
  const members = walletMembers(database)
  const wallets = createWallets({
    database,
    transaction: transactionOf(database),
    ledger,
    members,
    clock,
    ids,
    words,
    currencies: ['USD', 'EUR', 'JPY'],
  })
  const transfers = createTransfers({
    ...unlimitedPayouts,
    ledger,
    words,
    approvalThreshold: {},
    fixedFee: {},
    approvalLifeMs: days(1),
    ...rules,
  })

  const workspace: TestBank['workspace'] = async (kind = 'LIVE') => {
    const id = ids.next<'workspace'>()
    const at = toDate(clock.now())
    await database
      .insertInto('workspaces')
      .values({
        bizId: id,
        institutionBizId: ids.next(),
        entityBizId: null,
        workspaceName: 'Test',
        workspaceTimezone: 'UTC',
        workspaceStatus: 'ACTIVE',
        workspaceKind: kind,
        extraData: null,
        createdAt: at,
        updatedAt: at,
      })
      .execute()
    return id
  }

  const wallet: TestBank['wallet'] = async (currency, funds, existing) => {
    const owner = existing ?? (await workspace())
    const id = ids.next<'wallet'>()
    const at = clock.now()
    await ledger.ensureHouseAccounts([currency])
    await database.transaction().execute((tx) =>
      ledger.within(tx).openWallet({
        bizId: id,
        workspaceBizId: owner,
        walletName: currency,
        currency,
        isDefault: existing === undefined,
        at,
      }),
    )
    if (funds) await ledger.fundWallet({ wallet: id, workspace: owner, amount: moneyOf(funds, currency), actor: null })
    return { id, workspace: owner, currency }
  }

  return {
    database,
    clock,
    ledger,
    call: handlerCaller([wallets.handlers, transfers.handlers], clock),
    workspace,
    wallet,
    available: async ({ id, workspace: owner }) => {
      const balance = await ledger.readBalance({ wallet: id, workspace: owner })
      if (!balance) throw new Error(`unknown wallet ${id}`)
      return formatMoney(balance.available)
    },
    account: () => ids.next<'account'>(),
  }
}
