import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import type { Source } from './check.ts'

/** Every name of these modules is public to Portico's domains. */
const openModules = /^(kernel\/index\.ts|contract\/.+|api\/.+) /

/** Returns a module and a name per import and re-export. `*` stands for all names. */
function importsOf({ path, text }: Source): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text).module
  const found = [
    ...staticImports.flatMap(({ moduleRequest, entries }) =>
      entries.length === 0
        ? [[moduleRequest.value, '*']]
        : entries.map(({ importName }) => [moduleRequest.value, importName.name ?? '*']),
    ),
    ...staticExports.flatMap(({ entries }) =>
      entries.map(({ moduleRequest, importName }) => [moduleRequest?.value, importName.name ?? '*']),
    ),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => [text.slice(start + 1, end - 1), '*']),
    // The type `import('…').Name`.
    ...[...text.matchAll(/\bimport\('(\.[^']+)'\)\.(\w+)/g)].map((match) => [match[1], match[2]]),
  ]
  return found.flatMap(([specifier, name]) =>
    specifier?.startsWith('.') ? [`${posix.join(posix.dirname(path), specifier)} ${name}`] : [],
  )
}

/** Returns the names, also of types, that Portico's domains import although an extension could not. */
export function privateImports(sources: readonly Source[]): string[] {
  const exported = new Set(sources.filter(({ path }) => /^api\/(index|contract)\.ts$/.test(path)).flatMap(importsOf))
  return sources.flatMap((source) => {
    const [folder] = /^banking\/[^/]+\//.exec(source.path) ?? []
    return importsOf(source)
      .filter((name) => folder && !name.startsWith(folder) && !exported.has(name) && !openModules.test(name))
      .map((name) => `${source.path}: ${name}`)
  })
}
