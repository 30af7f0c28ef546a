import { existsSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Domain, LoadedDomain } from '../api/domain.ts'
import { type Configuration, ConfigurationError } from '../config/index.ts'
import { readDocument } from '../documents/index.ts'
import { errorCode, keepCallSite, messageOf } from '../kernel/index.ts'
import { checkDomain } from './check.ts'
import { packageUrl, provideModules } from './modules.ts'
import { versionErrors } from './package-version.ts'

const importDefault = async (url: string): Promise<unknown> => {
  const module: object = await import(/* @vite-ignore */ url)
  return 'default' in module ? module.default : undefined
}

/** Whether an entry of `extensions` is a path. Every other entry is the name of a package, as in `import`. */
const isPath = (entry: string): boolean => isAbsolute(entry) || /^\.\.?[/\\]/.test(entry)

const nearestPackageFile = (folder: string): string | undefined => {
  const file = join(folder, 'package.json')
  if (existsSync(file)) return file
  return dirname(folder) === folder ? undefined : nearestPackageFile(dirname(folder))
}

/** Returns the package.json that belongs to an entry of `extensions`, or undefined without one. */
const packageFileOf = (entry: string): string | undefined =>
  isPath(entry)
    ? nearestPackageFile(dirname(resolve(entry)))
    : findPackageJSON(entry, pathToFileURL(resolve('portico.yaml')))

const importErrors = (entry: string, error: unknown): string[] => {
  const isMistakenPath = !isPath(entry) && errorCode(error) === 'ERR_MODULE_NOT_FOUND' && existsSync(resolve(entry))
  return [isMistakenPath ? `no package has this name; write ./${entry} for the file` : messageOf(error)]
}

/** Returns the default export of an entry of `extensions`, or the reasons why it cannot be used. */
const importModule = async (entry: string): Promise<{ exported: unknown } | { errors: string[] }> => {
  try {
    const file = packageFileOf(entry)
    const errors = file === undefined ? [] : versionErrors(file)
    if (errors.length > 0) return { errors }
    return { exported: await importDefault(isPath(entry) ? pathToFileURL(resolve(entry)).href : packageUrl(entry)) }
  } catch (error) {
    return { errors: importErrors(entry, error) }
  }
}

/**
 * Paths and packages are relative to the working directory. Domains in `ours` are not checked again. Throws a
 * ConfigurationError that lists every error.
 */
export const loadDomains = async (
  domains: readonly Domain[],
  ours: ReadonlySet<Domain>,
  { extensions: entries, operations: documents }: Pick<Configuration, 'extensions' | 'operations'>,
): Promise<LoadedDomain[]> => {
  const loaded: LoadedDomain[] = []
  const errors: string[] = []
  const add = (source: string, exported: unknown): void => {
    const checked = checkDomain(exported)
    if ('domain' in checked) loaded.push(keepCallSite(checked.domain, { ...checked.domain, source, isOurs: false }))
    else errors.push(...checked.errors.map((error) => `${source}: ${error}`))
  }
  for (const [index, domain] of domains.entries())
    if (ours.has(domain))
      loaded.push(keepCallSite(domain, { ...domain, source: `domains: ${domain.name}`, isOurs: true }))
    else add(`domains[${index}] of portico()`, domain)
  if (entries.length > 0) provideModules()
  for (const entry of entries) {
    const source = `extensions: ${entry}`
    const imported = await importModule(entry)
    if ('exported' in imported) add(source, imported.exported)
    else errors.push(...imported.errors.map((error) => `${source}: ${error}`))
  }
  for (const file of documents) {
    const read = readDocument(file)
    if ('domains' in read) loaded.push(...read.domains)
    else errors.push(...read.errors.map((error) => `operations: ${file}: ${error}`))
  }
  if (errors.length > 0) throw new ConfigurationError(errors)
  return loaded
}
