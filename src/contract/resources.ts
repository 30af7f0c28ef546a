/*
 * The contract files of Portico's own operations, by owner. The typed client imports this file, because a bundler cannot
 * omit the catalogue of `index.ts`.
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
import * as proposals from '../domains/proposals/contract.ts'
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

/** In the order of the OpenAPI document. */
export const identityContracts = { auth, registration, password, mfa, sessions, ipWhitelist, secureChannel }

/** In the order of `bankingDomains`. */
export const resources = {
  ...identityContracts,
  profile,
  workspaces,
  members,
  roles,
  invitations,
  wallets,
  transfers,
  exchanges,
  recharges,
  withdrawalChannels,
  withdrawals,
  files,
  exports,
  apiKeys,
  constants,
  sandbox,
  operators,
  proposals,
}
