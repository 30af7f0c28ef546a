import type { Logger } from 'pino'
import type { Configuration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { type ApiKeys, createApiKeys } from '../domains/api-keys/index.ts'
import { createConstants, isCountry } from '../domains/constants/index.ts'
import { createExchanges } from '../domains/exchanges/index.ts'
import { createExports } from '../domains/exports/index.ts'
import { createFiles } from '../domains/files/index.ts'
import { createInvitations } from '../domains/invitations/index.ts'
import { createMembers, type Members } from '../domains/members/index.ts'
import { createOperators } from '../domains/operators/index.ts'
import { createProfile } from '../domains/profile/index.ts'
import { createRecharges } from '../domains/recharges/index.ts'
import { createRoles } from '../domains/roles/index.ts'
import { createSandbox } from '../domains/sandbox/index.ts'
import { createTransfers } from '../domains/transfers/index.ts'
import { createWallets } from '../domains/wallets/index.ts'
import { createWithdrawalChannels } from '../domains/withdrawal-channels/index.ts'
import { createWithdrawals } from '../domains/withdrawals/index.ts'
import {
  createWorkspaces,
  freezeOwnWorkspace,
  hasWorkspace,
  lockWorkspace,
  type Workspaces,
} from '../domains/workspaces/index.ts'
import type { Extension } from '../extensions/index.ts'
import { endSessions, type Identity } from '../identity/index.ts'
import type { HandlerTable, Portal } from '../kernel/index.ts'
import { Ledger, ledgerCheckJob, resultCleanupJob, verifyLedger } from '../ledger/index.ts'
import type { Rates } from '../platform/exchange-rates.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import { composeExtensions } from './extensions.ts'
import { linksOf } from './identity.ts'
import type { Infrastructure } from './infrastructure.ts'
import { exchangeTerms, liquidityOf, openRates } from './rates.ts'

/** The domains of one process. */
export interface Domains {
  ledger: Ledger
  workspaces: Workspaces
  members: Members
  apiKeys: ApiKeys
  rates: Rates
  /** The background jobs by the part that runs them. */
  jobs: Readonly<Record<JobOwner, readonly JobKind[]>>
  /** Number of accounts per portal that wait for approval. */
  countPendingApprovals(): Promise<ReadonlyMap<Portal, number>>
  handlers: HandlerTable
}

type JobOwner = 'files' | 'exports' | 'recharges' | 'exchanges' | 'operators' | 'ledger' | 'extensions'

/** Builds every domain and passes the ports that it takes from other domains: the only place where domains meet. */
export const composeDomains = async (
  catalogue: Catalogue,
  settings: Configuration,
  infrastructure: Infrastructure,
  logger: Logger,
  identity: Pick<Identity, 'invalidateSessions' | 'assertAddressAllowed'>,
  extensions: readonly Extension[],
): Promise<Domains> => {
  const { words } = infrastructure
  const { apiKeyPermissions, permissionTable, workspacePermissions } = catalogue
  const { currencies, transferFee, transferApprovalFrom } = settings.money
  const signInUrl = (portal: Portal): string => linksOf(settings, portal).signIn
  const { expiryMs, ledgerCheckMs } = settings.money.background
  const ledger = new Ledger(infrastructure)
  await ledger.ensureHouseAccounts(currencies)
  const members = createMembers({
    ...infrastructure,
    permissions: workspacePermissions,
    settings: settings.access.workspaces,
    lockWorkspace,
    hasWorkspace: (id) => hasWorkspace(infrastructure.database, id),
  })
  const { memberships } = members
  const wallets = createWallets({
    ...infrastructure,
    ledger,
    members: { assertOutsider: (tx, account, workspace) => memberships.assertOutsider(tx, account, workspace) },
    currencies,
  })
  // Do not delete the bytes of an upload in progress.
  const orphanAfterMs = Math.max(settings.files.orphanAfterMs, 2 * settings.requests.uploadTimeoutMs)
  const files = createFiles({ ...infrastructure, settings: { ...settings.files, orphanAfterMs } })
  const recharges = createRecharges({
    ...infrastructure,
    ledger,
    settings: settings.money.recharge,
    expiryMs,
    fileOf: files.fileOf,
    isProof: (file) => files.serves('RECHARGE_PROOF', file),
  })
  const exports = createExports({ ...infrastructure, ledger, settings: settings.exports })
  const rates = await openRates(settings.money.exchange, infrastructure.clock, logger)
  await ledger.provideLiquidity(liquidityOf(settings.money.exchange))
  const terms = exchangeTerms(settings.money.exchange)
  const exchanges = createExchanges({ ...infrastructure, ledger, rates, currencies, terms, expiryMs })
  const constants = createConstants()
  const withdrawalChannels = createWithdrawalChannels({
    ...infrastructure,
    ledger,
    members: { assertAccess: (tx, account, access) => memberships.assertAccess(tx, account, access) },
    isCountry,
    maxPerWorkspace: settings.money.withdrawal.maxChannelsPerWorkspace,
  })
  const extended = composeExtensions(extensions, catalogue, settings, infrastructure, ledger, logger)
  const cleaners = [...[files, exports, exchanges, withdrawalChannels].map(({ clean }) => clean), ...extended.cleaners]
  const sandbox = createSandbox({ ...infrastructure, ledger, members: memberships, cleaners })
  const workspaces = createWorkspaces({
    ...infrastructure,
    members: memberships,
    openWallets: async (tx, workspace) => {
      await wallets.openWallets(tx, workspace)
      if (workspace.kind === 'SANDBOX') await sandbox.seed(tx, workspace.workspaceId)
    },
  })
  const roles = createRoles({
    ...infrastructure,
    members: memberships,
    permissionTable: permissionTable.workspace,
    settings: settings.access.roles,
  })
  const invitations = createInvitations({
    ...infrastructure,
    members: memberships,
    portalUrl: signInUrl('CONSUMER'),
    settings: settings.access.invitations,
  })
  const apiKeys = createApiKeys({
    ...infrastructure,
    members: {
      assertAccess: (tx, account, access) => memberships.assertAccess(tx, account, access),
      enter: members.enter,
    },
    permissions: apiKeyPermissions,
    assertAddressAllowed: identity.assertAddressAllowed,
    settings: settings.access.apiKeys,
    onError: (error) => logger.warn({ err: error }, 'last use of an API key could not be stored'),
  })
  const transfers = createTransfers({ ledger, words, fixedFee: transferFee, approvalThreshold: transferApprovalFrom })
  const { channelOf } = withdrawalChannels
  const withdrawals = createWithdrawals({ ledger, words, channelOf, payouts: settings.money.withdrawal.payouts })
  const profile = createProfile({ ...infrastructure, isCountry })
  const operators = createOperators({
    ...infrastructure,
    ledger,
    signInUrl,
    endSessions,
    freezeOwnWorkspace,
    onSessionsEnded: identity.invalidateSessions,
  })
  const served = [
    wallets,
    workspaces,
    members,
    exchanges,
    transfers,
    recharges,
    withdrawalChannels,
    withdrawals,
    constants,
    profile,
    roles,
    invitations,
    apiKeys,
    sandbox,
    files,
    exports,
    operators,
  ]
  const tables: HandlerTable[] = [...served.map(({ handlers }) => handlers), extended.handlers]
  const jobs = {
    files: files.jobs,
    exports: exports.jobs,
    recharges: recharges.jobs,
    exchanges: exchanges.jobs,
    operators: operators.jobs,
    extensions: extended.jobs,
    ledger: [
      resultCleanupJob(ledger, expiryMs),
      ledgerCheckJob({
        ledger,
        clock: infrastructure.clock,
        everyMs: ledgerCheckMs,
        verifyLedger: (signal) => infrastructure.withoutTimeouts(verifyLedger, signal),
        onBroken: (broken) => logger.error(broken, 'ledger check failed'),
      }),
    ],
  }
  const { countPendingApprovals } = operators
  return {
    ledger,
    workspaces,
    members,
    apiKeys,
    rates,
    jobs,
    countPendingApprovals,
    handlers: new Map(tables.flatMap((table) => [...table])),
  }
}
