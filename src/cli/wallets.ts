import { z } from 'zod'
import {
  type AddedCurrencyPorts,
  type OpeningResult,
  openWalletEverywhere,
  openWalletIn,
} from '../banking/wallets/index.ts'
import { lockWorkspace } from '../banking/workspaces/index.ts'
import { catalogueOf, loadConfigured } from '../compose/extensions.ts'
import { migrateStore } from '../compose/migrations.ts'
import { loadConfiguration } from '../config/index.ts'
import { bizId, isBizId, type WorkspaceId } from '../kernel/index.ts'
import { createLedger } from '../ledger/index.ts'
import {
  assertDomains,
  type Command,
  type CommandContext,
  parseOptions,
  reasonHelp,
  reasonOption,
  reasonText,
  UsageError,
} from './command.ts'
import { withSpinner } from './progress.ts'
import { auditCommand, storePorts, withExistingStore } from './store.ts'

const Options = z.object({
  currency: z.string('--currency is required: one of money.currencies'),
  workspace: z.string().refine(isBizId, '--workspace must be the id of a workspace').optional(),
  'all-workspaces': z.boolean().default(false),
  reason: reasonText,
})

const failures: Partial<Record<OpeningResult, string>> = {
  EXISTS: 'already has a wallet in this currency; nothing was changed',
  FROZEN: 'is frozen; nothing was changed',
  UNKNOWN: 'does not exist',
}

export const walletOpen: Command = {
  name: 'wallet open',
  summary: 'open wallets in a currency that was added to money.currencies',
  help: [
    '  --currency code          currency of the wallet, one of money.currencies',
    '  --workspace id           open the wallet in this workspace',
    '  --all-workspaces         open a wallet in every active workspace that has no open one in the currency',
    reasonHelp,
    '',
    'The command can be repeated: after an interruption it continues with the workspaces that are left. The embedded',
    'store can be used by one process only: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: {
    currency: { type: 'string' },
    workspace: { type: 'string' },
    'all-workspaces': { type: 'boolean' },
    ...reasonOption,
  },
  run: async (values, context) => {
    const { domains, variables } = context
    const settings = loadConfiguration(variables, domains)
    const { domains: loaded, owners } = await loadConfigured(domains, settings)
    assertDomains(walletOpen.name, ['workspaces', 'wallets'], loaded)
    const { currency, workspace, 'all-workspaces': all, reason } = parseOptions(Options, values)
    const { currencies } = settings.money
    if (!currencies.includes(currency))
      throw new UsageError(`--currency must be one of ${currencies.join(', ')}, not '${currency}'`)
    if (all === (workspace !== undefined)) throw new UsageError('set either --workspace or --all-workspaces')
    await withExistingStore(settings, async (store) => {
      await migrateStore(store, owners, settings)
      const { database } = store
      const shared = storePorts(database)
      const ledger = createLedger({ ...shared, types: catalogueOf(loaded).ledgerTypes })
      await ledger.registerTypes()
      await ledger.ensureHouseAccounts([currency])
      const ports: AddedCurrencyPorts = {
        ...shared,
        ledger,
        lockWorkspace,
        onOpened: (tx, { workspaceId, wallet }) =>
          auditCommand(
            tx,
            { command: walletOpen.name, reason },
            { workspaceId, targetId: wallet, detail: { currency } },
          ),
      }
      await (workspace === undefined
        ? openAll(context, ports, currency)
        : openOne(context, ports, bizId(workspace), currency))
    })
    return 0
  },
}

async function openAll({ print, stderr }: CommandContext, ports: AddedCurrencyPorts, currency: string): Promise<void> {
  const { opened, frozen } = await withSpinner(stderr, 'opening wallets', () => openWalletEverywhere(ports, currency))
  const skipped = frozen > 0 ? `skipped ${frozen} frozen workspaces: run the command again after unfreezing them\n` : ''
  print({ currency, opened, skippedFrozen: frozen }, `opened ${opened} wallets in ${currency}\n${skipped}`)
}

async function openOne(
  { print }: CommandContext,
  ports: AddedCurrencyPorts,
  workspace: WorkspaceId,
  currency: string,
): Promise<void> {
  const failure = failures[await openWalletIn(ports, workspace, currency)]
  if (failure) throw new Error(`the workspace ${workspace} ${failure}`)
  print({ currency, opened: 1, skippedFrozen: 0 }, `opened a wallet in ${currency}\n`)
}
