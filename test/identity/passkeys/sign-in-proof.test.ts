import { expect, test } from 'vitest'
import * as auth from '../../../src/identity/login/contract.ts'
import { codeOf } from '../harness.ts'
import { passkeyWorld } from './world.ts'

test('auth.passkeyVerify 400: a DPoP proof starts one session', async () => {
  const world = await passkeyWorld()
  try {
    const person = await world.person()
    await world.register(person)
    const keyProof = { keyThumbprint: 'A'.repeat(43), id: 'one proof' }
    const enter = async () => {
      const credential = person.device.get(await world.options())
      return world.run(auth.verifyPasskey, { credential }, { keyProof })
    }
    expect(await enter()).toMatchObject({ tokenType: 'DPoP' })
    expect(await codeOf(enter())).toBe('VALIDATION.INVALID_PARAMETER')
  } finally {
    await world.at.close()
  }
})
