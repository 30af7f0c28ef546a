import { type RawBuilder, sql } from 'kysely'
import { query, type Statements, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { keyIdPosition } from '../../platform/crypto/index.ts'
import { accountIdOfAttempt } from '../accounts/store.ts'

/** Under the current secret key, then under previous ones. */
export type DeviceDigests = readonly [Uint8Array, ...Uint8Array[]]

export interface DeviceLookup {
  /** Whether a sign-in from this client was completed. */
  isKnown: boolean
  /** Counts digests under these secret keys only. */
  devices: number
}

/** By address, or by the digest of a sign-in attempt. */
export type DeviceOwner = { portal: Portal; email: string } | { portal: Portal; attempt: Uint8Array }

/** Runs the same statement for an address without an account. */
export function lookUpDevice(
  owner: DeviceOwner,
  clientDigests: DeviceDigests,
  seenAfter: Instant,
): Statements<DeviceLookup> {
  return query((store) =>
    store
      .selectFrom('known_devices')
      .where('account_biz_id', '=', accountIdOf(owner))
      .where('last_seen_at', '>', timestamptz(seenAfter))
      .where(
        keyIdOf(sql.ref('client_digest')),
        'in',
        clientDigests.map((each) => keyIdOf(sql.val(each))),
      )
      .select((eb) => [
        eb.fn.countAll<number>().as('devices'),
        sql<boolean>`coalesce(bool_or(${eb('client_digest', 'in', clientDigests)}), false)`.as('isKnown'),
      ]),
  ).only()
}

/** More devices than a person uses within the retention. */
const maxKnownDevices = 20

/** Deletes all but an account's most recent devices. */
export function deleteOldestDevices(accountId: AccountId): Statements<unknown> {
  return query((store) =>
    store
      .deleteFrom('known_devices')
      .where('account_biz_id', '=', accountId)
      .where('client_digest', 'not in', (recent) =>
        recent
          .selectFrom('known_devices')
          .select('client_digest')
          .where('account_biz_id', '=', accountId)
          .orderBy('last_seen_at', 'desc')
          .orderBy('client_digest')
          .limit(maxKnownDevices),
      ),
  )
}

/** After a theft, the thief's device must count as new. `except` stays known. */
export async function deleteDevices(tx: Tx, accountId: AccountId, except: readonly Uint8Array[] = []): Promise<void> {
  let devices = tx.deleteFrom('known_devices').where('account_biz_id', '=', accountId)
  if (except.length > 0) devices = devices.where('client_digest', 'not in', except)
  await devices.execute()
}

/** Returns whether the client is new. Replaces digests under previous secret keys. */
export function recordDevice(
  accountId: AccountId,
  [clientDigest, ...previousDigests]: DeviceDigests,
  at: Instant,
): Statements<boolean> {
  const previous = sql<Uint8Array>`any(${previousDigests}::bytea[])`
  const recorded = query((store) =>
    store
      .with('replaced', (within) =>
        within
          .deleteFrom('known_devices')
          .where('account_biz_id', '=', accountId)
          .where('client_digest', '=', previous)
          .returning('first_seen_at'),
      )
      .insertInto('known_devices')
      .values({
        account_biz_id: accountId,
        client_digest: clientDigest,
        first_seen_at: sql`coalesce((SELECT min(first_seen_at) FROM replaced), ${timestamptz(at)})`,
        last_seen_at: toDate(at),
      })
      .onConflict((conflict) =>
        conflict.columns(['account_biz_id', 'client_digest']).doUpdateSet({ last_seen_at: toDate(at) }),
      )
      // xmax is 0 only for an inserted row.
      .returning(sql<boolean>`xmax = 0 AND NOT EXISTS (SELECT FROM replaced)`.as('isNew')),
  )
  return recorded.only().map(({ isNew }) => isNew)
}

function accountIdOf(owner: DeviceOwner): RawBuilder<AccountId> {
  return 'email' in owner
    ? sql`(SELECT biz_id FROM accounts WHERE portal = ${owner.portal} AND email_canonical = ${owner.email})`
    : accountIdOfAttempt(owner.portal, owner.attempt)
}

function keyIdOf(digest: RawBuilder<unknown>): RawBuilder<Uint8Array> {
  return sql`substring(${digest}::bytea FROM ${sql.lit(keyIdPosition.digest)} FOR ${sql.lit(keyIdPosition.length)})`
}
