import { domainOf, type Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

/** What each domain of operations is about, in the order in which a reader meets them. */
const domains: Record<string, string> = {
  secureChannel: 'Encryption of bodies between client and gateway, beneath TLS.',
  auth: 'Signing in by password and second factor, refreshing tokens, signing out.',
  registration: 'Opening an account, where a deployment lets people do that themselves.',
  password: 'Recovery and change of the password.',
  mfa: 'Second factors, backup codes, and proving one again for what needs a fresh proof.',
  sessions: 'Live sessions, their bound, and the history of logins.',
  ipWhitelist: 'The addresses that an account may be used from.',
  profile: 'The account’s own data.',
  invitations: 'Invitations into a workspace, from both sides.',
  roles: 'Roles of a workspace, their rights, and who holds them.',
  apiKeys: 'Keys by which machines use the second chain.',
  workspaces: 'Workspaces and the caller’s membership of them.',
  exchanges: 'Quotes and exchanges between currencies; on the SYSTEM portal the rates.',
  recharges: 'Money coming in, with its proof; on the SYSTEM portal its confirmation.',
  transfers: 'Money between wallets; on the SYSTEM portal the approval of what a limit holds back.',
  withdrawalChannels: 'Accounts to pay out to; on the SYSTEM portal their verification.',
  withdrawals: 'Money going out; on the SYSTEM portal its approval and settlement.',
  wallets: 'Wallets, balances and flows.',
  files: 'Upload and download.',
  exports: 'Lists as files, made in the background.',
  constants: 'Countries and timezones.',
  sandbox: 'Starting a sandbox workspace anew.',
  operators: 'Accounts, workspaces, ledger and audit log, for operators.',
}

const spaced = (domain: string): string => domain.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const tagOf = ({ id }: Operation): string => spaced(domainOf(id))

/** The tags of these operations. */
export const tagsOf = (operations: readonly Operation[]): JsonObject[] =>
  [...new Set(operations.map(({ id }) => domainOf(id)))].map((domain) => ({
    name: spaced(domain),
    description: domains[domain] ?? '',
  }))
