import { domainOf, type Operation, operationsIn } from '../kernel/index.ts'
import * as apiKeys from './api-keys.ts'
import * as auth from './auth.ts'
import * as constants from './constants.ts'
import * as exchanges from './exchanges.ts'
import * as exports from './exports.ts'
import * as files from './files.ts'
import * as invitations from './invitations.ts'
import * as ipWhitelist from './ip-whitelist.ts'
import * as members from './members.ts'
import * as mfa from './mfa.ts'
import * as operatorAccounts from './operator-accounts.ts'
import * as operatorAudit from './operator-audit.ts'
import * as operatorLedger from './operator-ledger.ts'
import * as operatorWorkspaces from './operator-workspaces.ts'
import * as password from './password.ts'
import * as profile from './profile.ts'
import * as recharges from './recharges.ts'
import * as registration from './registration.ts'
import * as roles from './roles.ts'
import * as sandbox from './sandbox.ts'
import * as secureChannel from './secure-channel.ts'
import * as sessions from './sessions.ts'
import * as transfers from './transfers.ts'
import * as wallets from './wallets.ts'
import * as withdrawalChannels from './withdrawal-channels.ts'
import * as withdrawals from './withdrawals.ts'
import * as workspaces from './workspaces.ts'

/** The interface as data: every operation of every chain, a file per resource. */
export const resources = {
  secureChannel,
  auth,
  registration,
  password,
  mfa,
  sessions,
  ipWhitelist,
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
  operatorAccounts,
  operatorWorkspaces,
  operatorLedger,
  operatorAudit,
}

/** Each operation under its export name, which is what code calls it. */
export const namedOperations = Object.values(resources).flatMap(operationsIn)

export const catalogue: readonly Operation[] = namedOperations.map(([, operation]) => operation)

/** What the gateway serves itself, whatever the configuration says. */
const own = new Set(['secureChannel', 'auth', 'registration', 'password', 'mfa', 'sessions', 'ipWhitelist'])

export const isRoutable = (domain: string): boolean => !own.has(domain)

/** The domains that the configuration may place behind HTTP. */
export const routableDomains: readonly string[] = [...new Set(catalogue.map(({ id }) => domainOf(id)))].filter(
  isRoutable,
)
