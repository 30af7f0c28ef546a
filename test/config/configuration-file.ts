import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'

/** Call it once per test file, which gets its own temporary folder. */
export const configurationFile = () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-configuration-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  const load = (settings: object | string, variables: Variables = {}) => {
    const file = join(folder, 'portico.yaml')
    writeFileSync(file, typeof settings === 'string' ? settings : JSON.stringify(settings))
    return loadConfiguration({ PORTICO_CONFIG: file, ...variables })
  }

  const errorsOf = (settings: object | string, variables: Variables = {}): string[] => {
    try {
      load(settings, variables)
      return []
    } catch (error) {
      if (error instanceof ConfigurationError) return error.errors
      throw error
    }
  }
  return { folder, load, errorsOf }
}
