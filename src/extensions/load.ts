import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Domain, LoadedDomain } from '../api/domain.ts'
import { type Configuration, ConfigurationError } from '../config/index.ts'
import { readDocument } from '../documents/index.ts'
import { messageOf } from '../kernel/index.ts'
import { checkDomain } from './check.ts'
import { provideModules } from './modules.ts'

const importDefault = async (file: string): Promise<unknown> => {
  const module: object = await import(/* @vite-ignore */ pathToFileURL(file).href)
  return 'default' in module ? module.default : undefined
}

/** Returns a module of `extensions`, or the reason why it cannot be imported. */
const importModule = async (path: string): Promise<{ exported: unknown } | { errors: string[] }> => {
  try {
    return { exported: await importDefault(resolve(path)) }
  } catch (error) {
    return { errors: [messageOf(error)] }
  }
}

/**
 * Returns the domains of a process: `domains`, then those of the modules in `extensions` and of the documents in `operations`. A
 * relative path starts at the working directory. Domains in `ours` are not checked again. Throws a ConfigurationError
 * that lists every error with its source and field.
 */
export const loadDomains = async (
  domains: readonly Domain[],
  ours: ReadonlySet<Domain>,
  { extensions: paths, operations: documents }: Pick<Configuration, 'extensions' | 'operations'>,
): Promise<LoadedDomain[]> => {
  const loaded: LoadedDomain[] = []
  const errors: string[] = []
  const add = (source: string, exported: unknown): void => {
    const checked = checkDomain(exported)
    if ('domain' in checked) loaded.push({ ...checked.domain, source, isOurs: false })
    else errors.push(...checked.errors.map((error) => `${source}: ${error}`))
  }
  for (const [index, domain] of domains.entries())
    if (ours.has(domain)) loaded.push({ ...domain, source: `domains: ${domain.name}`, isOurs: true })
    else add(`domains[${index}] of portico()`, domain)
  if (paths.length > 0) provideModules()
  for (const path of paths) {
    const source = `extensions: ${path}`
    const imported = await importModule(path)
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
