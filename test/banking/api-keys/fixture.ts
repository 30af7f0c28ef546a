import { expect } from 'vitest'
import { type ApiKeys, createApiKeys } from '../../../src/banking/api-keys/index.ts'
import type { ApiKeySettings } from '../../../src/banking/api-keys/rules.ts'
import { apiKeyPermissions } from '../../../src/contract/index.ts'
import { type AccountId, type Portal, Refusal } from '../../../src/kernel/index.ts'
import { createKeyedDigest } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { accessSettings, alwaysOpen, portals, transactionOf, type World, words } from '../world.ts'

/** A key whose credential is its secret. */
export async function withSecret<T extends { secret: string | null }>(creation: Promise<T>) {
  const created = await creation
  return { ...created, secret: created.secret ?? expect.fail('the key has no secret') }
}

/** Tests can change them. */
export const settings: ApiKeySettings = { ...accessSettings.apiKeys, maxLifeMs: null }

/** The key of their digests. */
export const secretKey = new Uint8Array(32)

/** `mails` receives address, template and values of each mail. */
export function createTestApiKeys(
  world: World,
  mails: string[][],
  assertSessionOpen = alwaysOpen,
  emailOf: (id: AccountId, portal: Portal) => Promise<string> = async () => 'owner@example.test',
): ApiKeys {
  return createApiKeys({
    stepUpMs: 300_000,
    notices: world.members.notices,
    providers: [{ id: 'entra' }],
    assertSessionOpen,
    database: world.database,
    transaction: transactionOf(world.database),
    words,
    ids: systemIds,
    clock: world.clock,
    randomness: systemRandomness,
    digest: createKeyedDigest({ current: secretKey, previous: [] }),
    members: {
      enter: world.members.enter,
      stay: world.members.stay,
      lock: (tx, id) => world.members.memberships.lock(tx, id),
      assertAccess: (tx, account, access) => world.members.memberships.assertAccess(tx, account, access),
      assertMayGrant: (tx, grantor, permissionCodes) =>
        world.members.memberships.assertMayGrant(tx, grantor, { roleType: 'CUSTOM', permissionCodes }),
      assertMayRestore: (tx, account, id) => world.members.memberships.assertMayRestore(tx, account, id),
      powerOf: (permissionCodes) => world.members.memberships.powerOf({ roleType: 'CUSTOM', permissionCodes }),
      accessOf: (tx, account, id) => world.members.memberships.accessOf(tx, account, id),
      ownersOf: (tx, id) => world.members.memberships.ownersOf(tx, id),
      assertOutsider: (tx, account, id) => world.members.memberships.assertOutsider(tx, account, id),
    },
    accounts: { read: async (portal, id) => ({ email: await emailOf(id, portal), name: 'Owner', locale: 'en' }) },
    mailer: {
      send: async ({ to, template, values }) => {
        mails.push([to, template, JSON.stringify(values)])
      },
      close: async () => undefined,
    },
    signInUrl: (portal) => `https://portal.test/${portal}`,
    portals,
    permissions: apiKeyPermissions,
    assertAddressAllowed: async ({ ipWhitelistEnabled }) => {
      if (ipWhitelistEnabled) throw new Refusal('ACCESS.IP_NOT_ALLOWED')
    },
    settings,
    onError: (error) => {
      throw error
    },
  })
}
