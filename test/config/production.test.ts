import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'
import { developmentAccessCodeHashes, exampleAccessCodeHashes } from '../../src/config/production.ts'
import { productionKey, root } from '../harness/settings.ts'

const faultsOf = (variables: Variables): string[] => {
  try {
    loadConfiguration(variables)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.errors
    throw error
  }
}

test('the example for production is refused for its access codes, which everybody can read, and for nothing else', () => {
  const variables = {
    PORTICO_PROFILE: 'production',
    PORTICO_CONFIG: join(root, 'config/production.example.yaml'),
    PORTICO_SECRET_KEY: productionKey,
    DATABASE_URL: 'postgres://db.example.com/portico',
    SMTP_URL: 'smtps://mail.example.com',
  }
  expect(faultsOf(variables)).toEqual([
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

test('an image that is told nothing is production’s, and does not start without its secrets and codes', () => {
  const told = readFileSync(join(root, 'Dockerfile'), 'utf8').matchAll(/^ENV (.+)$/gm)
  const variables: Variables = Object.fromEntries(
    [...told].flatMap(([, line = '']) => line.split(' ').map((pair) => pair.split('=', 2))),
  )
  expect(variables).toMatchObject({ HOST: '0.0.0.0' })
  expect(faultsOf(variables).join()).toMatch(/PORTICO_SECRET_KEY.*accessCodes|accessCodes.*PORTICO_SECRET_KEY/)
})

test.each([
  ['nothing but 32 bytes', 'q'.repeat(43)],
  ['padding', Buffer.alloc(32, 250).toString('base64')],
  ['the alphabet of URLs', Buffer.alloc(32, 250).toString('base64url')],
  ['the end of a line', `${Buffer.alloc(32, 250).toString('base64')}\n`],
])('PORTICO_SECRET_KEY is taken with %s', (_name, PORTICO_SECRET_KEY) => {
  expect(faultsOf({ PORTICO_SECRET_KEY })).toEqual([])
})

test.each([
  ['a byte too few', Buffer.alloc(31, 7).toString('base64')],
  ['a byte too many', Buffer.alloc(33, 7).toString('base64')],
  ['a sign that is none of base64', `${'q'.repeat(21)}#${'q'.repeat(22)}`],
  ['a blank within', `${'q'.repeat(21)} ${'q'.repeat(22)}`],
  ['a text behind it', `${'q'.repeat(43)}= # ours`],
])('PORTICO_SECRET_KEY is refused with %s', (_name, PORTICO_SECRET_KEY) => {
  expect(faultsOf({ PORTICO_SECRET_KEY })).toEqual(['PORTICO_SECRET_KEY: must be 32 bytes in base64'])
})
