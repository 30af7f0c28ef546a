import { afterAll, beforeAll, expect, test } from 'vitest'
import * as auth from '../../../src/identity/login/contract.ts'
import { toDate } from '../../../src/kernel/index.ts'
import { codeOf, complete, initiate, mailedCode, refusalOf, send } from '../harness.ts'
import { type PasskeyWorld, passkeyWorld } from '../passkeys/world.ts'
import { redirectUri } from './world.ts'

const portal = { portal: 'SYSTEM' } as const
const issuer = 'https://login.company.test'
const password = 'correct horse battery staple'

let world: PasskeyWorld
let verified = 0
beforeAll(async () => {
  world = await passkeyWorld(({ portals }) => {
    portals.SYSTEM.providers = [
      {
        ...{
          ...portal,
          id: 'company',
          name: 'Company',
          issuer,
          clientId: 'portico',
          clientSecret: 's',
          privateKey: null,
        },
        ...{
          scopes: ['openid'],
          provisioning: 'none',
          groups: null,
          trustsMfa: [],
          stepUp: null,
          passwordSignIn: false,
        },
        claims: { email: 'email', emailVerified: null, name: 'name', groups: 'groups', externalId: 'sub' },
        ...{ redirectUri, pages: ['https://portal.test/'] },
      },
    ]
  })
  const { passwords } = world.at.ports
  const verify = passwords.verify.bind(passwords)
  passwords.verify = (...parts) => {
    verified += 1
    return verify(...parts)
  }
})
afterAll(() => world.at.close())

async function link(email: string): Promise<void> {
  const { database, ids, clock } = world.at.ports
  const { id: accountBizId } = await database
    .selectFrom('accounts')
    .select('bizId as id')
    .where('emailCanonical', '=', email)
    .executeTakeFirstOrThrow()
  const now = toDate(clock.now())
  await database
    .insertInto('provider_identities')
    .values({
      ...{ ...portal, bizId: ids.next<'identity'>(), accountBizId, providerId: 'company', issuer, subject: email },
      ...{ externalId: null, createdAt: now, linkedAt: now, lastSignInAt: null },
    })
    .execute()
}

test('auth.loginInitiate 401: the right password of a linked account, a wrong one and an unknown account answer alike', async () => {
  for (const name of ['linked', 'linked-too', 'local']) await world.at.account(`${name}@company.test`, portal)
  await link('linked@company.test')
  await link('linked-too@company.test')
  const answers = []
  for (const [email, pass] of [
    ['linked@company.test', password],
    ['linked-too@company.test', 'a wrong password'],
    ['local@company.test', 'a wrong password'],
    ['nobody@company.test', password],
  ]) {
    const before = verified
    let refusal: unknown
    const statements = await world.statementsOf(async () => {
      const { code, detail } = await refusalOf(world.run(auth.initiateLogin, { email, password: pass }, portal))
      refusal = [code, detail]
    })
    answers.push({ statements, refusal, verified: verified - before })
  }
  const [linked, ...others] = answers
  expect(linked).toMatchObject({ refusal: ['AUTH.INVALID_CREDENTIALS', {}], verified: 1 })
  expect(others).toEqual([linked, linked, linked])
})

test('auth.loginComplete 404: a sign-in with the password that a link overtakes', async () => {
  const email = 'overtaken@company.test'
  await world.at.account(email, portal)
  const { sessionId } = await initiate(world.at, email, portal)
  await send(world.at, sessionId, portal)
  await link(email)
  const late = complete(world.at, sessionId, mailedCode(world.at, email), portal)
  expect(await codeOf(late)).toBe('AUTH.SESSION_NOT_FOUND')
})
