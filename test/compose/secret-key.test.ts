import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { migrateStore } from '../../src/compose/migrations.ts'
import { createSecretBox } from '../../src/platform/crypto/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'
import { productionKey, testSettings } from '../harness/settings.ts'
import { testDatabase } from '../identity/database.ts'

const { database, close } = await testDatabase()
afterAll(close)

const other = randomBytes(32)

async function migratedWith(key: Uint8Array, previous?: Uint8Array): Promise<string[]> {
  const calls: string[] = []
  const migrate = async (): Promise<string[]> => {
    calls.push('migrated')
    return calls
  }
  const settings = testSettings({
    PORTICO_SECRET_KEY: Buffer.from(key).toString('base64'),
    ...(previous && { PORTICO_SECRET_KEY_PREVIOUS: Buffer.from(previous).toString('base64') }),
  })
  await migrateStore({ database, migrate }, [], settings).catch((error: unknown) => calls.push(String(error)))
  return calls
}

test('a store is migrated only by a process with its secret key, or with it as a previous one', async () => {
  const own = Buffer.from(productionKey, 'base64')
  expect(await migratedWith(other)).toEqual(['migrated'])
  const sealed = createSecretBox({ current: own, previous: [] }, systemRandomness).seal(
    'signing-key',
    'kid',
    randomBytes(8),
  )
  await sql`INSERT INTO signing_keys (kid, algorithm, public_key, private_key, created_at, activates_at)
    VALUES ('kid', 'EdDSA', 'x', ${sealed}, now(), now())`.execute(database)
  expect(await migratedWith(own)).toEqual(['migrated'])
  expect(await migratedWith(other, own)).toEqual(['migrated'])
  expect(await migratedWith(other)).toEqual([
    expect.stringMatching(
      /^Error: the signing keys of this store have the key id [0-9a-f]{8}: neither PORTICO_SECRET_KEY nor PORTICO_SECRET_KEY_PREVIOUS has it; nothing was changed$/,
    ),
  ])
})
