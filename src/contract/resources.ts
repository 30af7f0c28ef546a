/*
 * The contract files of Portico's own operations, by owner, except those that speak another protocol. The typed client imports this file, because a bundler cannot
 * omit the catalogue of `index.ts`.
 */
import * as apiKeys from '../banking/api-keys/contract.ts'
import * as constants from '../banking/constants/contract.ts'
import * as events from '../banking/events/contract.ts'
import * as exchanges from '../banking/exchanges/contract.ts'
import * as exports from '../banking/exports/contract.ts'
import * as files from '../banking/files/contract.ts'
import * as invitations from '../banking/invitations/contract.ts'
import * as members from '../banking/members/contract.ts'
import * as operators from '../banking/operators/contract.ts'
import * as profile from '../banking/profile/contract.ts'
import * as proposals from '../banking/proposals/contract.ts'
import * as recharges from '../banking/recharges/contract.ts'
import * as roles from '../banking/roles/contract.ts'
import * as sandbox from '../banking/sandbox/contract.ts'
import * as transfers from '../banking/transfers/contract.ts'
import * as wallets from '../banking/wallets/contract.ts'
import * as webhooks from '../banking/webhooks/contract.ts'
import * as withdrawalChannels from '../banking/withdrawal-channels/contract.ts'
import * as withdrawals from '../banking/withdrawals/contract.ts'
import * as workspaces from '../banking/workspaces/contract.ts'
import * as observations from '../gateway/observations/contract.ts'
import * as browserSessions from '../identity/browser-sessions/contract.ts'
import * as ipWhitelist from '../identity/ip-whitelist/contract.ts'
import * as auth from '../identity/login/contract.ts'
import * as mfa from '../identity/mfa/contract.ts'
import * as passkeys from '../identity/passkeys/contract.ts'
import * as password from '../identity/passwords/contract.ts'
import * as providers from '../identity/providers/contract.ts'
import * as registration from '../identity/registration/contract.ts'
import * as secureChannel from '../identity/secure-channel/contract.ts'
import * as sessions from '../identity/sessions/contract.ts'

/** In the order of the OpenAPI document. */
export const identityContracts = {
  auth,
  browserSessions,
  registration,
  password,
  mfa,
  passkeys,
  providers,
  sessions,
  ipWhitelist,
  secureChannel,
}

/** The gateway serves these domains itself. */
export const gatewayContracts = { ...identityContracts, observations }

/** First what a new user needs, operators last. */
export const bankingContracts = {
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
  events,
  webhooks,
  constants,
  sandbox,
  operators,
  proposals,
}

export const resources = { ...identityContracts, ...bankingContracts, observations }
