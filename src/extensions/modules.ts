import { registerHooks } from 'node:module'
import * as contract from '../api/contract.ts'
import * as portico from '../api/index.ts'

/** The modules that extensions import by name. They belong to the running program, so there is one copy of each. */
const modules: Readonly<Record<string, object>> = { portico, 'portico/contract': contract }

/** The key of the global that the generated modules read. */
const registry = 'portico.modules'

const sourceOf = (name: string): string =>
  [
    `const exported = globalThis[Symbol.for('${registry}')]['${name}']`,
    ...Object.keys(modules[name] ?? {}).map((each) => `export const ${each} = exported.${each}`),
  ].join('\n')

const scheme = 'portico-module:'
let isRegistered = false

/** Makes `import 'portico'` and `import 'portico/contract'` in an extension resolve to the running program. */
export const provideModules = (): void => {
  if (isRegistered) return
  isRegistered = true
  Reflect.set(globalThis, Symbol.for(registry), modules)
  registerHooks({
    resolve: (specifier, context, nextResolve) =>
      Object.hasOwn(modules, specifier)
        ? { url: scheme + specifier, format: 'module', shortCircuit: true }
        : nextResolve(specifier, context),
    load: (url, context, nextLoad) =>
      url.startsWith(scheme)
        ? { format: 'module', source: sourceOf(url.slice(scheme.length)), shortCircuit: true }
        : nextLoad(url, context),
  })
}
