import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { ConfigurationError } from '../../src/config/index.ts'
import { loadSettings } from '../harness/settings.ts'

/** Call it once per test file, which gets its own temporary folder. */
export function configurationFile() {
  const folder = mkdtempSync(join(tmpdir(), 'portico-configuration-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  const write = (settings: object | string): string => {
    const file = join(folder, 'portico.yaml')
    writeFileSync(file, typeof settings === 'string' ? settings : JSON.stringify(settings))
    return file
  }

  const load = (settings: object | string, variables: Variables = {}) =>
    loadSettings({ PORTICO_CONFIG: write(settings), ...variables })

  const errorsOf = (settings: object | string, variables: Variables = {}): string[] => {
    try {
      load(settings, variables)
      return []
    } catch (error) {
      if (error instanceof ConfigurationError) return error.errors
      throw error
    }
  }
  return { folder, write, load, errorsOf }
}
