import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { parseSync } from 'oxc-parser'
import { importRules, isForeignDomain, isSideEntrance, textRules } from './rules.ts'

export interface Source {
  path: string
  text: string
}

function specifiersOf({ path, text }: Source): string[] {
  const { module } = parseSync(path, text)
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)].map((match) => match[1] ?? '')
  const exported = module.staticExports.flatMap((each) => each.entries.map((entry) => entry.moduleRequest?.value ?? ''))
  return [
    ...new Set([...module.staticImports.map((each) => each.moduleRequest.value), ...exported, ...dynamic]),
  ].filter(Boolean)
}

function resolve(from: string, specifier: string): string {
  return specifier.startsWith('.') ? posix.normalize(posix.join(dirname(from), specifier)) : specifier
}

/** Project files by path, packages and built-in modules by specifier. */
export function importsOf(source: Source): string[] {
  return specifiersOf(source).map((specifier) => resolve(source.path, specifier))
}

/** Comments can mention forbidden names. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1')
}

export function tooLong(sources: readonly Source[]): string[] {
  return sources
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > 400)
    .map(({ path, lines }) => `${path}: ${lines} lines, none above 400`)
}

export function violations(sources: readonly Source[]): string[] {
  const found: string[] = []
  for (const source of sources) {
    const { path } = source
    for (const to of importsOf(source)) {
      for (const rule of importRules) {
        if (!rule.from.test(path) || rule.exceptFrom?.test(path)) continue
        if (rule.forbids.test(to) && !rule.exceptTo?.test(to)) found.push(`${path} imports ${to}: ${rule.name}`)
      }
      if (isForeignDomain(path, to)) found.push(`${path} imports ${to}: domains do not import each other`)
      if (isSideEntrance(path, to)) found.push(`${path} imports ${to}: only through index.ts`)
    }
    const code = withoutComments(source.text)
    for (const rule of textRules)
      if (rule.in.test(path) && !rule.except?.test(path) && rule.forbids.test(code)) found.push(`${path}: ${rule.name}`)
  }
  return [...found, ...tooLong(sources)]
}

export function readSources(root: string): Source[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: relative(root, file).replaceAll('\\', '/'), text: readFileSync(file, 'utf8') }))
}
