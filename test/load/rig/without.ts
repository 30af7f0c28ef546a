import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isCheckName, moduleOf, removeCheck } from './checks.ts'

/* Preloaded into the gateways of `without-checks`. Removes a check from its module while the module loads. */
const name = process.env.BENCH_WITHOUT ?? ''

if (name !== '') {
  if (!isCheckName(name)) throw new TypeError(`no check '${name}'`)
  const module = moduleOf(name)
  registerHooks({
    load: (url, context, nextLoad) => {
      if (url !== module) return nextLoad(url, context)
      const source = removeCheck(readFileSync(fileURLToPath(url), 'utf8'), name)
      return { format: 'module-typescript', source, shortCircuit: true }
    },
  })
}
