import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import type { Source } from './check.ts'

/** Lower this number when a name leaves the list. Do not raise it: export the name, or use a port. */
export const maxPrivateImports = 5

const listsOfExports = 'An export has the filters of the list that it exports. Other domains do not export lists.'

/**
 * The names that Portico's domains import at run time and that neither the public API nor a building block of contracts
 * provides, by module and name. Each has the reason why an extension does not need it.
 */
export const privateImports: Readonly<Record<string, string>> = {
  'banking/exchanges/contract.ts exchanges': listsOfExports,
  'banking/recharges/contract.ts recharges': listsOfExports,
  'banking/transfers/contract.ts transfers': listsOfExports,
  'banking/wallets/contract.ts flowFilters': listsOfExports,
  'banking/withdrawals/contract.ts withdrawals': listsOfExports,
}

/** Every name of these modules is public to Portico's domains. */
const openModules = /^(kernel\/index\.ts|contract\/.+|api\/.+) /

const publicFiles = ['api/index.ts', 'api/contract.ts']

function targetOf(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier)
}

function folderOf(path: string): string | undefined {
  return /^banking\/[^/]+\//.exec(path)?.[0]
}

/** Exports of `portico` and `portico/contract`, by the module that they come from and the name. */
function publicNames(sources: readonly Source[]): ReadonlySet<string> {
  return new Set(
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
}

/** Runtime imports and re-exports. `*` stands for a namespace, a dynamic import, or an import without names. */
function runtimeNamesOf({ path, text }: Source): string[] {
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
export function privateImportsOf(sources: readonly Source[]): ReadonlyMap<string, string[]> {
  const known = publicNames(sources)
  const found = new Map<string, string[]>()
  for (const source of sources) {
    const folder = folderOf(source.path)
    if (folder === undefined) continue
    for (const name of runtimeNamesOf(source))
      if (!known.has(name) && !openModules.test(name) && !name.startsWith(folder))
        found.set(name, [...(found.get(name) ?? []), source.path])
  }
  return found
}
