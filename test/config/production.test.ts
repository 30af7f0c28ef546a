import { hash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { type Configuration, ConfigurationError } from '../../src/config/index.ts'
import { developmentAccessCodeHashes, exampleAccessCodeHashes } from '../../src/config/production.ts'
import { loadSettings, productionKey, root } from '../harness/settings.ts'

function errorsOf(variables: Variables): string[] {
  try {
    loadSettings(variables)
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
    DATABASE_URL: 'postgres://db.example.com/portico?sslmode=verify-full',
    REDIS_URL: 'rediss://redis.example.com',
    SMTP_URL: 'smtps://mail.example.com',
  }
  expect(errorsOf(variables)).toEqual([
    'portals.CONSUMER.accessCodes: contains a code from an example; replace it',
    'portals.SYSTEM.accessCodes: contains a code from an example; replace it',
  ])
})

test('step-ups: bound to the session in development, and to the command in production', () => {
  const production = load(readFileSync(join(root, 'config/production.yaml'), 'utf8'))
  expect([loadSettings({}).mfa.binding, production]).toEqual([
    'session',
    expect.objectContaining({ mfa: { binding: 'purpose' } }),
  ])
})

test('mailed codes: always in development; until an authenticator for users and never for deciders in production', () => {
  const mailCodesOf = ({ portals }: Configuration) => [portals.CONSUMER.mfa.mailCodes, portals.SYSTEM.mfa.mailCodes]
  expect(mailCodesOf(loadSettings({}))).toEqual(['always', 'always'])
  const folder = mkdtempSync(join(tmpdir(), 'portico-config-'))
  try {
    const example = readFileSync(join(root, 'config/production.example.yaml'), 'utf8')
    const file = join(folder, 'portico.yaml')
    writeFileSync(
      file,
      example.replaceAll(/accessCodes: \[.*\]/g, (codes) => codes.replace(/[0-9a-f]{63}\]/, `${'a'.repeat(63)}]`)),
    )
    const production = loadSettings({
      PORTICO_PROFILE: 'production',
      PORTICO_CONFIG: file,
      PORTICO_SECRET_KEY: productionKey,
      DATABASE_URL: 'postgres://db.example.com/portico?sslmode=verify-full',
      SMTP_URL: 'smtps://mail.example.com',
    })
    expect(mailCodesOf(production)).toEqual(['untilAuthenticator', 'never'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

function digestsIn(pattern: string): Set<string> {
  return new Set(
    globSync(pattern, { cwd: root })
      .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/accessCodes:[^\]]*\]/g) ?? [])
      .flatMap((list) => list.match(/[0-9a-f]{64}/g) ?? []),
  )
}

test('production refuses exactly the access codes that are published in this repository', () => {
  expect(digestsIn('config/development.yaml')).toEqual(developmentAccessCodeHashes)
  expect(digestsIn('deploy/**/*.yaml')).toEqual(digestsIn('config/*.example.yaml'))
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
  expect(errorsOf({ PORTICO_SECRET_KEY })).toEqual([
    'PORTICO_SECRET_KEY: must be 32 bytes in base64, such as from `openssl rand -base64 32`',
  ])
})

test('config/production.yaml: production holds new owners and requires step-up; a file can remove a sum', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-production-'))
  const file = join(folder, 'portico.yaml')
  const example = readFileSync(join(root, 'config/production.example.yaml'), 'utf8')
  const stepUpAbove = 'money: { stepUpAbove: { currency: EUR } }'
  await writeFile(
    file,
    `${example.replaceAll(/accessCodes: \[([0-9a-f]{64})\]/g, (_, code: string) => `accessCodes: [${hash('sha256', code)}]`)}\n${stepUpAbove}\n`,
  )
  const { access, money } = loadSettings({
    PORTICO_PROFILE: 'production',
    PORTICO_CONFIG: file,
    PORTICO_SECRET_KEY: productionKey,
    DATABASE_URL: 'postgres://db.example.com/portico?sslmode=verify-full',
    SMTP_URL: 'smtps://mail.example.com',
  })
  await rm(folder, { recursive: true })
  expect(access.payoutHoldMs).toBe(72 * 3_600_000)
  expect(money.stepUpAbove).toEqual({ apiKeys: 'refuse', currency: 'EUR', amount: '5000.00' })
  expect(loadSettings({}).access.payoutHoldMs).toBe(0)
  expect(loadSettings({}).money.stepUpAbove).toEqual({ currency: 'USD', amount: 'unlimited', apiKeys: 'refuse' })
})
