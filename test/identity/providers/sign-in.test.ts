import { afterAll, beforeAll, expect, test } from 'vitest'
import { credential } from '../harness.ts'
import { type ProviderWorld, personOf, providerWorld } from './world.ts'

let world: ProviderWorld
beforeAll(async () => {
  world = await providerWorld()
})
afterAll(() => world.close())

test('auth.providerComplete 200: signs in a person whose factor at the provider is trusted', async () => {
  world.provider.person = personOf('first@company.test')
  const { completed, pending } = await world.signIn()
  expect(pending).toBeNull()
  const caller = await world.at.identity.authentication.accessToken(
    credential(completed?.accessToken ?? '', { portal: 'SYSTEM' }),
  )
  const { database } = world.at.ports
  const account = await database
    .selectFrom('accounts')
    .select(['email', 'ssoEnabled', 'operatorPermissions', 'passwordHash'])
    .where('bizId', '=', caller.accountId)
    .executeTakeFirstOrThrow()
  expect(account).toEqual({
    ...{ email: 'first@company.test', ssoEnabled: true, operatorPermissions: [], passwordHash: null },
  })
})
