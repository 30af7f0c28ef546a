import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import type { Source } from './check.ts'

/** Lower this number when a name leaves the list. Do not raise it: export the name, or use a port. */
export const maxPrivateImports = 32

const listsOfExports = 'An export has the filters of the list that it exports. Other domains do not export lists.'
const moneySettings = "Interprets the settings `money` of Portico's own orders. Other domains have their own settings."
const sharedSchema = "Part of the wire format of two of Portico's domains, not of Portico's API for domains."
const ownRates = 'Quotes of exchanges only. The port `ledger` needs no rates.'
const apiKeyRanges = 'Address ranges of API keys. The range is a type of the package ipaddr.js, which is not public.'
const permissionsOfRoles =
  'For domains that store permissions. Adding such a domain affects access and is part of Portico.'

/**
 * The names that Portico's domains import at run time and that neither `portico` nor `portico/contract` exports, by
 * module and name. Each has the reason why an extension does not need it.
 */
export const privateImports: Readonly<Record<string, string>> = {
  'contract/account-fields.ts suspendedCredentials': 'Also in a reply of identity. Other domains suspend in a hook.',
  'contract/permissions.ts assertKnownPermissions': permissionsOfRoles,
  'contract/permissions.ts permissionCodes': permissionsOfRoles,
  'database/index.ts isDatabaseUnavailable': 'Authenticates API keys for the gateway, which also accepts cached ones.',
  'database/index.ts statement': 'An optimization for statements of every request, such as reading the membership.',
  'banking/exchanges/contract.ts exchangeFilters': listsOfExports,
  'banking/members/contract.ts Membership': sharedSchema,
  'banking/profile/contract.ts Profile': sharedSchema,
  'banking/profile/contract.ts toProfileView': sharedSchema,
  'banking/recharges/contract.ts rechargeFilters': listsOfExports,
  'banking/transfers/contract.ts transferFilters': listsOfExports,
  'banking/wallets/contract.ts flowFilters': listsOfExports,
  'banking/withdrawal-channels/contract.ts channelType': sharedSchema,
  'banking/withdrawals/contract.ts withdrawalFilters': listsOfExports,
  'kernel/index.ts isInDomains': 'Checks `portals.CONSUMER.refusedDomains`, which also applies to registration.',
  'kernel/index.ts isRate': ownRates,
  'kernel/index.ts ratePattern': ownRates,
  'kernel/index.ts summarizeSuspended': 'Audits the commands that call the hooks of all domains.',
  'ledger/contract.ts ledgerTypes': "Counts the open orders of Portico's own types.",
  'ledger/index.ts computeCharge': moneySettings,
  'ledger/index.ts dailyLimits': moneySettings,
  'ledger/index.ts formerMemberHours': 'How long the four-eyes rules need memberships that ended.',
  'ledger/index.ts parseConfiguredAmount': moneySettings,
  'ledger/index.ts parseTariff': moneySettings,
  'ledger/index.ts rechargeExpiry': "The expiry of Portico's own order type RECHARGE.",
  'platform/audit/index.ts AuditVerifier': 'Verifies the audit log of the whole deployment.',
  'platform/countries.ts countries': 'The list of countries itself. Other domains have the port `isCountry`.',
  'platform/exchange-rates.ts fixedRates': ownRates,
  'platform/exchange-rates.ts openRateProvider': ownRates,
  'platform/exchange-rates.ts toRatio': ownRates,
  'platform/ip-ranges.ts containsAddress': apiKeyRanges,
  'platform/ip-ranges.ts parseRange': apiKeyRanges,
}

const publicFiles = ['api/index.ts', 'api/contract.ts']

const targetOf = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier)

const folderOf = (path: string): string | undefined => /^banking\/[^/]+\//.exec(path)?.[0]

/** Exports of `portico` and `portico/contract`, by the module that they come from and the name. */
const publicNames = (sources: readonly Source[]): ReadonlySet<string> =>
  new Set(
    sources
      .filter(({ path }) => publicFiles.includes(path))
      .flatMap(({ path, text }) =>
        parseSync(path, text).module.staticExports.flatMap(({ entries }) =>
          entries
            .filter(({ isType }) => !isType)
            .map(({ moduleRequest, importName }) => `${targetOf(path, moduleRequest?.value ?? '')} ${importName.name}`),
        ),
      ),
  )

/** Runtime imports and re-exports. `*` stands for a namespace, a dynamic import, or an import without names. */
const runtimeNamesOf = ({ path, text }: Source): string[] => {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text).module
  const imported = staticImports.flatMap(({ moduleRequest, entries, start, end }) => {
    if (entries.length === 0 && !/^import type\b/.test(text.slice(start, end))) return [[moduleRequest.value, '*']]
    return entries.filter(({ isType }) => !isType).map((each) => [moduleRequest.value, each.importName.name ?? '*'])
  })
  const exported = staticExports.flatMap(({ entries }) =>
    entries
      .filter(({ isType, moduleRequest }) => !isType && moduleRequest !== null)
      .map(({ moduleRequest, importName }) => [moduleRequest?.value ?? '', importName.name ?? '*']),
  )
  const dynamic = dynamicImports.map(({ moduleRequest: { start, end } }) => [text.slice(start + 1, end - 1), '*'])
  return [...imported, ...exported, ...dynamic]
    .filter(([specifier = '']) => specifier.startsWith('.'))
    .map(([specifier = '', name]) => `${targetOf(path, specifier)} ${name}`)
}

/** Private names by module and name, with the files of Portico's domains that import them at run time. */
export const privateImportsOf = (sources: readonly Source[]): ReadonlyMap<string, string[]> => {
  const known = publicNames(sources)
  const found = new Map<string, string[]>()
  for (const source of sources) {
    const folder = folderOf(source.path)
    if (folder === undefined) continue
    for (const name of runtimeNamesOf(source))
      if (!known.has(name) && !name.startsWith(folder)) found.set(name, [...(found.get(name) ?? []), source.path])
  }
  return found
}
