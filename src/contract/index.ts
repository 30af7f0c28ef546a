/*
 * Portico's own catalogue: the contract files of its domains, of identity and of the ledger, joined by `buildCatalogue`.
 * The other files of this folder are building blocks for contract files. They import the kernel only and run in a browser.
 * Start reading with `fields.ts` and `policies.ts`, then `catalogue.ts`.
 */
import * as apiKeys from '../domains/api-keys/contract.ts'
import * as constants from '../domains/constants/contract.ts'
import * as exchanges from '../domains/exchanges/contract.ts'
import * as exports from '../domains/exports/contract.ts'
import * as files from '../domains/files/contract.ts'
import * as invitations from '../domains/invitations/contract.ts'
import * as members from '../domains/members/contract.ts'
import * as operators from '../domains/operators/contract.ts'
import * as profile from '../domains/profile/contract.ts'
import * as recharges from '../domains/recharges/contract.ts'
import * as roles from '../domains/roles/contract.ts'
import * as sandbox from '../domains/sandbox/contract.ts'
import * as transfers from '../domains/transfers/contract.ts'
import * as wallets from '../domains/wallets/contract.ts'
import * as withdrawalChannels from '../domains/withdrawal-channels/contract.ts'
import * as withdrawals from '../domains/withdrawals/contract.ts'
import * as workspaces from '../domains/workspaces/contract.ts'
import * as ipWhitelist from '../identity/ip-whitelist/contract.ts'
import * as auth from '../identity/login/contract.ts'
import * as mfa from '../identity/mfa/contract.ts'
import * as password from '../identity/passwords/contract.ts'
import * as registration from '../identity/registration/contract.ts'
import * as secureChannel from '../identity/secure-channel/contract.ts'
import * as sessions from '../identity/sessions/contract.ts'
import * as kernel from '../kernel/coded-values.ts'
import * as ledger from '../ledger/contract.ts'
import { buildCatalogue, type Catalogue, type Contracts } from './catalogue.ts'

export type { Catalogue } from './catalogue.ts'

/** The contract files of identity, whose operations the gateway serves itself. */
export const identityContracts = { secureChannel, auth, registration, password, mfa, sessions, ipWhitelist }

/** The contract file of each resource. */
export const resources = {
  ...identityContracts,
  profile,
  invitations,
  roles,
  apiKeys,
  workspaces,
  members,
  exchanges,
  recharges,
  transfers,
  withdrawalChannels,
  withdrawals,
  wallets,
  files,
  exports,
  constants,
  sandbox,
  operators,
}

/** Returns the catalogue of the operations of identity and of these domains, by the name of the domain. */
export const catalogueWith = (domains: Contracts): Catalogue =>
  buildCatalogue({ kernel, ledger }, { ...identityContracts, ...domains })

/** The catalogue of Portico's own operations. */
export const bankingCatalogue: Catalogue = catalogueWith(resources)

export const {
  operations: catalogue,
  namedOperations,
  codes,
  isCode,
  statusOf,
  numericCode,
  codedFamilies,
  permissionTable,
  workspacePermissions,
  operatorPermissions,
  apiKeyPermissions,
} = bankingCatalogue
