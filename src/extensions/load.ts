import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigurationError } from '../config/index.ts'
import { messageOf } from '../kernel/index.ts'
import { checkDomain } from './check.ts'
import type { Domain, Extension } from './domain.ts'
import { provideModules } from './modules.ts'

const importDefault = async (file: string): Promise<unknown> => {
  const module: object = await import(/* @vite-ignore */ pathToFileURL(file).href)
  return 'default' in module ? module.default : undefined
}

const loadOne = async (path: string): Promise<{ domain: Domain } | { errors: string[] }> => {
  try {
    return checkDomain(await importDefault(resolve(path)))
  } catch (error) {
    return { errors: [messageOf(error)] }
  }
}

/**
 * Imports the modules of `extensions` in the configuration and returns their domains. A relative path starts at the working
 * directory. Throws a ConfigurationError that lists every error with its file and field.
 */
export const loadExtensions = async (paths: readonly string[]): Promise<Extension[]> => {
  if (paths.length === 0) return []
  provideModules()
  const extensions: Extension[] = []
  const errors: string[] = []
  for (const path of paths) {
    const loaded = await loadOne(path)
    if ('domain' in loaded) extensions.push({ ...loaded.domain, file: path })
    else errors.push(...loaded.errors.map((error) => `extensions: ${path}: ${error}`))
  }
  if (errors.length > 0) throw new ConfigurationError(errors)
  return extensions
}
