import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { toSnakeCase } from '../../src/database/column-names.ts'
import { loaded } from '../harness/domains.ts'
import { embeddedStore } from '../ledger/stores.ts'

const { database, close } = await embeddedStore()
afterAll(close)

/** Columns of bytes that do not have to be listed, with the reason. */
const unlisted = new Map([
  ['audit_log.previous_hash', 'a hash without a key'],
  ['audit_log.hash', 'a hash without a key'],
  ['audit_chain.hash', 'a hash without a key'],
  ['audit_archive.hash', 'a hash without a key'],
  ['audit_archive_links.previous_hash', 'a hash without a key'],
  ['audit_archive_links.hash', 'a hash without a key'],
  ['signing_keys.public_key', 'public'],
  ['channel_keys.public_key', 'public'],
  ['login_sessions.client_digest', 'under the key of login_sessions.token_digest'],
  ['login_failures.device_digest', 'under the key of login_failures.subject_digest'],
  ['refresh_tokens.parent_digest', 'never compared with a new digest'],
  ['withdrawal_channels.account_digest', 'accounts are compared by their sealed numbers'],
  ['step_ups.purpose_digest', 'a hash without a key'],
  ['passkeys.credential_id', 'public'],
  ['passkeys.public_key', 'public'],
  ['passkey_challenges.nonce', 'public'],
  ['passkey_challenges.purpose_digest', 'a hash without a key'],
  ['passkey_challenges.client_digest', 'under the key of passkey_challenges.challenge_digest'],
  ['passkey_challenges.attempt_digest', 'never compared with a new digest'],
  ['passkey_challenges.enrollment_digest', 'never compared with a new digest'],
  ['provider_attempts.purpose_digest', 'a hash without a key'],
  ['provider_attempts.client_digest', 'under the key of provider_attempts.token_digest'],
  ['provider_attempts.state_digest', 'under the key of provider_attempts.token_digest'],
])

test('every column of sealed values and digests is listed for key rotations', async () => {
  const { rows } = await sql<{ name: string }>`
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'bytea'
      AND NOT (SELECT relispartition FROM pg_class WHERE oid = table_name::regclass) ORDER BY 1`.execute(database)
  const { sealed, digests } = loaded.keyedColumns
  const listed = [...[...sealed, ...digests].map(({ table, column }) => `${table}.${toSnakeCase(column)}`)]
  expect([...new Set([...listed, ...unlisted.keys()])].toSorted()).toEqual(rows.map(({ name }) => name).toSorted())
})
