import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { begin, codeOf, complete, type Harness, harness, mailedCode, send } from '../harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

describe('auth.loginComplete', () => {
  test('401 AUTH.CLIENT_MISMATCH: a changed client hash uses up one of five tries', async () => {
    await at.account('lou@demo.test')
    const { sessionId, code } = await begin(at, 'lou@demo.test')
    const stolen = () => codeOf(complete(at, sessionId, code, { clientHash: 'thief' }))
    for (let attempt = 0; attempt < 4; attempt++) expect(await stolen()).toBe('AUTH.CLIENT_MISMATCH')
    at.clock.advance(30_000)
    expect((await send(at, sessionId)).attemptsRemaining).toBe(1)
    expect((await complete(at, sessionId, mailedCode(at, 'lou@demo.test'))).tokenType).toBe('Bearer')
  })

  test('404 AUTH.SESSION_NOT_FOUND: after five parallel requests with a changed client hash', async () => {
    await at.account('lea@demo.test')
    const { sessionId, code } = await begin(at, 'lea@demo.test')
    const stolen = () => codeOf(complete(at, sessionId, code, { clientHash: 'thief' }))
    const codes = await Promise.all(Array.from({ length: 8 }, stolen))
    expect(codes.sort()).toEqual([
      ...Array.from({ length: 5 }, () => 'AUTH.CLIENT_MISMATCH'),
      ...Array.from({ length: 3 }, () => 'AUTH.SESSION_NOT_FOUND'),
    ])
    expect(await codeOf(complete(at, sessionId, code))).toBe('AUTH.SESSION_NOT_FOUND')
  })
})
