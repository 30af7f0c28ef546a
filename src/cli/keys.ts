import { loadConfigured } from '../compose/extensions.ts'
import { identitySettings } from '../compose/identity.ts'
import { migrateStore } from '../compose/migrations.ts'
import { type Configuration, loadConfiguration } from '../config/index.ts'
import { type Database, inTransaction } from '../database/index.ts'
import { SigningKeys } from '../identity/index.ts'
import { messageOf } from '../kernel/index.ts'
import { createSecretBox, secretKeyId } from '../platform/crypto/index.ts'
import { type KeyIds, type KeyUsage, readKeyUsage, resealAll } from '../platform/key-rotation/index.ts'
import { systemClock, systemIds, systemRandomness } from '../platform/runtime/index.ts'
import {
  type Command,
  onlyOneProcess,
  parseOptions,
  ReasonOptions,
  reasonHelp,
  reasonOption,
  UsageError,
} from './command.ts'
import { progressLines } from './progress.ts'
import { auditCommand, withExistingStore } from './store.ts'

export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'create a new signing key for tokens; nobody is signed out',
  help: [
    reasonHelp,
    '',
    'Publishes the new key for tokens.keyPublicationMs before it signs. The previous key verifies tokens until the last',
    'one has expired. Running gateways load the new key within tokens.keyRefreshMs.',
    onlyOneProcess,
  ].join('\n'),
  options: reasonOption,
  run: async (values, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    const { reason } = parseOptions(ReasonOptions, values)
    const { owners } = await loadConfigured(domains, settings)
    const audited = { command: keysRotate.name, reason }
    const kid = await withExistingStore(settings, async (store) => {
      await migrateStore(store, owners, settings)
      return signingKeysOf(store.database, settings).rotate((tx, targetId) => auditCommand(tx, audited, { targetId }))
    })
    print({ kid }, `${kid}\n`)
    return 0
  },
}

export const keysRevoke: Command = {
  name: 'keys revoke',
  argument: 'kid',
  summary: 'revoke a compromised signing key; its tokens become invalid',
  help: [
    'portico keys revoke <kid> --reason text',
    '',
    reasonHelp,
    '',
    'Deletes the signing key with this id. Running gateways reject its tokens and remove it from the JWK Set within',
    'tokens.keyRefreshMs. Domain services reject its call assertions within 31 seconds. If no other key can sign, a new',
    'key signs immediately. Sessions stay open: clients get new tokens with their refresh token. Prints the id of the key',
    'that signs.',
    onlyOneProcess,
  ].join('\n'),
  options: reasonOption,
  run: async ({ kid, ...values }, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    if (typeof kid !== 'string')
      throw new UsageError('the id of the signing key is required: portico keys revoke <kid>')
    const audited = { command: keysRevoke.name, ...parseOptions(ReasonOptions, values) }
    const signing = await withExistingStore(settings, ({ database }) =>
      signingKeysOf(database, settings).revoke(kid, (tx, signs) =>
        auditCommand(tx, audited, { targetId: kid, detail: { signs } }),
      ),
    )
    if (signing === undefined) throw new UsageError(`no signing key has the id '${kid}'`)
    print({ revoked: kid, signing }, `${signing}\n`)
    return 0
  },
}

export const keysStatus: Command = {
  name: 'keys status',
  summary: 'count the values that need a previous secret key',
  help: [
    'Exit code 0 if PORTICO_SECRET_KEY_PREVIOUS can be removed, 1 otherwise. Changes nothing. `keys reseal` moves sealed',
    'values to the current key. Digests move when they are used, or end with their expiry. Values under an unknown key',
    'need a secret key that is not configured.',
    onlyOneProcess,
  ].join('\n'),
  options: {},
  run: async (_values, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    const keys = keyIdsOf(settings)
    const { keyedColumns } = await loadConfigured(domains, settings)
    const usages = await withExistingStore(settings, ({ withoutTimeouts }) =>
      withoutTimeouts((database) => readKeyUsage(database, keyedColumns, keys, systemClock.now())),
    )
    const waiting = usages.filter(needsPrevious)
    print(
      { keys, usages, waiting: waiting.map(({ label }) => label) },
      [
        `current key ${keys.current}; previous keys ${keys.previous.join(', ') || 'none'}`,
        ['kind    ', 'values'.padEnd(28), 'current', 'previous', 'unknown'].map((cell) => cell.padStart(9)).join(' '),
        ...usages.map(toLine),
        waiting.length === 0
          ? 'no value needs a previous key'
          : `values that do not use the current key: ${waiting.map(({ label }) => label).join(', ')}`,
        '',
      ].join('\n'),
    )
    return waiting.length === 0 ? 0 : 1
  },
}

export const keysReseal: Command = {
  name: 'keys reseal',
  summary: 'encrypt stored values again under the current secret key',
  help: [
    reasonHelp,
    '',
    'Requires PORTICO_SECRET_KEY_PREVIOUS with the keys of the stored values. Gateways can run at the same time. If the',
    'command is interrupted, run it again: it continues with the remaining values. Exit code 1 if a value does not open.',
    onlyOneProcess,
  ].join('\n'),
  options: reasonOption,
  run: async (values, { domains, variables, print, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    const { reason } = parseOptions(ReasonOptions, values)
    const keys = keyIdsOf(settings)
    const { keyedColumns } = await loadConfigured(domains, settings)
    const secretKeys = settings.secretKeys.reveal()
    const result = await withExistingStore(settings, async ({ database, withoutTimeouts }) => {
      const usages = await withoutTimeouts((store) =>
        readKeyUsage(store, { ...keyedColumns, digests: [] }, keys, systemClock.now()),
      )
      const total = usages.reduce((sum, { previous, unknown }) => sum + previous + unknown, 0)
      const show = progressLines(stderr, 'resealed')
      const secretBox = createSecretBox(secretKeys, systemRandomness)
      const ports = { database, secretBox, keys }
      const done = await resealAll(ports, keyedColumns, (count) => show(count, total))
      const detail = { resealed: `${done.resealed}`, failed: `${done.failed}` }
      await inTransaction(database, (tx) =>
        auditCommand(tx, { command: keysReseal.name, reason }, { targetId: keys.current, detail }),
      )
      return done
    })
    const { resealed, failed } = result
    print(
      { key: keys.current, resealed, failed },
      `${resealed} values sealed under the key ${keys.current}, ${failed} do not open\n`,
    )
    if (failed > 0) stderr.write(`portico: ${messageOf(result.firstError)}\n`)
    return failed === 0 ? 0 : 1
  },
}

function signingKeysOf(database: Database, settings: Configuration): SigningKeys {
  const secretBox = createSecretBox(settings.secretKeys.reveal(), systemRandomness)
  const ports = { database, clock: systemClock, ids: systemIds, secretBox }
  return new SigningKeys(ports, identitySettings(settings).tokens)
}

function keyIdsOf(settings: Configuration): KeyIds {
  const { current, previous } = settings.secretKeys.reveal()
  return { current: hexOf(current), previous: previous.map(hexOf) }
}

function hexOf(secretKey: Uint8Array): string {
  return Buffer.from(secretKeyId(secretKey)).toString('hex')
}

function needsPrevious({ previous, unknown }: KeyUsage): boolean {
  return previous + unknown > 0
}

function toLine({ label, kind, current, previous, unknown }: KeyUsage): string {
  return [kind.padEnd(8), label.padEnd(28), current, previous, unknown].map((cell) => `${cell}`.padStart(9)).join(' ')
}
