import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as contract from '../api/contract.ts'
import * as portico from '../api/index.ts'

/** The process has only one copy of each. */
const modules: Readonly<Record<string, object>> = { portico, 'portico/contract': contract }

const registry = 'portico.modules'

const scheme = 'portico-module:'
const packageScheme = 'portico-package:'

/** Returns the URL that imports a package from node_modules of the working directory, once `provideModules` was called. */
export function packageUrl(name: string): string {
  return packageScheme + name
}

/** URLs of the files that were imported, in order, for the place of a syntax error. */
export const importedFiles: string[] = []

let isRegistered = false

export function provideModules(): void {
  if (isRegistered) return
  isRegistered = true
  Reflect.set(globalThis, Symbol.for(registry), modules)
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      if (Object.hasOwn(modules, specifier)) return { url: scheme + specifier, format: 'module', shortCircuit: true }
      if (!specifier.startsWith(packageScheme)) return nextResolve(specifier, context)
      // Node searches from the folder of the importing module.
      const parentURL = pathToFileURL(resolve('portico.yaml')).href
      return nextResolve(specifier.slice(packageScheme.length), { ...context, parentURL })
    },
    load: (url, context, nextLoad) => {
      if (url.startsWith(scheme))
        return { format: 'module', source: sourceOf(url.slice(scheme.length)), shortCircuit: true }
      if (url.startsWith('file:')) importedFiles.push(url)
      return nextLoad(url, context)
    },
  })
}

function sourceOf(name: string): string {
  return [
    `const exported = globalThis[Symbol.for('${registry}')]['${name}']`,
    ...Object.keys(modules[name] ?? {}).map((each) => `export const ${each} = exported.${each}`),
  ].join('\n')
}
