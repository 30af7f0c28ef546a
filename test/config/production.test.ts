import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { developmentAccessCodeHashes, exampleAccessCodeHashes } from '../../src/config/development.ts'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'
import { root } from '../harness/settings.ts'

const faultsOf = (file: string): string[] => {
  try {
    loadConfiguration(
      {
        PORTICO_PROFILE: 'production',
        PORTICO_CONFIG: join(root, file),
        PORTICO_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        SMTP_URL: 'smtp://mail.example.com',
      },
      root,
    )
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults
    throw error
  }
}

test('the example for production is refused for its access codes, which everybody can read, and for nothing else', () => {
  expect(faultsOf('config/production.example.yaml')).toEqual([
    'portals.CONSUMER.accessCodes: holds the code of an example',
    'portals.SYSTEM.accessCodes: holds the code of an example',
  ])
})

/** Every digest of an access code that a file of this repository shows, in YAML of its own or within other text. */
const digestsIn = (pattern: string): Set<string> =>
  new Set(
    globSync(pattern, { cwd: root })
      .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/accessCodes:[^\]]*\]/g) ?? [])
      .flatMap((list) => list.match(/[0-9a-f]{64}/g) ?? []),
  )

test('the access codes that the files show are those that production refuses, no more and no fewer', () => {
  expect(digestsIn('config/development.yaml')).toEqual(developmentAccessCodeHashes)
  expect(digestsIn('config/*.example.yaml')).toEqual(exampleAccessCodeHashes)
  expect(digestsIn('deploy/**/*.yaml')).toEqual(exampleAccessCodeHashes)
  const shown = digestsIn('{*,config/**/*,deploy/**/*,docs/**/*}.{yaml,yml,md}')
  expect(shown).toEqual(developmentAccessCodeHashes.union(exampleAccessCodeHashes))
})
