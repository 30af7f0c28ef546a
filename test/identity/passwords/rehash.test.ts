import { hash } from '@node-rs/argon2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { IdentityPorts } from '../../../src/identity/index.ts'
import { resetPassword } from '../../../src/identity/passwords/contract.ts'
import { codeOf, type Harness, initiate } from '../harness.ts'
import { interceptVerify, type RunAfterVerify } from '../intercept-verify.ts'
import { callAnonymously, newPassword, recoveryHarness, requestResetLink, resetTokenOf } from '../recovery.ts'

type Hash = IdentityPorts['passwords']['hash']

let at: Harness
let runAfterVerify: RunAfterVerify
let nextHash: ((password: string, hash: Hash) => Promise<string>) | undefined
beforeAll(async () => {
  at = await recoveryHarness((ports) => {
    runAfterVerify = interceptVerify(ports)
    const { passwords } = ports
    const hash: Hash = (password) => {
      const hooked = nextHash
      nextHash = undefined
      return hooked ? hooked(password, passwords.hash) : passwords.hash(password)
    }
    ports.passwords = { ...passwords, hash }
  })
})
afterAll(async () => {
  expect(at.loggedErrors).toEqual([])
  await at.close()
})

function invoke<O extends Parameters<typeof callAnonymously>[1]>(operation: O, body: unknown) {
  return callAnonymously(at, operation, body)
}
function requestLink(email: string) {
  return requestResetLink(at, email)
}
function resetToken(email: string) {
  return resetTokenOf(at, email)
}

test('auth.loginInitiate 200: replaces an outdated hash, also in two concurrent sign-ins', async () => {
  const id = await at.account('old@demo.test')
  const old = await hash('an old password of mine', { memoryCost: 4_096, timeCost: 3, parallelism: 1 })
  const of = at.ports.database.updateTable('accounts').set({ passwordHash: old }).where('bizId', '=', id)
  await of.execute()
  const signIn = () => initiate(at, 'old@demo.test', {}, 'an old password of mine')
  runAfterVerify(async () => {
    expect((await signIn()).sessionId).toBeTypeOf('string')
    await at.background.idle()
  })
  expect((await signIn()).sessionId).toBeTypeOf('string')
  const row = await at.ports.database
    .selectFrom('accounts')
    .select('passwordHash')
    .where('bizId', '=', id)
    .executeTakeFirstOrThrow()
  expect(at.ports.passwords.isOutdated(old)).toBe(true)
  expect(at.ports.passwords.isOutdated(row.passwordHash ?? '')).toBe(false)
  expect((await initiate(at, 'old@demo.test', {}, 'an old password of mine')).sessionId).toBeTypeOf('string')
})

test('password.reset 200: a concurrent rehash does not restore the old password', async () => {
  const email = 'upgraded@demo.test'
  const id = await at.account(email)
  const old = 'an old password of mine'
  const passwordHash = await hash(old, { memoryCost: 4_096, timeCost: 3, parallelism: 1 })
  await at.ports.database.updateTable('accounts').set({ passwordHash }).where('bizId', '=', id).execute()
  await requestLink(email)
  let hooked = false
  nextHash = async (password, hash) => {
    hooked = true
    const hashed = await hash(password)
    await invoke(resetPassword, { token: resetToken(email), newPassword })
    return hashed
  }
  await initiate(at, email, {}, old)
  await at.background.idle()
  expect(hooked).toBe(true)
  expect(await codeOf(initiate(at, email, {}, old))).toBe('AUTH.INVALID_CREDENTIALS')
  expect((await initiate(at, email, {}, newPassword)).sessionId).toBeTypeOf('string')
})
