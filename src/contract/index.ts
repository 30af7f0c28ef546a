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
import { domainOf, type Operation, operationsIn } from '../kernel/index.ts'

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
  operators,
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
