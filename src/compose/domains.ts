import type { Configuration } from '../config/index.ts'
import { createConstants } from '../domains/constants/index.ts'
import { createProfile } from '../domains/profile/index.ts'
import { createTransfers } from '../domains/transfers/index.ts'
import { createWallets } from '../domains/wallets/index.ts'
import { createWorkspaces } from '../domains/workspaces/index.ts'
import type { HandlerTable } from '../kernel/index.ts'
import { createLedger } from '../ledger/index.ts'
import type { Outside } from './outside.ts'

/** Every domain with the ports that it takes from the others: the one place where domains meet. */
export const composeDomains = async (settings: Configuration, outside: Outside) => {
  const { words } = outside
  const { currencies, transferApprovalFrom } = settings.money
  const ledger = createLedger(outside)
  await ledger.ensureHouse(currencies)
  const wallets = createWallets({ ...outside, ledger, currencies })
  const workspaces = createWorkspaces({
    ...outside,
    openWallets: wallets.openWallets,
  })
  const transfers = createTransfers({ ledger, words, approvalThreshold: transferApprovalFrom })
  const constants = createConstants()
  const profile = createProfile({ ...outside, isCountry: constants.isCountry })
  const tables: HandlerTable[] = [wallets, workspaces, transfers, constants, profile].map(({ handlers }) => handlers)
  return { ledger, workspaces, handlers: new Map(tables.flatMap((table) => [...table])) }
}

export type Domains = Awaited<ReturnType<typeof composeDomains>>
