/*
 * Portico's own domains. Each folder has the same shape: `index.ts` declares the domain, `contract.ts` declares its
 * operations, and `handlers.ts` serves them. Start reading in `transfers/index.ts`.
 */
import type { Domain } from '../api/domain.ts'
import { type Configuration, settingsAt } from '../config/index.ts'
import { bankingContracts } from '../contract/index.ts'
import apiKeys from './api-keys/index.ts'
import constants from './constants/index.ts'
import events from './events/index.ts'
import exchanges, { type ConfiguredRates, configuredRates } from './exchanges/index.ts'
import exports from './exports/index.ts'
import files from './files/index.ts'
import invitations from './invitations/index.ts'
import members from './members/index.ts'
import operators from './operators/index.ts'
import profile from './profile/index.ts'
import proposals from './proposals/index.ts'
import provisioning from './provisioning/index.ts'
import recharges from './recharges/index.ts'
import roles from './roles/index.ts'
import sandbox from './sandbox/index.ts'
import transfers from './transfers/index.ts'
import wallets from './wallets/index.ts'
import webhooks from './webhooks/index.ts'
import withdrawalChannels from './withdrawal-channels/index.ts'
import withdrawals from './withdrawals/index.ts'
import workspaces from './workspaces/index.ts'

export { operatorRoles } from './operators/index.ts'

const byName = {
  apiKeys,
  constants,
  events,
  exchanges,
  exports,
  files,
  invitations,
  members,
  operators,
  profile,
  proposals,
  provisioning,
  recharges,
  roles,
  sandbox,
  transfers,
  wallets,
  webhooks,
  withdrawalChannels,
  withdrawals,
  workspaces,
} satisfies Record<keyof typeof bankingContracts, Domain>

const order = Object.keys(bankingContracts)

/** In the order of the OpenAPI document, which `bankingContracts` declares. */
export const bankingDomains: readonly Domain[] = Object.values(byName).toSorted(
  (one, other) => order.indexOf(one.name) - order.indexOf(other.name),
)

/** Domains that read or write the ledger. They must be served in one place (docs/concepts/ledger.md). */
export const ledgerDomains: ReadonlySet<string> = new Set(
  [exchanges, exports, recharges, sandbox, transfers, wallets, withdrawalChannels, withdrawals].map(({ name }) => name),
)

/** The rates in the settings of `exchanges`. They convert amounts that count towards a limit even if the domain is off. */
export function exchangeRatesIn(configuration: Configuration): ConfiguredRates {
  return configuredRates(settingsAt(configuration, exchanges))
}
