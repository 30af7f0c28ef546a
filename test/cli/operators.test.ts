import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseTarget } from '../../src/compose/store.ts'
import type { Variables } from '../../src/config/env.ts'
import { developmentKey } from '../../src/config/production.ts'
import { operatorPermissions } from '../../src/contract/index.ts'
import { openDatabase } from '../../src/database/index.ts'
import { backupCodeCandidates } from '../../src/identity/mfa/backup-codes.ts'
import { openSecret, secretText } from '../../src/identity/mfa/totp.ts'
import { sealAuditLog } from '../../src/platform/audit/index.ts'
import { createKeyedDigest, createPasswordHasher, createSecretBox } from '../../src/platform/crypto/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'
import { runCli } from '../harness/cli.ts'
import { storedInPlainText } from '../harness/rows.ts'
import { productionKey, testSettings } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

describe('portico on a new store', () => {
  let store: Awaited<ReturnType<typeof seededDirectory>>
  beforeAll(async () => {
    store = await seededDirectory()
  })
  afterAll(() => store?.remove())

  const portico = (args: string[], input = '', variables: Variables = {}) =>
    runCli(args, {}, { PORTICO_DATA_DIR: store.directory, ...variables }, input)
  const withDatabase = async <T>(
    work: (opened: Awaited<ReturnType<typeof openDatabase>>['database']) => Promise<T>,
  ) => {
    const settings = testSettings({ PORTICO_DATA_DIR: store.directory })
    const opened = await openDatabase(databaseTarget(settings, () => undefined))
    try {
      return await work(opened.database)
    } finally {
      await opened.close()
    }
  }
  const operator = (email: string) =>
    withDatabase((database) =>
      database
        .selectFrom('accounts')
        .select(['bizId', 'portal', 'accountStatus', 'operatorPermissions', 'passwordHash'])
        .where('emailCanonical', '=', email)
        .executeTakeFirstOrThrow(),
    )
  const passwords = createPasswordHasher({ concurrency: 1, waiting: 1 }, systemRandomness)
  const create = (...more: string[]) => [
    ...['operator', 'create', '--email', 'first@demo.test', '--name', 'First', '--reason', 'a test'],
    ...more,
  ]

  test('operator create: creates an administrator with a generated password; a second run changes nothing', async () => {
    const created = await portico(create())
    expect(created, created.err).toMatchObject({ code: 0, err: '' })
    const password = /password \(shown only once\): ([\w-]{24})\n$/.exec(created.out)?.[1] ?? ''
    const again = await portico(create())
    expect(again.code).toBe(1)
    expect(again.err).toContain('nothing was changed')
    const { bizId, ...row } = await operator('first@demo.test')
    expect(row).toMatchObject({ portal: 'SYSTEM', accountStatus: 'ACTIVE', operatorPermissions: operatorPermissions })
    expect(await passwords.verify(row.passwordHash, password)).toBe(true)
    const entries = await withDatabase((database) =>
      database
        .selectFrom('audit_log')
        .select(['targetBizId', 'outcome', 'detail'])
        .where('action', '=', 'operator create')
        .execute(),
    )
    const detail = { permissions: operatorPermissions.join(','), reason: 'a test' }
    expect(entries).toEqual([{ targetBizId: bizId, outcome: 'SUCCESS', detail }])
  })

  test('operator create: prints an authenticator and backup codes once; the store holds no plain text of them', async () => {
    const email = 'factors@demo.test'
    const created = await portico(['operator', 'create', '--email', email, '--name', 'Factors', '--reason', 'a test'])
    const uri = new URL(/authenticator \(shown only once\): (otpauth:\S+)\n/.exec(created.out)?.[1] ?? '')
    const secret = uri.searchParams.get('secret') ?? ''
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(created.out).toContain(`authenticator secret: ${secret}\n`)
    const codes = /backup codes \(shown only once\): (.+)\n/.exec(created.out)?.[1]?.split(' ') ?? []
    expect(codes).toHaveLength(10)
    const { bizId } = await operator(email)
    await withDatabase(async (database) => {
      const factor = database.selectFrom('otp_factors').selectAll().where('accountBizId', '=', bizId)
      const { secret: sealed } = await factor.executeTakeFirstOrThrow()
      const keys = { current: developmentKey(), previous: [] }
      const box = createSecretBox(keys, systemRandomness)
      expect(secretText(openSecret(box, 'SYSTEM', bizId, sealed ?? new Uint8Array()))).toBe(secret)
      const digest = createKeyedDigest(keys)
      const stored = await database
        .selectFrom('backup_codes')
        .select('codeDigest')
        .where('accountBizId', '=', bizId)
        .execute()
      const digests = codes.flatMap((code) => backupCodeCandidates(digest, 'SYSTEM', bizId, code))
      const hex = (bytes: readonly Uint8Array[]) => bytes.map((each) => Buffer.from(each).toString('hex')).sort()
      expect(hex(stored.map(({ codeDigest }) => codeDigest))).toEqual(hex(digests))
      expect(await storedInPlainText(database, secret)).toEqual([])
    })
  })

  test('operator create --no-authenticator: exit code 2 in production, and an audited operator in development', async () => {
    const file = join(store.directory, 'production.yaml')
    const portal = (digit: string) => `{ accessCodes: [${digit.repeat(64)}] }`
    await writeFile(
      file,
      `publicUrl: https://portal.example.com
mail: { from: no-reply@example.com }
database: { acceptEmbedded: true }
portals: { CONSUMER: ${portal('a')}, SYSTEM: ${portal('b')} }
`,
    )
    const args = [
      'operator',
      'create',
      '--email',
      'bare@demo.test',
      '--name',
      'Bare',
      '--no-authenticator',
      '--reason',
      'x',
    ]
    const refused = await portico(args, '', {
      PORTICO_PROFILE: 'production',
      PORTICO_CONFIG: file,
      PORTICO_SECRET_KEY: productionKey,
      SMTP_URL: 'smtps://127.0.0.1:1',
    })
    expect([refused.code, refused.out]).toEqual([2, ''])
    expect(refused.err).toContain('--no-authenticator')
    const created = await portico(args)
    expect(created, created.err).toMatchObject({ code: 0, err: '' })
    expect(created.out).not.toContain('otpauth')
    const { bizId } = await operator('bare@demo.test')
    const entries = await withDatabase((database) =>
      database.selectFrom('audit_log').select('detail').where('targetBizId', '=', bizId).execute(),
    )
    expect(entries).toMatchObject([{ detail: { authenticator: 'none' } }])
  })

  test('operator create: an irregular address of a configured carrier, stored without quotes', async () => {
    const file = join(store.directory, 'carriers.yaml')
    await writeFile(file, 'mail: { carrierDomains: [docomo.ne.jp] }')
    const args = ['operator', 'create', '--email', '"op..1"@docomo.ne.jp', '--name', 'Taro', '--reason', 'x']
    const created = await portico(args, '', { PORTICO_CONFIG: file })
    expect(created, created.err).toMatchObject({ code: 0 })
    expect((await operator('op..1@docomo.ne.jp')).portal).toBe('SYSTEM')
  })

  test('operator create: listed permissions, and a password from standard input', async () => {
    const args = ['operator', 'create', '--email', 'second@demo.test', '--name', 'Second', '--password-stdin']
    args.push('--no-authenticator', '--reason', 'a test')
    const password = 'a long passphrase 2026'
    const created = await portico(
      [...args, '--permissions', 'audit:read, account:read'],
      `${password}\r\nand no more\n`,
    )
    expect(created, created.err).toMatchObject({
      code: 0,
      out: 'created the operator second@demo.test with 2 permissions\n',
    })
    const { operatorPermissions, passwordHash } = await operator('second@demo.test')
    expect(operatorPermissions).toEqual(['audit:read', 'account:read'])
    expect(await passwords.verify(passwordHash, password)).toBe(true)
  })

  test.each([
    ['a missing reason', 2, create().slice(0, -2), '', '--reason is required'],
    ['a blank reason', 2, create('--reason', ' '), '', '--reason is required'],
    ['a missing e-mail address', 2, ['operator', 'create', '--name', 'X'], '', '--email'],
    [
      'an invalid e-mail address',
      2,
      ['operator', 'create', '--email', `${'a'.repeat(65)}@demo.test`, '--name', 'X'],
      '',
      '--email',
    ],
    [
      'an address of no configured carrier',
      2,
      ['operator', 'create', '--email', 'a..b@docomo.ne.jp', '--name', 'X', '--reason', 'x'],
      '',
      '--email',
    ],
    ['a name with a control character', 2, [...create(), '--name', 'X\u001b[31m'], '', '--name'],
    ['an unknown permission', 2, create('--permissions', 'all:things'), '', 'all:things'],
    ['a role and permissions', 2, create('--role', 'auditor', '--permissions', 'audit:read'), '', 'cannot be combined'],
    ['an unknown role', 2, create('--role', 'king'), '', 'administrator, auditor, approver'],
    ['a role from Object.prototype', 2, create('--role', 'constructor'), '', 'administrator, auditor, approver'],
    ['a short password', 1, create('--password-stdin'), 'short\n', '12 to 256'],
    ['six characters in twelve UTF-16 units', 1, create('--password-stdin'), '🦊🐙🦉🐍🐞🦋\n', '12 to 256'],
    [
      'a password that is easy to guess',
      1,
      create('--password-stdin'),
      'password12345\n',
      'portico: the password is refused: the new password is too weak\n',
    ],
    ['the documented password', 1, create('--password-stdin'), 'Portico-demo-2026\n', 'documentation'],
  ])('operator create refuses %s: exit code %d', async (_name, expected, args, input, message) => {
    const { code, out, err } = await portico(args, input)
    expect([code, out]).toEqual([expected, ''])
    expect(err).toContain(message)
  })

  test('whitelist disable: disables the whitelist and queues a mail; a second run changes nothing', async () => {
    const email = 'locked@demo.test'
    const created = await portico(['operator', 'create', '--email', email, '--name', 'Locked', '--reason', 'a test'])
    expect(created, created.err).toMatchObject({ code: 0 })
    const args = (...more: string[]) => ['whitelist', 'disable', '--email', email, '--reason', 'a test', ...more]
    const { bizId } = await withDatabase((database) =>
      database
        .updateTable('accounts')
        .set({ ipWhitelistEnabled: true })
        .where('emailCanonical', '=', email)
        .returning('bizId')
        .executeTakeFirstOrThrow(),
    )
    const otherPortal = await portico(args())
    expect([otherPortal.code, otherPortal.err]).toEqual([
      1,
      `portico: ${email} has no account on the CONSUMER portal\n`,
    ])
    const disabled = await portico(args('--portal', 'SYSTEM'))
    expect(disabled, disabled.err).toMatchObject({ code: 0, out: `disabled the whitelist of ${email}\n` })
    const again = await portico(args('--portal', 'SYSTEM'))
    expect([again.code, again.out]).toEqual([1, ''])
    expect(again.err).toContain('nothing was changed')
    await withDatabase(async (database) => {
      const accounts = database.selectFrom('accounts').select('ipWhitelistEnabled').where('bizId', '=', bizId)
      expect(await accounts.execute()).toEqual([{ ipWhitelistEnabled: false }])
      const entries = database.selectFrom('audit_log').select(['targetBizId', 'actorBizId', 'outcome', 'detail'])
      expect(await entries.where('action', '=', 'whitelist disable').execute()).toEqual([
        { targetBizId: bizId, actorBizId: null, outcome: 'SUCCESS', detail: { portal: 'SYSTEM', reason: 'a test' } },
      ])
      const mails = database.selectFrom('jobs').select('payload').where('kind', '=', 'identity.notice')
      expect(await mails.execute()).toEqual([
        { payload: expect.objectContaining({ accountId: bizId, about: 'IP_WHITELIST_DISABLED' }) },
      ])
    })
  })

  test.each([
    ['a missing e-mail address', [], '--email'],
    [
      'an unknown portal',
      ['--email', 'first@demo.test', '--portal', 'system', '--reason', 'a test'],
      '--portal must be one of CONSUMER, SYSTEM',
    ],
  ])('whitelist disable refuses %s: exit code 2', async (_name, args, message) => {
    const { code, out, err } = await portico(['whitelist', 'disable', ...args])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })

  test('keys rotate: creates a key and writes an audit entry', async () => {
    const rotated = await portico(['keys', 'rotate', '--reason', 'a test'])
    expect(rotated, rotated.err).toMatchObject({ code: 0, err: '' })
    const entries = await withDatabase((database) =>
      database
        .selectFrom('audit_log')
        .select(['targetBizId', 'actorBizId', 'outcome', 'detail'])
        .where('action', '=', 'keys rotate')
        .execute(),
    )
    expect(entries).toEqual([
      { targetBizId: rotated.out.trim(), actorBizId: null, outcome: 'SUCCESS', detail: { reason: 'a test' } },
    ])
  })

  test('keys revoke: a new key signs immediately, and an audit entry names both', async () => {
    const kids = () => withDatabase((database) => database.selectFrom('signing_keys').select('kid').execute())
    const [{ kid } = { kid: '' }] = await kids()
    const revoked = await portico(['keys', 'revoke', kid, '--reason', 'a test'])
    expect(revoked, revoked.err).toMatchObject({ code: 0, err: '' })
    const left = (await kids()).map((each) => each.kid)
    expect(left).not.toContain(kid)
    expect(left).toContain(revoked.out.trim())
    const entries = await withDatabase((database) =>
      database.selectFrom('audit_log').select(['targetBizId', 'detail']).where('action', '=', 'keys revoke').execute(),
    )
    expect(entries).toEqual([{ targetBizId: kid, detail: { signs: revoked.out.trim(), reason: 'a test' } }])
  })

  test.each([
    ['without a key id', []],
    ['with an unknown key id', ['0190a5b0-0000-7000-8000-000000000000']],
    ['with two key ids', ['one', 'two']],
  ])('keys revoke %s: exit code 2', async (_name, ids) => {
    const { code, out, err } = await portico(['keys', 'revoke', ...ids, '--reason', 'a test'])
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(
      /^portico: (the id of the signing key is required|no signing key has the id|unexpected argument)/,
    )
  })

  test('keys status: exit code 0 if no value needs a previous key', async () => {
    const { code, out } = await portico(['keys', 'status'])
    expect(code, out).toBe(0)
    expect(out).toMatch(/^current key [0-9a-f]{8}; previous keys none\n/)
    expect(out).toMatch(/sealed +signing keys +\d+ +0 +0\n/)
  })

  test('audit verify: exit code 0 if intact, 1 with the changed entry after tampering', async () => {
    await withDatabase((database) => sealAuditLog(database))
    const intact = await portico(['audit', 'verify'])
    expect(intact, intact.err).toMatchObject({ code: 0 })
    const [, count = '', hash = ''] = /^intact: (\d+) entries\nhead: \1:([0-9a-f]{64})\n$/.exec(intact.out) ?? []
    expect(await portico(['audit', 'verify', '--head', `${count}:${hash}`])).toEqual(intact)
    expect(await portico(['audit', 'verify', '--head', `${Number(count) + 89}:${hash}`])).toMatchObject({
      code: 1,
      out: `INCOMPLETE: the log ends at ${count}, but the head is ${Number(count) + 89}\nhead: ${count}:${hash}\n`,
    })
    expect(await portico(['audit', 'verify', '--head', `1:${hash}`])).toMatchObject({
      code: 1,
      out: `REPLACED: entry 1 has another hash than the head\nhead: ${count}:${hash}\n`,
    })
    for (const head of [count, `${count}:${hash}0`, `-1:${hash}`, `0${count}:${hash}`])
      expect(await portico(['audit', 'verify', `--head=${head}`]), head).toMatchObject({ code: 2, out: '' })
    const id = await withDatabase(async (database) => {
      await sql`ALTER TABLE audit_log DISABLE TRIGGER USER`.execute(database)
      await sql`UPDATE audit_log SET detail = '{}' WHERE sequence = 1`.execute(database)
      const { bizId } = await database
        .selectFrom('audit_log')
        .select('bizId')
        .where('sequence', '=', 1)
        .executeTakeFirstOrThrow()
      return bizId
    })
    const broken = await portico(['audit', 'verify'])
    expect(broken).toMatchObject({
      code: 1,
      out: `BROKEN: entry 1 (${id}) is changed; the 0 entries before it are intact\n`,
    })
  })
})
