import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'
import { developmentAccessCodeHashes, exampleAccessCodeHashes } from '../../src/config/production.ts'
import { productionKey, root } from '../harness/settings.ts'

const errorsOf = (variables: Variables): string[] => {
  try {
    loadConfiguration(variables)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.errors
    throw error
  }
}

test('config/production.example.yaml: valid in production, except for its published access codes', () => {
  const variables = {
    PORTICO_PROFILE: 'production',
    PORTICO_CONFIG: join(root, 'config/production.example.yaml'),
    PORTICO_SECRET_KEY: productionKey,
    DATABASE_URL: 'postgres://db.example.com/portico',
    SMTP_URL: 'smtps://mail.example.com',
  }
  expect(errorsOf(variables)).toEqual([
    'portals.CONSUMER.accessCodes: contains a code from an example',
    'portals.SYSTEM.accessCodes: contains a code from an example',
  ])
})

/** Returns every digest of an access code in the files that match a pattern. */
const digestsIn = (pattern: string): Set<string> =>
  new Set(
    globSync(pattern, { cwd: root })
      .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/accessCodes:[^\]]*\]/g) ?? [])
      .flatMap((list) => list.match(/[0-9a-f]{64}/g) ?? []),
  )

test('production refuses exactly the access codes that are published in this repository', () => {
  expect(digestsIn('config/development.yaml')).toEqual(developmentAccessCodeHashes)
  expect(digestsIn('config/*.example.yaml')).toEqual(exampleAccessCodeHashes)
  expect(digestsIn('deploy/**/*.yaml')).toEqual(exampleAccessCodeHashes)
  const shown = digestsIn('{*,config/**/*,deploy/**/*,docs/**/*}.{yaml,yml,md}')
  expect(shown).toEqual(developmentAccessCodeHashes.union(exampleAccessCodeHashes))
})

test('the image runs in production by default, and does not start without secrets and access codes', () => {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').matchAll(/^ENV (.+)$/gm)
  const variables: Variables = Object.fromEntries(
    [...lines].flatMap(([, line = '']) => line.split(' ').map((pair) => pair.split('=', 2))),
  )
  expect(variables).toMatchObject({ HOST: '0.0.0.0' })
  expect(errorsOf(variables).join()).toMatch(/PORTICO_SECRET_KEY.*accessCodes|accessCodes.*PORTICO_SECRET_KEY/)
})

test.each([
  ['unpadded base64', 'q'.repeat(43)],
  ['padding', Buffer.alloc(32, 250).toString('base64')],
  ['base64url', Buffer.alloc(32, 250).toString('base64url')],
  ['a trailing line break', `${Buffer.alloc(32, 250).toString('base64')}\n`],
])('PORTICO_SECRET_KEY: accepted with %s', (_name, PORTICO_SECRET_KEY) => {
  expect(errorsOf({ PORTICO_SECRET_KEY })).toEqual([])
})

test.each([
  ['31 bytes', Buffer.alloc(31, 7).toString('base64')],
  ['33 bytes', Buffer.alloc(33, 7).toString('base64')],
  ['a character outside base64', `${'q'.repeat(21)}#${'q'.repeat(22)}`],
  ['a space inside', `${'q'.repeat(21)} ${'q'.repeat(22)}`],
  ['trailing text', `${'q'.repeat(43)}= # ours`],
])('PORTICO_SECRET_KEY: refused with %s', (_name, PORTICO_SECRET_KEY) => {
  expect(errorsOf({ PORTICO_SECRET_KEY })).toEqual(['PORTICO_SECRET_KEY: must be 32 bytes in base64'])
})
